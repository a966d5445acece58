#include "plugins/live_diffusion/quality/drift_meter.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "plugins/live_diffusion/diffusion/similarity.h"
#include "plugins/live_diffusion/quality/frame_quality.h"

namespace vergence::live {

namespace {
constexpr std::size_t kRemembered = 5;
constexpr int kFlatFrames = 10;
constexpr double kFlatContrast = 0.1;
constexpr double kMostSlope = 0.1;
} // namespace

std::string_view nameOf(DriftVerdict verdict)
{
    switch (verdict) {
    case DriftVerdict::Stable:
        return "stable";
    case DriftVerdict::Drifting:
        return "drifting";
    case DriftVerdict::Collapsed:
        break;
    }
    return "collapsed";
}

double slopePer100(std::span<const double> values, Index first)
{
    const Index count = static_cast<Index>(values.size()) - first;
    if (count < 2)
        return 0;
    const double middle = static_cast<double>(count - 1) / 2;
    double covariance = 0, variance = 0;
    for (Index i = 0; i < count; ++i) {
        const double at = static_cast<double>(i) - middle;
        // Values less the first of them: equal values give exactly 0.
        covariance += at * (values[static_cast<std::size_t>(first + i)] -
                            values[static_cast<std::size_t>(first)]);
        variance += at * at;
    }
    return 100 * covariance / variance;
}

DriftMeter::DriftMeter(int height, int width) : m_height(height), m_width(width)
{
    expects(height > 1 && width > 1, "DriftMeter: frames of at least 2×2 pixels");
}

const FrameQuality& DriftMeter::add(std::span<const float> picture, std::span<const float> target)
{
    FrameQuality quality;
    quality.psnr = vergence::live::psnr(picture, target);
    quality.meanColourDistance = vergence::live::meanColourDistance(picture, target);
    quality.contrastRatio = vergence::live::contrastRatio(picture, target);
    quality.detailRatio = vergence::live::detailRatio(picture, target, m_height, m_width);
    quality.repetition = repetition(picture, target);
    if (!m_last.empty())
        quality.temporalError = vergence::live::temporalError(picture, m_last.front().picture,
                                                              target, m_last.front().target);
    quality.isFinite = std::isfinite(quality.psnr);
    m_frames.push_back(quality);
    Pair pair;
    if (m_last.size() == kRemembered) {
        pair = std::move(m_last.back());
        m_last.pop_back();
    }
    pair.picture.assign(picture.begin(), picture.end());
    pair.target.assign(target.begin(), target.end());
    m_last.push_front(std::move(pair));
    judge();
    return m_frames.back();
}

double DriftMeter::repetition(std::span<const float> picture, std::span<const float> target) const
{
    if (m_last.empty())
        return 0;
    double own = -1, wanted = -1;
    for (const Pair& pair : m_last) {
        own = std::max(own, cosineSimilarity(picture, pair.picture));
        wanted = std::max(wanted, cosineSimilarity(target, pair.target));
    }
    return own - wanted;
}

void DriftMeter::judge()
{
    const FrameQuality& frame = m_frames.back();
    m_flatInRow = frame.contrastRatio < kFlatContrast ? m_flatInRow + 1 : 0;
    if (!m_collapsedAt && (!frame.isFinite || m_flatInRow >= kFlatFrames))
        m_collapsedAt = static_cast<Index>(m_frames.size()) - 1;
}

double DriftMeter::slope() const
{
    std::vector<double> values;
    for (const FrameQuality& frame : m_frames)
        values.push_back(frame.psnr);
    const bool isLong = static_cast<Index>(values.size()) >= kSettledFrame + 2;
    return slopePer100(values, isLong ? kSettledFrame : 0);
}

double DriftMeter::meanPsnr() const
{
    if (m_frames.empty())
        return 0;
    double sum = 0;
    for (const FrameQuality& frame : m_frames)
        sum += frame.psnr;
    return sum / static_cast<double>(m_frames.size());
}

DriftVerdict DriftMeter::verdict() const
{
    if (m_collapsedAt)
        return DriftVerdict::Collapsed;
    const std::size_t tenth = std::max<std::size_t>(1, m_frames.size() / 10);
    const bool keepsContrast =
        std::all_of(m_frames.end() - static_cast<std::ptrdiff_t>(std::min(tenth, m_frames.size())),
                    m_frames.end(), [](const FrameQuality& f) {
                        return f.contrastRatio >= 0.8 && f.contrastRatio <= 1.25;
                    });
    return keepsContrast && std::abs(slope()) < kMostSlope ? DriftVerdict::Stable
                                                           : DriftVerdict::Drifting;
}

} // namespace vergence::live
