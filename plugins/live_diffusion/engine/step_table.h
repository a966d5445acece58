#pragma once

#include <memory>
#include <vector>

#include "plugins/live_diffusion/engine/executor.h"

namespace vergence::live {

/// What the time embedding adds to every residual block, for the (timestep, history bucket) pairs
/// in use: computed once, kept on the device. The least recently used of kPairs makes room.
class StepTable {
public:
    static constexpr int kPairs = 64;

    /// `network` runs the evaluations; its convolutions' biases are part of the rows where it wants
    /// them.
    StepTable(std::shared_ptr<Device> device, Stream& stream, const Program& unet,
              const WeightSource& weights, const Executor& network, ConvolutionTuner& tuner);

    /// F32 [Σ C] of one pair; computed where it is new.
    Tensor row(Stream& stream, int timestep, int historyBucket)
    {
        return m_rows.slice(place(stream, timestep, historyBucket));
    }
    /// The number of that row. It stays until kPairs other pairs were asked for.
    Index place(Stream& stream, int timestep, int historyBucket);
    const Tensor& rows() const { return m_rows; } ///< [kPairs, Σ C]
    std::size_t bytes() const { return m_rows.bytes(); }
    std::size_t weightBytes() const { return m_executor->weightBytes(); }

private:
    void compute(Stream& stream, const Tensor& row, int timestep, int historyBucket);

    struct Pair {
        int timestep = -1, bucket = -1;
        std::int64_t used = 0;
    };
    std::shared_ptr<Device> m_device;
    Program m_program; ///< the denoiser with the addends as outputs
    std::unique_ptr<Executor> m_executor;
    std::vector<float> m_bias; ///< [Σ C]
    std::vector<Pair> m_pairs;
    Tensor m_rows; ///< [kPairs, Σ C]
    std::int64_t m_clock = 0;
    int m_t = -1, m_b = -1; ///< values
};

} // namespace vergence::live
