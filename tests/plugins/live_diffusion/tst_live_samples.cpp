#include <cmath>
#include <filesystem>

#include <QTest>

#include "core/artifact/artifact_store.h"
#include "core/base/error.h"
#include "plugins/live_diffusion/model/weight_file.h"
#include "plugins/live_diffusion/train/pair_source.h"
#include "plugins/live_diffusion/train/sample_maker.h"
#include "plugins/live_diffusion/train/tape_stream.h"
#include "tests/plugins/live_diffusion/train_cases.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::live;
using namespace vergence::test;

namespace {
const std::filesystem::path kShipped =
    std::filesystem::path(VERGENCE_SOURCE_DIR) / "resources/live_diffusion/pico.safetensors";
}

class TestLiveSamples : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void cellsAreThePixels();
    void samplesAreAFunctionOfTheUpdate();
    void conditionsAreDroppedAsSaid();
    void picturesAreWhereTheyBelong();
    void ownFramesStandIn();
    void startsAreThoseOfAStream();
    void restoreSpoilsTheInputAlone();
    void coursesOfRateAndRollout();
    void badSettingsAreRefused();
    void shippedWeightsArePinned();
    void shippedWeightsRestyle();

private:
    std::shared_ptr<Device> m_device = makeCpuDevice(1);
    std::unique_ptr<Stream> m_stream = m_device->createStream();
};

void TestLiveSamples::cellsAreThePixels()
{
    for (const Index patch : {1, 2, 4, 8}) {
        const Index grid = 24 / patch, size = 24;
        std::vector<float> frame(3 * 24 * 24), cells(frame.size()), back(frame.size());
        for (std::size_t i = 0; i < frame.size(); ++i)
            frame[i] = static_cast<float>(i);
        toCells(frame, grid, patch, cells);
        for (Index c = 0; c < 3; ++c) {
            for (Index y = 0; y < size; ++y) {
                for (Index x = 0; x < size; ++x) {
                    const Index channel = c * patch * patch + y % patch * patch + x % patch;
                    const Index cell = (y / patch * grid + x / patch) * 3 * patch * patch + channel;
                    QCOMPARE(cells[static_cast<std::size_t>(cell)],
                             frame[static_cast<std::size_t>((c * size + y) * size + x)]);
                }
            }
        }
        fromCells(cells, grid, patch, back);
        QVERIFY(back == frame);
    }
    std::vector<float> small(3);
    VERGENCE_THROWS(ContractError, "size", toCells(small, 8, 2, small));
}

void TestLiveSamples::samplesAreAFunctionOfTheUpdate()
{
    const ScenePairs source = films(4);
    SampleSettings settings;
    settings.batch = 3;
    SampleMaker a(source, settings, nano().grid, nano().patch);
    SampleMaker b(source, settings, nano().grid, nano().patch);
    b.make(b.rows(3), 3); // what came before does not matter
    const SampleBatch one = a.make(a.rows(9), 9), same = b.make(b.rows(9), 9);
    const SampleBatch other = a.make(a.rows(10), 10);
    QVERIFY(one.noisy == same.noisy && one.history == same.history && one.memory == same.memory &&
            one.memoryBias == same.memoryBias && one.times == same.times);
    QVERIFY(one.noisy != other.noisy);
    settings.seed = 2;
    SampleMaker c(source, settings, nano().grid, nano().patch);
    QVERIFY(c.make(c.rows(9), 9).noisy != one.noisy);
}

void TestLiveSamples::conditionsAreDroppedAsSaid()
{
    // 4,000 rows; 5 deviations of a share near 0.145 are 0.028.
    const ScenePairs source = films(2);
    SampleSettings settings;
    settings.batch = 8;
    const SampleMaker maker(source, settings, nano().grid, nano().patch);
    double input = 0, history = 0, memory = 0, all = 0, time = 0, noise = 0, writes = 0;
    for (Index update = 0; update < 500; ++update) {
        for (const SampleRow& row : maker.rows(update)) {
            input += row.dropsInput;
            history += row.dropsHistory;
            memory += row.dropsMemory;
            all += row.dropsInput && row.dropsHistory && row.dropsMemory;
            time += row.time;
            noise += row.historyNoise;
            writes += static_cast<double>(row.writes);
            QVERIFY(row.time >= 0 && row.time < 1000 && row.historyNoise <= 0.7);
            QVERIFY(row.frame >= 1 && row.frame < 240 && row.writes <= 8);
            QVERIFY(row.writes == 0 || row.firstWrite >= 0);
            QVERIFY(row.writes == 0 || row.firstWrite + 4 * (row.writes - 1) < row.frame);
        }
    }
    const double count = 4000, share = 0.1 + 0.9 * 0.05;
    for (const double dropped : {input, history, memory})
        QVERIFY2(std::abs(dropped / count - share) < 0.028, qPrintable(QString::number(dropped)));
    QVERIFY(std::abs(all / count - (0.05 + 0.95 * 0.001)) < 0.018);
    QVERIFY(std::abs(time / count - 499.5) < 25);
    QVERIFY(std::abs(noise / count - 0.35) < 0.02);
    QVERIFY(writes / count > 3 && writes / count < 4); // mean 4, less where too little lies behind
}

