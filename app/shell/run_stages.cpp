#include "app/shell/run_stages.h"

#include <algorithm>

#include <QEvent>
#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>

#include "app/style/icons.h"
#include "app/shell/run_entry.h"
#include "app/style/theme.h"
#include "app/viewport/flow_layout.h"

namespace vergence {

namespace {

constexpr int kIcon = 14; ///< px

/// How a state looks and what it is called.
struct Look {
    const char* icon;
    QColor colour;
    QString word;
};

Look lookOf(const QString& state, const QPalette& palette)
{
    if (state == "running")
        return {"start", palette.color(QPalette::Link), RunStages::tr("running")};
    if (state == "done")
        return {"tick", goodColour(palette), RunStages::tr("done")};
    if (state == "reused")
        return {"reuse", goodColour(palette), RunStages::tr("reused from an earlier run")};
    if (state == "skipped")
        return {"skip", mutedColour(palette), RunStages::tr("skipped")};
    if (state == "stopped")
        return {"stop", warningColour(palette), RunStages::tr("stopped")};
    if (state == "failed")
        return {"cross", errorColour(palette), RunStages::tr("failed")};
    return {"clock", mutedColour(palette), RunStages::tr("waiting")};
}

QString textAt(const nlohmann::json& row, std::ptrdiff_t column)
{
    if (column < 0 || column >= std::ssize(row) ||
        !row[static_cast<std::size_t>(column)].is_string())
        return {};
    return QString::fromStdString(row[static_cast<std::size_t>(column)].get<std::string>());
}

/// A number, or a text that is one; nothing otherwise.
std::optional<double> numberAt(const nlohmann::json& row, std::ptrdiff_t column)
{
    if (column < 0 || column >= std::ssize(row))
        return std::nullopt;
    const nlohmann::json& cell = row[static_cast<std::size_t>(column)];
    if (cell.is_number())
        return cell.get<double>();
    bool isNumber = false;
    const double number = textAt(row, column).toDouble(&isNumber);
    return isNumber ? std::optional(number) : std::nullopt;
}

} // namespace

std::vector<RunStage> stagesOf(const std::vector<nlohmann::json>& tables, bool isLive)
{
    std::vector<RunStage> stages;
    for (const nlohmann::json& table : tables) {
        if (table.value("id", std::string()) != "stages")
            continue;
        const nlohmann::json columns = table.value("columns", nlohmann::json::array());
        const auto column = [&columns](const char* name) {
            const auto found = std::find(columns.begin(), columns.end(), name);
            return found == columns.end() ? std::ptrdiff_t{-1} : found - columns.begin();
        };
        const auto name = column("stage"), state = column("state"), seconds = column("seconds"),
                   note = column("note");
        for (const nlohmann::json& row : table.value("rows", nlohmann::json::array())) {
            RunStage stage{textAt(row, name), textAt(row, state), numberAt(row, seconds),
                           textAt(row, note)};
            if (stage.name.isEmpty())
                continue;
            if (stage.state == "running" && !isLive)
                stage.state = "stopped";
            stages.push_back(stage);
        }
    }
    return stages;
}

RunStages::RunStages(QWidget* parent) : QWidget(parent)
{
    setObjectName("runStageStrip");
    setAccessibleName(tr("Stages of the run"));
    auto* row = new FlowLayout(this, 4);
    row->setContentsMargins(6, 2, 6, 0);
    hide();
}

void RunStages::showStages(const std::vector<RunStage>& stages)
{
    if (stages == m_stages)
        return;
    m_stages = stages;
    while (m_chips.size() < stages.size())
        m_chips.push_back(makeChip());
    for (std::size_t i = 0; i < m_chips.size(); ++i) {
        m_chips[i].frame->setVisible(i < stages.size());
        if (i < stages.size())
            fill(m_chips[i], stages[i]);
    }
    setVisible(!stages.empty());
}

void RunStages::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange)
        for (std::size_t i = 0; i < m_stages.size(); ++i)
            fill(m_chips[i], m_stages[i]);
}

RunStages::Chip RunStages::makeChip()
{
    Chip chip;
    chip.frame = new QFrame(this);
    chip.frame->setObjectName("runStage");
    chip.frame->setFrameShape(QFrame::StyledPanel);
    chip.frame->setAutoFillBackground(true);
    chip.frame->setBackgroundRole(QPalette::Base);
    auto* row = new QHBoxLayout(chip.frame);
    row->setContentsMargins(6, 1, 7, 1);
    row->setSpacing(5);
    for (QLabel** label : {&chip.icon, &chip.name, &chip.time}) {
        *label = new QLabel(chip.frame);
        row->addWidget(*label);
    }
    layout()->addWidget(chip.frame);
    return chip;
}

void RunStages::fill(const Chip& chip, const RunStage& stage)
{
    const Look look = lookOf(stage.state, palette());
    chip.icon->setPixmap(tintedIcon(look.icon, look.colour).pixmap(kIcon, kIcon));
    const bool isQuiet = stage.state == "waiting" || stage.state == "skipped";
    const QColor text = isQuiet ? mutedColour(palette()) : palette().color(QPalette::WindowText);
    const auto coloured = [](const QString& words, const QColor& colour, bool isBold) {
        return QString("<span style='color:%1%2'>%3</span>")
            .arg(colour.name(), isBold ? ";font-weight:600" : "", words.toHtmlEscaped());
    };
    chip.name->setText(coloured(stage.name, text, stage.state == "running"));
    const QString time = stage.seconds ? durationText(*stage.seconds) : QString();
    chip.time->setText(coloured(time, mutedColour(palette()), false));
    chip.time->setVisible(!time.isEmpty());
    QString words = tr("%1: %2").arg(stage.name, look.word);
    if (!time.isEmpty())
        words += ", " + time;
    if (!stage.note.isEmpty())
        words += ". " + stage.note;
    chip.frame->setToolTip(words);
    chip.frame->setAccessibleName(words);
}

} // namespace vergence
