#include <cmath>
#include <limits>

#include <QTest>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "plugins/live_diffusion/quality/frame_quality.h"
#include "plugins/live_diffusion/train/consistency_loss.h"
#include "plugins/live_diffusion/train/diffusion_loss.h"
#include "plugins/live_diffusion/train/distiller.h"
#include "plugins/live_diffusion/train/trainer.h"
#include "tests/core/compute/graph/tape_check.h"
#include "tests/plugins/live_diffusion/train_cases.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::live;
using namespace vergence::test;

namespace {

TrainSettings fewUpdates(Index updates)
{
    TrainSettings settings;
    settings.updates = updates;
    settings.warmup = 0;
    settings.rate = 1e-3;
    settings.samples.batch = 2;
    settings.samples.memoryFrames = 2;
    return settings;
}

/// Numbers of a tensor as they are.
std::vector<std::byte> bytesOf(Stream& stream, const Tensor& tensor)
{
    std::vector<std::byte> bytes(tensor.bytes());
    stream.copy(bytes.data(), tensor.data(), bytes.size());
    return bytes;
}

} // namespace

class TestLiveTrain : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void gradientsOfTheWholeLoss_data();
    void gradientsOfTheWholeLoss();
    void lossByHand();
    void oneClipIsLearntByHeart();
    void resumedTrainingIsTheSame();
    void averageComesAndGoes();
    void scalerHalvesAndDoubles();
    void infinityIsSkippedInHalves();
    void infinityStopsSingles();
    void rolloutsUseOwnPictures();
    void consistencyIsADistanceOfPictures();
    void consistencyHasItsDerivative();
    void studentFollowsItsTeacher();
    void streamsAreScored();

private:
    std::unique_ptr<TapeNetwork> network(const ParameterSettings& parameters,
                                         std::uint64_t seed = 7)
    {
        auto made = std::make_unique<TapeNetwork>(*m_stream, m_device, nano(), parameters);
        made->initialise(*m_stream, Start::Training, seed);
        return made;
    }
    /// Zeros of a fresh network would hide most derivatives.
    std::unique_ptr<TapeNetwork> liveNetwork(const ParameterSettings& parameters)
    {
        auto made = std::make_unique<TapeNetwork>(*m_stream, m_device, nano(), parameters);
        made->initialise(*m_stream, Start::Bench, 7);
        return made;
    }

    std::shared_ptr<Device> m_device = makeCpuDevice(1);
    std::unique_ptr<Stream> m_stream = m_device->createStream();
};

void TestLiveTrain::gradientsOfTheWholeLoss_data()
{
    QTest::addColumn<int>("prediction");
    QTest::newRow("v") << static_cast<int>(Prediction::V);
    QTest::newRow("epsilon") << static_cast<int>(Prediction::Epsilon);
}

