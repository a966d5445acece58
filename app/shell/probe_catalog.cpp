#include "app/shell/probe_catalog.h"

#include <algorithm>
#include <tuple>

#include "core/base/error.h"
#include "core/base/log.h"

namespace vergence {

namespace {

constexpr int kProbeLimitMs = 5000;

PluginInfo probeOne(PluginRegistry& registry, const PluginDescriptor& descriptor,
                    const QString& executable)
{
    PluginInfo info;
    info.descriptor = descriptor;
    try {
        const auto description =
            registry.probe(info.descriptor, executable.toStdString(), kProbeLimitMs);
        if (description)
            readDescription(*description, info);
    } catch (const std::exception& error) {
        info.schema.reset();
        info.descriptor.state = PluginState::Refused;
        info.descriptor.reason = "The plugin's description cannot be read.";
        info.descriptor.details = error.what();
    }
    return info;
}

} // namespace

ProbeCatalog::ProbeCatalog(PluginSearch search, QString workerExecutable, QObject* parent)
    : QObject(parent),
      m_search(std::move(search)),
      m_executable(std::move(workerExecutable))
{
}

ProbeCatalog::~ProbeCatalog()
{
    m_stop = true;
    if (m_thread == nullptr)
        return;
    m_thread->wait();
    delete m_thread;
}

void ProbeCatalog::scan()
{
    if (m_thread != nullptr) {
        m_isAgainWanted = true;
        return;
    }
    m_thread = QThread::create([this] {
        PluginRegistry registry(m_search);
        registry.scan();
        std::vector<PluginInfo> plugins;
        for (const PluginDescriptor& descriptor : registry.plugins())
            plugins.push_back({descriptor, {}, {}, {}, {}});
        for (PluginInfo& plugin : plugins) {
            if (m_stop)
                return;
            plugin = probeOne(registry, plugin.descriptor, m_executable);
        }
        QMetaObject::invokeMethod(this, [this, plugins] { take(plugins); });
    });
    connect(m_thread, &QThread::finished, this, [this] {
        m_thread->deleteLater();
        m_thread = nullptr;
        if (std::exchange(m_isAgainWanted, false))
            scan();
    });
    m_thread->start();
}

void ProbeCatalog::take(const std::vector<PluginInfo>& plugins)
{
    m_plugins = plugins;
    reloadUserPresets();
    m_isComplete = true;
    Q_EMIT completed();
}

void ProbeCatalog::reloadUserPresets()
{
    for (PluginInfo& plugin : m_plugins) {
        std::erase_if(plugin.presets, [](const FormPreset& preset) { return preset.isUserPreset; });
        if (!plugin.isUsable())
            continue;
        for (FormPreset& preset : userPresets(plugin.id()))
            plugin.presets.push_back(std::move(preset));
    }
}

const PluginInfo* ProbeCatalog::opening(const QString& fileName) const
{
    for (const PluginInfo& plugin : m_plugins)
        if (plugin.isUsable() && plugin.opened(fileName) != nullptr)
            return &plugin;
    return nullptr;
}

std::vector<FolderTaker> ProbeCatalog::taking(const QString& folder) const
{
    const auto takersBy = [&](bool pattern) {
        std::vector<FolderTaker> takers;
        for (const PluginInfo& plugin : m_plugins)
            if (const TakenFolder* kind =
                    plugin.isUsable() ? plugin.taking(folder, pattern) : nullptr)
                takers.push_back({plugin.id(), *kind});
        return takers;
    };
    const std::vector<FolderTaker> named = takersBy(false);
    return named.empty() ? takersBy(true) : named;
}

const PluginInfo* ProbeCatalog::find(const QString& id) const
{
    for (const PluginInfo& plugin : m_plugins)
        if (plugin.isUsable() && plugin.id() == id)
            return &plugin;
    return nullptr;
}

std::vector<const PluginInfo*> ProbeCatalog::demoPlugins() const
{
    std::vector<const PluginInfo*> demos;
    for (const PluginInfo& plugin : m_plugins)
        if (plugin.isUsable() && plugin.descriptor.state == PluginState::Ready &&
            plugin.preset(QString::fromStdString(plugin.descriptor.demo)) != nullptr)
            demos.push_back(&plugin);
    std::ranges::stable_sort(demos, {}, [this](const PluginInfo* plugin) {
        // Labs with several demos have names for them and stand behind those with one.
        return std::tuple(isFromFurtherFolder(*plugin), plugin->descriptor.demo != "demo",
                          plugin->id());
    });
    return demos;
}

bool ProbeCatalog::isFromFurtherFolder(const PluginInfo& plugin) const
{
    const auto folder = plugin.descriptor.path.parent_path();
    return std::ranges::any_of(m_search.extraFolders, [&](const std::filesystem::path& further) {
        std::error_code ignored;
        return std::filesystem::equivalent(folder, further, ignored);
    });
}

void ProbeCatalog::setEnabled(const QString& id, bool enabled)
{
    PluginRegistry(m_search).setEnabled(id.toStdString(), enabled);
    scan();
}

void ProbeCatalog::clearQuarantine(const PluginDescriptor& descriptor)
{
    PluginRegistry(m_search).clearQuarantine(descriptor);
    scan();
}

} // namespace vergence
