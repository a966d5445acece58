#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <QTest>

#include "plugins/foveated_vlm/feed/frame_feed.h"
#include "plugins/foveated_vlm/feed/patch_rows.h"
#include "tests/plugins/foveated_vlm/made_clips.h"
#include "tests/support/device_table.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::fvlm;
using vergence::test::MadeClips;
using vergence::test::MadeLatents;

namespace {

using Clips = std::vector<Index>;

/// Opened by one thread for others.
class Gate {
public:
    void open()
    {
        const std::lock_guard lock(m_mutex);
        m_isOpen = true;
        m_changed.notify_all();
    }
    void pass()
    {
        std::unique_lock lock(m_mutex);
        m_changed.wait(lock, [&] { return m_isOpen; });
    }

private:
    std::mutex m_mutex;
    std::condition_variable m_changed;
    bool m_isOpen = false;
};

FeedSettings settingsFor(FeedMode mode, int patch = 4)
{
    FeedSettings settings;
    settings.mode = mode;
    settings.patch = patch;
    return settings;
}

/// What fill() gives, as double, and the latents.
struct Filled {
    std::vector<double> patches;
    std::vector<float> latents;
};

template <class T>
std::vector<double> asDouble(Stream& stream, const Tensor& tensor)
{
    std::vector<double> values;
    for (const T value : tensor.toHost<T>(stream))
        values.push_back(static_cast<double>(value));
    return values;
}

Filled filled(FrameFeed& feed, Stream& stream, const std::shared_ptr<Device>& device,
              const Clips& clips, Index columns, DType type = DType::F32, bool withLatents = false)
{
    const Index frames = feed.frames(clips), places = feed.patchRows() * feed.patchColumns();
    const Tensor patches = Tensor::empty(device, {frames, places, columns}, type);
    const Tensor latents = Tensor::empty(device, {frames, 4, 2, 3});
    feed.fill(stream, clips, patches, withLatents ? &latents : nullptr);
    Filled result;
    switch (type) {
    case DType::F64:
        result.patches = asDouble<double>(stream, patches);
        break;
    case DType::F16:
        result.patches = asDouble<Float16>(stream, patches);
        break;
    case DType::BF16:
        result.patches = asDouble<BFloat16>(stream, patches);
        break;
    default:
        result.patches = asDouble<float>(stream, patches);
    }
    if (withLatents)
        result.latents = latents.toHost<float>(stream);
    return result;
}

double normalised(int channel, int byte)
{
    const auto c = static_cast<std::size_t>(channel);
    return (byte / 255.0 - kImageNetMean[c]) / kImageNetDeviation[c];
}

/// Patches written out from the definition.
std::vector<double> expectedPatches(const MadeClips& source, const Clips& clips, int patch,
                                    Index columns)
{
    std::vector<double> rows;
    const int height = source.height(), width = source.width();
    for (const Index clip : clips) {
        const ClipInfo info = source.info(clip);
        for (int frame = 0; frame < (info.isImage ? 1 : info.frames); ++frame) {
            for (int band = 0; band < height / patch; ++band) {
                for (int across = 0; across < width / patch; ++across) {
                    for (Index column = 0; column < columns; ++column) {
                        const int channel = static_cast<int>(column) / (patch * patch);
                        const int within = static_cast<int>(column) % (patch * patch);
                        const int y = band * patch + within / patch;
                        const int x = across * patch + within % patch;
                        const std::size_t place = ((static_cast<std::size_t>(frame) * 3 +
                                                    static_cast<std::size_t>(channel)) *
                                                       static_cast<std::size_t>(height) +
                                                   static_cast<std::size_t>(y)) *
                                                      static_cast<std::size_t>(width) +
                                                  static_cast<std::size_t>(x);
                        rows.push_back(
                            channel < 3 ? normalised(channel, MadeClips::byteAt(clip, place)) : 0);
                    }
                }
            }
        }
    }
    return rows;
}

} // namespace