void TestLiveTrain::gradientsOfTheWholeLoss()
{
    QFETCH(int, prediction);
    const auto net = liveNetwork({.master = DType::F64, .compute = DType::F64, .trains = true});
    ParameterSet& parameters = net->parameters();
    const ScenePairs source = films(2);
    TrainSettings settings;
    settings.samples.prediction = static_cast<Prediction>(prediction);
    SampleMaker maker(source, settings.samples, nano().grid, nano().patch);
    const SampleBatch batch = mixedBatch(maker);
    Graph graph(*m_stream, m_device, {true, DType::F64});
    const auto lossNow = [&] {
        graph.reset();
        const DiffusionLoss loss = diffusionLoss(graph, *net, batch, maker.schedule(), settings);
        return std::pair(loss, graph.tensor(loss.total).toHost<double>(*m_stream).front());
    };
    parameters.zeroGradients(*m_stream);
    const DiffusionLoss loss = lossNow().first;
    QVERIFY(loss.blend && graph.tensor(loss.blend).toHost<double>(*m_stream).front() > 0);
    graph.backward(loss.total);
    const std::vector<double> gradients = parameters.gradients().toHost<double>(*m_stream);
    double largest = 0;
    for (const double g : gradients)
        largest = std::max(largest, std::abs(g));

    // A number of every third parameter (all of them would take too long): of the memory's encoder
    // too.
    auto* values = static_cast<double*>(parameters.values().data());
    const auto* all = static_cast<const double*>(parameters.gradients().data());
    int reached = 0, encoders = 0, tried = 0;
    const int stride = prediction == static_cast<int>(Prediction::V) ? 3 : 8;
    for (int p = 0; p < parameters.count(); p += stride, ++tried) {
        const Parameter& parameter = parameters[p];
        const auto first = static_cast<const double*>(parameter.value.data()) - values;
        const auto firstGradient = static_cast<const double*>(parameter.gradient.data()) - all;
        const Index at = (p * 7919) % parameter.value.size();
        const double kept = values[first + at], step = 1e-5 * std::max(1.0, std::abs(kept));
        values[first + at] = kept + step;
        const double above = lossNow().second;
        values[first + at] = kept - step;
        const double below = lossNow().second;
        values[first + at] = kept;
        const double numeric = (above - below) / (2 * step);
        const double told = gradients[static_cast<std::size_t>(firstGradient + at)];
        QVERIFY2(std::abs(numeric - told) <= 1e-6 * std::max(largest, std::abs(told)),
                 qPrintable(QString("%1[%2]: %3 but %4")
                                .arg(QString::fromStdString(parameter.name))
                                .arg(at)
                                .arg(told)
                                .arg(numeric)));
        reached += told != 0 ? 1 : 0;
        encoders += told != 0 && parameter.name.starts_with("mem.") ? 1 : 0;
    }
    QVERIFY2(reached > 0.9 * tried, qPrintable(QString::number(reached)));
    QVERIFY(encoders > 0); // the memory's encoder learns through the tape
}

void TestLiveTrain::lossByHand()
{
    const auto net = liveNetwork({.trains = true});
    const ScenePairs source = films(2);
    TrainSettings settings;
    SampleMaker maker(source, settings.samples, nano().grid, nano().patch);
    const SampleBatch batch = mixedBatch(maker);
    TapeStream tape(*m_stream, *net);
    const std::vector<float> said = tape.predict(batch);
    const NoiseSchedule& schedule = maker.schedule();
    const auto size = static_cast<std::size_t>(batch.pictureSize());
    double want = 0;
    for (std::size_t r = 0; r < 3; ++r) {
        const int t = static_cast<int>(batch.times[r]);
        const double weight = schedule.minSnrWeight(Prediction::V, t, 5);
        for (std::size_t i = r * size; i < (r + 1) * size; ++i) {
            const double v = predictionOf(Prediction::V, static_cast<double>(batch.clean[i]),
                                          static_cast<double>(batch.noise[i]), schedule.alpha(t),
                                          schedule.sigma(t));
            want += weight * std::pow(static_cast<double>(said[i]) - v, 2);
        }
    }
    want /= 3.0 * static_cast<double>(size);
    Graph graph(*m_stream, m_device, {});
    const DiffusionLoss loss = diffusionLoss(graph, *net, batch, schedule, settings);
    const auto numberOf = [&](Value value) {
        return static_cast<double>(graph.tensor(value).toHost<float>(*m_stream).front());
    };
    QVERIFY(std::abs(numberOf(loss.prediction) - want) < 1e-5 * want);
    QVERIFY(std::abs(numberOf(loss.total) - numberOf(loss.prediction) - numberOf(loss.blend)) <
            1e-6);
    // Blend: only rows with a frame before and t < 300.
    settings.blendBelow = 0;
    QVERIFY(!diffusionLoss(graph, *net, batch, schedule, settings).blend);
}

void TestLiveTrain::oneClipIsLearntByHeart()
{
    // One frame of one film, over and over, with its conditions: the loss falls to a tenth.
    const auto net = network({.trains = true});
    const ScenePairs source({.height = 16, .width = 16, .seed = 3}, 1, 2);
    TrainSettings settings = fewUpdates(300);
    settings.samples.batch = 4;
    settings.rate = 4e-3;
    settings.rolloutShare = 0;
    settings.samples.dropsInput = settings.samples.dropsHistory = settings.samples.dropsMemory = 0;
    settings.samples.dropsAll = 0;
    Trainer trainer(*m_stream, *net, source, settings);
    double first = 0, last = 0;
    for (Index i = 0; i < 300; ++i) {
        const TrainRecord record = trainer.step(*m_stream);
        QVERIFY(std::isfinite(record.loss) && !record.isSkipped);
        first += i < 5 ? record.loss / 5 : 0;
        last += i >= 280 ? record.loss / 20 : 0;
    }
    QVERIFY(trainer.isDone());
    QVERIFY2(first >= 10 * last, qPrintable(QString("%1 %2").arg(first).arg(last)));
}

