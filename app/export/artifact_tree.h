#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <QTreeWidget>

#include "core/artifact/bundle.h"

namespace vergence {

/// Files of a run with sizes and ticks (`exportTree`); folders tick what is in them.
class ArtifactTree : public QTreeWidget {
    Q_OBJECT
public:
    explicit ArtifactTree(const RunFolder& folder, QWidget* parent = nullptr);

    bool isComplete() const;                 ///< every file is ticked
    std::vector<std::string> ticked() const; ///< relative paths
    std::uint64_t tickedBytes() const;
    int fileCount() const { return static_cast<int>(m_files.size()); }

Q_SIGNALS:
    void ticksChanged();

private:
    QTreeWidgetItem* folderItem(const std::string& path);

    struct File {
        std::string path;
        std::uint64_t bytes = 0;
        QTreeWidgetItem* item = nullptr;
    };
    std::vector<File> m_files;
    std::map<std::string, QTreeWidgetItem*> m_folders;
};

/// The same of its checkpoints as bundleFiles() says of the rest.
std::vector<std::pair<std::string, std::uint64_t>> checkpointFiles(const RunFolder& folder);

} // namespace vergence
