#pragma once

#include "core/compute/kernel.h"
#include "core/compute/view.h"

namespace vergence::sugar {

/// to[i] = from[source[i]], rows of `width` numbers of `size` bytes (1, 2 or 4); 0 where isNew[i].
struct GatherArguments {
    Index rows = 0;
    int width = 1;
    int size = sizeof(float);
    const void* from = nullptr;
    void* to = nullptr;
    const std::uint32_t* source = nullptr;
    const std::uint8_t* isNew = nullptr; ///< null: nowhere
};
inline const Kernel<void(const GatherArguments&)> gatherRows{"sugar.gather_rows"};

/// Moves and shrinks copies of split Gaussians in place: p += R (s ∘ ξ), s /= 1.6.
struct SplitArguments {
    Index first = 0, rows = 0; ///< of the children
    float* position = nullptr;
    float* logScale = nullptr;
    const float* rotation = nullptr;
    float* opacity = nullptr;
    bool revisedOpacity = false;
    std::uint64_t seed = 0;
    std::int64_t step = 0;
};
inline const Kernel<void(const SplitArguments&)> splitRows{"sugar.split_rows"};

struct NoiseArguments {
    Index rows = 0;
    float* position = nullptr;
    const float* logScale = nullptr;
    const float* rotation = nullptr;
    const float* opacity = nullptr;
    float amount = 0; ///< rate · 5e5
    std::uint64_t seed = 0;
    std::int64_t step = 0;
};
inline const Kernel<void(const NoiseArguments&)> noiseOfRows{"sugar.noise_of_rows"};

/// Opacity at most `limit`, after the filter where there is one.
struct LimitArguments {
    Index rows = 0;
    float* opacity = nullptr;
    const float* logScale = nullptr;
    const float* filter = nullptr; ///< or null
    float limit = 0;
};
inline const Kernel<void(const LimitArguments&)> limitOpacity{"sugar.limit_opacity"};

/// gradient += ∂/∂ of weight · mean(o) and of weight · mean(s); null leaves a term out.
struct RegulariserArguments {
    Index rows = 0;
    const float* opacity = nullptr;
    const float* logScale = nullptr;
    float* gradOpacity = nullptr;
    float* gradLogScale = nullptr;
    float opacityWeight = 0, scaleWeight = 0;
    double* values = nullptr; ///< on the host: both terms; overwritten
};
inline const Kernel<void(const RegulariserArguments&)> regulariseRows{"sugar.regularise_rows"};

} // namespace vergence::sugar
