#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plugins/live_diffusion/diffusion/noise.h"

namespace vergence::live {

/// a·b/(|a||b|), summed in double; 1 where both are 0, 0 where one is.
double cosineSimilarity(std::span<const float> a, std::span<const float> b);

/// max(0, 1 − (1 − S)/(1 − η)).
double skipProbability(double similarity, double threshold);

struct SimilaritySettings {
    double threshold = 0.98; ///< η, below 1
    int mostSkips = 10;      ///< in a row
};

/// Leaves out frames that look like the last one that was processed, by chance in proportion to how
/// much they do. Source: StreamDiffusion (2023), section 3.5, "stochastic similarity filter".
class SimilarityFilter {
public:
    SimilarityFilter(FrameNoise noise, SimilaritySettings settings = {})
        : m_noise(noise),
          m_settings(settings)
    {
    }

    /// Whether frame number `frame` is to be left out. A frame that is not becomes the reference.
    bool skips(std::span<const float> picture, std::uint32_t frame);
    void reset();
    double similarity() const { return m_similarity; } ///< of the last frame asked about
    int inRow() const { return m_inRow; }              ///< skipped since the last processed

private:
    FrameNoise m_noise;
    SimilaritySettings m_settings;
    std::vector<float> m_reference;
    double m_similarity = 0;
    int m_inRow = 0;
};

} // namespace vergence::live