void TestLiveSamples::picturesAreWhereTheyBelong()
{
    const ScenePairs source = films(2);
    SampleMaker maker(source, {}, nano().grid, nano().patch);
    const SampleBatch batch = mixedBatch(maker);
    const auto size = static_cast<std::size_t>(batch.pictureSize());
    const auto part = [&](const std::vector<float>& all, std::size_t row) {
        return std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(row * size),
                                  all.begin() + static_cast<std::ptrdiff_t>((row + 1) * size));
    };
    const auto drawn = [&](Index clip, Index frame, bool isTarget) {
        std::vector<float> picture(size), cells(size);
        std::span<float> none;
        source.draw(*m_stream, clip, frame, isTarget ? none : std::span(picture),
                    isTarget ? std::span(picture) : none);
        toCells(picture, batch.grid, nano().patch, cells);
        return cells;
    };
    const std::vector<float> zeros(size);
    QCOMPARE(part(batch.clean, 0), drawn(0, 20, true));
    QCOMPARE(part(batch.clean, 1), drawn(1, 7, true));
    QCOMPARE(part(batch.input, 0), drawn(0, 20, false));
    QCOMPARE(part(batch.input, 1), zeros);
    QCOMPARE(part(batch.previous, 0), drawn(0, 19, true));
    QCOMPARE(part(batch.history, 1), drawn(1, 6, true)); // no noise was asked for
    QVERIFY(part(batch.history, 0) != part(batch.previous, 0));
    QCOMPARE(part(batch.history, 2), zeros);
    QVERIFY(batch.hasPrevious[0] && batch.hasPrevious[1] && !batch.hasPrevious[2]);
    QCOMPARE(batch.buckets, (std::vector<double>{4, 0, 0}));
    // x = α·clean + σ·ε, also where it was made from the input.
    const NoiseSchedule& schedule = maker.schedule();
    for (std::size_t r = 0; r < 3; ++r) {
        const int t = static_cast<int>(batch.times[r]);
        std::vector<double> want;
        for (std::size_t i = r * size; i < (r + 1) * size; ++i)
            want.push_back(schedule.alpha(t) * static_cast<double>(batch.clean[i]) +
                           schedule.sigma(t) * static_cast<double>(batch.noise[i]));
        QCOMPARE(apart(part(batch.noisy, r), want, 1e-5, 0), QString());
    }
    // Memory: two slots, the second empty in the second row and both in the third.
    QCOMPARE(batch.slots, Index{2});
    QCOMPARE(static_cast<Index>(batch.memory.size()), 6 * batch.pictureSize());
    QCOMPARE(part(batch.memory, 0), drawn(0, 12, true));
    QCOMPARE(part(batch.memory, 1), drawn(0, 16, true));
    QCOMPARE(part(batch.memory, 2), drawn(1, 3, true));
    for (std::size_t r = 0; r < 3; ++r) {
        const float* bias = batch.memoryBias.data() + r * kMemoryTokens;
        QCOMPARE(bias[0] == 0.0f, r < 2);
        QCOMPARE(bias[16] == 0.0f, r < 1);
        QCOMPARE(bias[32], kEmptySlotBias);
        QCOMPARE(bias[kNullToken], 0.0f);
    }
}

void TestLiveSamples::ownFramesStandIn()
{
    const ScenePairs source = films(1);
    SampleMaker maker(source, {}, nano().grid, nano().patch);
    const std::vector<SampleRow> rows{{.frame = 9, .time = 100, .firstWrite = 4, .writes = 2}};
    const auto size = static_cast<std::size_t>(3 * 16 * 16);
    OwnFrames own;
    own[1] = std::vector<float>(size, 0.25f);
    const SampleBatch batch = maker.make(rows, 0, 0, own);
    QCOMPARE(batch.history, own[1]);
    QCOMPARE(batch.previous, own[1]);
    // The second write is about frame 8, the model's own; the first is not.
    const std::vector<float> second(batch.memory.begin() + static_cast<std::ptrdiff_t>(size),
                                    batch.memory.end());
    QCOMPARE(second, own[1]);
    QVERIFY(batch.memory.front() != 0.25f);
    // One frame back neither is there yet: the history is frame 7, the memory holds frame 4 alone.
    const SampleBatch before = maker.make(rows, 0, 1, {});
    QCOMPARE(before.slots, Index{1});
    QVERIFY(before.clean != batch.clean);
}

