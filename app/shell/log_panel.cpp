#include "app/shell/log_panel.h"

#include <algorithm>

#include <QAction>
#include <QCheckBox>
#include <QClipboard>
#include <QDesktopServices>
#include <QEvent>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QScrollBar>
#include <QTableView>
#include <QToolButton>
#include <QUrl>
#include <QVBoxLayout>

#include "app/style/theme.h"

namespace vergence {

LogPanel::LogPanel(QWidget* parent) : QWidget(parent)
{
    makeToolBar();
    makeView();
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(4, 4, 4, 4);
    column->setSpacing(4);
    column->addWidget(m_toolBar);
    column->addWidget(m_feedback);
    column->addWidget(m_empty, 1);
    column->addWidget(m_view, 1);
    setLog(nullptr, {});
}

void LogPanel::makeToolBar()
{
    m_toolBar = new QWidget(this);
    auto* row = new QHBoxLayout(m_toolBar);
    row->setContentsMargins(0, 0, 0, 0);
    const QString names[] = {tr("Debug"), tr("Info"), tr("Warnings"), tr("Errors")};
    for (int i = 0; i < 4; ++i) {
        auto* button = m_levels[i] = new QToolButton(this);
        button->setCheckable(true);
        button->setChecked(true);
        button->setObjectName(QString("logLevel%1").arg(i));
        button->setAccessibleName(tr("Show %1").arg(names[i]));
        row->addWidget(button);
        connect(button, &QToolButton::toggled, this, [this, i](bool on) {
            m_filter.setLevelShown(static_cast<LogLevel>(i), on);
            showEmptyState();
        });
    }
    m_pattern = new QLineEdit(this);
    m_pattern->setObjectName("logFilter");
    m_pattern->setPlaceholderText(tr("Filter lines"));
    m_pattern->setAccessibleName(tr("Filter of the log"));
    m_pattern->setClearButtonEnabled(true);
    m_pattern->setMinimumWidth(120);
    m_isExpression = new QToolButton(this);
    m_isExpression->setText(".*");
    m_isExpression->setCheckable(true);
    m_isExpression->setToolTip(tr("The filter is a regular expression"));
    m_isExpression->setAccessibleName(m_isExpression->toolTip());
    m_isExpression->setObjectName("logRegularExpression");
    m_follow = new QCheckBox(tr("Follow"), this);
    m_follow->setChecked(true);
    m_openFile = new QToolButton(this);
    m_openFile->setText(tr("Open file"));
    row->addWidget(m_pattern, 1);
    row->addWidget(m_isExpression);
    row->addWidget(m_follow);
    row->addWidget(m_openFile);
    m_feedback = new QLabel(this);
    m_feedback->setObjectName("logFeedback");
    m_feedback->setWordWrap(true);
    m_feedback->hide();
    connect(m_pattern, &QLineEdit::textChanged, this, &LogPanel::applyFilter);
    connect(m_isExpression, &QToolButton::toggled, this, &LogPanel::applyFilter);
    connect(m_follow, &QCheckBox::toggled, this, &LogPanel::followTail);
    connect(m_openFile, &QToolButton::clicked, this,
            [this] { QDesktopServices::openUrl(QUrl::fromLocalFile(m_file)); });
}

void LogPanel::makeView()
{
    m_empty = new QLabel(this);
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setWordWrap(true);
    m_empty->setTextFormat(Qt::RichText);
    m_empty->setTextInteractionFlags(Qt::LinksAccessibleByMouse | Qt::LinksAccessibleByKeyboard);
    connect(m_empty, &QLabel::linkActivated, this, [this] {
        m_pattern->clear();
        for (QToolButton* button : m_levels)
            button->setChecked(true);
    });
    // A table, not a tree: a tree lays out all its rows anew with every batch of lines.
    m_view = new QTableView(this);
    m_view->setObjectName("logView");
    m_view->setAccessibleName(tr("Log lines"));
    m_view->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_view->setShowGrid(false);
    m_view->setWordWrap(false);
    m_view->setTabKeyNavigation(false);
    m_view->verticalHeader()->hide();
    m_view->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    m_view->setSelectionMode(QAbstractItemView::ExtendedSelection);
    m_view->setModel(&m_filter);
    QHeaderView* header = m_view->horizontalHeader();
    header->setStretchLastSection(true);
    header->setHighlightSections(false);
    header->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    fitRows();
    auto* copy = new QAction(tr("Copy"), m_view);
    copy->setShortcut(QKeySequence::Copy);
    copy->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    auto* copyMarkdown = new QAction(tr("Copy as Markdown"), m_view);
    m_view->addActions({copy, copyMarkdown});
    m_view->setContextMenuPolicy(Qt::ActionsContextMenu);
    connect(copy, &QAction::triggered, this, [this] { copySelection(false); });
    connect(copyMarkdown, &QAction::triggered, this, [this] { copySelection(true); });
    connect(&m_filter, &QAbstractItemModel::rowsInserted, this, &LogPanel::followTail);
    // Scrolling up by hand means reading; scrolling back to the end means following again.
    connect(m_view->verticalScrollBar(), &QScrollBar::actionTriggered, this, [this] {
        QScrollBar* bar = m_view->verticalScrollBar();
        m_follow->setChecked(bar->sliderPosition() >= bar->maximum());
    });
}

void LogPanel::fitRows()
{
    const QFontMetrics metrics = m_view->fontMetrics();
    m_view->verticalHeader()->setDefaultSectionSize(metrics.height() + 4);
    const auto width = [&metrics](const QString& text) { return metrics.horizontalAdvance(text); };
    m_view->setColumnWidth(LogModel::Time, width("00:00:00.000") + 20);
    m_view->setColumnWidth(LogModel::Level, width("warning") + 20);
    m_view->setColumnWidth(LogModel::Source, width(QString(12, u'n')) + 20);
}

void LogPanel::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange && m_view != nullptr)
        fitRows();
}

