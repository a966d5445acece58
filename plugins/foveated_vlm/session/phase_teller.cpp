#include "plugins/foveated_vlm/session/phase_teller.h"

#include <cmath>

#include <fmt/format.h>

#include "core/base/clock.h"

namespace vergence::fvlm {

std::string phaseText(const std::string& what, Index done, Index all, double seconds)
{
    constexpr double kFewest = 3; // s to judge the rest by
    std::string text = fmt::format("{}, {} of {} clips", what, done, all);
    if (done == 0 || seconds < kFewest)
        return text;
    const double left = seconds / static_cast<double>(done) * static_cast<double>(all - done);
    return text + (left < 100 ? fmt::format(", {:.0f} s left", std::ceil(left))
                              : fmt::format(", {:.0f} min left", std::ceil(left / 60)));
}

void PhaseTeller::tell(const std::string& what, Index done, Index all)
{
    constexpr double kInterval = 3; // s
    const double now = steadySeconds();
    const bool isNew = what != m_what;
    if (!isNew && now - m_toldAt < kInterval)
        return;
    if (isNew) {
        m_what = what;
        m_begunAt = now;
    }
    m_toldAt = now;
    m_context.phase(1, 1, phaseText(what, done, all, now - m_begunAt));
}

} // namespace vergence::fvlm
