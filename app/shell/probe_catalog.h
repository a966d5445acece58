#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include <QObject>
#include <QThread>

#include "app/shell/plugin_info.h"
#include "core/plugin/plugin_registry.h"

namespace vergence {

/// A plugin that reads a folder, and how.
struct FolderTaker {
    QString plugin;
    TakenFolder kind;
};

/// All plugins with what a probe process says of them. Works in a thread of its own: no plugin code
/// is ever loaded here, and the window never waits.
class ProbeCatalog : public QObject {
    Q_OBJECT
public:
    ProbeCatalog(PluginSearch search, QString workerExecutable, QObject* parent = nullptr);
    ~ProbeCatalog() override;

    /// Looks for plugins again and probes those whose answer is not cached. A scan under way goes
    /// first.
    void scan();
    bool isComplete() const { return m_isComplete; } ///< a scan has ended

    const std::vector<PluginInfo>& plugins() const { return m_plugins; }
    const PluginInfo*
    find(const QString& id) const; ///< the usable one; null where unknown or refused
    /// The first usable plugin that opens files of this name; null where none does.
    const PluginInfo* opening(const QString& fileName) const;
    /// The usable plugins that read this folder: those that know it by a file of a fixed name, else
    /// those that know it by a kind of file.
    std::vector<FolderTaker> taking(const QString& folder) const;
    /// Plugins that are ready and name a preset for a first try: those that come with the program,
    /// then those of further folders.
    std::vector<const PluginInfo*> demoPlugins() const;
    const PluginSearch& search() const { return m_search; }

    void setEnabled(const QString& id, bool enabled);
    void reloadUserPresets();
    void clearQuarantine(const PluginDescriptor& descriptor);

Q_SIGNALS:
    void completed();

private:
    void take(const std::vector<PluginInfo>& plugins);
    bool isFromFurtherFolder(const PluginInfo& plugin) const;

    PluginSearch m_search;
    QString m_executable;
    std::vector<PluginInfo> m_plugins;
    std::atomic<bool> m_stop{false};
    QThread* m_thread = nullptr;
    bool m_isComplete = false, m_isAgainWanted = false;
};

} // namespace vergence