void LogPanel::setLog(LogModel* log, const QString& file)
{
    if (m_log != nullptr)
        m_log->disconnect(this);
    m_log = log;
    m_file = file;
    m_openFile->setEnabled(!file.isEmpty());
    m_openFile->setToolTip(file.isEmpty() ? tr("No run is selected.") : file);
    m_filter.setSourceModel(log);
    if (log != nullptr) {
        connect(log, &LogModel::countsChanged, this, &LogPanel::showCounts);
        connect(log, &LogModel::countsChanged, this, &LogPanel::countsChanged);
    }
    showCounts();
    followTail();
    Q_EMIT countsChanged();
}

void LogPanel::applyFilter()
{
    const QString fault = m_filter.setPattern(m_pattern->text(), m_isExpression->isChecked());
    m_feedback->setText(fault);
    m_feedback->setVisible(!fault.isEmpty());
    QPalette palette = m_feedback->palette();
    palette.setColor(QPalette::WindowText, errorColour(palette));
    m_feedback->setPalette(palette);
    showEmptyState();
    followTail();
}

void LogPanel::showCounts()
{
    const QString names[] = {tr("Debug"), tr("Info"), tr("Warnings"), tr("Errors")};
    for (int i = 0; i < 4; ++i) {
        const int count = m_log == nullptr ? 0 : m_log->count(static_cast<LogLevel>(i));
        m_levels[i]->setText(tr("%1 %L2").arg(names[i]).arg(count));
    }
    showEmptyState();
}

void LogPanel::showEmptyState()
{
    const int all = m_log == nullptr ? 0 : m_log->rowCount();
    const bool isEmpty = m_filter.rowCount() == 0;
    m_view->setVisible(!isEmpty);
    m_empty->setVisible(isEmpty);
    if (m_log == nullptr)
        m_empty->setText(tr("Open a run to read its log."));
    else if (all == 0)
        m_empty->setText(tr("The run has not written a line yet."));
    else
        m_empty->setText(
            tr("No lines match; %L1 hidden by filters. <a href=\"all\">Show all</a>").arg(all));
}

void LogPanel::followTail()
{
    showEmptyState();
    if (m_follow->isChecked())
        m_view->scrollToBottom();
}

bool LogPanel::jumpToProblem(bool forward)
{
    const int count = m_filter.rowCount();
    const QModelIndex current = m_view->currentIndex();
    const int start = current.isValid() ? current.row() : (forward ? -1 : count);
    for (int row = start + (forward ? 1 : -1); row >= 0 && row < count; row += forward ? 1 : -1) {
        const QModelIndex index = m_filter.index(row, LogModel::Text);
        if (index.data(LogModel::LevelRole).toInt() < static_cast<int>(LogLevel::Warning))
            continue;
        m_follow->setChecked(false);
        m_view->setCurrentIndex(index);
        m_view->scrollTo(index, QAbstractItemView::PositionAtCenter);
        return true;
    }
    return false;
}

void LogPanel::focusFilter()
{
    m_pattern->setFocus();
    m_pattern->selectAll();
}

int LogPanel::warningCount() const
{
    return m_log == nullptr ? 0 : m_log->count(LogLevel::Warning) + m_log->count(LogLevel::Error);
}

void LogPanel::copySelection(bool asMarkdown) const
{
    QModelIndexList rows = m_view->selectionModel()->selectedRows();
    std::sort(rows.begin(), rows.end());
    QStringList lines;
    for (const QModelIndex& index : rows) {
        const LogRow& row = m_log->row(m_filter.mapToSource(index).row());
        lines << QString("%1 %2 %3: %4")
                     .arg(row.time, index.siblingAtColumn(LogModel::Level).data().toString(),
                          row.source, row.text);
    }
    const QString text = lines.join('\n');
    QGuiApplication::clipboard()->setText(asMarkdown ? "```\n" + text + "\n```\n" : text);
}

} // namespace vergence
