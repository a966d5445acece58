#include "core/run/preview_pacer.h"

#include <algorithm>

namespace vergence {

namespace {

constexpr double kShare = 0.05;        // of run time that previews may cost while somebody watches
constexpr double kLongestInterval = 1; // s; a preview that changes less often looks stuck
constexpr double kMemory = 0.1;        // weight of the newest step in the running mean

} // namespace

void PreviewPacer::beginStep(double now, bool isWatched)
{
    m_begin = now;
    m_wasAsked = false;
    m_isDue = isWatched && now - m_lastFrames >= m_interval;
}

bool PreviewPacer::framesDue()
{
    m_wasAsked = true;
    return m_isDue;
}

void PreviewPacer::endStep(double now)
{
    const double duration = now - m_begin;
    if (!m_isDue || !m_wasAsked) {
        m_plainStep = m_plainStep < 0 ? duration : m_plainStep + kMemory * (duration - m_plainStep);
        return;
    }
    m_lastFrames = now;
    if (m_plainStep < 0)
        return;
    const double cost = std::max(0.0, duration - m_plainStep);
    m_interval = std::max(m_least, std::min(cost / kShare, kLongestInterval));
}

} // namespace vergence
