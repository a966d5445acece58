#include "plugins/live_diffusion/train/sample_maker.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/live_diffusion/model/stop_scope.h"

namespace vergence::live {

namespace {

constexpr std::uint32_t kSampleStream = 0x5a3c; ///< tells samples from what streams draw
constexpr std::uint32_t kDrawsOfUpdate = 64, kDrawsOfRow = 64;

std::size_t index(Index i)
{
    return static_cast<std::size_t>(i);
}

/// Uniform numbers of one row, in order.
class RowDraws {
public:
    RowDraws(const FrameNoise& noise, Index update, Index row)
        : m_noise(noise),
          m_update(static_cast<std::uint32_t>(update)),
          m_next(kDrawsOfUpdate + kDrawsOfRow * static_cast<std::uint32_t>(row))
    {
    }
    double uniform() { return m_noise.uniform(m_update, NoisePurpose::Training, m_next++); }
    bool happens(double chance) { return uniform() < chance; }
    Index below(Index count) { return static_cast<Index>(uniform() * static_cast<double>(count)); }

private:
    const FrameNoise& m_noise;
    std::uint32_t m_update, m_next;
};

/// copy(cell offset, frame offset) for each number of a picture.
template <class Copy>
void forEachCell(Index grid, Index patch, Copy copy)
{
    const Index size = grid * patch, channels = 3 * patch * patch;
    for (Index colour = 0; colour < 3; ++colour) {
        for (Index y = 0; y < size; ++y) {
            const Index channel = (colour * patch + y % patch) * patch;
            Index cell = (y / patch) * grid * channels + channel;
            Index pixel = (colour * size + y) * size;
            for (Index x = 0; x < grid; ++x, cell += channels) {
                for (Index dx = 0; dx < patch; ++dx)
                    copy(cell + dx, pixel++);
            }
        }
    }
}

void expectsPicture(std::span<const float> frame, std::span<const float> cells, Index grid,
                    Index patch)
{
    expects(static_cast<Index>(frame.size()) == 3 * grid * grid * patch * patch &&
                cells.size() == frame.size(),
            "cells: the picture has another size than said");
}

} // namespace

void toCells(std::span<const float> frame, Index grid, Index patch, std::span<float> cells)
{
    expectsPicture(frame, cells, grid, patch);
    forEachCell(grid, patch,
                [&](Index cell, Index pixel) { cells[index(cell)] = frame[index(pixel)]; });
}

void fromCells(std::span<const float> cells, Index grid, Index patch, std::span<float> frame)
{
    expectsPicture(frame, cells, grid, patch);
    forEachCell(grid, patch,
                [&](Index cell, Index pixel) { frame[index(pixel)] = cells[index(cell)]; });
}

SampleMaker::SampleMaker(const PairSource& source, const SampleSettings& settings, Index grid,
                         Index patch)
    : m_source(source),
      m_settings(settings),
      m_schedule(settings.curve, settings.zeroTerminalSnr),
      m_grid(grid),
      m_patch(patch),
      m_noise(settings.seed, kSampleStream),
      m_device(makeCpuDevice(1)),
      m_stream(m_device->createStream()),
      m_frame(index(6 * grid * grid * patch * patch)),
      m_random(index(3 * grid * grid * patch * patch))
{
    expects(source.height() == grid * patch && source.width() == grid * patch,
            fmt::format("SampleMaker: frames of {}×{} pixels for a network of {}", source.width(),
                        source.height(), grid * patch));
}

double SampleMaker::draw(Index update, std::uint32_t number) const
{
    expects(number < kDrawsOfUpdate, "SampleMaker: an update has 64 draws");
    return m_noise.uniform(static_cast<std::uint32_t>(update), NoisePurpose::Training, number);
}

std::vector<float> SampleMaker::startNoise(Index update)
{
    std::vector<float> noise(index(m_settings.batch * 3 * m_grid * m_grid * m_patch * m_patch));
    m_noise.normals(*m_stream, static_cast<std::uint32_t>(update), NoisePurpose::Step, noise);
    return noise;
}

std::vector<SampleRow> SampleMaker::rows(Index update, Index earlier) const
{
    const SampleSettings& s = m_settings;
    const int startTime = timesteps(1, s.startStrength).front();
    std::vector<SampleRow> rows;
    for (Index r = 0; r < s.batch; ++r) {
        RowDraws draws(m_noise, update, r);
        SampleRow row;
        row.clip = draws.below(m_source.clips());
        const Index frames = m_source.frames(row.clip), first = std::min(earlier, frames - 1);
        row.frame = first + draws.below(frames - first);
        row.isStart = draws.happens(s.startShare);
        row.time = static_cast<int>(draws.below(kTrainTimes));
        if (row.isStart)
            row.time = startTime;
        row.startsAnew = draws.happens(s.startsAnew) || row.frame == 0;
        row.historyNoise = draws.uniform() * s.mostHistoryNoise;
        const bool dropsAll = draws.happens(s.dropsAll);
        row.dropsInput = draws.happens(s.dropsInput) || dropsAll;
        row.dropsHistory = draws.happens(s.dropsHistory) || dropsAll;
        row.dropsMemory = draws.happens(s.dropsMemory) || dropsAll;
        const Index since = draws.below(s.memoryStride);
        const Index most = row.frame > since ? (row.frame - 1 - since) / s.memoryStride + 1 : 0;
        row.writes = row.startsAnew ? 0 : std::min(most, draws.below(s.memoryFrames + 1));
        row.firstWrite = row.frame - 1 - since - (row.writes - 1) * s.memoryStride;
        row.spoilsMemory = true;
        rows.push_back(row);
    }
    return rows;
}

SampleBatch SampleMaker::make(std::span<const SampleRow> rows, Index update, Index back,
                              const OwnFrames& own)
{
    SampleBatch batch;
    batch.rows = static_cast<Index>(rows.size());
    batch.grid = m_grid;
    batch.channels = 3 * m_patch * m_patch;
    const std::size_t size = index(batch.rowsSize());
    for (std::vector<float>* pictures :
         {&batch.noisy, &batch.input, &batch.history, &batch.clean, &batch.noise, &batch.previous})
        pictures->resize(size);
    batch.hasPrevious.resize(rows.size());
    fillConditions(rows, update, back, own, batch);
    fillNoisy(rows, update, batch);
    fillMemory(rows, update, back, own, batch);
    return batch;
}

void SampleMaker::drawCells(const SampleRow& row, Index frame, std::span<float> input,
                            std::span<float> target)
{
    const std::size_t size = m_frame.size() / 2;
    const std::span<float> all(m_frame);
    m_source.draw(*m_stream, row.clip, frame, input.empty() ? input : all.first(size),
                  target.empty() ? target : all.last(size));
    if (!input.empty())
        toCells(all.first(size), m_grid, m_patch, input);
    if (!target.empty())
        toCells(all.last(size), m_grid, m_patch, target);
}

void SampleMaker::picture(const SampleRow& row, Index rowNumber, Index frame, const OwnFrames& own,
                          std::span<float> cells)
{
    const auto found = own.find(row.frame - frame);
    if (found == own.end())
        return drawCells(row, frame, {}, cells);
    const auto* from = found->second.data() + rowNumber * static_cast<Index>(cells.size());
    std::copy_n(from, cells.size(), cells.begin());
}

void SampleMaker::spoil(std::span<float> cells, double level, Index update, NoisePurpose purpose,
                        Index number)
{
    m_noise.normals(*m_stream, static_cast<std::uint32_t>(update), purpose,
                    std::span(m_random).first(cells.size()),
                    static_cast<std::uint32_t>(number) * static_cast<std::uint32_t>(cells.size()));
    const auto kept = static_cast<float>(std::sqrt(1 - level * level));
    const auto fresh = static_cast<float>(level);
    for (std::size_t i = 0; i < cells.size(); ++i)
        cells[i] = kept * cells[i] + fresh * m_random[i];
}

void SampleMaker::fillConditions(std::span<const SampleRow> rows, Index update, Index back,
                                 const OwnFrames& own, SampleBatch& batch)
{
    const std::size_t size = index(batch.pictureSize());
    const auto part = [size](std::vector<float>& all, std::size_t r) {
        return std::span(all).subspan(r * size, size);
    };
    for (std::size_t r = 0; r < rows.size(); ++r) {
        stopHere();
        const SampleRow& row = rows[r];
        const Index frame = row.frame - back, number = static_cast<Index>(r);
        const std::span<float> input = part(batch.input, r), history = part(batch.history, r);
        const std::span<float> previous = part(batch.previous, r);
        drawCells(row, frame, input, part(batch.clean, r));
        const bool isFirst = frame == 0 || (row.startsAnew && !own.contains(back + 1));
        if (!isFirst)
            picture(row, number, frame - 1, own, previous);
        batch.hasPrevious[r] = !isFirst && !row.dropsHistory;
        if (!row.dropsHistory) {
            std::copy_n(isFirst ? input.begin() : previous.begin(), size, history.begin());
            if (row.historyNoise > 0)
                spoil(history, row.historyNoise, update, NoisePurpose::History, number);
        }
        batch.buckets.push_back(historyBucket(row.historyNoise));
    }
}

void SampleMaker::fillNoisy(std::span<const SampleRow> rows, Index update, SampleBatch& batch)
{
    const std::size_t size = index(batch.pictureSize());
    m_noise.normals(*m_stream, static_cast<std::uint32_t>(update), NoisePurpose::Start,
                    batch.noise);
    for (std::size_t r = 0; r < rows.size(); ++r) {
        const SampleRow& row = rows[r];
        const auto alpha = static_cast<float>(m_schedule.alpha(row.time));
        const auto sigma = static_cast<float>(m_schedule.sigma(row.time));
        const std::vector<float>& start = row.isStart ? batch.input : batch.clean;
        for (std::size_t i = r * size; i < (r + 1) * size; ++i) {
            batch.noisy[i] = alpha * start[i] + sigma * batch.noise[i];
            if (row.isStart)
                batch.noise[i] = (batch.noisy[i] - alpha * batch.clean[i]) / sigma;
        }
        batch.times.push_back(row.time);
        if (row.dropsInput)
            std::fill_n(batch.input.begin() + static_cast<std::ptrdiff_t>(r * size), size, 0.0f);
    }
}

/// What the memory of a row holds at a frame: writes every `memoryStride` frames from the first on.
struct SampleMaker::Slots {
    MemoryRing ring;

