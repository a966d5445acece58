#include "plugins/mc_embedding/study/labels.h"

#include <algorithm>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "core/artifact/json_text.h"
#include "core/artifact/tokenizer/clip_text.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace vergence::mc_embedding {

namespace {

using Json = nlohmann::json;

constexpr std::size_t kWordNetLength = 9; // n and eight digits

bool isWordNetId(std::string_view label)
{
    return label.size() == kWordNetLength && label[0] == 'n' &&
           std::all_of(label.begin() + 1, label.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Collects a map and names the place of each fault.
class MapReader {
public:
    explicit MapReader(std::string source) : m_source(std::move(source)) {}

    void add(const std::string& label, std::string_view name, const std::string& place)
    {
        const std::string plain = collapsedBlanks(name);
        if (label.empty() || plain.empty())
            refuse(place, "a label and a name are needed");
        if (isWordNetId(plain))
            refuse(place, fmt::format("the name of {} is the WordNet id {}; a prompt needs a word",
                                      label, plain));
        if (!m_map.emplace(label, plain).second)
            refuse(place, fmt::format("{} is there twice", label));
    }
    [[noreturn]] void refuse(const std::string& place, const std::string& reason) const
    {
        throw InputError(
            fmt::format("Cannot read the class map {}, {}: {}.", m_source, place, reason));
    }
    ClassMap take() const
    {
        if (m_map.empty())
            throw InputError(fmt::format("The class map {} names no class.", m_source));
        return m_map;
    }

private:
    std::string m_source;
    ClassMap m_map;
};

void readJson(const Json& json, MapReader& reader)
{
    if (!json.is_object())
        reader.refuse("top level", "an object of labels and names is needed");
    for (const auto& [label, value] : json.items()) {
        const std::string place = fmt::format("\"{}\"", label);
        if (value.is_string()) {
            reader.add(label, value.get<std::string>(), place);
            continue;
        }
        if (!value.is_array() || value.size() != 2 || !value[0].is_string() ||
            !value[1].is_string())
            reader.refuse(place, "a name, or a pair of label and name, is needed");
        std::string name = value[1];
        std::replace(name.begin(), name.end(), '_', ' ');
        reader.add(value[0], name, place);
    }
}

void readLines(const std::string& text, MapReader& reader)
{
    std::istringstream lines(text);
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        if (line.ends_with('\r'))
            line.pop_back();
        if (line.empty() || line[0] == '#')
            continue;
        const std::string place = fmt::format("line {}", number);
        const std::size_t tab = line.find('\t');
        const bool isSynset = tab == std::string::npos && line.size() > kWordNetLength &&
                              line[kWordNetLength] == ' ' &&
                              isWordNetId(std::string_view(line).substr(0, kWordNetLength));
        if (isSynset) {
            const std::string synonyms = line.substr(kWordNetLength + 1);
            reader.add(line.substr(0, kWordNetLength), synonyms.substr(0, synonyms.find(',')),
                       place);
            continue;
        }
        if (tab == std::string::npos)
            reader.refuse(place, "label, tab, name are needed");
        reader.add(line.substr(0, tab), line.substr(tab + 1), place);
    }
}

std::string nameOfFolder(std::string label)
{
    std::replace(label.begin(), label.end(), '_', ' ');
    return collapsedBlanks(label);
}

void refuseWordNetIds(const std::vector<std::string>& labels)
{
    const auto id = std::find_if(labels.begin(), labels.end(), isWordNetId);
    if (id == labels.end())
        return;
    throw InputError(fmt::format(
        "Folders such as {} are WordNet ids, and prompts made of ids mean nothing to a model. Set "
        "labels.class_map to a JSON or TSV file with a name for every folder.",
        *id));
}

void noteDoubles(StudyClasses& classes)
{
    std::set<std::string> seen, twice;
    for (const std::string& name : classes.names) {
        if (!seen.insert(name).second)
            twice.insert(name);
    }
    if (!twice.empty())
        classes.notes.push_back(fmt::format(
            "{} names stand for several classes (\"{}\"); images of them have margin 0.",
            twice.size(), *twice.begin()));
}

} // namespace

ClassMap readClassMap(const std::filesystem::path& path)
{
    const std::string text = readFile(path);
    MapReader reader(path.string());
    if (path.extension() == ".json")
        readJson(parseJson(text, path.string()), reader);
    else
        readLines(text, reader);
    return reader.take();
}

StudyClasses studyClasses(const ImageSet& images, const ClassMap& map)
{
    StudyClasses classes;
    std::map<std::string, int> indices;
    const auto add = [&](const std::string& label, const std::string& name) {
        indices.emplace(label, static_cast<int>(classes.names.size()));
        classes.names.push_back(name);
    };
    std::vector<std::string> labels = images.labels();
    std::erase(labels, std::string());
    if (map.empty()) {
        refuseWordNetIds(labels);
        for (const std::string& label : labels)
            add(label, nameOfFolder(label));
    }
    for (const auto& [label, name] : map)
        add(label, name);
    if (classes.names.size() < 2)
        throw InputError(
            fmt::format("Zero-shot judgement needs at least two classes, there are {}. "
                        "Put the images into folders by class, or set "
                        "labels.class_map.",
                        classes.names.size()));
    std::size_t unknown = 0;
    for (const StudyImage& image : images.images) {
        const auto found = indices.find(image.label);
        classes.truth.push_back(found == indices.end() ? -1 : found->second);
        unknown += found == indices.end();
    }
    const bool knowsNone = !map.empty() && !labels.empty() && unknown == images.images.size();
    if (knowsNone)
        throw InputError(fmt::format("The class map knows none of the {} folders, for instance {}; "
                                     "it belongs to other images.",
                                     labels.size(), labels.front()));
    if (unknown > 0)
        classes.notes.push_back(fmt::format(
            "{} of {} images have no label among the classes; they count for everything but "
            "accuracy and error.",
            unknown, images.images.size()));
    noteDoubles(classes);
    return classes;
}

} // namespace vergence::mc_embedding
