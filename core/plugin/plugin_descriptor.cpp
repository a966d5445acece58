#include "core/plugin/plugin_descriptor.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <initializer_list>

#include <elf.h>

#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QPluginLoader>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.h"
#include "core/plugin/lab_plugin.h"

namespace vergence {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::array<const char*, 6> kStateNames = {"Ready",   "Disabled",    "Needs",
                                                    "Refused", "Quarantined", "Shadowed"};

bool looksLikeText(const char* bytes, std::size_t count)
{
    return std::all_of(bytes, bytes + count, [](char c) {
        const auto u = static_cast<unsigned char>(c);
        return u >= 0x80 || std::isprint(u) || std::isspace(u);
    });
}

#if defined(__x86_64__)
constexpr int kOwnMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr int kOwnMachine = EM_AARCH64;
#elif defined(__riscv)
constexpr int kOwnMachine = EM_RISCV;
#else
#error "Name the ELF machine of this processor."
#endif

/// What speaks against an ELF header in a file of `size` bytes; empty where it is whole and for
/// this processor.
std::string elfProblem(const Elf64_Ehdr& header, std::uintmax_t size)
{
    if (header.e_ident[EI_CLASS] != ELFCLASS64)
        return "it is a 32-bit library";
    if (header.e_machine != kOwnMachine)
        return "it is built for another processor";
    if (header.e_type != ET_DYN)
        return "it is an ELF file but not a shared library";
    const std::uintmax_t end =
        header.e_shoff + static_cast<std::uintmax_t>(header.e_shnum) * header.e_shentsize;
    if (end > size)
        return fmt::format("it is truncated ({} of at least {} bytes); copy it again", size, end);
    return {};
}

/// What speaks against the file itself, before any look at metadata; empty where it is a whole
/// shared library.
std::string fileProblem(const fs::path& path)
{
    std::error_code code;
    const auto status = fs::status(path, code);
    if (!fs::exists(status))
        return "there is no such file";
    if (!fs::is_regular_file(status))
        return "it is not a plain file";
    std::ifstream file(path, std::ios::binary);
    if (!file)
        return fmt::format("it cannot be read ({})", std::strerror(errno));
    std::array<char, sizeof(Elf64_Ehdr)> bytes{};
    file.read(bytes.data(), bytes.size());
    const auto count = static_cast<std::size_t>(file.gcount());
    if (count == 0)
        return "it is empty";
    if (std::memcmp(bytes.data(), ELFMAG, std::min<std::size_t>(count, SELFMAG)) != 0) {
        return looksLikeText(bytes.data(), count) ? "it is a text file, not a shared library"
                                                  : "it is not a shared library";
    }
    if (count < sizeof(Elf64_Ehdr))
        return fmt::format("it is truncated ({} bytes); copy it again", count);
    Elf64_Ehdr header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    return elfProblem(header, fs::file_size(path, code));
}

std::string textOf(const json& object, const char* key)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// A list of texts; a single text counts as a list of one.
std::vector<std::string> textsOf(const json& object, const char* key)
{
    std::vector<std::string> texts;
    const auto found = object.find(key);
    if (found == object.end())
        return texts;
    if (found->is_string())
        texts.push_back(found->get<std::string>());
    else if (found->is_array()) {
        for (const json& entry : *found) {
            if (entry.is_string())
                texts.push_back(entry.get<std::string>());
        }
    }
    return texts;
}

int apiNumber(const json& object, const char* key)
{
    const auto api = object.find("api");
    if (api == object.end() || !api->is_object())
        return 0;
    const auto number = api->find(key);
    return number != api->end() && number->is_number_integer() ? number->get<int>() : 0;
}

/// A fact that the build knows: given to moc (top level, a list of one), or written in the
/// descriptor by hand.
std::string buildFact(const json& metaData, const json& object, const char* key)
{
    const auto given = textsOf(metaData, key);
    const std::string fact = given.empty() ? textOf(object, key) : given.front();
    return fact.starts_with('@') ? std::string() : fact;
}

/// `"requires": {"cuda": ">=12.0", "vram_gib": 6, "optional": ["cuda"]}` as lines for people.
void readRequirements(PluginDescriptor& descriptor, const json& object)
{
    const auto found = object.find("requires");
    if (found == object.end() || !found->is_object())
        return;
    const auto optional = textsOf(*found, "optional");
    for (const auto& [key, value] : found->items()) {
        const bool isOptional = std::find(optional.begin(), optional.end(), key) != optional.end();
        if (key == "optional" || isOptional)
            continue;
        descriptor.requirements.push_back(
            fmt::format("{} {}", key, value.is_string() ? value.get<std::string>() : value.dump()));
        descriptor.needsCuda = descriptor.needsCuda || key == "cuda";
    }
    for (const std::string& key : optional) {
        const std::string version = textOf(*found, key.c_str());
        descriptor.requirements.push_back(
            fmt::format("{}{}{} (optional)", key, version.empty() ? "" : " ", version));
    }
}

/// `"opens": [{"suffix": "ply", "key": "input.gaussians", "preset": "view"}]`; entries without
/// suffix or key are left out.
std::vector<OpenedFile> readOpened(const json& object)
{
    std::vector<OpenedFile> opens;
    const auto list = object.find("opens");
    if (list == object.end() || !list->is_array())
        return opens;
    for (const json& entry : *list) {
        OpenedFile file;
        if (entry.is_object())
            file = {textOf(entry, "suffix"), textOf(entry, "key"), textOf(entry, "preset")};
        if (!file.suffix.empty() && !file.key.empty())
            opens.push_back(std::move(file));
    }
    return opens;
}

json opensToJson(const std::vector<OpenedFile>& opens)
{
    json list = json::array();
    for (const OpenedFile& file : opens)
        list.push_back({{"suffix", file.suffix}, {"key", file.key}, {"preset", file.preset}});
    return list;
}

/// `"takes": [{"markers": ["sparse/0/cameras.bin"], "key": "scene", "preset": "quick", "set":
/// []}]`; entries without markers or key are left out.
std::vector<TakenFolder> readTaken(const json& object)
{
    std::vector<TakenFolder> takes;
    const auto list = object.find("takes");
    if (list == object.end() || !list->is_array())
        return takes;
    for (const json& entry : *list) {
        TakenFolder folder;
        if (entry.is_object())
            folder = {textsOf(entry, "markers"), textOf(entry, "key"), textOf(entry, "preset"),
                      textsOf(entry, "set")};
        if (!folder.markers.empty() && !folder.key.empty())
            takes.push_back(std::move(folder));
    }
    return takes;
}

json takesToJson(const std::vector<TakenFolder>& takes)
{
    json list = json::array();
    for (const TakenFolder& folder : takes)
        list.push_back({{"markers", folder.markers},
                        {"key", folder.key},
                        {"preset", folder.preset},
                        {"set", folder.set}});
    return list;
}

void readDescriptor(PluginDescriptor& descriptor, const json& metaData, const json& object)
{
    descriptor.id = textOf(object, "id");
    descriptor.name = textOf(object, "name");
    descriptor.version = textOf(object, "version");
    descriptor.vendor = textOf(object, "vendor");
    descriptor.license = textOf(object, "license");
    descriptor.url = textOf(object, "url");
    descriptor.summary = textOf(object, "summary");
    if (descriptor.summary.empty())
        descriptor.summary = textOf(object, "description");
    descriptor.category = textOf(object, "category");
    descriptor.apiMin = apiNumber(object, "min");
    descriptor.apiMax = apiNumber(object, "max");
    descriptor.qt = buildFact(metaData, object, "qt");
    descriptor.abi = buildFact(metaData, object, "abi");
    descriptor.build = buildFact(metaData, object, "build");
    descriptor.capabilities = textsOf(object, "capabilities");
    descriptor.literature = textsOf(object, "literature");
    descriptor.opens = readOpened(object);
    descriptor.takes = readTaken(object);
    readRequirements(descriptor, object);
    const auto demo = object.find("demo");
    if (demo != object.end())
        descriptor.demo = demo->is_string() ? demo->get<std::string>()
                          : *demo == true   ? "demo"
                                            : "";
    const auto disabled = object.find("disabled_by_default");
    descriptor.disabledByDefault = disabled != object.end() && *disabled == true;
}

std::string missingKeys(const PluginDescriptor& d)
{
    std::vector<std::string> missing;
    const auto require = [&missing](bool given, const char* key) {
        if (!given)
            missing.push_back(fmt::format("`{}`", key));
    };
    require(!d.id.empty(), "id");
    require(!d.name.empty(), "name");
    require(!d.version.empty(), "version");
    require(d.apiMin > 0, "api.min");
    require(d.apiMax > 0, "api.max");
    require(!d.qt.empty(), "qt");
    require(!d.abi.empty(), "abi");
    require(!d.build.empty(), "build");
    return fmt::format("{}", fmt::join(missing, ", "));
}

bool isPlainId(const std::string& id)
{
    return std::islower(static_cast<unsigned char>(id.front())) &&
           std::all_of(id.begin(), id.end(), [](unsigned char c) {
               return std::islower(c) || std::isdigit(c) || c == '_';
           });
}

/// Major and minor number of a declared Qt version as major * 256 + minor, or 0 where it is not
/// one.
int qtNumber(const std::string& version)
{
    int major = 0, minor = 0;
    return std::sscanf(version.c_str(), "%d.%d", &major, &minor) == 2 ? major * 256 + minor : 0;
}

std::string apiProblem(const PluginDescriptor& d)
{
    if (d.apiMin <= kPluginApi && kPluginApi <= d.apiMax)
        return {};
    const std::string wanted =
        d.apiMin == d.apiMax ? std::to_string(d.apiMin) : fmt::format("{}-{}", d.apiMin, d.apiMax);
    return fmt::format("it needs plugin API {}, this version offers {}", wanted, kPluginApi);
}

std::string qtProblem(const PluginDescriptor& d, const json& metaData)
{
    const int host = QT_VERSION >> 8;
    int wanted = qtNumber(d.qt);
    if (wanted == 0)
        return fmt::format("its Qt version `{}` cannot be read", d.qt);
    const auto compiled = metaData.find("version");
    if (compiled != metaData.end() && compiled->is_number_integer())
        wanted = std::max(wanted, compiled->get<int>() >> 8);
    if (wanted >> 8 == host >> 8 && wanted <= host)
        return {};
    return fmt::format("it was built with Qt {}.{}, this installation has {}", wanted >> 8,
                       wanted & 0xff, qVersion());
}

/// What speaks against a descriptor that was read; empty where it may be loaded.
std::string descriptorProblem(const PluginDescriptor& d, const json& metaData)
{
    if (const std::string missing = missingKeys(d); !missing.empty())
        return fmt::format("its descriptor lacks {}", missing);
    if (!isPlainId(d.id))
        return fmt::format("its id `{}` may hold only small letters, digits and underscores", d.id);
    if (const std::string problem = apiProblem(d); !problem.empty())
        return problem;
    if (const std::string problem = qtProblem(d, metaData); !problem.empty())
        return problem;
    if (d.abi != VERGENCE_ABI_TAG)
        return fmt::format("it was built with `{}`, this version with `{}`", d.abi,
                           VERGENCE_ABI_TAG);
    return {};
}

/// Reads Qt's metadata into the descriptor; what speaks against it, or empty.
std::string metadataProblem(PluginDescriptor& descriptor)
{
    const QPluginLoader loader(QFile::decodeName(descriptor.path.c_str()));
    const QByteArray text = QJsonDocument(loader.metaData()).toJson(QJsonDocument::Compact);
    const json metaData = json::parse(text.begin(), text.end(), nullptr, false);
    if (!metaData.is_object() || !metaData.contains("IID")) {
        descriptor.details = loader.errorString().toStdString();
        return "it is a plain library without plugin metadata";
    }
    if (const std::string iid = textOf(metaData, "IID"); iid != VERGENCE_LAB_PLUGIN_IID)
        return fmt::format("its interface is `{}`, this version offers `{}`", iid,
                           VERGENCE_LAB_PLUGIN_IID);
    const json object = metaData.value("MetaData", json::object());
    readDescriptor(descriptor, metaData, object.is_object() ? object : json::object());
    return descriptorProblem(descriptor, metaData);
}

} // namespace

