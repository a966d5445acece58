#include "core/plugin/plugin_registry.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include <cxxabi.h>
#include <dlfcn.h>

#include <QFile>
#include <QPluginLoader>
#include <QRegularExpression>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/compute/backend.h"
#include "core/plugin/plugin_store.h"

namespace vergence {

namespace {

namespace fs = std::filesystem;

/// `<libdir>/vergence/plugins/api-1` beside this library; the build tree has the same shape as an
/// installation.
fs::path shippedFolder()
{
    Dl_info here{};
    if (!::dladdr(reinterpret_cast<const void*>(&shippedFolder), &here) || !here.dli_fname)
        return {};
    return fs::absolute(here.dli_fname).parent_path() / "vergence/plugins" /
           fmt::format("api-{}", kPluginApi);
}

std::vector<fs::path> candidatesIn(const fs::path& place)
{
    std::error_code code;
    if (fs::is_regular_file(place, code))
        return {place};
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(place, code)) {
        if (entry.path().extension() == ".so")
            files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

/// Whether a CUDA device may exist: module and driver are there. Opens nothing.
bool mayHaveCuda()
{
    std::error_code code;
    const auto folders = moduleFolders();
    const bool hasModule =
        std::any_of(folders.begin(), folders.end(), [&code](const fs::path& folder) {
            return fs::exists(folder / "libvergence-cuda.so", code);
        });
    return hasModule &&
           (fs::exists("/dev/nvidiactl", code) || fs::exists("/proc/driver/nvidia", code));
}

bool isDisabled(const PluginDescriptor& descriptor, const PluginChoices& choices)
{
    if (choices.disabled.contains(descriptor.id))
        return true;
    return descriptor.disabledByDefault && !choices.enabled.contains(descriptor.id);
}

std::string demangled(const std::string& symbol)
{
    int status = 0;
    char* text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
    const std::string readable = status == 0 && text ? text : symbol;
    std::free(text);
    return readable;
}

/// The loader's words as one sentence that names the cause.
std::string loaderSentence(const fs::path& path, const QString& words)
{
    const std::string file = path.filename().string();
    static const QRegularExpression symbol("undefined symbol: ([^\\s,)]+)");
    if (const auto match = symbol.match(words); match.hasMatch()) {
        return fmt::format(
            "`{}` was refused: the symbol `{}` is missing; it was built for another version.", file,
            demangled(match.captured(1).toStdString()));
    }
    static const QRegularExpression library("\\(?([^\\s(]+): cannot open shared object file");
    if (const auto match = library.match(words); match.hasMatch()) {
        return fmt::format("`{}` was refused: it needs the library `{}`, which is not installed.",
                           file, match.captured(1).toStdString());
    }
    return fmt::format("`{}` was refused: it cannot be loaded.", file);
}

} // namespace

PluginRefusal::PluginRefusal(const std::string& reason, std::string details)
    : Error(reason, ExitCode::PluginUnavailable),
      m_details(std::move(details))
{
}
PluginRefusal::~PluginRefusal() = default;

std::vector<fs::path> PluginSearch::folders() const
{
    std::vector<fs::path> folders = extraFolders;
    if (const char* list = std::getenv("VERGENCE_PLUGIN_PATH")) {
        std::stringstream entries(list);
        for (std::string entry; std::getline(entries, entry, ':');) {
            if (!entry.empty())
                folders.emplace_back(entry);
        }
    }
    folders.push_back(dataHome() / "plugins" / fmt::format("api-{}", kPluginApi));
    folders.push_back(shippedFolder());
    return folders;
}

PluginRegistry::PluginRegistry(PluginSearch search) : m_search(std::move(search)) {}

void PluginRegistry::scan()
{
    m_plugins.clear();
    std::set<fs::path> seen;
    for (const fs::path& folder : m_search.folders()) {
        for (const fs::path& file : candidatesIn(folder)) {
            std::error_code code;
            const fs::path real = fs::weakly_canonical(file, code);
            if (seen.insert(code ? file : real).second)
                m_plugins.push_back(judgePlugin(file));
        }
    }
    applyChoices();
    shadowDuplicates();
}

void PluginRegistry::applyChoices()
{
    const QuarantineList quarantine = QuarantineList::read();
    const PluginChoices choices = PluginChoices::read();
    const bool hasCuda = mayHaveCuda();
    for (PluginDescriptor& plugin : m_plugins) {
        if (plugin.state != PluginState::Ready)
            continue;
        if (m_search.safeMode) {
            plugin.state = PluginState::Disabled;
            plugin.reason = "Safe mode is on: no plugin is opened.";
        } else if (isDisabled(plugin, choices)) {
            plugin.state = PluginState::Disabled;
            plugin.reason =
                fmt::format("{} is switched off; switch it on in the plugin manager.", plugin.name);
        } else if (const auto reason = quarantine.reasonFor(FileStamp::of(plugin.path))) {
            plugin.state = PluginState::Quarantined;
            plugin.reason = *reason;
        } else if (plugin.needsCuda && !hasCuda) {
            plugin.state = PluginState::Needs;
            plugin.reason = fmt::format("{} needs a CUDA device and none was found.", plugin.name);
        }
    }
}

void PluginRegistry::shadowDuplicates()
{
    std::map<std::string, fs::path> winners;
    for (PluginDescriptor& plugin : m_plugins) {
        if (plugin.state == PluginState::Refused || plugin.state == PluginState::Quarantined)
            continue;
        const auto [winner, isFirst] = winners.emplace(plugin.id, plugin.path);
        if (isFirst)
            continue;
        plugin.state = PluginState::Shadowed;
        plugin.reason = fmt::format("Shadowed by `{}`, which has the same id and comes first.",
                                    winner->second.string());
    }
}

const PluginDescriptor* PluginRegistry::find(const std::string& id) const
{
    const PluginDescriptor* first = nullptr;
    for (const PluginDescriptor& plugin : m_plugins) {
        if (plugin.id != id)
            continue;
        if (plugin.state == PluginState::Ready)
            return &plugin;
        if (!first)
            first = &plugin;
    }
    return first;
}

LabPlugin& PluginRegistry::load(const std::string& id)
{
    const PluginDescriptor* descriptor = find(id);
    if (!descriptor)
        throw Error(fmt::format("There is no plugin `{}`.", id), ExitCode::PluginUnavailable);
    return load(*descriptor);
}

LabPlugin& PluginRegistry::load(const PluginDescriptor& descriptor)
{
    if (descriptor.state != PluginState::Ready) {
        throw Error(descriptor.reason, descriptor.state == PluginState::Needs
                                           ? ExitCode::NoDevice
                                           : ExitCode::PluginUnavailable);
    }
    if (const auto loaded = m_loaded.find(descriptor.path); loaded != m_loaded.end())
        return *loaded->second;
    QPluginLoader loader(QFile::decodeName(descriptor.path.c_str()));
    loader.setLoadHints(QLibrary::ResolveAllSymbolsHint | QLibrary::PreventUnloadHint);
    QObject* instance = loader.instance();
    if (!instance) {
        throw PluginRefusal(loaderSentence(descriptor.path, loader.errorString()),
                            loader.errorString().toStdString());
    }
    auto* plugin = qobject_cast<LabPlugin*>(instance);
    if (!plugin) {
        throw PluginRefusal(fmt::format("`{}` was refused: its object does not implement `{}`; "
                                        "Q_INTERFACES may be missing.",
                                        descriptor.path.filename().string(),
                                        VERGENCE_LAB_PLUGIN_IID),
                            instance->metaObject()->className());
    }
    m_loaded[descriptor.path] = plugin;
    return *plugin;
}

std::vector<fs::path> PluginRegistry::kernelModulesFor(const PluginDescriptor& descriptor)
{
    const std::string name = "libvergence-kernels-" + descriptor.id;
    std::vector<fs::path> folders = moduleFolders();
    folders.insert(folders.begin(), descriptor.path.parent_path());
    for (const fs::path& folder : folders) {
        std::error_code code;
        if (!fs::exists(folder / (name + ".so"), code))
            continue;
        std::vector<fs::path> modules{folder / (name + ".so")};
        for (const auto& entry : fs::directory_iterator(folder, code))
            if (entry.path().extension() == ".so" &&
                entry.path().filename().string().starts_with(name + "_"))
                modules.push_back(entry.path());
        std::sort(modules.begin() + 1, modules.end());
        return modules;
    }
    return {};
}

void PluginRegistry::setQuarantined(const PluginDescriptor& descriptor, const std::string& reason)
{
    QuarantineList::add(FileStamp::of(descriptor.path), reason);
    scan();
}

void PluginRegistry::clearQuarantine(const PluginDescriptor& descriptor)
{
    QuarantineList::remove(FileStamp::of(descriptor.path));
    scan();
}

void PluginRegistry::setEnabled(const std::string& id, bool enabled)
{
    PluginChoices choices = PluginChoices::read();
    choices.enabled.erase(id);
    choices.disabled.erase(id);
    (enabled ? choices.enabled : choices.disabled).insert(id);
    choices.write();
    scan();
}

} // namespace vergence