void TestLiveTrain::resumedTrainingIsTheSame()
{
    const ScenePairs source = films(3);
    TrainSettings settings = fewUpdates(8);
    settings.rolloutShare = 0.9;
    settings.rolloutChance = 1; // roll-outs are repeated too
    const auto whole = network({.trains = true}), first = network({.trains = true});
    Trainer one(*m_stream, *whole, source, settings);
    Trainer before(*m_stream, *first, source, settings);
    for (int i = 0; i < 8; ++i)
        one.step(*m_stream);
    for (int i = 0; i < 4; ++i)
        before.step(*m_stream);
    NamedTensors saved;
    for (const auto& [name, tensor] : before.tensors())
        saved.emplace_back(name, tensor.clone(*m_stream));
    const nlohmann::json state = nlohmann::json::parse(before.state().dump());
    before.step(*m_stream); // what is saved does not move any more

    const auto later = network({.trains = true}, 99);
    Trainer after(*m_stream, *later, source, settings);
    after.restore(*m_stream, state, saved);
    QCOMPARE(after.updates(), Index{4});
    bool rolledOut = false;
    while (!after.isDone())
        rolledOut |= after.step(*m_stream).isRolledOut;
    QVERIFY(rolledOut);
    const NamedTensors want = one.tensors(), got = after.tensors();
    QCOMPARE(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i)
        QVERIFY2(bytesOf(*m_stream, got[i].second) == bytesOf(*m_stream, want[i].second),
                 want[i].first.c_str());
    QVERIFY(bytesOf(*m_stream, first->parameters().values()) !=
            bytesOf(*m_stream, whole->parameters().values()));

    nlohmann::json broken = state;
    broken.erase("updates");
    VERGENCE_THROWS(InputError, "updates", after.restore(*m_stream, broken, saved));
    saved.pop_back();
    VERGENCE_THROWS(InputError, "no tensor", after.restore(*m_stream, state, saved));
}

void TestLiveTrain::averageComesAndGoes()
{
    const ScenePairs source = films(1);
    const auto net = network({.trains = true});
    Trainer trainer(*m_stream, *net, source, fewUpdates(3));
    trainer.step(*m_stream);
    const auto trained = bytesOf(*m_stream, net->parameters().values());
    {
        const Trainer::AverageScope average(trainer, *m_stream);
        QVERIFY(bytesOf(*m_stream, net->parameters().values()) ==
                bytesOf(*m_stream, trainer.average().values()));
        QVERIFY(bytesOf(*m_stream, net->parameters().values()) != trained);
    }
    QVERIFY(bytesOf(*m_stream, net->parameters().values()) == trained);
}

void TestLiveTrain::scalerHalvesAndDoubles()
{
    LossScaler scaler;
    QCOMPARE(scaler.scale(), 32768.0);
    for (int i = 0; i < 199; ++i)
        scaler.update(true);
    QCOMPARE(scaler.scale(), 32768.0);
    scaler.update(true);
    QCOMPARE(scaler.scale(), 65536.0);
    scaler.update(false);
    QCOMPARE(scaler.scale(), 32768.0);
    for (int i = 0; i < 199; ++i)
        scaler.update(true);
    scaler.update(false); // the count starts anew
    QCOMPARE(scaler.scale(), 16384.0);
    for (int i = 0; i < 40; ++i)
        scaler.update(false);
    QCOMPARE(scaler.scale(), 1.0);
    LossScaler restored;
    restored.restore(scaler.scale(), scaler.clean());
    QCOMPARE(restored.scale(), 1.0);
    VERGENCE_THROWS(ContractError, "negative", restored.restore(0, 1));
}

