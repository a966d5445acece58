#include "app/shell/sweep_dialog.h"

#include <algorithm>

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QStackedWidget>
#include <QVBoxLayout>

#include "app/forms/number_text.h"
#include "app/shell/run_entry.h"
#include "app/shell/sweep_check.h"

namespace vergence {

namespace {

constexpr int kMostRuns = 200;
constexpr qsizetype kShownValues = 8; ///< of the summary

template <class Widget>
Widget* named(Widget* widget, const char* name, const QString& title)
{
    widget->setObjectName(QLatin1String(name));
    widget->setAccessibleName(title);
    return widget;
}

/// What a person might go through first: all choices, or half and twice the default.
QString proposal(const Field& field)
{
    if (field.type == FieldType::Bool)
        return QStringLiteral("false, true");
    QStringList choices;
    for (const std::string& choice : field.choices)
        choices << QString::fromStdString(choice);
    return choices.join(QStringLiteral(", "));
}

bool isNumeric(const Field& field)
{
    return field.type != FieldType::Bool && field.type != FieldType::Enum;
}

} // namespace

SweepDialog::SweepDialog(const ConfigSchema& schema, RunDraft draft,
                         std::vector<double> earlierSeconds, QWidget* parent)
    : QDialog(parent),
      m_schema(schema),
      m_draft(std::move(draft)),
      m_earlierSeconds(std::move(earlierSeconds)),
      m_field(named(new QComboBox(this), "sweepField", tr("Setting"))),
      m_kind(named(new QComboBox(this), "sweepKind", tr("Values"))),
      m_pages(new QStackedWidget(this)),
      m_help(new QLabel(this)),
      m_summary(named(new QLabel(this), "sweepSummary", tr("Runs of the sweep")))
{
    setObjectName(QStringLiteral("sweepDialog"));
    setWindowTitle(tr("Sweep over one setting"));
    for (const Field& field : m_schema.fields())
        if (canSweep(field))
            m_field->addItem(tr("%1 (%2)").arg(QString::fromStdString(field.title),
                                               QString::fromStdString(field.key)),
                             QString::fromStdString(field.key));
    m_kind->addItems({tr("List"), tr("Range")});
    m_pages->addWidget(makeList());
    m_pages->addWidget(makeRange());
    for (QLabel* label : {m_help, m_summary})
        label->setWordWrap(true);
    m_summary->setMinimumHeight(3 * fontMetrics().lineSpacing());
    m_summary->setAlignment(Qt::AlignTop);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    m_add = buttons->addButton(tr("Add to queue"), QDialogButtonBox::AcceptRole);
    m_add->setObjectName(QStringLiteral("sweepAdd"));
    auto* form = new QFormLayout;
    form->addRow(tr("Setting"), m_field);
    form->addRow(QString(), m_help);
    form->addRow(tr("Values"), m_kind);
    auto* column = new QVBoxLayout(this);
    column->addLayout(form);
    column->addWidget(m_pages);
    column->addWidget(m_summary);
    column->addStretch();
    column->addWidget(buttons);
    setMinimumWidth(460);
    connect(m_field, &QComboBox::currentIndexChanged, this, &SweepDialog::takeField);
    connect(m_kind, &QComboBox::currentIndexChanged, this, [this](int page) {
        m_pages->setCurrentIndex(page);
        showSummary();
    });
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(buttons, &QDialogButtonBox::accepted, this, [this] {
        Q_EMIT runsWanted(sweepDrafts(m_draft, field(), values().values));
        accept();
    });
    if (m_field->count() > 0)
        takeField();
    else
        m_add->setEnabled(false);
}

QWidget* SweepDialog::makeList()
{
    auto* page = new QWidget(this);
    m_list = named(new QLineEdit(page), "sweepList", tr("Values, with commas between"));
    m_list->setPlaceholderText(tr("Values, with commas between: 1e-3, 3e-3, 1e-2"));
    auto* form = new QFormLayout(page);
    form->setContentsMargins(0, 0, 0, 0);
    form->addRow(m_list);
    connect(m_list, &QLineEdit::textChanged, this, &SweepDialog::showSummary);
    return page;
}

QWidget* SweepDialog::makeRange()
{
    auto* page = new QWidget(this);
    m_from = named(new QLineEdit(page), "sweepFrom", tr("First value"));
    m_to = named(new QLineEdit(page), "sweepTo", tr("Last value"));
    m_count = named(new QSpinBox(page), "sweepCount", tr("Number of values"));
    m_count->setRange(2, kMostRuns);
    m_count->setValue(5);
    m_scale = named(new QComboBox(page), "sweepScale", tr("Between them"));
    m_scale->addItems({tr("equal steps"), tr("equal ratios")});
    auto* form = new QFormLayout(page);
    form->setContentsMargins(0, 0, 0, 0);
    form->addRow(tr("First value"), m_from);
    form->addRow(tr("Last value"), m_to);
    form->addRow(tr("Number of values"), m_count);
    form->addRow(tr("Between them"), m_scale);
    for (QLineEdit* edit : {m_from, m_to})
        connect(edit, &QLineEdit::textChanged, this, &SweepDialog::showSummary);
    connect(m_count, &QSpinBox::valueChanged, this, &SweepDialog::showSummary);
    connect(m_scale, &QComboBox::currentIndexChanged, this, &SweepDialog::showSummary);
    return page;
}

const Field& SweepDialog::field() const
{
    return *m_schema.find(m_field->currentData().toString().toStdString());
}

SweepValues SweepDialog::values() const
{
    if (m_kind->currentIndex() == 0)
        return sweepList(field(), m_list->text());
    return sweepRange(
        field(), {m_from->text(), m_to->text(), m_count->value(), m_scale->currentIndex() == 1});
}

void SweepDialog::takeField()
{
    const Field& chosen = field();
    QStringList facts{QString::fromStdString(chosen.help)};
    if (chosen.minimum && chosen.maximum)
        facts << tr("%1 to %2 %3")
                     .arg(numberText(*chosen.minimum), numberText(*chosen.maximum),
                          QString::fromStdString(chosen.unit));
    m_help->setText(facts.join(QLatin1Char(' ')).trimmed());
    m_list->setText(proposal(chosen));
    m_scale->setCurrentIndex(chosen.isLogarithmic ? 1 : 0);
    if (!isNumeric(chosen))
        m_kind->setCurrentIndex(0);
    m_kind->setEnabled(isNumeric(chosen));
    showSummary();
}

void SweepDialog::setCheck(const QString& executable, const QStringList& extraArguments)
{
    m_check = new SweepCheck(executable, extraArguments, this);
    connect(m_check, &SweepCheck::passed, this, [this] { say(runsText(), true); });
    connect(m_check, &SweepCheck::refused, this,
            [this](const QString& value, const QString& sentence) {
                say(tr("%1 = %2 is not possible. %3")
                        .arg(QString::fromStdString(field().title), value, sentence),
                    false);
            });
    if (m_field->count() > 0)
        showSummary();
}

void SweepDialog::setTarget(const QString& target)
{
    m_target = target;
    m_add->setText(target.isEmpty() ? tr("Add to queue") : tr("Submit to %1").arg(target));
    if (m_field->count() > 0)
        showSummary();
}

void SweepDialog::say(const QString& summary, bool canAdd)
{
    m_summary->setText(summary);
    m_add->setEnabled(canAdd);
}

void SweepDialog::showSummary()
{
    const SweepValues wanted = values();
    const qsizetype count = wanted.values.size();
    if (m_check != nullptr)
        m_check->cancel();
    if (!wanted.reason.isEmpty())
        return say(wanted.reason, false);
    if (count > kMostRuns)
        return say(tr("%1 runs are more than %2.").arg(count).arg(kMostRuns), false);
    if (m_check == nullptr)
        return say(runsText(), true);
    say(runsText() + ' ' + tr("Each is being checked…"), false);
    m_check->checkSoon(sweepDrafts(m_draft, field(), wanted.values));
}

QString SweepDialog::runsText() const
{
    const QStringList wanted = values().values;
    QStringList shown = wanted.mid(0, kShownValues);
    if (wanted.size() > kShownValues)
        shown << QStringLiteral("…") << wanted.back();
    return tr("%1 runs: %2. %3")
        .arg(wanted.size())
        .arg(shown.join(QStringLiteral(", ")), estimate(wanted.size()));
}

QString SweepDialog::estimate(qsizetype runs) const
{
    if (m_earlierSeconds.empty())
        return tr("No estimate yet: no run of this preset has ended.");
    std::vector<double> seconds = m_earlierSeconds;
    const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
    std::nth_element(seconds.begin(), middle, seconds.end());
    // The queue of this computer starts one after the other.
    const QString time = m_target.isEmpty() ? durationText(*middle * static_cast<double>(runs))
                                            : tr("%1 each").arg(durationText(*middle));
    return seconds.size() == 1
               ? tr("About %1, from one earlier run.").arg(time)
               : tr("About %1, from %2 earlier runs.").arg(time).arg(seconds.size());
}

} // namespace vergence
