#include "app/shell/data_card.h"

#include <algorithm>

#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

#include <nlohmann/json.hpp>

#include "app/shell/error_catalogue.h"
#include "app/style/icons.h"
#include "app/style/theme.h"

namespace vergence {

namespace {

constexpr int kMostWarnings = 3; ///< the others are in Problems

QString warningsOf(const DataReport& report)
{
    QStringList lines;
    for (const ConfigIssue& issue : report.issues)
        if (issue.severity == IssueSeverity::Warning)
            lines << QString::fromStdString(issue.text());
    const auto further = lines.size() - kMostWarnings;
    if (further > 0)
        lines = lines.mid(0, kMostWarnings) << DataCard::tr("%1 more in Problems.").arg(further);
    return lines.join('\n');
}

} // namespace

DataCard::DataCard(QWidget* parent) : QWidget(parent)
{
    setObjectName("dataCard");
    m_icon = new QLabel(this);
    m_summary = new QLabel(this);
    m_summary->setObjectName("importSummary");
    m_summary->setWordWrap(true);
    m_summary->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_warnings = new QLabel(this);
    m_warnings->setObjectName("importWarnings");
    m_warnings->setWordWrap(true);
    m_warnings->setTextFormat(Qt::PlainText);
    auto* words = new QVBoxLayout;
    words->addWidget(m_summary);
    words->addWidget(m_warnings);
    auto* row = new QHBoxLayout;
    row->addWidget(m_icon, 0, Qt::AlignTop);
    row->addLayout(words, 1);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 2, 8, 2);
    column->addLayout(row);
    hide();
}

void DataCard::showReport(const DataReport& report)
{
    const std::string text = toJson(report).dump();
    if (text == m_shown)
        return;
    m_shown = text;
    const QString warnings = warningsOf(report);
    const bool isBad = hasErrors(report.issues);
    const QPalette colours = palette();
    m_icon->setPixmap(tintedIcon(isBad || !warnings.isEmpty() ? "problem" : "tick",
                                 isBad                ? errorColour(colours)
                                 : warnings.isEmpty() ? goodColour(colours)
                                                      : warningColour(colours))
                          .pixmap(16, 16));
    m_icon->setVisible(!report.summary.empty());
    m_summary->setText(QString::fromStdString(report.summary));
    m_summary->setVisible(!report.summary.empty());
    m_warnings->setText(warnings);
    m_warnings->setVisible(!warnings.isEmpty());
    showCard(report);
    setVisible(!report.key.empty());
}

void DataCard::showCard(const DataReport& report)
{
    if (m_card != nullptr) {
        m_card->hide(); // at once; it may be the one whose button was pressed
        m_card->deleteLater();
        m_card = nullptr;
    }
    const auto content = cardForData(report);
    if (!content)
        return;
    m_card = new ErrorCard(*content, this);
    layout()->addWidget(m_card);
    connect(m_card, &ErrorCard::actionRequested, this, &DataCard::actionRequested);
    connect(m_card, &ErrorCard::dismissed, m_card, &QWidget::hide);
}

} // namespace vergence
