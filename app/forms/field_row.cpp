#include "app/forms/field_row.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QMouseEvent>
#include <QToolButton>
#include <QWhatsThis>

#include "app/forms/accents.h"
#include "app/forms/number_text.h"

namespace vergence {
namespace {

constexpr int kMarkWidth = 16, kGap = 5;

QString titleOf(const Field& field)
{
    return QString::fromStdString(field.title.empty() ? field.key : field.title);
}

/// "1 to 1000", "at least 1" or nothing.
QString rangeText(const Field& field)
{
    if (field.minimum && field.maximum)
        return FieldRow::tr("%1 to %2").arg(numberText(*field.minimum), numberText(*field.maximum));
    if (field.minimum)
        return FieldRow::tr("at least %1").arg(numberText(*field.minimum));
    return field.maximum ? FieldRow::tr("at most %1").arg(numberText(*field.maximum)) : QString();
}

} // namespace

FieldRow::FieldRow(const Field& field, QWidget* parent)
    : QWidget(parent),
      m_field(field),
      m_column(new QVBoxLayout(this)),
      m_line(new QHBoxLayout),
      m_pair(new QHBoxLayout),
      m_label(new QLabel(titleOf(field), this)),
      m_editor(new FieldEditor(field, this)),
      m_dot(new QToolButton(this))
{
    const QString key = QString::fromStdString(field.key);
    setObjectName(QStringLiteral("configRow/") + key);
    m_searchText =
        (titleOf(field) + u'\n' + key + u'\n' + QString::fromStdString(field.help)).toLower();

    m_column->setContentsMargins(0, 1, 0, 1);
    m_column->setSpacing(1);
    m_column->addLayout(m_line);
    m_line->setSpacing(kGap);
    m_line->addWidget(m_dot);
    m_line->addLayout(m_pair, 1);
    m_pair->setSpacing(kGap);
    m_pair->addWidget(m_label);
    auto* value = new QHBoxLayout;
    value->setSpacing(kGap);
    value->addWidget(m_editor->widget(), 1);
    if (!field.unit.empty()) {
        m_unit = new QLabel(QString::fromStdString(field.unit), this);
        value->addWidget(m_unit);
    }
    m_pair->addLayout(value, 1);

    m_label->setBuddy(m_editor->input());
    m_label->setCursor(Qt::WhatsThisCursor);
    m_label->installEventFilter(this);
    m_dot->setObjectName(QStringLiteral("changedDot"));
    m_dot->setAutoRaise(true);
    m_dot->setFixedSize(kMarkWidth, kMarkWidth);
    m_dot->setFocusPolicy(Qt::TabFocus);
    m_dot->setAccessibleName(tr("Reset %1 to its default").arg(titleOf(field)));
    QSizePolicy keep = m_dot->sizePolicy();
    keep.setRetainSizeWhenHidden(true);
    m_dot->setSizePolicy(keep);
    m_dot->hide();
    connect(m_dot, &QToolButton::clicked, this, &FieldRow::resetRequested);

    const QString text = help();
    setToolTip(text);
    setWhatsThis(text);
    m_editor->input()->setWhatsThis(text);
}

void FieldRow::setColumns(int labelWidth, int unitWidth)
{
    m_labelWidth = labelWidth;
    if (m_unit != nullptr)
        m_unit->setFixedWidth(unitWidth);
    fitLabel();
}

void FieldRow::setStacked(bool stacked)
{
    m_pair->setDirection(stacked ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
    m_pair->setSpacing(stacked ? 1 : kGap);
    fitLabel();
}

void FieldRow::fitLabel()
{
    const bool isBeside = m_pair->direction() == QBoxLayout::LeftToRight;
    m_label->setMinimumWidth(isBeside ? m_labelWidth : 0);
    m_label->setMaximumWidth(isBeside ? m_labelWidth : QWIDGETSIZE_MAX);
    m_label->setWordWrap(isBeside && labelWidthFor(m_field, m_label->fontMetrics()) > m_labelWidth);
    if (m_problem != nullptr)
        m_problem->setIndent(problemIndent());
}

int FieldRow::problemIndent() const
{
    return frameWidth() +
           (m_pair->direction() == QBoxLayout::LeftToRight ? m_labelWidth + kGap : 0);
}

void FieldRow::reserveLock(bool reserved)
{
    if (m_lock == nullptr && !reserved)
        return;
    QSizePolicy keep = lock().sizePolicy();
    keep.setRetainSizeWhenHidden(reserved);
    lock().setSizePolicy(keep);
    m_line->invalidate(); // a hidden widget does not tell its layout
}

QLabel& FieldRow::lock()
{
    if (m_lock == nullptr) {
        m_lock = new QLabel(this);
        m_lock->setObjectName(QStringLiteral("fieldLock"));
        m_lock->setFixedWidth(kMarkWidth);
        m_lock->hide();
        m_line->addWidget(m_lock);
    }
    return *m_lock;
}

bool FieldRow::isLong() const
{
    switch (m_field.type) {
    case FieldType::IntList:
    case FieldType::FloatList:
    case FieldType::StringList:
    case FieldType::String:
    case FieldType::Path:
        return true;
    default:
        return false;
    }
}

int FieldRow::frameWidth()
{
    return kMarkWidth + kGap;
}

void FieldRow::setChanged(bool changed)
{
    if (changed == m_isChanged)
        return;
    m_isChanged = changed;
    m_dot->setVisible(changed);
    m_dot->setToolTip(
        tr("Changed. Click to go back to the default, %1").arg(editorText(m_field.defaultValue)));
    restyle();
}

void FieldRow::setLock(bool locked, const QString& reason)
{
    if (m_lock == nullptr && !locked)
        return;
    lock().setToolTip(reason);
    lock().setAccessibleName(locked ? tr("Locked: %1").arg(reason) : QString());
    if (locked == m_isLocked)
        return;
    m_isLocked = locked;
    lock().setVisible(locked);
    m_dot->setEnabled(!locked);
    m_editor->setLocked(locked);
    restyle();
}

void FieldRow::setProblem(const QString& sentence, bool isError)
{
    if (sentence == m_problemText && isError == m_isError)
        return;
    m_problemText = sentence;
    m_isError = isError;
    if (m_problem == nullptr && !sentence.isEmpty()) {
        m_problem = new QLabel(this);
        m_problem->setWordWrap(true);
        m_problem->setObjectName(QStringLiteral("fieldProblem"));
        m_column->addWidget(m_problem);
    }
    if (m_problem != nullptr) {
        m_problem->setText(sentence);
        m_problem->setIndent(problemIndent());
        m_problem->setVisible(!sentence.isEmpty());
    }
    restyle();
}

int FieldRow::labelWidthFor(const Field& field, const QFontMetrics& metrics)
{
    return metrics.horizontalAdvance(titleOf(field)) + 2;
}

void FieldRow::changeEvent(QEvent* event)
{
    if (event->type() == QEvent::PaletteChange)
        restyle();
    QWidget::changeEvent(event);
}

bool FieldRow::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_label && event->type() == QEvent::MouseButtonRelease) {
        const auto* mouse = static_cast<QMouseEvent*>(event);
        QWhatsThis::showText(mouse->globalPosition().toPoint(), help(), this);
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

QString FieldRow::help() const
{
    QString text = QStringLiteral("<p><b>%1</b></p>").arg(titleOf(m_field).toHtmlEscaped());
    if (!m_field.help.empty())
        text +=
            QStringLiteral("<p>%1</p>").arg(QString::fromStdString(m_field.help).toHtmlEscaped());
    QStringList facts{tr("key: %1").arg(QString::fromStdString(m_field.key))};
    if (const QString range = rangeText(m_field); !range.isEmpty())
        facts.append(tr("range: %1").arg(range));
    const QString unit = QString::fromStdString(m_field.unit);
    const QString shown = editorText(m_field.defaultValue);
    facts.append(
        tr("default: %1").arg(shown.isEmpty() ? tr("empty") : (shown + u' ' + unit).trimmed()));
    if (m_field.isLive)
        facts.append(tr("may be changed while the run goes on"));
    return text + QStringLiteral("<p>%1</p>")
                      .arg(facts.join(QStringLiteral("\n"))
                               .toHtmlEscaped()
                               .replace(QStringLiteral("\n"), QStringLiteral("<br>")));
}

void FieldRow::restyle()
{
    if (m_isChanged)
        m_dot->setIcon(signIcon(Sign::Dot, accentColour(Accent::Changed, palette())));
    if (m_isLocked)
        lock().setPixmap(
            signIcon(Sign::Lock, palette().color(QPalette::WindowText)).pixmap(16, 16));
    if (m_problem == nullptr)
        return;
    QPalette coloured;
    coloured.setColor(QPalette::WindowText,
                      accentColour(m_isError ? Accent::Error : Accent::Warning, palette()));
    m_problem->setPalette(coloured);
    const bool marked = m_isError && !m_problemText.isEmpty();
    QPalette input;
    if (marked) {
        input.setColor(QPalette::Text, accentColour(Accent::Error, palette()));
        input.setColor(QPalette::ButtonText, accentColour(Accent::Error, palette()));
    }
    m_editor->input()->setPalette(input);
}

} // namespace vergence
