#include "app/shell/runs_panel.h"

#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QStyledItemDelegate>
#include <QTreeView>
#include <QVBoxLayout>

#include "core/artifact/checkpoint.h"

namespace vergence {

namespace {

/// Fills an editor once: a change of the row meanwhile leaves alone what somebody types.
class RunDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void setEditorData(QWidget* editor, const QModelIndex& index) const override
    {
        constexpr const char* kIsFilled = "isFilled";
        if (editor->property(kIsFilled).toBool())
            return;
        QStyledItemDelegate::setEditorData(editor, index);
        editor->setProperty(kIsFilled, true);
    }

protected:
    /// Rows that are not read yet are as high as others, or an editor below them would be left
    /// behind.
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override
    {
        QStyledItemDelegate::initStyleOption(option, index);
        if (index.column() == RunListModel::State)
            option->features |= QStyleOptionViewItem::HasDecoration;
    }
};

} // namespace

bool isAllowed(RunAction action, const RunEntry& run)
{
    const auto allows = [&run](RunEvent event) { return next(run.state, event).has_value(); };
    const bool hasEnded = run.isLoaded && run.hasEnded();
    switch (action) {
    case RunAction::Open:
    case RunAction::ShowFolder:
        return true;
    case RunAction::UseConfig:
        return std::filesystem::exists(run.folder.config());
    case RunAction::Pause:
        return allows(RunEvent::PauseRequested);
    case RunAction::Resume:
        return run.state == RunState::Paused ||
               (hasEnded && run.state != RunState::Completed &&
                (run.isSubmitted() || !listCheckpoints(run.folder).empty()));
    case RunAction::ResumeHere:
        return run.isSubmitted() && hasEnded && run.state != RunState::Completed;
    case RunAction::Fetch:
        return run.isLoaded && run.remote;
    case RunAction::Stop:
        return allows(RunEvent::StopRequested) ||
               (run.state == RunState::Queued && run.isSubmitted());
    case RunAction::Kill:
        return isLive(run.state);
    case RunAction::Extend:
        return (run.state == RunState::Completed || run.state == RunState::Stopped) &&
               run.total > 0;
    case RunAction::Explore:
        return hasEnded && !listCheckpoints(run.folder).empty();
    case RunAction::Rename:
    case RunAction::Tag:
    case RunAction::Export:
        return run.isLoaded;
    case RunAction::CopyCommand:
        return std::filesystem::exists(run.folder.manifest());
    case RunAction::MarkStopped: // a copy would follow the run there again
        return !run.remote &&
               (run.state == RunState::Lost || (run.state == RunState::Queued && !run.job));
    case RunAction::Trash:
        return hasEnded;
    }
    return false;
}

RunsPanel::RunsPanel(RunListModel& runs, QWidget* parent) : QWidget(parent), m_runs(runs)
{
    m_pattern = new QLineEdit(this);
    m_pattern->setObjectName("runsFilter");
    m_pattern->setPlaceholderText(tr("Filter runs"));
    m_pattern->setAccessibleName(tr("Filter of the runs"));
    m_pattern->setClearButtonEnabled(true);
    m_filter.setSourceModel(&runs);
    m_filter.setFilterKeyColumn(-1);
    m_filter.setFilterCaseSensitivity(Qt::CaseInsensitive);
    m_filter.setSortRole(RunListModel::SortRole);
    m_empty = new QLabel(this);
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setWordWrap(true);
    m_empty->setTextInteractionFlags(Qt::LinksAccessibleByMouse | Qt::LinksAccessibleByKeyboard);
    makeView();
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(4, 4, 4, 4);
    column->addWidget(m_pattern);
    column->addWidget(m_empty, 1);
    column->addWidget(m_view, 1);
    connect(m_pattern, &QLineEdit::textChanged, this, [this](const QString& text) {
        m_filter.setFilterFixedString(text);
        showState();
    });
    connect(m_empty, &QLabel::linkActivated, this, [this](const QString& link) {
        if (link == QLatin1String("demo"))
            Q_EMIT demoRequested();
        else
            m_pattern->clear();
    });
    connect(m_view->selectionModel(), &QItemSelectionModel::currentChanged, this,
            [this] { Q_EMIT currentChanged(currentId()); });
    connect(m_view, &QTreeView::doubleClicked, this,
            [this] { Q_EMIT actionRequested({currentId()}, RunAction::Open); });
    connect(m_view, &QTreeView::customContextMenuRequested, this, &RunsPanel::showMenu);
    connect(&m_filter, &QAbstractItemModel::modelReset, this, &RunsPanel::showState);
    connect(&m_filter, &QAbstractItemModel::rowsInserted, this, &RunsPanel::showState);
    connect(&m_filter, &QAbstractItemModel::rowsRemoved, this, &RunsPanel::showState);
    connect(&runs, &RunListModel::scanFinished, this, &RunsPanel::showState);
    showState();
}

