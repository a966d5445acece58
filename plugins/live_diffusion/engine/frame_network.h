#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/compute/tensor.h"
#include "plugins/live_diffusion/engine/frame_call.h"
#include "plugins/live_diffusion/engine/switches.h"

namespace vergence::live {

/// What a network sees of a frame: `patch`² pixels of each colour per cell of the working grid.
struct FrameShape {
    int patch = 1;
    int gridHeight = 64, gridWidth = 64;

    Index channels() const { return Index{3} * patch * patch; } ///< of one image on the grid
    Index cells() const { return Index{gridHeight} * gridWidth; }
    Index values() const { return channels() * cells(); }
    int height() const { return gridHeight * patch; } ///< of the frame, pixels
    int width() const { return gridWidth * patch; }

    bool operator==(const FrameShape&) const = default;
};

/// One batch row of an evaluation. Images are host F32 [3p², gridHeight, gridWidth], in [−1, 1] but
/// for x, which has noise; `input` and `history` may be empty and count as zeros then.
struct EvalRow {
    std::span<const float> x;       ///< x_t
    std::span<const float> input;   ///< u_k, the current input frame
    std::span<const float> history; ///< h, the last output with its noise
    int timestep = 999;             ///< 0 … 999
    int historyBucket = 0;          ///< round(10 · s / 0.7), 0 … 10
    bool seesMemory = true;         ///< false: only the null token (unconditional branch)
};

struct EvalInput {
    std::span<const EvalRow> rows; ///< 1 … maxRows()
};

/// Host memory of the caller, overwritten.
struct EvalOutput {
    std::span<float> prediction;  ///< [rows, 3p², gridHeight, gridWidth]: ε or v
    std::span<float> blendLogits; ///< [rows, gridHeight, gridWidth]
};

/// What a network occupies and starts. Bytes are exact; 0 where there is none of a kind.
struct FrameCost {
    std::size_t weightBytes = 0; ///< as the products read them; each weight once
    std::size_t arenaBytes = 0;  ///< activations: most that lives at once, with the planner's gaps
    std::size_t workspaceBytes = 0;  ///< scratch of the libraries and of tiles
    std::size_t cacheBytes = 0;      ///< memory tokens, keys and values, bias tables
    std::size_t graphBytes = 0;      ///< memory private to recorded graphs
    std::size_t tuningPeakBytes = 0; ///< most in use while plans were timed; never part of steady
    int kernelsPerEval = 0;          ///< kernels, products and copies that one evaluation starts
    double launchSeconds = 0;    ///< host time to start the last evaluation (all of it on the CPU);
                                 ///< after runFrame() a step's share
    int framePlans = 0;          ///< laid out by runFrame() since the switches last changed
    int recordedPlans = 0;       ///< of those kept, replayed as graphs
    std::int64_t flopPerRow = 0; ///< useful work of one row: 2 · multiply-adds, §3.9's rules
    std::int64_t workPerRow = 0; ///< what the algorithms in use do of that at least
    int threads = 0;             ///< CPU threads in use; 0 on a card

    std::size_t steadyBytes() const
    {
        return weightBytes + arenaBytes + workspaceBytes + cacheBytes + graphBytes;
    }
};

/// One operation of an evaluation, as profilers list it. Numbers are for `rows` = 1.
struct OpRecord {
    std::string name;       ///< of its first weight's layer or of the value it writes: "d1.0.c1"
    std::string block;      ///< "d1.0", "mid", "head": what bars are grouped by
    std::string kind;       ///< "convolution", "linear", "group norm", "attention", …
    std::string shape;      ///< "64×64×64 → 128, 3×3"
    std::string plan;       ///< algorithm in use: "library", "winograd", "packed product"
    std::int64_t flop = 0;  ///< useful work
    std::int64_t work = 0;  ///< what its algorithm does at least: less where it saves some
    std::int64_t bytes = 0; ///< compulsory: inputs, weights, outputs, residuals
    std::int64_t liveBytes = 0;  ///< of the arena while it runs
    std::int64_t scoreBytes = 0; ///< of those, stored attention scores
    int kernels = 1;
    bool usesTensorCores = false;
};

/// Hears each operation of an evaluation. While one is set, operations wait for the device, so that
/// times between the calls are theirs; graphs are not replayed.
class OpObserver {
public:
    virtual ~OpObserver() = default;
    virtual void began(std::size_t op) = 0; ///< index into operations()
    virtual void ended(std::size_t op) = 0;
};

/// A denoiser that runs frame by frame: what the stream, the benchmarks and the profilers know of a
/// network. Not thread-safe; one thread at a time. Same inputs, same switches, same bits.
class FrameNetwork {
public:
    virtual ~FrameNetwork() = default;

    virtual const FrameShape& shape() const = 0;
    virtual int maxRows() const = 0; ///< batch rows it was prepared for

    /// One forward pass for each row. Takes no device memory but for new (timestep, bucket) pairs.
    /// Throws ContractError where a span has another length; the caller judges what comes out.
    virtual void evaluate(const EvalInput& input, const EvalOutput& output) = 0;

    /// Whether runFrame() may be called: the network can run all steps of a frame, and what lies
    /// between them, in one go.
    virtual bool runsFrames() const { return false; }
    /// One frame, one picture after the other: start, steps with guidance, blend and, where the
    /// plan says so, the write into the memory bank. The same as evaluate() and the host's
    /// arithmetic around it, to the bit on the CPU. `picture`, overwritten: y_k in [−1, 1], [3p²,
    /// gridHeight, gridWidth]; the last picture where anything was not finite.
    virtual FrameAnswer runFrame(const FrameCall& call, std::span<float> picture);

    /// Computes what only depends on (timestep, bucket) ahead of the first frame; without it the
    /// first evaluation of each pair does. At most 64 pairs are kept.
    virtual void prepareSteps(std::span<const int> timesteps, int historyBucket) = 0;

    /// Writes the tokens of an output frame [3p², gridHeight, gridWidth] into the memory bank.
    /// Nothing happens in a network without one.
    virtual void writeMemory(std::span<const float> frame) = 0;
    virtual void resetMemory() = 0;
    virtual int memoryWrites() const = 0; ///< since the last reset

    virtual const Switches& switches() const = 0;
    /// Rebuilds plans and memory where they change; keeps weights and memory bank. Values that the
    /// device does not offer throw ContractError (see availableSwitches()). Where it throws, all is
    /// as before.
    virtual void setSwitches(const Switches& switches) = 0;

    virtual FrameCost cost() const = 0;
    /// In the order of execution; empty for networks without operations.
    virtual std::span<const OpRecord> operations() const = 0;
    /// Null takes it away. Must live until then.
    virtual void setObserver(OpObserver* observer) = 0;
    /// Runs one operation `repeats` times on the memory that it has; seconds of one. The values of
    /// the last evaluation are lost.
    virtual double replay(std::size_t op, int repeats) = 0;
};

inline FrameAnswer FrameNetwork::runFrame(const FrameCall&, std::span<float>)
{
    throw ContractError("FrameNetwork: this network runs evaluations alone.");
}

} // namespace vergence::live
