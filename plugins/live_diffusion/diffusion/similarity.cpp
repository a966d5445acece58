#include "plugins/live_diffusion/diffusion/similarity.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace vergence::live {

double cosineSimilarity(std::span<const float> a, std::span<const float> b)
{
    expects(a.size() == b.size(), "cosineSimilarity: pictures differ in size");
    constexpr std::size_t kLanes = 8;
    double ab[kLanes] = {}, aa[kLanes] = {}, bb[kLanes] = {};
    const auto add = [&](std::size_t lane, double x, double y) {
        ab[lane] += x * y;
        aa[lane] += x * x;
        bb[lane] += y * y;
    };
    std::size_t i = 0;
    for (; i + kLanes <= a.size(); i += kLanes) {
        for (std::size_t k = 0; k < kLanes; ++k)
            add(k, a[i + k], b[i + k]);
    }
    for (; i < a.size(); ++i)
        add(0, a[i], b[i]);
    const auto sum = [](const double(&lanes)[kLanes]) {
        double total = 0;
        for (const double lane : lanes)
            total += lane;
        return total;
    };
    const double lengths = sum(aa) * sum(bb);
    if (lengths == 0)
        return sum(aa) == sum(bb) ? 1 : 0;
    return sum(ab) / std::sqrt(lengths);
}

double skipProbability(double similarity, double threshold)
{
    expects(threshold < 1, "skipProbability: the threshold is below 1");
    return std::clamp(1 - (1 - similarity) / (1 - threshold), 0.0, 1.0);
}

bool SimilarityFilter::skips(std::span<const float> picture, std::uint32_t frame)
{
    const bool hasReference = m_reference.size() == picture.size();
    m_similarity = hasReference ? cosineSimilarity(picture, m_reference) : 0;
    const double probability = skipProbability(m_similarity, m_settings.threshold);
    if (hasReference && m_inRow < m_settings.mostSkips &&
        m_noise.uniform(frame, NoisePurpose::Filter, 0) < probability) {
        ++m_inRow;
        return true;
    }
    m_inRow = 0;
    m_reference.assign(picture.begin(), picture.end());
    return false;
}

void SimilarityFilter::reset()
{
    m_reference.clear();
    m_inRow = 0;
    m_similarity = 0;
}

} // namespace vergence::live
