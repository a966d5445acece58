#include "app/forms/form_footer.h"

#include <algorithm>

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPushButton>
#include <QStyleOptionFocusRect>
#include <QStylePainter>

#include "app/forms/accents.h"

namespace vergence {
namespace {

constexpr int kSentencesShown = 2;

int count(const std::vector<ConfigIssue>& issues, IssueSeverity severity)
{
    return static_cast<int>(
        std::count_if(issues.begin(), issues.end(),
                      [&](const ConfigIssue& issue) { return issue.severity == severity; }));
}

QString sentences(const std::vector<ConfigIssue>& issues, IssueSeverity severity)
{
    QStringList texts;
    for (const ConfigIssue& issue : issues)
        if (issue.severity == severity)
            texts.append(QString::fromStdString(issue.sentence));
    const qsizetype more = texts.size() - kSentencesShown;
    texts = texts.mid(0, kSentencesShown);
    if (more > 0)
        texts.append(FormFooter::tr("And %n more.", nullptr, static_cast<int>(more)));
    return texts.join(u' ');
}

} // namespace

QString summaryText(const std::vector<ConfigIssue>& issues, int changedCount)
{
    const int errors = count(issues, IssueSeverity::Error),
              warnings = count(issues, IssueSeverity::Warning);
    const int notes = count(issues, IssueSeverity::Note);
    if (errors > 0)
        return (errors == 1 ? FormFooter::tr("1 error: ")
                            : FormFooter::tr("%1 errors: ").arg(errors)) +
               sentences(issues, IssueSeverity::Error);
    if (warnings > 0)
        return (warnings == 1 ? FormFooter::tr("1 warning: ")
                              : FormFooter::tr("%1 warnings: ").arg(warnings)) +
               sentences(issues, IssueSeverity::Warning);
    if (notes > 0)
        return (notes == 1 ? FormFooter::tr("1 note: ") : FormFooter::tr("%1 notes: ").arg(notes)) +
               sentences(issues, IssueSeverity::Note);
    if (changedCount == 0)
        return FormFooter::tr("No errors. Every setting is at its default.");
    return changedCount == 1 ? FormFooter::tr("No errors. 1 setting differs from its default.")
                             : FormFooter::tr("No errors. %1 settings differ from their defaults.")
                                   .arg(changedCount);
}

SummaryLabel::SummaryLabel(QWidget* parent) : QLabel(parent)
{
    setWordWrap(true);
    setFocusPolicy(Qt::TabFocus);
    setTextFormat(Qt::PlainText);
    setMargin(2);
}

void SummaryLabel::setSentence(const QString& text)
{
    setText(text);
    fitHeight();
}

void SummaryLabel::resizeEvent(QResizeEvent* event)
{
    QLabel::resizeEvent(event);
    fitHeight();
}

void SummaryLabel::fitHeight()
{
    setMinimumHeight(
        heightForWidth(width())); // the layouts around it forget the height that a width asks for
}

void SummaryLabel::mouseReleaseEvent(QMouseEvent* event)
{
    if (rect().contains(event->position().toPoint()))
        Q_EMIT clicked();
}

void SummaryLabel::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Space || event->key() == Qt::Key_Return ||
        event->key() == Qt::Key_Enter)
        Q_EMIT clicked();
    else
        QLabel::keyPressEvent(event);
}

void SummaryLabel::paintEvent(QPaintEvent* event)
{
    QLabel::paintEvent(event);
    if (!hasFocus())
        return;
    QStylePainter painter(this);
    QStyleOptionFocusRect option;
    option.initFrom(this);
    option.rect = rect();
    painter.drawPrimitive(QStyle::PE_FrameFocusRect, option);
}

FormFooter::FormFooter(QWidget* parent)
    : QWidget(parent),
      m_row(new QHBoxLayout),
      m_summary(new SummaryLabel(this)),
      m_queue(new QPushButton(tr("Add to queue"), this)),
      m_start(new QPushButton(tr("Start"), this))
{
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    column->addWidget(m_summary);
    column->addLayout(m_row);
    m_row->addStretch(1);
    m_row->addWidget(m_queue);
    m_row->addWidget(m_start);
    m_summary->setObjectName(QStringLiteral("configSummary"));
    m_queue->setObjectName(QStringLiteral("queueButton"));
    m_start->setObjectName(QStringLiteral("startButton"));
    m_start->setDefault(true);
    connect(m_summary, &SummaryLabel::clicked, this, &FormFooter::jump);
    connect(m_queue, &QPushButton::clicked, this, &FormFooter::queueRequested);
    connect(m_start, &QPushButton::clicked, this, &FormFooter::startRequested);
}

void FormFooter::setIssues(const std::vector<ConfigIssue>& issues, int changedCount)
{
    m_issues = issues;
    m_next = 0;
    const QString text = summaryText(issues, changedCount);
    m_summary->setSentence(text);
    m_summary->setAccessibleName(text);
    m_summary->setToolTip(issues.empty() ? QString() : tr("Click to go to the setting"));
    m_summary->setCursor(issues.empty() ? Qt::ArrowCursor : Qt::PointingHandCursor);
    refreshButtons();
    restyle();
}

void FormFooter::setBlocked(const QString& start, const QString& queue)
{
    m_startBlock = start;
    m_queueBlock = queue;
    refreshButtons();
}

void FormFooter::addWidget(QWidget* widget)
{
    m_row->insertWidget(0, widget, 1);
    m_row->setStretch(1, 0); // it takes the room of the gap
}

void FormFooter::refreshButtons()
{
    const bool isRight = !hasErrors(m_issues);
    const QString text = m_summary->text();
    m_start->setEnabled(isRight && m_startBlock.isEmpty());
    m_queue->setEnabled(isRight && m_queueBlock.isEmpty());
    m_start->setToolTip(!isRight                 ? tr("Cannot start. %1").arg(text)
                        : m_startBlock.isEmpty() ? tr("Start the run (Ctrl+R)")
                                                 : m_startBlock);
    m_queue->setToolTip(!isRight ? tr("Cannot be queued. %1").arg(text)
                        : m_queueBlock.isEmpty()
                            ? tr("Start it after the runs that wait (Ctrl+Shift+R)")
                            : m_queueBlock);
}

bool FormFooter::canStart() const
{
    return m_start->isEnabled();
}

bool FormFooter::canQueue() const
{
    return m_queue->isEnabled();
}

void FormFooter::changeEvent(QEvent* event)
{
    if (event->type() == QEvent::PaletteChange)
        restyle();
    QWidget::changeEvent(event);
}

void FormFooter::jump()
{
    for (std::size_t tried = 0; tried < m_issues.size(); ++tried) {
        const ConfigIssue& issue = m_issues[m_next++ % m_issues.size()];
        if (!issue.key.empty()) {
            Q_EMIT jumpRequested(QString::fromStdString(issue.key));
            return;
        }
    }
}

void FormFooter::restyle()
{
    QPalette coloured;
    if (hasErrors(m_issues))
        coloured.setColor(QPalette::WindowText, accentColour(Accent::Error, palette()));
    else if (count(m_issues, IssueSeverity::Warning) > 0)
        coloured.setColor(QPalette::WindowText, accentColour(Accent::Warning, palette()));
    m_summary->setPalette(coloured);
}

} // namespace vergence
