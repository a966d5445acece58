#include "plugins/live_diffusion/model/weight_file.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/artifact/json_text.h"
#include "core/artifact/weights.h"
#include "core/base/file.h"

namespace vergence::live {

namespace {
constexpr const char* kFormat = "vergence-live-diffusion/1";
constexpr std::size_t kFaultsShown = 8;

std::filesystem::path descriptionPath(std::filesystem::path path)
{
    return path.replace_extension(".json");
}

/// Reads keys of an object and says which one is at fault.
class Keys {
public:
    Keys(const nlohmann::json& json, std::string source) : m_json(json), m_source(std::move(source))
    {
        if (!json.is_object())
            fail("it is no object");
    }

    template <class T>
    T read(const char* key, const char* wanted)
    {
        const auto found = m_json.find(key);
        if (found == m_json.end())
            fail(fmt::format("`{}` is missing", key));
        if (!fits<T>(*found))
            fail(fmt::format("`{}` is {} where {} is needed", key, found->dump(), wanted));
        return found->template get<T>();
    }
    std::string choice(const char* key, const std::vector<std::string>& choices)
    {
        const auto text = read<std::string>(key, "a text");
        if (std::find(choices.begin(), choices.end(), text) == choices.end())
            fail(fmt::format("`{}` is \"{}\", not one of {}", key, text, fmt::join(choices, ", ")));
        return text;
    }
    [[noreturn]] void fail(const std::string& fault) const
    {
        throw InputError(
            fmt::format("Cannot read the description of a model {}: {}.", m_source, fault));
    }

private:
    template <class T>
    static bool fits(const nlohmann::json& value)
    {
        if constexpr (std::is_same_v<T, bool>)
            return value.is_boolean();
        else if constexpr (std::is_integral_v<T>)
            return value.is_number_integer();
        else
            return value.is_string();
    }

    const nlohmann::json& m_json;
    std::string m_source;
};

std::map<std::string, std::string> notesOf(const nlohmann::json& json, const Keys& keys)
{
    std::map<std::string, std::string> notes;
    const auto found = json.find("notes");
    if (found == json.end())
        return notes;
    if (!found->is_object())
        keys.fail("`notes` is no object");
    for (const auto& [key, value] : found->items()) {
        if (!value.is_string())
            keys.fail(fmt::format("the note `{}` is no text", key));
        notes.emplace(key, value.get<std::string>());
    }
    return notes;
}

/// Every reason why a file does not fit, each a sentence.
std::vector<std::string> faultsOf(const ParameterSet& parameters, const WeightFile& file)
{
    const std::set<DType> floats{DType::F64, DType::F32, DType::F16, DType::BF16};
    std::vector<std::string> faults;
    for (int i = 0; i < parameters.count(); ++i) {
        const Parameter& parameter = parameters[i];
        const WeightEntry* entry = file.find(parameter.name);
        if (!entry)
            faults.push_back(fmt::format("`{}` {} is missing from the file.", parameter.name,
                                         toString(parameter.shape)));
        else if (!floats.contains(entry->dtype))
            faults.push_back(fmt::format("`{}` holds {} in the file where {} is needed.",
                                         entry->name, nameOf(entry->dtype),
                                         nameOf(parameters.masterType())));
        else if (entry->shape != parameter.shape)
            faults.push_back(fmt::format("`{}` is {} in the file and {} in the model.", entry->name,
                                         toString(entry->shape), toString(parameter.shape)));
    }
    for (const WeightEntry& entry : file.entries())
        if (parameters.find(entry.name) < 0)
            faults.push_back(fmt::format("`{}` {} in the file belongs to no weight of the model.",
                                         entry.name, toString(entry.shape)));
    return faults;
}
} // namespace

void saveModel(Stream& stream, const ParameterSet& parameters, const ModelDescription& description,
               const std::filesystem::path& path, DType type)
{
    const UnetSettings& settings = description.settings;
    const nlohmann::json json{{"format", kFormat},
                              {"size", titleOf(settings.size)},
                              {"patch", settings.patch},
                              {"grid", settings.grid},
                              {"channel_rounding", settings.channelRounding},
                              {"misaligned", settings.isMisaligned},
                              {"attention_level_0", settings.hasAttentionAtLevel0},
                              {"window_attention", settings.hasWindowAttention},
                              {"prediction", description.prediction},
                              {"schedule", description.schedule},
                              {"mode", description.mode},
                              {"consistency", description.isConsistencyModel},
                              {"notes", description.notes}};
    saveWeights(stream, parameters, path, type, {}, {{"format", kFormat}});
    writeFileAtomic(descriptionPath(path), prettyJson(json));
}

ModelDescription readModelDescription(const std::filesystem::path& path)
{
    const std::string source = descriptionPath(path).string();
    const nlohmann::json json = parseJson(readFile(descriptionPath(path)), source);
    Keys keys(json, source);
    keys.choice("format", {kFormat});
    ModelDescription description;
    UnetSettings& settings = description.settings;
    settings.size = sizeOfName(keys.choice("size", {"Nano", "Pico", "S", "M", "L", "XL"}));
    settings.patch = keys.read<Index>("patch", "a whole number");
    settings.grid = keys.read<Index>("grid", "a whole number");
    settings.channelRounding = keys.read<Index>("channel_rounding", "a whole number");
    settings.isMisaligned = keys.read<bool>("misaligned", "true or false");
    settings.hasAttentionAtLevel0 = keys.read<bool>("attention_level_0", "true or false");
    settings.hasWindowAttention = keys.read<bool>("window_attention", "true or false");
    if (const std::string problem = problemOf(settings); !problem.empty())
        keys.fail(problem);
    description.prediction = keys.choice("prediction", {"epsilon", "v"});
    description.schedule = keys.read<std::string>("schedule", "a text");
    description.mode = keys.choice("mode", {"restyle", "restore", "dream"});
    description.isConsistencyModel = keys.read<bool>("consistency", "true or false");
    description.notes = notesOf(json, keys);
    return description;
}

void loadModel(Stream& stream, ParameterSet& parameters, const std::filesystem::path& path)
{
    const WeightFile file = WeightFile::open(path);
    std::vector<std::string> faults = faultsOf(parameters, file);
    if (!faults.empty()) {
        const std::size_t count = faults.size();
        if (count > kFaultsShown) {
            faults.resize(kFaultsShown);
            faults.push_back(fmt::format("And {} more.", count - kFaultsShown));
        }
        throw InputError(fmt::format("The weights in {} do not fit the model. {}", path.string(),
                                     fmt::join(faults, " ")));
    }
    loadWeights(stream, parameters, file);
}

} // namespace vergence::live