void TestLiveSamples::startsAreThoseOfAStream()
{
    const ScenePairs source = films(1);
    SampleSettings settings;
    settings.startShare = 1;
    settings.startStrength = 0.6;
    SampleMaker maker(source, settings, nano().grid, nano().patch);
    const std::vector<SampleRow> rows = maker.rows(0);
    for (const SampleRow& row : rows)
        QVERIFY(row.isStart && row.time == 599);
    SampleRow row = rows.front();
    row.dropsInput = false;
    const SampleBatch batch = maker.make(std::vector<SampleRow>{row}, 0);
    SampleRow plain = row;
    plain.isStart = false;
    const SampleBatch other = maker.make(std::vector<SampleRow>{plain}, 0);
    const double alpha = maker.schedule().alpha(599), sigma = maker.schedule().sigma(599);
    std::vector<double> want;
    for (std::size_t i = 0; i < batch.noisy.size(); ++i)
        want.push_back(alpha * static_cast<double>(batch.input[i]) +
                       sigma * static_cast<double>(other.noise[i]));
    QCOMPARE(apart(batch.noisy, want, 1e-5, 0), QString());
}

void TestLiveSamples::restoreSpoilsTheInputAlone()
{
    std::vector<float> clip;
    for (int i = 0; i < 2 * 3 * 16 * 16; ++i)
        clip.push_back(static_cast<float>(std::sin(0.05 * i)));
    const RestorePairs source({clip, clip}, 16, 16, 4);
    QCOMPARE(source.frames(1), Index{2});
    std::vector<float> input(768), target(768), again(768);
    for (Index which = 0; which < 2; ++which) {
        source.draw(*m_stream, which, 1, input, target);
        source.draw(*m_stream, which, 1, again, {});
        QVERIFY(std::equal(target.begin(), target.end(), clip.begin() + 768));
        QVERIFY(input != target && input == again);
    }
    VERGENCE_THROWS(ContractError, "no frame 2", source.draw(*m_stream, 0, 2, input, target));
    VERGENCE_THROWS(ContractError, "no frames", RestorePairs({std::vector<float>(5)}, 16, 16, 4));
}

void TestLiveSamples::coursesOfRateAndRollout()
{
    TrainSettings s;
    s.updates = 1000;
    s.warmup = 100;
    s.rate = 1;
    QVERIFY(std::abs(s.rateAt(0) - 0.01) < 1e-12);
    QVERIFY(std::abs(s.rateAt(99) - 1) < 1e-12);
    QVERIFY(std::abs(s.rateAt(549) - 0.5) < 1e-12); // half of the cosine
    QVERIFY(s.rateAt(999) < 1e-12);
    QCOMPARE(s.rolloutChanceAt(799), 0.0);
    QCOMPARE(s.rolloutChanceAt(800), 0.0);
    QVERIFY(std::abs(s.rolloutChanceAt(900) - 0.25) < 1e-12);
    QVERIFY(std::abs(s.rolloutChanceAt(999) - 0.4975) < 1e-12);
    s.rolloutShare = 0;
    QCOMPARE(s.rolloutChanceAt(999), 0.0);
}

void TestLiveSamples::badSettingsAreRefused()
{
    const auto refused = [](auto change) {
        TrainSettings settings;
        change(settings);
        return thrown<ContractError>([&] { check(settings); });
    };
    QVERIFY(refused([](TrainSettings& s) { s.samples.dropsInput = 1.1; }).contains("dropsInput"));
    QVERIFY(refused([](TrainSettings& s) { s.updates = 500; }).contains("updates"));
    QVERIFY(refused([](TrainSettings& s) { s.average = 1; }).contains("average"));
    QVERIFY(
        refused([](TrainSettings& s) { s.samples.memoryFrames = 17; }).contains("memoryFrames"));
    QVERIFY(refused([](TrainSettings& s) { s.gamma = 0; }).contains("gamma"));
    const ScenePairs wide({.height = 16, .width = 32, .seed = 3}, 1);
    VERGENCE_THROWS(ContractError, "32×16", SampleMaker(wide, {}, nano().grid, nano().patch));
}

void TestLiveSamples::shippedWeightsArePinned()
{
    QCOMPARE(QString::fromStdString(sha256OfFile(kShipped)),
             QString("37f7f98547d2f34affbda2ec96f3df7b50672093fc0a50d9f15a27aadf19a507"));
}

void TestLiveSamples::shippedWeightsRestyle()
{
    // Two films that they have not seen; measured: 8 and 6 dB above the input.
    const ModelDescription description = readModelDescription(kShipped);
    const UnetSettings& unet = description.settings;
    TapeNetwork network(*m_stream, m_device, unet, {});
    loadModel(*m_stream, network.parameters(), kShipped);
    const ScenePairs source({.height = 64, .width = 64, .seed = 100}, 2);
    SampleMaker maker(source, {}, unet.grid, unet.patch);
    for (const int steps : {1, 2}) {
        ScoreSettings settings;
        settings.sampler.steps = steps;
        settings.frames = 6;
        const StreamScore score = scoreStream(*m_stream, network, maker, settings);
        QVERIFY2(score.meanPsnr > score.meanInputPsnr + 4,
                 qPrintable(QString("%1 %2").arg(score.meanPsnr).arg(score.meanInputPsnr)));
    }
}

VERGENCE_TEST(TestLiveSamples)
#include "tst_live_samples.moc"
