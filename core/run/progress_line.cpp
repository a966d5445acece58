#include "core/run/progress_line.h"

#include <algorithm>

#include <fmt/format.h>

namespace vergence {

namespace {

std::string duration(double seconds)
{
    const auto whole = static_cast<std::int64_t>(seconds + 0.5);
    if (whole < 60)
        return fmt::format("{} s", whole);
    if (whole < 3600)
        return fmt::format("{} min {:02} s", whole / 60, whole % 60);
    return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string bar(double share, int width)
{
    const int full = std::clamp(static_cast<int>(share * width), 0, width);
    return fmt::format("[{:#<{}}{:.<{}}]", "", full, "", width - full);
}

} // namespace

void ProgressLine::hear(const std::vector<nlohmann::json>& messages)
{
    for (const nlohmann::json& message : messages) {
        const auto& type = message.at("type").get_ref<const std::string&>();
        if (type == "phase") {
            m_phase = message.at("name").get<std::string>();
        } else if (type == "state") {
            m_state = message.at("state").get<std::string>();
            if (m_state != "Starting")
                m_phase.clear(); // that of the state before
        } else if (type == "progress") {
            m_step = message.at("step").get<std::int64_t>();
            m_total = message.at("total").get<std::int64_t>();
        }
    }
}

std::string ProgressLine::text(double now, int columns)
{
    if (m_bornAt < 0)
        m_bornAt = now;
    if (m_firstStep < 0 && m_state == "Running") {
        m_firstStep = m_step;
        m_firstAt = now;
    }
    const double stepping = now - m_firstAt;
    const std::int64_t steps = m_firstStep < 0 ? 0 : m_step - m_firstStep;
    std::string line = fmt::format("{}{}, {} steps, {}", m_state,
                                   m_phase.empty() ? "" : fmt::format(" ({})", m_phase), m_step,
                                   duration(now - m_bornAt));
    if (m_total > 0 && m_state != "Starting") {
        const double share = static_cast<double>(m_step) / static_cast<double>(m_total);
        const int width = m_phase.empty() ? 24 : 10; // both fit on 80 columns
        line = fmt::format("{} {:3.0f} % {} of {} steps", bar(share, width), 100 * share, m_step,
                           m_total);
        if (m_state != "Running")
            line += fmt::format(", {}", m_state);
        if (!m_phase.empty())
            line += ", " + m_phase;
        else if (steps > 0 && stepping > 0)
            line += fmt::format(", {:.3g}/s", static_cast<double>(steps) / stepping);
        if (m_phase.empty() && steps > 0 && m_state == "Running" &&
            (stepping >= 10 || share >= 0.02))
            line += ", " +
                    duration(stepping / static_cast<double>(steps) *
                             static_cast<double>(m_total - m_step)) +
                    " left";
    }
    if (columns > 0 && line.size() > static_cast<std::size_t>(columns))
        line.resize(static_cast<std::size_t>(columns));
    return line;
}

} // namespace vergence
