#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/artifact/image.h"
#include "plugins/live_diffusion/engine/frame_network.h"
#include "plugins/live_diffusion/stream/loop_settings.h"

namespace vergence::live {

/// Seconds of the host by a steady clock; they add up to `total` but for a remainder.
struct FrameTimes {
    double preprocess = 0; ///< crop, scale, unshuffle
    double network = 0;    ///< evaluations; all of a frame that the network runs in one piece
    double sampler = 0;    ///< noise, guidance, steps, blend
    double memory = 0;     ///< write into the bank
    double postprocess = 0;
    double total = 0;
};

/// What became of one input frame.
enum class FrameFate {
    Generated, ///< output() is new
    Skipped,   ///< too similar: output() is the one before
    Filling,   ///< a stream batch has nothing to give yet
    Kept,      ///< the result was not finite: output() is the last good one
};
const char* nameOf(FrameFate fate); ///< "generated", "skipped", "filling", "kept"

struct FrameRecord {
    std::int64_t number = 0; ///< of the input frame since construction or reset(), from 0
    std::int64_t shown = -1; ///< number of the input frame that output() answers; −1: none yet
    FrameFate fate = FrameFate::Generated;
    bool isReset = false; ///< first frame, or a scene cut: history starts anew
    bool isCut = false;
    bool wroteMemory = false;
    int evaluations = 0;    ///< batch rows that the network computed
    int calls = 0;          ///< of the network
    double inputCosine = 1; ///< with the input frame before; 1 for the first
    double skipChance = 0;  ///< of the similarity filter
    std::string message;    ///< why a frame was kept
    FrameTimes seconds;
};

/// Counted apart, since construction. Frames per second are of `generated` alone.
struct LoopTotals {
    std::int64_t frames = 0; ///< input frames
    std::int64_t generated = 0, skipped = 0, filling = 0, kept = 0;
    std::int64_t evaluations = 0, calls = 0, cuts = 0, memoryWrites = 0;

    void add(const FrameRecord& record);
};

/// One frame in, one frame out: crop and scale, scene cuts, history noise, sampler steps with
/// guidance, blend, drift guard, memory writes. Synchronous and deterministic: same settings, same
/// network, same inputs, same bits. Not thread-safe. Keeps no more memory with time.
///
/// Sequential: N evaluations a frame. Stream batch: N rows in one call, frame k answered at tick
/// k + N − 1; with N = 1 both are the same. There the history of a row is the estimate that the
/// same row made a tick ago, noised by min(0.7, 0.7 σ) of the step that follows, the last row's by
/// none; StartFrom::Previous takes what was shown last.
///
/// A sequential frame is one piece of work where the network runs frames (FrameNetwork::runFrame):
/// on cards. The drift guard then acts on the finished picture.
///
/// Every result is looked at: one that is not finite is not shown, not written to memory and not
/// used as history; the network goes on in a safer precision (fp16 → bf16 → fp32) with a line in
/// the log.
class FrameLoop {
public:
    /// Throws ContractError for settings out of range or for more rows than the network was
    /// prepared for (see rowsNeeded()).
    FrameLoop(std::shared_ptr<FrameNetwork> network, const LoopSettings& settings);
    ~FrameLoop();
    FrameLoop(const FrameLoop&) = delete;
    FrameLoop& operator=(const FrameLoop&) = delete;

    /// Batch rows of one call: 1, in a stream batch N; with full guidance twice that, with a
    /// onetime negative one more.
    static int rowsNeeded(const LoopSettings& settings);

    FrameRecord process(const Image& picture);
    /// The same for planes [3p², gridHeight, gridWidth] in [−1, 1].
    FrameRecord process(std::span<const float> values);

    /// Before the next frame. Another sampler, schedule, strength or number of steps empties a
    /// stream batch. Throws as the constructor does; all is as before then.
    void setSettings(const LoopSettings& settings);
    const LoopSettings& settings() const;
    const FrameShape& shape() const;
    FrameNetwork& network() const;

    /// Forgets history, memory, similarity and numbers; the next frame is the first.
    void reset();
    /// Goes on where `other` stands, for a loop that replaces another between two frames: last
    /// output and input (scaled where shapes differ), numbers, totals. An empty memory bank begins
    /// with that output; a stream batch fills anew.
    void adopt(const FrameLoop& other);

    /// Takes `values` [3p², gridHeight, gridWidth] for the output of the last frame: what the next
    /// one has for its history and is blended with. For measuring a stream that is fed the truth.
    /// Memory already written stays. Not for stream batches, whose rows have histories of their
    /// own.
    void replaceLast(std::span<const float> values);

    const Image& output() const;           ///< RGB at the frame's size; black before the first
    std::span<const float> values() const; ///< y_k [3p², gridHeight, gridWidth], in [−1, 1]
    std::span<const float> input() const;  ///< u_k, likewise
    /// x̂₀ of the last frame before its blend; empty where the network ran the frame in one piece.
    std::span<const float> estimate() const;
    const LoopTotals& totals() const;
    std::span<const int> timesteps() const; ///< of the N steps, descending

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace vergence::live
