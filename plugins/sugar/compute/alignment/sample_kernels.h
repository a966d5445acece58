#pragma once

#include "core/compute/kernel.h"
#include "plugins/sugar/compute/alignment/density_field_math.h"
#include "plugins/sugar/compute/alignment/depth_picture_math.h"
#include "plugins/sugar/compute/raster_kernels.h"

namespace vergence::sugar {

// Terms of the loss that samples of the density field give: drawn, evaluated, gathered.

/// Parent of a sample that does not count.
inline constexpr std::uint32_t kNoParent = 0xffffffffU;

/// What a random number is for, so that no two uses share one.
enum class SampleDraw : std::uint64_t { Parent, Place };

/// Philox stream of one use in one step; no other part of the lab has the same high bits.
VERGENCE_HD std::uint64_t sampleStream(SampleDraw draw, std::int64_t step)
{
    return 0x5346'0000'0000'0000ULL + 2 * static_cast<std::uint64_t>(step) +
           static_cast<std::uint64_t>(draw);
}

struct FieldSample {
    std::uint32_t parent;
    float normal[3]; ///< ξ
    float target;    ///< what the signed distance is compared with; 0 for the density
};

/// The Gaussians as the field sees them.
struct FieldView {
    GaussianPointers<const float> values;
    const float* filter = nullptr;             ///< or null
    const std::uint32_t* neighbours = nullptr; ///< [N, k]
    int k = 0, valid = 0;                      ///< entries of a row, and how many differ
};

struct DrawArguments {
    FieldView field;
    const std::uint32_t* visible = nullptr; ///< parents are drawn from these
    Index visibleCount = 0;
    Index samples = 0;
    std::uint64_t seed = 0;
    std::int64_t step = 0;
    bool isDistance = false; ///< parents near the rendered depth alone, and their targets
    CameraView<float> camera{};
    DepthPicture<float> picture;
    FieldSample* to = nullptr; ///< [samples]
};
inline const Kernel<void(const DrawArguments&)> drawSamples{"sugar.draw_samples"};
/// How many of [samples] count, brought to the host. Waits for the stream.
inline const Kernel<void(const FieldSample*, Index, Index*)> countSamples{"sugar.count_samples"};

/// Numbers of one neighbour's gradient: position, ln s, rotation matrix, o.
inline constexpr int kRecordNumbers = 16;

struct SampleTermArguments {
    FieldView field;
    const FieldSample* samples = nullptr;
    Index count = 0;
    bool isDistance = false, isDetached = false;
    float extent = 1;
    float factor = 0, normalFactor = 0; ///< of each sample
    float* values = nullptr;            ///< scratch: [count, 2]
    double* sums = nullptr;             ///< on the host: of both terms; added to
    // On the CPU: samples of one parent together, and a record for each of its neighbours.
    const std::uint32_t* order = nullptr;  ///< [count] numbers of samples
    const std::uint32_t* starts = nullptr; ///< [groups + 1] first of each group
    Index firstGroup = 0, lastGroup = 0;   ///< those of this call
    float* records = nullptr;              ///< [groups, valid, kRecordNumbers] overwritten
    // On CUDA:
    GaussianPointers<float> gradients; ///< added to, without harmonics
};
/// Values and gradients of all samples that count. Waits for the stream.
inline const Kernel<void(const SampleTermArguments&)> sampleTerms{"sugar.sample_terms"};

/// Adds the records of each Gaussian to its gradients; on the CPU alone.
struct GatherRecordsArguments {
    FieldView field;
    Index rows = 0;
    const std::uint32_t* gaussians = nullptr; ///< [rows]
    const std::uint32_t* starts = nullptr;    ///< [rows + 1]
    const std::uint32_t* entries = nullptr;   ///< numbers of records
    const float* records = nullptr;
    GaussianPointers<float> gradients;
};
inline const Kernel<void(const GatherRecordsArguments&)> gatherRecords{"sugar.gather_records"};

/// gradient[i] += factor · ∂(entropy of o_i) for visible Gaussians; sum of their entropies.
struct EntropyArguments {
    const std::uint32_t* visible = nullptr;
    Index visibleCount = 0;
    const float* logit = nullptr;
    float factor = 0;
    float* gradient = nullptr;
    double* sum = nullptr; ///< on the host; overwritten
};
inline const Kernel<void(const EntropyArguments&)> opacityEntropies{"sugar.opacity_entropies"};

} // namespace vergence::sugar
