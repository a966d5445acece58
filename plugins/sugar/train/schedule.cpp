#include "plugins/sugar/train/schedule.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/compute/rng.h"

namespace vergence::sugar {

namespace {

constexpr std::uint64_t kOrderStream = 0x5347'0001; ///< of the random numbers

} // namespace

bool Schedule::densifies(std::int64_t step) const
{
    const ScheduleSettings& s = m_settings;
    return s.densifyEvery > 0 && step > s.densifyFrom && step <= s.densifyUntil &&
           step < s.iterations && step % s.densifyEvery == 0;
}

std::int64_t Schedule::lastDensification() const
{
    const ScheduleSettings& s = m_settings;
    if (s.densifyEvery <= 0)
        return 0;
    const std::int64_t last = std::min(s.densifyUntil, s.iterations - 1);
    return last / s.densifyEvery * s.densifyEvery;
}

bool Schedule::resetsOpacity(std::int64_t step) const
{
    const ScheduleSettings& s = m_settings;
    return s.resetEvery > 0 && step % s.resetEvery == 0 && step < s.densifyUntil &&
           step < s.iterations;
}

bool Schedule::hasReset(std::int64_t step) const
{
    return m_settings.resetEvery > 0 && step > m_settings.resetEvery;
}

bool Schedule::updatesFilter(std::int64_t step) const
{
    const ScheduleSettings& s = m_settings;
    if (step > 1 && levelAt(step) != levelAt(step - 1))
        return true;
    if (step <= lastDensification())
        return densifies(step) || (s.filterEvery > 0 && step % s.filterEvery == 0);
    return false;
}

int Schedule::degreeAt(std::int64_t step) const
{
    if (m_settings.degreeEvery <= 0)
        return m_settings.degree;
    const std::int64_t grown =
        std::max<std::int64_t>(m_settings.leastDegree, (step - 1) / m_settings.degreeEvery);
    return static_cast<int>(std::min<std::int64_t>(m_settings.degree, grown));
}

int Schedule::levelAt(std::int64_t step) const
{
    if (!m_settings.progressive)
        return 0;
    if (step * 10 <= m_settings.iterations)
        return 2;
    return step * 10 <= m_settings.iterations * 3 ? 1 : 0;
}

PictureOrder::PictureOrder(std::vector<std::size_t> pictures, std::uint64_t seed)
    : m_pictures(std::move(pictures)),
      m_seed(seed)
{
}

std::size_t PictureOrder::at(std::int64_t step)
{
    expects(!m_pictures.empty(), "PictureOrder: there is no picture to learn from");
    const auto count = static_cast<std::int64_t>(m_pictures.size());
    const std::int64_t epoch = (step - 1) / count;
    if (epoch != m_epoch)
        shuffle(epoch);
    return m_order[static_cast<std::size_t>((step - 1) % count)];
}

/// Source: The art of computer programming, volume 2 (1969), algorithm 3.4.2 P.
void PictureOrder::shuffle(std::int64_t epoch)
{
    m_order = m_pictures;
    const Rng rng(m_seed, kOrderStream);
    for (std::size_t i = m_order.size() - 1; i > 0; --i) {
        const auto index = static_cast<std::uint64_t>(epoch) * m_order.size() + i;
        const auto j =
            static_cast<std::size_t>((static_cast<std::uint64_t>(rng.bits(index)) * (i + 1)) >> 32);
        std::swap(m_order[i], m_order[j]);
    }
    m_epoch = epoch;
}

} // namespace vergence::sugar
