#include <cmath>
#include <limits>

#include <QTest>

#include "core/compute/optim/schedule.h"
#include "tests/plugins/foveated_vlm/train_bench.h"
#include "tests/plugins/mc_embedding/faulty_device.h"
#include "tests/support/device_table.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::fvlm;
using namespace vergence::fvlm::fixtures;

namespace {

using Options = TrainBench::Options;

template <class T>
double largestDifference(const std::vector<T>& a, const std::vector<T>& b)
{
    double largest = a.size() == b.size() ? 0 : std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        largest = std::max(largest, std::abs(static_cast<double>(a[i] - b[i])));
    return largest;
}

/// Four clips of unequal length with answers of unequal length, in F64, dealt as `batch` ×
/// `accumulation`; a share of the samples may be texts without frames.
Options dealt(Variant variant, int batch, int accumulation, const ClipSource* source,
              double textOnly = 0)
{
    Options options;
    options.variant = variant;
    options.master = options.compute = DType::F64;
    options.source = source;
    options.clips.count = 4;
    options.batches.window = 4;
    options.batches.batch = batch;
    options.batches.gradAccum = accumulation;
    options.batches.textOnly = textOnly;
    options.texts = {{"what?", "red", {}, {}, {}}, {"why?", "disc moving", {}, {}, {}}};
    options.training.warmup = 0;
    return options;
}

/// Puts a number into one weight, on the host.
void poison(TrainBench& bench, float value)
{
    auto* values = static_cast<float*>(bench.model.parameters().values().data());
    const auto [first, last] = bench.model.parameters().range(2); // connector
    QVERIFY(last > first);
    values[first] = value;
}

} // namespace

