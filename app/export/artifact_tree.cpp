#include "app/export/artifact_tree.h"

#include <algorithm>
#include <filesystem>

#include <QHeaderView>
#include <QSignalBlocker>

#include "app/export/export_plan.h"

namespace vergence {
namespace {

namespace fs = std::filesystem;
using Files = std::vector<std::pair<std::string, std::uint64_t>>;

} // namespace

Files checkpointFiles(const RunFolder& folder)
{
    Files files;
    std::error_code code;
    for (fs::recursive_directory_iterator at(folder.checkpoints(), code), end; !code && at != end;
         at.increment(code))
        if (at->is_regular_file(code) && !at->is_symlink(code))
            files.emplace_back(at->path().lexically_relative(folder.root).generic_string(),
                               at->file_size(code));
    std::ranges::sort(files);
    return files;
}

ArtifactTree::ArtifactTree(const RunFolder& folder, QWidget* parent) : QTreeWidget(parent)
{
    setObjectName(QStringLiteral("exportTree"));
    setAccessibleName(tr("Files of the run"));
    setHeaderLabels({tr("File"), tr("Size")});
    header()->setStretchLastSection(false);
    header()->setSectionResizeMode(0, QHeaderView::Stretch);
    header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
    setUniformRowHeights(true);
    const QSignalBlocker blocker(this);
    for (const auto& [path, bytes] : bundleFiles(folder)) {
        const fs::path relative(path);
        QTreeWidgetItem* parentItem = folderItem(relative.parent_path().generic_string());
        auto* item = new QTreeWidgetItem(
            parentItem, {QString::fromStdString(relative.filename().string()), sizeText(bytes)});
        item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsUserCheckable);
        item->setCheckState(0, Qt::Checked);
        item->setTextAlignment(1, Qt::AlignRight | Qt::AlignVCenter);
        item->setToolTip(0, QString::fromStdString(path));
        m_files.push_back({path, bytes, item});
    }
    expandToDepth(0);
    connect(this, &QTreeWidget::itemChanged, this, &ArtifactTree::ticksChanged);
}

QTreeWidgetItem* ArtifactTree::folderItem(const std::string& path)
{
    if (path.empty())
        return invisibleRootItem();
    QTreeWidgetItem*& item = m_folders[path];
    if (item == nullptr) {
        const fs::path whole(path);
        item = new QTreeWidgetItem(folderItem(whole.parent_path().generic_string()),
                                   {QString::fromStdString(whole.filename().string())});
        item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsUserCheckable |
                       Qt::ItemIsAutoTristate);
        item->setCheckState(0, Qt::Checked);
    }
    return item;
}

bool ArtifactTree::isComplete() const
{
    return std::ranges::all_of(
        m_files, [](const File& file) { return file.item->checkState(0) == Qt::Checked; });
}

std::vector<std::string> ArtifactTree::ticked() const
{
    std::vector<std::string> paths;
    for (const File& file : m_files)
        if (file.item->checkState(0) == Qt::Checked)
            paths.push_back(file.path);
    return paths;
}

std::uint64_t ArtifactTree::tickedBytes() const
{
    std::uint64_t bytes = 0;
    for (const File& file : m_files)
        if (file.item->checkState(0) == Qt::Checked)
            bytes += file.bytes;
    return bytes;
}

} // namespace vergence