void TestLiveTrain::infinityIsSkippedInHalves()
{
    const ScenePairs source = films(2);
    const auto net = network({.compute = DType::F16, .trains = true});
    ParameterSet& parameters = net->parameters();
    Trainer trainer(*m_stream, *net, source, fewUpdates(20));
    TrainRecord record = trainer.step(*m_stream);
    QVERIFY(!record.isSkipped && std::isfinite(record.gradientNorm));
    QCOMPARE(record.lossScale, 32768.0);

    auto* value = static_cast<float*>(parameters.values().data());
    const float kept = value[3];
    value[3] = std::numeric_limits<float>::infinity();
    parameters.refreshShadows(*m_stream);
    const auto before = bytesOf(*m_stream, parameters.values());
    record = trainer.step(*m_stream);
    QVERIFY(record.isSkipped);
    QVERIFY(bytesOf(*m_stream, parameters.values()) == before); // nothing moved
    value[3] = kept;
    parameters.refreshShadows(*m_stream);
    record = trainer.step(*m_stream);
    QCOMPARE(record.lossScale, 16384.0);
    QVERIFY(!record.isSkipped);
    QVERIFY(bytesOf(*m_stream, parameters.values()) != before);
    QCOMPARE(trainer.updates(), Index{3});
    QCOMPARE(trainer.state().at("skipped").get<Index>(), Index{1});
    // The norm is that of the loss itself: the scale is taken out before clipping.
    const auto single = network({.trains = true});
    Trainer plain(*m_stream, *single, source, fewUpdates(20));
    const auto halves = network({.compute = DType::F16, .trains = true});
    Trainer scaled(*m_stream, *halves, source, fewUpdates(20));
    const double norm = plain.step(*m_stream).gradientNorm;
    QVERIFY(std::abs(scaled.step(*m_stream).gradientNorm - norm) < 0.02 * norm);
}

void TestLiveTrain::infinityStopsSingles()
{
    const ScenePairs source = films(2);
    const auto net = network({.trains = true});
    Trainer trainer(*m_stream, *net, source, fewUpdates(4));
    static_cast<float*>(net->parameters().values().data())[3] =
        std::numeric_limits<float>::infinity();
    VERGENCE_THROWS(NumericsError, "loss", trainer.step(*m_stream));
}

void TestLiveTrain::rolloutsUseOwnPictures()
{
    // The same update with and without: another history, so another loss; both repeat.
    const ScenePairs source = films(2);
    TrainSettings with = fewUpdates(2), without = with;
    with.rolloutShare = 1;
    with.rolloutChance = 1;
    without.rolloutShare = 0;
    const auto lossOf = [&](const TrainSettings& settings, bool wanted) {
        const auto net = liveNetwork({.trains = true});
        Trainer trainer(*m_stream, *net, source, settings);
        trainer.step(*m_stream);
        const TrainRecord record = trainer.step(*m_stream);
        if (record.isRolledOut != wanted)
            qFatal("another kind of update");
        return record.loss;
    };
    bool found = false;
    for (std::uint32_t seed = 1; seed < 20 && !found; ++seed) {
        with.samples.seed = without.samples.seed = seed;
        const SampleMaker maker(source, with.samples, nano().grid, nano().patch);
        if (maker.draw(1, 0) >= with.rolloutChanceAt(1))
            continue;
        found = true;
        const double loss = lossOf(with, true);
        QCOMPARE(lossOf(with, true), loss);
        QVERIFY(lossOf(without, false) != loss);
    }
    QVERIFY(found);
}

