#include "plugins/mc_embedding/study/work_meter.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace vergence::mc_embedding {

namespace {

constexpr double kMemory = 10; // s

} // namespace

void WorkMeter::add(double flop, double computed, double passImages, double seconds)
{
    const double kept = std::exp(-seconds / kMemory);
    m_flop = kept * m_flop + flop;
    m_computed = kept * m_computed + computed;
    m_images = kept * m_images + passImages;
    m_seconds = kept * m_seconds + seconds;
    m_done += flop;
}

double WorkMeter::share() const
{
    return m_total > 0 ? std::clamp(m_done / m_total, 0.0, 1.0) : 0;
}

double WorkMeter::flopPerSecond() const
{
    return m_seconds > 0 ? m_computed / m_seconds : 0;
}

double WorkMeter::imagesPerSecond() const
{
    return m_seconds > 0 ? m_images / m_seconds : 0;
}

double WorkMeter::secondsLeft() const
{
    return m_flop > 0 ? std::max(0.0, m_total - m_done) * m_seconds / m_flop
                      : std::numeric_limits<double>::quiet_NaN();
}

} // namespace vergence::mc_embedding
