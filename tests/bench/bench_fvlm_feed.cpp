// Frames of foveated_vlm on their way: patches per second beside what copying memory costs, and
// reading clips from a shard. The shape is that of the first run: ten clips of [8, 3, 256, 256].

#include <cstring>
#include <filesystem>
#include <numeric>

#include <benchmark/benchmark.h>

#include "plugins/foveated_vlm/feed/frame_feed.h"
#include "plugins/foveated_vlm/shards/shard_clips.h"

namespace {

using namespace vergence;
using namespace vergence::fvlm;

constexpr Index kClips = 40, kBatch = 10, kFrames = 8, kSide = 256, kPatch = 14, kColumns = 592;
constexpr std::size_t kClipBytes = kFrames * 3 * kSide * kSide;

/// A shard of made-up clips, removed at the end.
class MadeShard {
public:
    MadeShard() : m_path(std::filesystem::temp_directory_path() / "bench_fvlm_feed.fvshard")
    {
        ShardWriter writer(m_path, {kFrames, 3, kSide, kSide, ShardType::U8});
        std::vector<std::byte> frames(kClipBytes);
        for (Index clip = 0; clip < kClips; ++clip) {
            for (std::size_t i = 0; i < frames.size(); ++i)
                frames[i] = static_cast<std::byte>(i * 37 + static_cast<std::size_t>(clip));
            ShardClip entry;
            entry.frames = kFrames;
            writer.add(entry, frames);
        }
        writer.commit("{}");
    }
    ~MadeShard() { std::filesystem::remove(m_path); }
    const std::filesystem::path& path() const { return m_path; }

private:
    std::filesystem::path m_path;
};

const MadeShard& shard()
{
    static const MadeShard made;
    return made;
}

std::vector<Index> batchAt(Index step)
{
    std::vector<Index> clips(kBatch);
    std::iota(clips.begin(), clips.end(), step * kBatch % kClips);
    return clips;
}

void patches(benchmark::State& state, FeedMode mode, DType type)
{
    const ShardClips clips(shard().path());
    const auto device = makeCpuDevice();
    const auto stream = device->createStream();
    FeedSettings settings;
    settings.mode = mode;
    settings.patch = kPatch;
    FrameFeed feed(device, clips, nullptr, settings);
    const Index places = feed.patchRows() * feed.patchColumns();
    const Tensor rows = Tensor::empty(device, {kBatch * kFrames, places, kColumns}, type);
    Index step = 0;
    for (Index ahead = 0; ahead < 3; ++ahead)
        feed.ahead(batchAt(ahead));
    for (auto _ : state) {
        feed.ahead(batchAt(step + 3));
        feed.fill(*stream, batchAt(step++), rows);
    }
    state.SetItemsProcessed(state.iterations() * kBatch * kFrames * places);
    state.SetBytesProcessed(state.iterations() *
                            static_cast<Index>(rows.bytes() + kBatch * kClipBytes));
    state.counters["waited_share"] =
        static_cast<double>(feed.counts().starved) / static_cast<double>(feed.counts().batches);
}

/// What as many bytes cost that are only read and written: a quarter read, the rest written.
void memoryBound(benchmark::State& state)
{
    const std::size_t read = kBatch * kClipBytes, written = kBatch * kFrames * 324 * kColumns * 2;
    std::vector<char> from(read, 1), to(written);
    for (auto _ : state) {
        for (std::size_t done = 0; done < written; done += read)
            std::memcpy(to.data() + done, from.data(), std::min(read, written - done));
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * static_cast<Index>(read + written));
}

void readShard(benchmark::State& state)
{
    const ShardClips clips(shard().path());
    std::vector<std::uint8_t> frames(kClipBytes);
    Index clip = 0;
    for (auto _ : state) {
        clips.read(clip++ % kClips, frames);
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * static_cast<Index>(kClipBytes));
    state.SetItemsProcessed(state.iterations() * kFrames);
}

/// Opening, and the check sum of every clip.
void openAndCheck(benchmark::State& state)
{
    for (auto _ : state) {
        const Shard opened(shard().path());
        for (std::size_t i = 0; i < opened.count(); ++i)
            benchmark::DoNotOptimize(opened.frames(i).data());
    }
    state.SetBytesProcessed(state.iterations() * kClips * static_cast<Index>(kClipBytes));
}

BENCHMARK_CAPTURE(patches, resident_bf16, FeedMode::Resident, DType::BF16)->UseRealTime();
BENCHMARK_CAPTURE(patches, resident_f32, FeedMode::Resident, DType::F32)->UseRealTime();
BENCHMARK_CAPTURE(patches, stream_bf16, FeedMode::Stream, DType::BF16)->UseRealTime();
BENCHMARK(memoryBound)->UseRealTime();
BENCHMARK(readShard)->UseRealTime();
BENCHMARK(openAndCheck)->UseRealTime();

} // namespace

BENCHMARK_MAIN();