std::string nameOf(PluginState state)
{
    return kStateNames[static_cast<std::size_t>(state)];
}

PluginDescriptor judgePlugin(const fs::path& path)
{
    PluginDescriptor descriptor;
    std::error_code code;
    descriptor.path = fs::absolute(path, code).lexically_normal();
    std::string problem = fileProblem(descriptor.path);
    if (problem.empty())
        problem = metadataProblem(descriptor);
    if (!problem.empty()) {
        descriptor.reason = fmt::format("`{}` was refused: {}.", path.filename().string(), problem);
        return descriptor;
    }
    descriptor.state = PluginState::Ready;
    if (descriptor.build != VERGENCE_BUILD_TAG) {
        descriptor.details =
            fmt::format("Built as {}, this version as {}; on Linux the two work together.",
                        descriptor.build, VERGENCE_BUILD_TAG);
    }
    return descriptor;
}

json toJson(const PluginDescriptor& d)
{
    return {{"path", d.path.string()},
            {"state", nameOf(d.state)},
            {"reason", d.reason},
            {"details", d.details},
            {"id", d.id},
            {"name", d.name},
            {"version", d.version},
            {"vendor", d.vendor},
            {"license", d.license},
            {"url", d.url},
            {"summary", d.summary},
            {"category", d.category},
            {"api", {{"min", d.apiMin}, {"max", d.apiMax}}},
            {"qt", d.qt},
            {"abi", d.abi},
            {"build", d.build},
            {"capabilities", d.capabilities},
            {"requirements", d.requirements},
            {"literature", d.literature},
            {"opens", opensToJson(d.opens)},
            {"takes", takesToJson(d.takes)},
            {"needs_cuda", d.needsCuda},
            {"disabled_by_default", d.disabledByDefault},
            {"demo", d.demo}};
}

PluginDescriptor descriptorFromJson(const json& object)
{
    expects(object.is_object(), "plugin descriptor: a JSON object");
    PluginDescriptor d;
    readDescriptor(d, json::object(), object);
    d.path = textOf(object, "path");
    d.reason = textOf(object, "reason");
    d.details = textOf(object, "details");
    d.requirements = textsOf(object, "requirements");
    d.needsCuda = object.value("needs_cuda", json(false)) == true;
    const auto name = std::find(kStateNames.begin(), kStateNames.end(), textOf(object, "state"));
    d.state = name == kStateNames.end() ? PluginState::Refused
                                        : static_cast<PluginState>(name - kStateNames.begin());
    return d;
}

} // namespace vergence