class TestTrainer : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Specification, section 16.5, case 2.
    void accumulationEqualsALargeBatch_data()
    {
        QTest::addColumn<int>("variant");
        QTest::addColumn<double>("textOnly");
        QTest::newRow("captions") << static_cast<int>(Variant::Captions) << 0.0;
        QTest::newRow("latents") << static_cast<int>(Variant::Latents) << 0.0;
        QTest::newRow("joint") << static_cast<int>(Variant::Joint) << 0.0;
        QTest::newRow("captions, half texts") << static_cast<int>(Variant::Captions) << 0.5;
        QTest::newRow("joint, half texts") << static_cast<int>(Variant::Joint) << 0.5;
    }
    void accumulationEqualsALargeBatch()
    {
        QFETCH(int, variant);
        QFETCH(double, textOnly);
        const ListedClips varied = variedClips(4, 3);
        std::vector<UpdateRecord> records;
        std::vector<std::vector<double>> values, gradients;
        for (const auto& [batch, accumulation] :
             {std::pair(4, 1), std::pair(2, 2), std::pair(1, 4)}) {
            TrainBench bench(
                dealt(static_cast<Variant>(variant), batch, accumulation, &varied, textOnly));
            records.push_back(bench.run(1).at(0));
            gradients.push_back(bench.gradients<double>());
            bench.run(3);
            values.push_back(bench.values<double>());
        }
        QVERIFY(records[0].loss > 0);
        for (std::size_t i = 1; i < records.size(); ++i) {
            QVERIFY(std::abs(records[i].loss - records[0].loss) < 1e-12 * records[0].loss);
            QVERIFY(std::abs(records[i].fine - records[0].fine) < 1e-12 * records[0].fine);
            QVERIFY(std::abs(records[i].coarse - records[0].coarse) < 1e-12 * records[0].coarse);
            QVERIFY(largestDifference(records[i].latentsByFrame, records[0].latentsByFrame) <
                    1e-12);
            QVERIFY(largestDifference(records[i].coarseLatentsByFrame,
                                      records[0].coarseLatentsByFrame) < 1e-12);
            if (records[0].latentsByFrame.size() > 1)
                QVERIFY(std::abs(records[i].laterLatents - records[0].laterLatents) < 1e-12);
            QVERIFY(largestDifference(gradients[i], gradients[0]) < 1e-12);
            // Adam divides by roots of small gradients, which magnifies their last digits.
            QVERIFY(largestDifference(values[i], values[0]) < 1e-7);
        }
    }

    /// Where both looks see the same, their ratio is 1, however many texts without frames there
    /// are.
    void ratioIsOverTheSameSamples()
    {
        const ListedClips varied = variedClips(4, 3);
        for (const int batch : {1, 2, 4}) {
            TrainBench bench(dealt(Variant::Captions, batch, 4 / batch, &varied, 0.5));
            const Tensor queries =
                bench.model.parameters().named("encoder.query_input_proj.weight");
            bench.stream->fillBytes(queries.data(), 0, queries.bytes());
            const UpdateRecord record = bench.run(1).at(0);
            QVERIFY(std::abs(record.coarse / record.fine - 1) < 1e-12);
            QVERIFY(std::abs(record.coarseText - record.text) < 1e-12);
        }
    }

    /// A frame that no clip of an update has was not predicted badly or well: it has no loss.
    void absentFramesHaveNoLoss()
    {
        const ListedClips varied = variedClips(4, 3); // 1, 2, 3 and 1 frames
        TrainBench bench(dealt(Variant::Latents, 1, 1, &varied));
        std::array<int, 3> present{};
        for (const UpdateRecord& record : bench.run(4)) {
            QCOMPARE(record.latentsByFrame.size(), std::size_t{3});
            for (std::size_t t = 0; t < 3; ++t)
                present[t] += record.latentsByFrame[t] > 0 ? 1 : 0;
            for (const double loss : record.latentsByFrame)
                QVERIFY(std::isnan(loss) || loss > 0);
            QCOMPARE(std::isnan(record.laterLatents), std::isnan(record.latentsByFrame[1]));
        }
        QCOMPARE(present, (std::array<int, 3>{4, 2, 1}));
    }

    void lossThatIsNoLongerMeasuredIsAbsent()
    {
        TrainBench bench({});
        QVERIFY(bench.run(1).back().coarse > 0);
        bench.trainer->microStep(*bench.stream);
        LiveSettings live = bench.trainer->settings().live;
        live.coarse = 0; // in the middle of an update
        bench.trainer->change(*bench.stream, live);
        for (const UpdateRecord& record : bench.run(3)) {
            QVERIFY(std::isnan(record.coarse) && std::isnan(record.coarseText));
            QVERIFY(record.loss > 0 && record.fine > 0 && record.text > 0);
        }
        live.coarse = 0.2;
        bench.trainer->change(*bench.stream, live);
        QVERIFY(bench.run(4).back().coarse > 0);
    }

    /// Clips of many lengths, so that several shapes are recorded and replayed where a device can.
    void devicesLearnAlike_data() { vergence::test::addDeviceRows(); }
    void devicesLearnAlike()
    {
        VERGENCE_ROW_DEVICE(device);
        const ListedClips varied = variedClips(16, 4);
        Options options;
        options.source = &varied;
        TrainBench reference(options);
        options.device = device;
        TrainBench bench(options);
        const auto expected = reference.run(20), seen = bench.run(20);
        QCOMPARE(seen.size(), expected.size());
        for (std::size_t i = 0; i < seen.size(); ++i) {
            QVERIFY(std::abs(seen[i].loss - expected[i].loss) < 1e-2 * expected[i].loss);
            QVERIFY(i > 2 || std::abs(seen[i].gradientNorm - expected[i].gradientNorm) <
                                 1e-3 * expected[i].gradientNorm);
        }
    }

    void lossOfAnUpdateIsTheMeanOverItsTokens()
    {
        const ListedClips varied = variedClips(4, 3);
        TrainBench bench(dealt(Variant::Captions, 1, 4, &varied));
        Evaluator evaluator(bench.evaluated(), TrainBench::numbers(4), {});
        const EvaluationReport before = evaluator.run(*bench.stream);
        const UpdateRecord record = bench.run(1).at(0);
        QVERIFY(std::abs(record.fine - before.fine->loss) < 1e-12);
        QVERIFY(std::abs(record.coarse - before.coarse->loss) < 1e-12);
        QVERIFY(std::abs(record.loss - (record.fine + 0.2 * record.coarse)) < 1e-12);
        QVERIFY(std::isnan(record.latents));
    }

    void normsOfPartsMakeTheWhole()
    {
        TrainBench bench({});
        for (const UpdateRecord& record : bench.run(3)) {
            double sum = 0;
            for (const double norm : record.partNorms) {
                QVERIFY(norm > 0);
                sum += norm * norm;
            }
            QVERIFY(std::abs(record.gradientNorm - std::sqrt(sum)) < 1e-9 * record.gradientNorm);
            double expected = 0;
            if (record.update == 2) {
                for (const float g : bench.gradients())
                    expected += static_cast<double>(g) * static_cast<double>(g);
                QVERIFY(std::abs(record.gradientNorm - std::sqrt(expected)) <
                        1e-5 * record.gradientNorm);
            }
        }
    }

    void itLearns()
    {
        Options options;
        options.training.updates = 60;
        TrainBench bench(options);
        const std::vector<UpdateRecord> records = bench.run(60);
        QCOMPARE(records.size(), std::size_t{60});
        QVERIFY(records.back().loss < 0.6 * records.front().loss);
        QVERIFY(bench.trainer->isDone());
        QCOMPARE(bench.trainer->counts().microSteps, Index{120});
        QCOMPARE(bench.trainer->counts().samples, Index{240});
        QCOMPARE(bench.trainer->epochs(), 15.0);
        VERGENCE_THROWS(ContractError, "over", bench.trainer->microStep(*bench.stream));
    }

    void recordsComeAtTheirInterval()
    {
        Options options;
        options.training.live.logEvery = 6;
        TrainBench bench(options);
        std::vector<std::size_t> counts;
        for (int i = 0; i < 12; ++i) {
            bench.trainer->microStep(*bench.stream);
            counts.push_back(bench.trainer->takeRecords(*bench.stream).size());
        }
        const std::vector<std::size_t> expected{0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 3};
        QCOMPARE(counts, expected);
        bench.trainer->microStep(*bench.stream);
        bench.trainer->microStep(*bench.stream);
        QCOMPARE(bench.trainer->takeRecords(*bench.stream, true).size(), std::size_t{1});
    }

    void frozenPartsKeepTheirBits()
    {
        Options options;
        options.changesModel = [](ModelSettings& model) { model.freezesVit = true; };
        TrainBench bench(options);
        const auto part = [&](int group) {
            const auto [first, last] = bench.model.parameters().range(group);
            const std::vector<float> all = bench.values();
            return std::vector<float>(all.begin() + first, all.begin() + last);
        };
        const auto vit = part(0), connector = part(2);
        const UpdateRecord record = bench.run(2).back();
        QCOMPARE(part(0), vit);
        QVERIFY(part(2) != connector);
        QCOMPARE(record.partNorms[0], 0.0);
        QVERIFY(record.partNorms[1] > 0 && record.partNorms[2] > 0);
    }

    void recomputingChangesNothing()
    {
        Options options;
        options.master = options.compute = DType::F64;
        TrainBench plain(options);
        options.changesModel = [](ModelSettings& model) {
            model.recomputesVit = model.recomputesLlm = true;
        };
        TrainBench saving(options);
        plain.run(2);
        saving.run(2);
        QVERIFY(largestDifference(plain.values<double>(), saving.values<double>()) < 1e-9);
    }

    void halfPrecisionLearnsAlike()
    {
        Options options;
        options.training.live.coarse = 0;
        TrainBench single(options);
        options.compute = DType::BF16;
        TrainBench half(options);
        const auto a = single.run(4), b = half.run(4);
        for (std::size_t i = 0; i < a.size(); ++i)
            QVERIFY(std::abs(a[i].loss - b[i].loss) < 0.02 * a[i].loss);
    }

    void averageFollowsTheWeights()
    {
        Options options;
        TrainBench bench(options);
        bench.run(3);
        const std::vector<float> trained = bench.values();
        std::vector<float> averaged;
        {
            const Trainer::AverageScope scope(*bench.trainer, *bench.stream);
            averaged = bench.values();
        }
        QVERIFY(averaged != trained);
        QCOMPARE(bench.values(), trained);
    }

    void ratesFollowTheSchedule()
    {
        Options options;
        options.training.warmup = 4;
        TrainBench bench(options);
        const std::vector<float> start = bench.values();
        bench.run(1); // the rate of the first update of a warm-up is 0
        QCOMPARE(bench.values(), start);
        QCOMPARE(bench.trainer->rate(Part::Vit), 0.5e-3);
        bench.run(2);
        QVERIFY(bench.values() != start);
    }

    void liveChangesTakeEffect()
    {
        TrainBench bench({}), other({});
        bench.run(2);
        other.run(2);
        LiveSettings live = bench.trainer->settings().live;
        live.clipNorm = 0.5;
        bench.trainer->change(*bench.stream, live);
        live.clipNorm = 1;
        bench.trainer->change(*bench.stream, live); // there and back keeps the moments
        QCOMPARE(bench.run(4).back().loss, other.run(4).back().loss);
        QCOMPARE(bench.values(), other.values());
        live.rates = {0, 0, 0};
        live.coarse = 2;
        bench.trainer->change(*bench.stream, live);
        const std::vector<float> before = bench.values();
        const UpdateRecord record = bench.run(5).back();
        QVERIFY(std::abs(record.loss - (record.fine + 2 * record.coarse)) < 1e-5);
        QCOMPARE(bench.values(), before);
    }

    void skippedUpdatesAreCountedAndThreeEndTheRun()
    {
        TrainBench bench({});
        bench.run(2);
        const float good =
            bench.values()[static_cast<std::size_t>(bench.model.parameters().range(2).first)];
        poison(bench, std::numeric_limits<float>::quiet_NaN());
        const std::vector<float> before = bench.values();
        for (Index update = 3; update <= 4; ++update) {
            const UpdateRecord record = bench.run(update).at(0);
            QVERIFY(record.isSkipped);
        }
        QCOMPARE(bench.trainer->counts().skipped, Index{2});
        poison(bench, good); // one good update starts the count again
        QVERIFY(!bench.run(5).at(0).isSkipped);
        poison(bench, std::numeric_limits<float>::infinity());
        VERGENCE_THROWS(NumericsError, "not finite 3 times in a row", bench.run(20));
        QCOMPARE(bench.trainer->counts().updates, Index{8});
    }

    void emptyAnswersMakeNoUpdate()
    {
        const ListedClips silent({clipOf(1, 2, "what?", ""), clipOf(2, 3, "why?", "")});
        Options options;
        options.source = &silent;
        options.batches.window = 2;
        options.training.updates = 2;
        TrainBench bench(options);
        const std::vector<float> before = bench.values();
        QVERIFY(bench.run(2).empty());
        QCOMPARE(bench.values(), before);
        QCOMPARE(bench.trainer->counts().emptyUpdates, Index{2});
    }

    void textsWithoutFramesAreTrainedToo()
    {
        Options options;
        options.texts = {{"what?", "red", {}, {}, {}}, {"why?", "disc moving", {}, {}, {}}};
        options.batches.batch = 4;
        options.batches.textOnly = 0.5;
        options.training.updates = 30;
        TrainBench bench(options);
        const std::vector<UpdateRecord> records = bench.run(30);
        QVERIFY(records.back().loss < records.front().loss);
        QCOMPARE(bench.trainer->epochs(), 30 * 8 * 0.5 / 16);
    }

    /// A device too small for a whole micro-batch: it is run in pieces, nothing is left out, and
    /// the weights are the same.
    void littleMemorySplitsMicroBatches()
    {
        Options options;
        options.master = options.compute = DType::F64;
        options.batches.batch = 8;
        options.training.ema = 0;
        TrainBench roomy(options);
        vergence::test::Faults faults;
        const auto device = std::make_shared<vergence::test::FaultyDevice>(faults);
        options.device = device;
        TrainBench tight(options);
        roomy.run(2);
        const std::size_t needed = device->memory().usedByUs;
        // Enough for the tape of one clip in eight, not for all of them.
        faults.capacity = needed + tapeBytes(options) / 3;
        Index splits = 0;
        while (tight.trainer->counts().updates < 2) {
            const MicroStepReport report = tight.trainer->microStep(*tight.stream);
            splits += report.ranOutOfMemory ? 1 : 0;
            QCOMPARE(report.samples, Index{8});
        }
        QVERIFY(splits > 0);
        QVERIFY(tight.trainer->pieces() > 1);
        QVERIFY(tight.trainer->counts().splits > 0);
        QCOMPARE(tight.trainer->counts().samples, roomy.trainer->counts().samples);
        QVERIFY(largestDifference(tight.values<double>(), roomy.values<double>()) < 1e-7);
    }

    void singleSamplesThatDoNotFitEndTheRun()
    {
        vergence::test::Faults faults;
        Options options;
        options.device = std::make_shared<vergence::test::FaultyDevice>(faults);
        TrainBench bench(options);
        faults.capacity = options.device->memory().usedByUs + 4096;
        VERGENCE_THROWS(DeviceError, "small", bench.run(1));
        QVERIFY(bench.trainer->pieces() > 1);
        QCOMPARE(bench.trainer->counts().updates, Index{0});
    }

private:
    /// Bytes that a micro-step of eight clips takes beyond the model.
    static std::size_t tapeBytes(const Options& options)
    {
        vergence::test::Faults faults;
        Options measured = options;
        const auto device = std::make_shared<vergence::test::FaultyDevice>(faults);
        measured.device = device;
        TrainBench bench(measured);
        const std::size_t before = device->memory().usedByUs;
        bench.run(2);
        return device->memory().usedByUs - before;
    }
};

VERGENCE_TEST(TestTrainer)
#include "tst_fvlm_trainer.moc"