class TestFvlmFeed : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void bytesAreNormalisedAsImageNetSays_data() { test::addDeviceRows(); }
    void bytesAreNormalisedAsImageNetSays()
    {
        VERGENCE_ROW_DEVICE(device)
        const auto stream = device->createStream();
        const auto values = normalisedBytes(*stream, device, DType::F32).toHost<float>(*stream);
        const std::vector<float> got = {values[0],   values[256],       values[512],
                                        values[255], values[256 + 255], values[512 + 255]};
        VERGENCE_AGREES(test::difference(
            got,
            std::vector<double>{-2.1179039, -2.0357143, -1.8044444, 2.2489083, 2.4285714, 2.64}, 0,
            1e-6));
        VERGENCE_THROWS(ContractError, "F64, F32, F16 or BF16",
                        normalisedBytes(*stream, device, DType::U8));
    }

    void patchesAreRowsOfChannels_data()
    {
        QTest::addColumn<int>("device");
        QTest::addColumn<int>("mode");
        QTest::addColumn<int>("patch");
        QTest::addColumn<int>("spare");
        test::forEachDevice([](const std::string& name, int device) {
            for (const FeedMode mode : {FeedMode::Resident, FeedMode::Stream}) {
                for (const int patch : {1, 4, 5, 14}) {
                    QTest::addRow("%s, %s, patch %d", name.c_str(), nameOf(mode), patch)
                        << device << static_cast<int>(mode) << patch << patch % 3;
                }
            }
        });
    }
    void patchesAreRowsOfChannels()
    {
        VERGENCE_ROW_DEVICE(device)
        QFETCH(int, mode);
        QFETCH(int, patch);
        QFETCH(int, spare);
        MadeClips source({3, 1, 4, 2, 3}, 15, 29); // no multiple of any patch
        const Clips clips = {4, 0, 2, 2, 1};
        const auto stream = device->createStream();
        FrameFeed feed(device, source, nullptr, settingsFor(static_cast<FeedMode>(mode), patch));
        QCOMPARE(feed.patchRows(), Index(15 / patch));
        QCOMPARE(feed.patchColumns(), Index(29 / patch));
        QCOMPARE(feed.frames(clips), Index(3 + 3 + 4 + 4 + 1));
        const Index columns = 3 * patch * patch + spare;
        const auto want = expectedPatches(source, clips, patch, columns);
        VERGENCE_AGREES(test::difference(
            filled(feed, *stream, device, clips, columns, DType::F64).patches, want, 0, 0));
        VERGENCE_AGREES(test::difference(
            filled(feed, *stream, device, clips, columns, DType::F32).patches, want, 1e-7, 1e-7));
        VERGENCE_AGREES(test::difference(
            filled(feed, *stream, device, clips, columns, DType::BF16).patches, want, 0, 4e-3));
        VERGENCE_AGREES(test::difference(
            filled(feed, *stream, device, clips, columns, DType::F16).patches, want, 1e-6, 5e-4));
    }

    /// Frames of 256 px end in four rows and columns that no patch of 14 px holds.
    void pixelsBeyondTheLastPatchDoNotMatter()
    {
        const auto device = test::devices().devices.front();
        const auto stream = device->createStream();
        Index seen = 0;
        std::vector<std::uint8_t> pixels(3 * 256 * 256, 0), reach(pixels.size(), 0);
        const std::int64_t number = 0;
        const Tensor values = normalisedBytes(*stream, device, DType::F64);
        const Tensor rows = Tensor::empty(device, {1, 324, 588}, DType::F64);
        PatchRowsArguments a;
        a.pixels = pixels.data();
        a.numbers = &number;
        a.values = values.data();
        a.rows = rows.data();
        a.type = DType::F64;
        a.frames = 1;
        a.height = a.width = 256;
        a.patch = 14;
        a.columns = 588;
        for (std::size_t i = 0; i < pixels.size(); ++i) {
            const std::size_t x = i % 256, y = i / 256 % 256;
            pixels[i] = x >= 252 || y >= 252 ? 255 : 0;
        }
        patchRowsKernel(*stream, a);
        const auto got = rows.toHost<double>(*stream);
        for (std::size_t i = 0; i < got.size(); ++i)
            seen += got[i] != normalised(static_cast<int>(i % 588 / 196), 0);
        QCOMPARE(seen, Index(0));
    }

    void residentAndStreamedFramesAreEqual_data() { test::addDeviceRows(); }
    void residentAndStreamedFramesAreEqual()
    {
        VERGENCE_ROW_DEVICE(device)
        MadeClips source(std::vector<int>(40, 2), 16, 16);
        MadeClips mapped(std::vector<int>(40, 2), 16, 16);
        mapped.map();
        const MadeLatents latents(source);
        const auto stream = device->createStream();
        FrameFeed resident(device, source, &latents, settingsFor(FeedMode::Resident));
        FrameFeed fromMap(device, mapped, &latents, settingsFor(FeedMode::Resident));
        FrameFeed streamed(device, source, &latents, settingsFor(FeedMode::Stream));
        std::vector<Clips> batches;
        for (Index step = 0; step < 30; ++step) {
            Clips clips;
            for (Index i = 0; i <= step % 7; ++i)
                clips.push_back((step * 11 + i * 17) % 40);
            batches.push_back(clips);
        }
        for (std::size_t i = 0; i < 6; ++i)
            streamed.ahead(batches[i]);
        for (std::size_t i = 0; i < batches.size(); ++i) {
            if (i + 6 < batches.size())
                streamed.ahead(batches[i + 6]);
            const Filled a = filled(resident, *stream, device, batches[i], 48, DType::BF16, true);
            const Filled b = filled(streamed, *stream, device, batches[i], 48, DType::BF16, true);
            const Filled c = filled(fromMap, *stream, device, batches[i], 48, DType::BF16, true);
            QVERIFY(!a.patches.empty());
            QVERIFY(a.patches == b.patches && a.latents == b.latents);
            QVERIFY(a.patches == c.patches && a.latents == c.latents);
            QCOMPARE(a.latents[25], MadeLatents::value(batches[i][0], 25));
        }
        QCOMPARE(streamed.counts().batches, std::uint64_t(30));
        QCOMPARE(streamed.counts().unannounced, std::uint64_t(0));
        QCOMPARE(resident.counts().batches, std::uint64_t(30));
        QCOMPARE(resident.counts().starved, std::uint64_t(0));
    }

    void imagesGiveOneFrame_data() { test::addDeviceRows(); }
    void imagesGiveOneFrame()
    {
        VERGENCE_ROW_DEVICE(device)
        MadeClips source({4, 4, 4}, 8, 8);
        source.images = {false, true, false};
        source.map();
        const MadeLatents latents(source);
        const auto stream = device->createStream();
        for (const FeedMode mode : {FeedMode::Resident, FeedMode::Stream}) {
            FrameFeed feed(device, source, &latents, settingsFor(mode));
            const Clips clips = {1, 2, 1};
            QCOMPARE(feed.frames(clips), Index(6));
            const Filled got = filled(feed, *stream, device, clips, 48, DType::F64, true);
            QVERIFY(got.patches == expectedPatches(source, clips, 4, 48));
            QCOMPARE(got.latents[0], MadeLatents::value(1, 0));
            QCOMPARE(got.latents[24], MadeLatents::value(2, 0));
            QCOMPARE(got.latents[24 * 5 + 23], MadeLatents::value(1, 23));
        }
    }

    /// A batch that is not read yet is waited for, and that is counted; one that is there is not.
    void waitingIsCounted_data() { test::addDeviceRows(); }
    void waitingIsCounted()
    {
        VERGENCE_ROW_DEVICE(device)
        MadeClips source(std::vector<int>(8, 1), 8, 8);
        Gate gate;
        source.onRead = [&](Index clip) {
            if (clip == 3)
                gate.pass();
        };
        const auto stream = device->createStream();
        FrameFeed feed(device, source, nullptr, settingsFor(FeedMode::Stream));
        feed.ahead(Clips{0, 1});
        feed.ahead(Clips{2, 3});
        filled(feed, *stream, device, {0, 1}, 48);
        const auto before = feed.counts();
        std::jthread opener([&] {
            while (source.reads < 4) // the reader stands before the gate
                std::this_thread::yield();
            gate.open();
        });
        filled(feed, *stream, device, {2, 3}, 48);
        const auto waits = feed.counts().starved - before.starved; // none where the gate was faster
        QVERIFY(waits <= 1);
        QCOMPARE(feed.counts().lastWaitSeconds > 0, waits == 1);
        QCOMPARE(feed.counts().unannounced, std::uint64_t(0));
        filled(feed, *stream, device, {5}, 48);
        QCOMPARE(feed.counts().unannounced, std::uint64_t(1));
        QVERIFY(feed.counts().lastWaitSeconds > 0);
        QVERIFY(feed.counts().waitedSeconds >= feed.counts().lastWaitSeconds);
        QVERIFY(feed.counts().starved >= 1);
    }

    void batchesOutOfOrderAreFound_data() { test::addDeviceRows(); }
    void batchesOutOfOrderAreFound()
    {
        VERGENCE_ROW_DEVICE(device)
        MadeClips source(std::vector<int>(12, 2), 8, 8);
        const auto stream = device->createStream();
        FrameFeed feed(device, source, nullptr, settingsFor(FeedMode::Stream));
        for (Index i = 0; i < 10; ++i)
            feed.ahead(Clips{i, i + 1});
        for (const Index first : {0, 3, 4, 9}) { // others between them are dropped
            const Clips clips = {first, first + 1};
            QVERIFY(filled(feed, *stream, device, {11}, 48, DType::F64).patches ==
                    expectedPatches(source, {11}, 4, 48));
            QVERIFY(filled(feed, *stream, device, clips, 48, DType::F64).patches ==
                    expectedPatches(source, clips, 4, 48));
        }
        QCOMPARE(feed.counts().unannounced, std::uint64_t(4));
        feed.ahead(Clips{1});
        feed.forget();
        filled(feed, *stream, device, {1}, 48);
        QCOMPARE(feed.counts().unannounced, std::uint64_t(5));
        feed.ahead(Clips{}); // nothing
        filled(feed, *stream, device, {}, 48);
        QCOMPARE(feed.counts().unannounced, std::uint64_t(5));
    }

    void failuresOfReadingComeOutOfFill_data() { test::addDeviceRows(); }
    void failuresOfReadingComeOutOfFill()
    {
        VERGENCE_ROW_DEVICE(device)
        MadeClips source(std::vector<int>(8, 1), 8, 8);
        source.onRead = [](Index clip) {
            if (clip == 2)
                throw InputError("clip 2 is damaged");
        };
        const auto stream = device->createStream();
        VERGENCE_THROWS(InputError, "clip 2 is damaged",
                        FrameFeed(device, source, nullptr, settingsFor(FeedMode::Resident)));
        FrameFeed feed(device, source, nullptr, settingsFor(FeedMode::Stream));
        feed.ahead(Clips{0, 1, 2, 3});
        feed.ahead(Clips{4, 5});
        VERGENCE_THROWS(InputError, "clip 2 is damaged",
                        filled(feed, *stream, device, {0, 1, 2, 3}, 48));
        QVERIFY(filled(feed, *stream, device, {4, 5}, 48, DType::F64).patches ==
                expectedPatches(source, {4, 5}, 4, 48));
        VERGENCE_THROWS(InputError, "clip 2 is damaged", filled(feed, *stream, device, {2}, 48));
    }

    /// Destroyed while readers are at work, and with announced batches that nobody took.
    void aFeedMayEndAnyTime()
    {
        const auto device = test::devices().devices.front();
        MadeClips source(std::vector<int>(64, 1), 16, 16);
        for (int i = 0; i < 20; ++i) {
            FrameFeed feed(device, source, nullptr, settingsFor(FeedMode::Stream));
            for (Index first = 0; first < 32; ++first)
                feed.ahead(Clips{first, first + 8, first + 16});
        }
        QVERIFY(source.reads > 0);
    }

    void theWayIsChosenByMemory()
    {
        const auto device = test::devices().devices.front();
        MadeClips source({2, 2}, 8, 8);
        FrameFeed made(device, source, nullptr, settingsFor(FeedMode::Auto));
        QCOMPARE(made.mode(), FeedMode::Stream);
        source.map();
        FrameFeed mapped(device, source, nullptr, settingsFor(FeedMode::Auto));
        QCOMPARE(mapped.mode(), FeedMode::Resident);
        QVERIFY(!mapped.reason().empty());
        const MadeLatents latents(source);
        FeedSettings none = settingsFor(FeedMode::Auto);
        none.residentShare = 0;
        FrameFeed full(device, source, &latents, none);
        QCOMPARE(full.mode(), FeedMode::Stream);
        QVERIFY(full.reason().find("free memory") != std::string::npos);
        QCOMPARE(feedModeFromName("stream"), FeedMode::Stream);
        VERGENCE_THROWS(ContractError, "no way `disk`", feedModeFromName("disk"));
    }

    void wrongTensorsAreRefused()
    {
        const auto device = test::devices().devices.front();
        const auto stream = device->createStream();
        MadeClips source({2, 2}, 8, 8);
        for (const FeedMode mode : {FeedMode::Resident, FeedMode::Stream}) {
            FrameFeed feed(device, source, nullptr, settingsFor(mode));
            const auto shaped = [&](Shape shape, DType type = DType::F32) {
                return Tensor::empty(device, std::move(shape), type);
            };
            VERGENCE_THROWS(ContractError, "[2, 4, 48 or more]",
                            feed.fill(*stream, Clips{0}, shaped({1, 4, 48})));
            VERGENCE_THROWS(ContractError, "[2, 4, 48 or more]",
                            feed.fill(*stream, Clips{0}, shaped({2, 4, 47})));
            VERGENCE_THROWS(ContractError, "BF16",
                            feed.fill(*stream, Clips{0}, shaped({2, 4, 48}, DType::I32)));
            const Tensor latents = shaped({2, 4, 2, 3});
            VERGENCE_THROWS(ContractError, "no latents",
                            feed.fill(*stream, Clips{0}, shaped({2, 4, 48}), &latents));
            VERGENCE_THROWS(ContractError, "clip 2 of 2",
                            feed.fill(*stream, Clips{2}, shaped({2, 4, 48})));
        }
        VERGENCE_THROWS(ContractError, "at least one patch",
                        FrameFeed(device, source, nullptr, settingsFor(FeedMode::Auto, 9)));
        FeedSettings settings = settingsFor(FeedMode::Stream);
        settings.readers = 0;
        VERGENCE_THROWS(ContractError, "readers", FrameFeed(device, source, nullptr, settings));
    }
};

VERGENCE_TEST(TestFvlmFeed)
#include "tst_fvlm_feed.moc"
