#include "app/shell/success_bar.h"

#include <algorithm>

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QToolButton>

#include "app/style/icons.h"
#include "app/style/theme.h"

namespace vergence {

namespace {

/// The first headline that the run has; null where it has none.
const MetricDecl* telling(const MetricStore& metrics, const std::vector<MetricDecl>& declared)
{
    const auto tells = [&metrics](const MetricDecl& metric) {
        const Series* series = metrics.find(metric.name);
        return metric.isHeadline && series != nullptr && series->size() > 0;
    };
    const auto found = std::find_if(declared.begin(), declared.end(), tells);
    return found == declared.end() ? nullptr : &*found;
}

/// "Loss 0.21 → 0.012."
QString changeOf(const MetricDecl& metric, const Series& series)
{
    QStringList words{QString::fromStdString(metric.title.empty() ? metric.name : metric.title)};
    if (series.size() > 1)
        words << figureText(series.values().front()) << "→";
    words << figureText(series.values().back());
    if (!metric.unit.empty())
        words << QString::fromStdString(metric.unit);
    return words.join(' ') + '.';
}

} // namespace

SuccessBar::SuccessBar(QWidget* parent) : QFrame(parent)
{
    setObjectName("successBar");
    setFrameShape(QFrame::StyledPanel);
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    m_icon = new QLabel(this);
    m_sentence = new QLabel(this);
    m_sentence->setObjectName("successSentence");
    m_sentence->setWordWrap(true);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(10, 6, 6, 6);
    row->addWidget(m_icon);
    row->addWidget(m_sentence, 1);
    const auto add = [&](const QString& text, const char* name, void (SuccessBar::*signal)()) {
        auto* button = new QPushButton(text, this);
        button->setObjectName(name);
        row->addWidget(button);
        connect(button, &QPushButton::clicked, this, signal);
        return button;
    };
    m_resume = add({}, "successResume", &SuccessBar::resumeRequested);
    offerResume({});
    m_compare = add(tr("Compare with start"), "successCompare", &SuccessBar::compareRequested);
    add(tr("Export…"), "successExport", &SuccessBar::exportRequested);
    add(tr("Change a setting and run again"), "successAgain", &SuccessBar::againRequested);
    auto* close = new QToolButton(this);
    close->setIcon(tintedIcon("cross", palette()));
    close->setAutoRaise(true);
    close->setAccessibleName(tr("Hide this bar"));
    row->addWidget(close);
    connect(close, &QToolButton::clicked, this, &QWidget::hide);
    hide();
}

void SuccessBar::showResult(const QString& sentence, bool hasPictures)
{
    m_compare->setVisible(hasPictures);
    m_sentence->setText(sentence);
    setAccessibleName(sentence);
    show();
}

void SuccessBar::offerResume(std::optional<std::int64_t> step)
{
    m_resume->setVisible(step.has_value());
    const QIcon icon =
        step ? tintedIcon("stop", palette()) : tintedIcon("tick", goodColour(palette()));
    m_icon->setPixmap(icon.pixmap(20, 20));
    if (step)
        m_resume->setText(tr("Resume from step %L1").arg(*step));
}

QString successSentence(const RunEntry& run, const MetricStore& metrics,
                        const std::vector<MetricDecl>& declared)
{
    const MetricDecl* metric = telling(metrics, declared);
    const Series* series = metric == nullptr ? nullptr : metrics.find(metric->name);
    double seconds = run.seconds.value_or(0);
    if (series != nullptr)
        seconds = std::max(seconds, series->walls().back());
    const QString done = run.state == RunState::Stopped
                             ? SuccessBar::tr("Stopped after %1.").arg(durationText(seconds))
                             : SuccessBar::tr("Done in %1.").arg(durationText(seconds));
    if (series == nullptr)
        return done;
    return done + ' ' + changeOf(*metric, *series);
}

} // namespace vergence
