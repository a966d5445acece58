#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/artifact/plot/plot.h"
#include "core/artifact/plot/plot_scale.h"
#include "core/artifact/plot/plot_sheet.h"
#include "plugins/foveated_vlm/view/verdict.h"

namespace vergence::fvlm {

namespace {

using plot::kEdge, plot::kFace, plot::kSmall;
constexpr double kWidth = 760, kLine = 19, kRow = 28, kNames = 230, kNumbers = 178;

/// Thousandths about 1, where they tell; four figures of large ratios.
std::string number(double ratio)
{
    return ratio < 10 ? fmt::format("{:.3f}", ratio) : fmt::format("{:.4g}", ratio);
}

/// One interval of the card.
struct Row {
    const char* name;
    Interval interval;
    bool decides = false;
};

std::vector<Row> rowsOf(const Verdict& verdict)
{
    const bool hasMatched = std::isfinite(verdict.matched.value);
    std::vector<Row> rows{{"coarse / fine", verdict.ratio, !hasMatched},
                          {"matched control / fine", verdict.matched, hasMatched},
                          {"random queries / fine", verdict.random},
                          {"shuffled queries / fine", verdict.shuffled},
                          {"sequential / fine", verdict.sequential}};
    return rows;
}

/// Places the parts of the card from the top down.
class Card {
public:
    explicit Card(double height) : m_sheet(plot::sheet(kWidth, height)), m_y(height - kEdge) {}

    void line(const std::string& text, double size, const char* colour, bool isBold = false)
    {
        for (const std::string& part : plot::wrapped(text, size, kWidth - 2 * kEdge)) {
            write(kEdge, m_y - size / 2 - 2, part, size, colour, "left", isBold);
            m_y -= size + 6;
        }
    }
    void space(double height) { m_y -= height; }
    void intervals(const std::vector<Row>& rows);
    void lights(const std::vector<HealthLight>& lights);
    Diagram take() && { return std::move(m_sheet); }

private:
    void write(double x, double y, const std::string& text, double size, const std::string& colour,
               const char* anchor = "left", bool isBold = false)
    {
        m_sheet.texts.push_back(plot::label(x, y, text, size, colour, anchor));
        m_sheet.texts.back().isBold = isBold;
    }

    Diagram m_sheet;
    double m_y;
};

void Card::intervals(const std::vector<Row>& rows)
{
    std::vector<double> values{1 - 0.005, 1 + 0.005};
    for (const Row& row : rows)
        if (std::isfinite(row.interval.value)) // bounds that are not there are passed over
            values.insert(values.end(), {row.interval.low, row.interval.value, row.interval.high});
    const double left = kEdge + kNames, right = kWidth - kEdge - kNumbers;
    const plot::PlotScale scale({}, values, left, right);
    const double top = m_y, bottom = m_y - kRow * static_cast<double>(rows.size());
    m_sheet.polygons.push_back(
        plot::rectangle(scale(0.995), bottom, scale(1.005), top, "muted", 0.2, "within 1 ± 0.005"));
    m_sheet.lines.push_back(plot::straight(scale(1), bottom, scale(1), top, "warning", 1.4));
    for (const auto& tick : scale.ticks(4)) {
        const double at = scale(tick.value);
        m_sheet.lines.push_back(plot::straight(at, bottom, at, bottom - 4));
        write(at, bottom - 13, tick.text, kSmall, "muted", "centre");
    }
    m_sheet.lines.push_back(plot::straight(left, bottom, right, bottom));
    for (const Row& row : rows) {
        const double y = m_y - kRow / 2;
        const char* colour = row.decides ? "accent" : "text";
        write(kEdge, y, row.name, kFace, "text", "left", row.decides);
        const Interval& interval = row.interval;
        if (std::isfinite(interval.value)) {
            const bool hasBounds = std::isfinite(interval.low) && std::isfinite(interval.high);
            if (hasBounds) {
                const double low = scale(interval.low), high = scale(interval.high);
                m_sheet.lines.push_back(plot::straight(low, y, high, y, colour, 2.4));
                for (const double end : {low, high})
                    m_sheet.lines.push_back(plot::straight(end, y - 5, end, y + 5, colour, 1.6));
            }
            m_sheet.points.push_back({{scale(interval.value)}, {y}, colour, "", "disc", 4.5, 1});
            write(right + 14, y,
                  hasBounds ? fmt::format("{}  ({} to {})", number(interval.value),
                                          number(interval.low), number(interval.high))
                            : number(interval.value),
                  kSmall, "text");
        } else {
            write(right + 14, y, "not measured", kSmall, "muted");
        }
        m_y -= kRow;
    }
    m_y = bottom - 30;
}

void Card::lights(const std::vector<HealthLight>& lights)
{
    using State = HealthLight::State;
    for (const HealthLight& light : lights) {
        const double y = m_y - kLine / 2;
        const bool isBad = light.state == State::Bad, isGood = light.state == State::Good;
        m_sheet.points.push_back({{kEdge + 7},
                                  {y},
                                  isBad    ? "warning"
                                  : isGood ? "accent"
                                           : "muted",
                                  light.sentence,
                                  isBad    ? "diamond"
                                  : isGood ? "disc"
                                           : "ring",
                                  isBad ? 6.0 : 5.0,
                                  1});
        write(kEdge + 22, y,
              isBad    ? light.sentence
              : isGood ? light.relief
                       : light.sentence + "?",
              kFace,
              isBad    ? "warning"
              : isGood ? "text"
                       : "muted",
              "left", isBad);
        write(kEdge + 300, y, light.reading, kSmall, "muted");
        m_y -= kLine + 3;
    }
}

} // namespace

Diagram verdictCard(const Verdict& verdict)
{
    using Outcome = Verdict::Outcome;
    const std::vector<Row> rows = rowsOf(verdict);
    const auto lines = [](const std::string& text, double size) {
        return static_cast<double>(plot::wrapped(text, size, kWidth - 2 * kEdge).size()) *
               (size + 6);
    };
    const std::string facts =
        fmt::format("{} held-out clips, {} updates, epochs: {:.3g}. Ratios of losses with 95 % "
                    "intervals over clips; above 1: fine looks are better.",
                    verdict.clips, verdict.record.update, verdict.record.epochs);
    double height = 2 * kEdge + 22 + 6 + lines(verdict.sentence, 15) + 6 + lines(facts, kSmall) +
                    10 + kRow * static_cast<double>(rows.size()) + 30 +
                    (kLine + 3) * static_cast<double>(verdict.lights.size()) + 8;
    for (const std::string& remark : verdict.remarks)
        height += lines(remark, kSmall);
    Card card(height);
    card.line("Does looking help?", plot::kTitle, "muted", true);
    card.space(6);
    card.line(verdict.sentence, 15,
              verdict.outcome == Outcome::Helps     ? "accent"
              : verdict.outcome == Outcome::DoesNot ? "warning"
                                                    : "text",
              true);
    card.space(6);
    card.line(facts, kSmall, "muted");
    card.space(10);
    card.intervals(rows);
    card.lights(verdict.lights);
    card.space(8);
    for (const std::string& remark : verdict.remarks)
        card.line(remark, kSmall, "muted");
    return std::move(card).take();
}

} // namespace vergence::fvlm
