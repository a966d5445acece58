#pragma once

#include <functional>
#include <span>

#include <nlohmann/json_fwd.hpp>

#include "core/base/error.h"
#include "plugins/mc_embedding/compute/encoder.h"
#include "plugins/mc_embedding/statistics/figure.h"
#include "plugins/mc_embedding/study/chunk_result.h"

namespace vergence::mc_embedding {

/// Features that are not finite: too large for the type of the products.
class FeatureOverflow : public NumericsError {
public:
    using NumericsError::NumericsError;
};

/// Measures one chunk of images, block by block of passes: sums over passes on the device, scores
/// on the host whenever a pass count of the list is reached. Specification, sections 5.1 to 5.3.
class ChunkMeasurement {
public:
    struct Images {
        std::size_t first = 0; ///< in the study
        std::vector<std::uint32_t> maskIds;
        std::vector<std::size_t> clouds; ///< in the chunk, whose passes are kept
    };
    /// Starts the encoder's chunk: pixels U8 [B, side, side, 3]. Throws FeatureOverflow. Of no use
    /// where `isStopped` said yes meanwhile.
    ChunkMeasurement(Stream& stream, Encoder& encoder, const Tensor& pixels, Images images,
                     const MeasurementPlan& plan, bool biased,
                     const std::function<bool()>& isStopped = {});

    /// Takes over what an earlier chunk of the same images measured: trials, and passes where sums
    /// are enough to go on. Before the first block. False where nothing of it is of use.
    bool adopt(const ChunkResult& earlier);
    bool isDone() const { return m_trial >= m_plan.trials; }
    /// At most `most` passes, of several trials where one has fewer left; returns how many. None,
    /// as if it had not been called, where `isStopped` said yes meanwhile.
    int runBlock(Stream& stream, int most, const std::function<bool()>& isStopped = {});
    std::int64_t passesLeft() const;
    ChunkResult result() const { return m_result; }

    /// What continues within the chunk, for a checkpoint: tensors "chunk.…", "trial.…" and
    /// counters.
    void save(Stream& stream, std::vector<HostTensor>& tensors, nlohmann::json& state) const;
    /// After construction with the same arguments. Throws InputError.
    void load(Stream& stream, const std::vector<HostTensor>& tensors, const nlohmann::json& state);

private:
    std::vector<PassId> nextPasses(int most) const;
    Index takePasses(Stream& stream, const Tensor& features);
    void adoptPasses(const ChunkResult& earlier, std::size_t trials);
    void beginTrial(Stream& stream);
    void keepPasses(Stream& stream, const Tensor& features);
    void takeScores(Stream& stream, std::size_t passIndex);
    void takeShapes(std::size_t passIndex);
    void endTrial();
    Matrix cloudOf(std::size_t image, int passes) const;
    bool keepsTrial() const;
    std::size_t scoreAt(std::size_t passIndex, std::size_t image) const;
    int firstPass(int trial) const { return m_firstPasses[static_cast<std::size_t>(trial)]; }

    Encoder& m_encoder;
    MeasurementPlan m_plan;
    Images m_images;
    bool m_biased, m_needsShapes = false, m_needsVariances = false;
    Moments m_moments;
    ChunkResult m_result;
    std::vector<int> m_firstPasses; ///< per trial: passes that an earlier chunk did
    std::vector<float> m_passes;    ///< [T, B, D] of the trial, where its shape is wanted
    int m_trial = 0, m_pass = 0;
    bool m_isTrialBegun = false;
};

} // namespace vergence::mc_embedding