void TestLiveTrain::consistencyIsADistanceOfPictures()
{
    // Differences of two pictures; the mean of √(mean d² + c²) − c, c = 1e-3, in its two regimes.
    const auto lossOf = [&](const std::vector<double>& first, const std::vector<double>& second) {
        Graph graph(*m_stream, m_device, {true, DType::F64});
        std::vector<double> all(first);
        all.insert(all.end(), second.begin(), second.end());
        const Shape shape{2, static_cast<Index>(first.size())};
        const Value f = graph.variable(Tensor::fromHost<double>(*m_stream, m_device, shape, all));
        const Value zero = graph.constant(Tensor::zeros(*m_stream, m_device, shape, DType::F64));
        return graph.tensor(consistencyLoss(graph, f, zero)).toHost<double>(*m_stream).front();
    };
    const double c = 1e-3;
    QCOMPARE(lossOf({0, 0, 0, 0}, {0, 0, 0, 0}), 0.0);
    // One value of four: the picture's root mean square is half of it.
    const double one = std::hypot(0.02, c) - c, tiny = std::hypot(1e-6, c) - c;
    QVERIFY(std::abs(lossOf({0.04, 0, 0, 0}, {0, 0, 0, 0}) - one / 2) < 1e-12);
    QVERIFY(std::abs(lossOf({0.04, 0, 0, 0}, {1e-6, -1e-6, 1e-6, 1e-6}) - (one + tiny) / 2) <
            1e-12);
    // However many values a picture has, what is far from 0 is a length: twice as far, twice as
    // much.
    const std::vector<double> near(12288, 0.05), far(12288, 0.1), none(12288, 0.0);
    QVERIFY(std::abs(lossOf(far, none) / lossOf(near, none) - 2) < 0.03);
}

void TestLiveTrain::consistencyHasItsDerivative()
{
    const TapeCase tested{{{3, 5}, {3, 5}}, [](Graph& g, const std::vector<Value>& in) {
                              return consistencyLoss(g, in[0], in[1]);
                          }};
    VERGENCE_AGREES(TapeCheck(m_device, tested, false).run());
}

void TestLiveTrain::studentFollowsItsTeacher()
{
    // A student away from its base: the loss falls, and the base stays.
    const ScenePairs source({.height = 16, .width = 16, .seed = 3}, 1, 2);
    const auto base = network({}), student = network({.trains = true});
    DistillSettings settings;
    settings.samples.batch = 4;
    settings.samples.memoryFrames = 1;
    settings.updates = 60;
    settings.warmup = 0;
    settings.rate = 2e-3;
    const auto kept = bytesOf(*m_stream, base->parameters().values());
    Distiller distiller(*m_stream, *student, *base, source, settings);
    double first = 0, last = 0;
    while (!distiller.isDone()) {
        const DistillRecord record = distiller.step(*m_stream);
        QVERIFY(std::isfinite(record.loss));
        first += record.update <= 10 ? record.loss / 10 : 0;
        last += record.update > 50 ? record.loss / 10 : 0;
    }
    QVERIFY2(last < 0.7 * first, qPrintable(QString("%1 %2").arg(first).arg(last)));
    QVERIFY(bytesOf(*m_stream, base->parameters().values()) == kept);
    const TapeNetwork other(*m_stream, m_device, unetSettings(Size::Nano, 32), {});
    VERGENCE_THROWS(ContractError, "two kinds",
                    Distiller(*m_stream, *student, other, source, settings));
}

void TestLiveTrain::streamsAreScored()
{
    const ScenePairs source = films(2);
    SampleMaker maker(source, {}, nano().grid, nano().patch);
    const auto net = network({});
    ScoreSettings settings;
    settings.frames = 6;
    const StreamScore score = scoreStream(*m_stream, *net, maker, settings);
    QCOMPARE(score.psnr.size(), std::size_t{6});
    // Copying: the targets themselves, frame 4 against frame 5, mean over both films.
    double copy = 0;
    for (Index clip = 0; clip < 2; ++clip) {
        std::vector<float> before(768), now(768);
        source.draw(*m_stream, clip, 4, {}, before);
        source.draw(*m_stream, clip, 5, {}, now);
        copy += psnr(before, now) / 2;
    }
    QVERIFY(std::abs(score.copyPsnr[5] - copy) < 1e-9);
    QVERIFY(score.meanInputPsnr > 5 && score.meanInputPsnr < 30);
    QVERIFY(score.meanPsnr > 0 && score.meanPsnr < 30);
    const StreamScore again = scoreStream(*m_stream, *net, maker, settings);
    QVERIFY(again.pictures == score.pictures);
    settings.usesMemory = false;
    QVERIFY(scoreStream(*m_stream, *net, maker, settings).psnr.size() == 6);
}

VERGENCE_TEST(TestLiveTrain)
#include "tst_live_train.moc"