    Slots(const SampleRow& row, Index frame, Index stride)
    {
        if (row.dropsMemory)
            return;
        for (Index w = 0; w < row.writes && row.firstWrite + w * stride < frame; ++w)
            ring.write();
    }
    Index used() const { return std::min<Index>(ring.writes(), kMemorySlots); }
};

void SampleMaker::fillMemory(std::span<const SampleRow> rows, Index update, Index back,
                             const OwnFrames& own, SampleBatch& batch)
{
    std::vector<Slots> slots;
    for (const SampleRow& row : rows) {
        slots.emplace_back(row, row.frame - back, m_settings.memoryStride);
        batch.slots = std::max(batch.slots, slots.back().used());
        const auto bias = slots.back().ring.bias();
        batch.memoryBias.insert(batch.memoryBias.end(), bias.begin(), bias.end());
    }
    batch.memory.resize(index(batch.slots * batch.rowsSize()));
    const std::size_t size = index(batch.pictureSize());
    for (std::size_t r = 0; r < rows.size(); ++r) {
        stopHere();
        const SampleRow& row = rows[r];
        for (Index slot = 0; slot < slots[r].used(); ++slot) {
            const Index at = static_cast<Index>(r) * batch.slots + slot;
            const std::span<float> cells = std::span(batch.memory).subspan(index(at) * size, size);
            const Index write = slots[r].ring.writeOf(slot);
            picture(row, static_cast<Index>(r), row.firstWrite + write * m_settings.memoryStride,
                    own, cells);
            if (!row.spoilsMemory)
                continue;
            const auto level = [&](std::uint32_t number) {
                return m_noise.uniform(static_cast<std::uint32_t>(update), NoisePurpose::Weights,
                                       2 * static_cast<std::uint32_t>(at) + number);
            };
            if (level(0) < 0.5)
                spoil(cells, level(1) * m_settings.mostHistoryNoise, update, NoisePurpose::Scene,
                      at);
        }
    }
}

} // namespace vergence::live
