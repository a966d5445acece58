#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "plugins/live_diffusion/diffusion/noise.h"
#include "plugins/live_diffusion/model/memory_ring.h"
#include "plugins/live_diffusion/train/pair_source.h"
#include "plugins/live_diffusion/train/train_settings.h"

namespace vergence::live {

/// What one row of a batch is about; drawn before any picture is.
struct SampleRow {
    Index clip = 0, frame = 0;
    int time = 0;
    bool isStart = false;    ///< x from the input, as a stream's first step
    bool startsAnew = false; ///< there is no frame before: the history is the input
    double historyNoise = 0; ///< s
    bool dropsInput = false, dropsHistory = false, dropsMemory = false;
    Index firstWrite = 0;      ///< frame that the memory's first write is about
    Index writes = 0;          ///< before `frame`, at most
    bool spoilsMemory = false; ///< half of the memory's pictures get noise
};

/// A batch in host memory. Pictures are [rows, grid, grid, channels], channels last, channels =
/// 3p²: those of FrameShape with the cells outside.
struct SampleBatch {
    Index rows = 0, grid = 0, channels = 0;
    std::vector<float> noisy, input, history; ///< what the network sees: x, u, h
    std::vector<double> times, buckets;       ///< [rows]
    std::vector<float> clean, noise;          ///< the truth, and ε = (x − α·clean)/σ
    std::vector<float> previous;              ///< y_{k−1} without noise; 0 where there is none
    std::vector<char> hasPrevious;            ///< [rows]: whether the blend has something to take
    Index slots = 0;                          ///< of memory that hold something in some row
    std::vector<float> memory;                ///< pictures [rows·slots, grid, grid, channels]
    std::vector<float> memoryBias;            ///< [rows, 264]

    Index pictureSize() const { return grid * grid * channels; }
    Index rowsSize() const { return rows * pictureSize(); }
};

/// Pictures that the model made itself, by how many frames before a row's own they are (1, 2, …):
/// [rows, grid, grid, channels]. They stand in for targets in history and memory.
using OwnFrames = std::map<Index, std::vector<float>>;

/// frame [3, p·grid, p·grid] → cells [grid, grid, 3p²], channel c·p² + dy·p + dx; and back.
void toCells(std::span<const float> frame, Index grid, Index patch, std::span<float> cells);
void fromCells(std::span<const float> cells, Index grid, Index patch, std::span<float> frame);

/// Draws batches: everything is a function of seed, update and row, so that a training is continued
/// by its number alone. Used from one thread.
class SampleMaker {
public:
    /// The source must outlive it and be square, patch·grid pixels a side.
    SampleMaker(const PairSource& source, const SampleSettings& settings, Index grid, Index patch);

    const SampleSettings& settings() const { return m_settings; }
    const NoiseSchedule& schedule() const { return m_schedule; }
    const PairSource& source() const { return m_source; }
    Index grid() const { return m_grid; }
    Index patch() const { return m_patch; }

    /// Rows of update number `update`; with at least `earlier` frames before theirs where the clips
    /// have as many.
    std::vector<SampleRow> rows(Index update, Index earlier = 1) const;
    /// Pictures of `rows` at the frame `back` frames before theirs; times and noise are drawn by
    /// `update`. `own` counts from the rows' own frames.
    SampleBatch make(std::span<const SampleRow> rows, Index update, Index back = 0,
                     const OwnFrames& own = {});
    /// ε that the streams of a roll-out start from: [batch, grid, grid, channels].
    std::vector<float> startNoise(Index update);
    /// Uniform number of an update for other decisions, in (0, 1); `number` below 64.
    double draw(Index update, std::uint32_t number) const;

private:
    struct Slots; ///< what the memory holds at a frame
    void fillConditions(std::span<const SampleRow> rows, Index update, Index back,
                        const OwnFrames& own, SampleBatch& batch);
    void fillNoisy(std::span<const SampleRow> rows, Index update, SampleBatch& batch);
    void fillMemory(std::span<const SampleRow> rows, Index update, Index back, const OwnFrames& own,
                    SampleBatch& batch);
    void picture(const SampleRow& row, Index rowNumber, Index frame, const OwnFrames& own,
                 std::span<float> cells);
    void drawCells(const SampleRow& row, Index frame, std::span<float> input,
                   std::span<float> target);
    void spoil(std::span<float> cells, double level, Index update, NoisePurpose purpose,
               Index number);

    const PairSource& m_source;
    SampleSettings m_settings;
    NoiseSchedule m_schedule;
    Index m_grid, m_patch;
    FrameNoise m_noise;
    std::shared_ptr<Device> m_device;
    std::unique_ptr<Stream> m_stream;
    std::vector<float> m_frame, m_random; ///< scratch of one picture
};

} // namespace vergence::live