void RunsPanel::makeView()
{
    m_view = new QTreeView(this);
    m_view->setObjectName("runsView");
    m_view->setAccessibleName(tr("Runs"));
    m_view->setRootIsDecorated(false);
    m_view->setUniformRowHeights(true);
    m_view->setSelectionMode(QAbstractItemView::ExtendedSelection);
    m_view->setContextMenuPolicy(Qt::CustomContextMenu);
    m_view->setEditTriggers(QAbstractItemView::NoEditTriggers); // edit() is the one way in
    m_view->setItemDelegate(new RunDelegate(m_view));
    m_view->setModel(&m_filter);
    m_view->setSortingEnabled(true);
    m_view->sortByColumn(-1, Qt::AscendingOrder); // newest first, as the model has them
    const int widths[] = {125, 180, 90, 90, 80, 90, 80};
    for (int column = 0; column < RunListModel::ColumnCount; ++column)
        m_view->header()->resizeSection(column, widths[column]);
}

QString RunsPanel::currentId() const
{
    return m_view->currentIndex().data(RunListModel::IdRole).toString();
}

QStringList RunsPanel::selectedIds() const
{
    QStringList ids;
    for (const QModelIndex& index : m_view->selectionModel()->selectedRows())
        ids << index.data(RunListModel::IdRole).toString();
    return ids;
}

void RunsPanel::select(const QString& id)
{
    const int row = m_runs.rowOf(id);
    if (row >= 0)
        m_view->setCurrentIndex(m_filter.mapFromSource(m_runs.index(row, 0)));
}

void RunsPanel::edit(const QString& id, RunListModel::Column column)
{
    const auto cell = [&] {
        return m_filter.mapFromSource(m_runs.index(m_runs.rowOf(id), column));
    };
    if (!cell().isValid())
        m_pattern->clear(); // it hides the run
    if (!cell().isValid())
        return;
    m_view->setCurrentIndex(cell());
    m_view->scrollTo(cell());
    m_view->edit(cell());
}

void RunsPanel::focusFilter()
{
    m_pattern->setFocus();
    m_pattern->selectAll();
}

void RunsPanel::showState()
{
    const bool isEmpty = m_filter.rowCount() == 0;
    m_view->setVisible(!isEmpty);
    m_empty->setVisible(isEmpty);
    m_pattern->setVisible(m_runs.rowCount() > 0);
    if (m_runs.rowCount() > 0)
        m_empty->setText(tr("No run matches “%1”. <a href=\"all\">Show all</a>")
                             .arg(m_pattern->text().toHtmlEscaped()));
    else if (m_runs.isScanning())
        m_empty->setText(tr("Reading the runs…"));
    else
        m_empty->setText(tr("No runs yet.<br><a href=\"demo\">Run the demo</a>, or choose a preset "
                            "in the setup and press Start."));
}

void RunsPanel::showMenu(const QPoint& position)
{
    const QStringList ids = selectedIds();
    const RunEntry* run = ids.isEmpty() ? nullptr : m_runs.find(ids.front());
    if (run == nullptr)
        return;
    const bool goesBack = run->hasEnded() && !run->isSubmitted();
    const struct {
        RunAction action;
        QString text;
        bool endsGroup;
    } entries[] = {
        {RunAction::Open, tr("Open"), false},
        {RunAction::Explore, tr("Explore"), false},
        {RunAction::UseConfig, tr("Use config"), true},
        {RunAction::Rename, tr("Rename…"), false},
        {RunAction::Tag, tr("Tags…"), true},
        {RunAction::Pause, tr("Pause"), false},
        {RunAction::Resume, goesBack ? tr("Resume from checkpoint") : tr("Resume"), false},
        {RunAction::ResumeHere, tr("Resume here"), false},
        {RunAction::Fetch, tr("Fetch results"), false},
        {RunAction::Extend, tr("Extend…"), false},
        {RunAction::Stop, tr("Stop"), false},
        {RunAction::Kill, tr("Kill the worker"), false},
        {RunAction::MarkStopped, tr("Mark as stopped"), true},
        {RunAction::Export, tr("Export…"), false},
        {RunAction::ShowFolder, tr("Open folder"), false},
        {RunAction::CopyCommand, tr("Copy command line"), true},
        {RunAction::Trash, tr("Archive to trash…"), false}};
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    for (const auto& entry : entries) {
        if (isAllowed(entry.action, *run))
            menu->addAction(entry.text, this, [this, ids, action = entry.action] {
                Q_EMIT actionRequested(ids, action);
            });
        if (entry.endsGroup)
            menu->addSeparator();
    }
    menu->popup(m_view->viewport()->mapToGlobal(position));
}

} // namespace vergence
