#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <QtTest>

#include "core/base/log.h"
#include "plugins/live_diffusion/engine/replica_network.h"
#include "plugins/live_diffusion/engine/unet_network.h"
#include "plugins/live_diffusion/model/replicas.h"
#include "plugins/live_diffusion/model/unet.h"
#include "tests/plugins/live_diffusion/loop_bench.h"
#include "tests/plugins/live_diffusion/recording_device.h"
#include "tests/support/cuda_device.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::live;

namespace {

UnetSettings patchedNano()
{
    UnetSettings unet;
    unet.size = Size::Nano;
    unet.patch = 2;
    unet.grid = layoutOf(Size::Nano).nativeGrid;
    return unet;
}

Switches fixedSwitches()
{
    Switches switches;
    switches.graph = switches.tuned = false; // which plan is fastest is chance
    switches.threads = 1;
    return switches;
}

struct NetworkWish {
    bool runsFrames = false;
    Switches switches = fixedSwitches();
    std::shared_ptr<Device> device = makeCpuDevice(1);
    bool takesSlowTypes = false;
};

std::shared_ptr<UnetNetwork> networkOf(const NetworkWish& wish)
{
    static const auto weights = benchWeights(patchedNano(), 5);
    UnetNetworkSettings settings{patchedNano(), wish.switches, 2};
    settings.runsFrames = wish.runsFrames;
    settings.takesSlowTypes = wish.takesSlowTypes;
    return std::make_shared<UnetNetwork>(wish.device, weights, settings);
}

bool areSameBits(std::span<const float> a, std::span<const float> b)
{
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

/// Two loops that must say the same: the host between the evaluations, and whole frames.
struct Pair {
    std::shared_ptr<UnetNetwork> plain, whole;
    FrameLoop byHost, byFrames;
    Index values;

    explicit Pair(const LoopSettings& settings, NetworkWish one = {}, NetworkWish other = {true})
        : plain(networkOf(one)),
          whole(networkOf(other)),
          byHost(plain, settings),
          byFrames(whole, settings),
          values(byHost.shape().values())
    {
    }

    void setSettings(const LoopSettings& settings)
    {
        byHost.setSettings(settings);
        byFrames.setSettings(settings);
    }
    /// One frame through both; empty, or where they differ.
    std::string differenceAt(const std::vector<float>& input)
    {
        const FrameRecord a = byHost.process(input), b = byFrames.process(input);
        const std::string at = " at frame " + std::to_string(a.number);
        if (a.fate != b.fate || a.isReset != b.isReset || a.shown != b.shown)
            return "fate" + at;
        if (a.evaluations != b.evaluations || a.calls != b.calls)
            return "evaluations" + at;
        if (a.wroteMemory != b.wroteMemory || plain->memoryWrites() != whole->memoryWrites())
            return "memory writes" + at;
        if (!areSameBits(byHost.values(), byFrames.values()))
            return "picture" + at;
        if (byHost.output().pixels != byFrames.output().pixels)
            return "pixels" + at;
        return {};
    }
    std::string differenceIn(int first, int frames)
    {
        for (int i = first; i < first + frames; ++i) {
            // Every seventh frame looks like nothing before.
            const float sign = i / 7 % 2 == 0 ? 1.0f : -1.0f;
            std::vector<float> input = patternOf(i, values);
            for (float& value : input)
                value *= sign;
            if (const std::string difference = differenceAt(input); !difference.empty())
                return difference;
        }
        return keysDiffer() ? "keys of the memory" : "";
    }
    static std::vector<std::byte> keysOf(const UnetNetwork& network)
    {
        const Tensor& keys = network.keysAndValues(0);
        std::vector<std::byte> bytes(keys.bytes());
        const auto stream = keys.device()->createStream();
        stream->copy(bytes.data(), keys.data(), bytes.size());
        stream->synchronize();
        return bytes;
    }
    bool keysDiffer() const { return keysOf(*plain) != keysOf(*whole); }
};

#define VERGENCE_SAME(difference)                                                                  \
    if (const std::string text = (difference); !text.empty())                                      \
        QFAIL(text.c_str());

/// Everything that a moving setting may be.
std::vector<std::pair<std::string, LoopSettings>> manySettings()
{
    std::vector<std::pair<std::string, LoopSettings>> all;
    const auto add = [&](const char* name, auto&& change) {
        LoopSettings settings;
        settings.historyNoise = 0.2;
        settings.blend = 0.7;
        change(settings);
        all.emplace_back(name, settings);
    };
    add("as it comes", [](LoopSettings&) {});
    add("one step", [](LoopSettings& s) { s.steps = 1; });
    add("turbo", [](LoopSettings& s) { s.sampler = SamplerKind::Turbo; });
    add("2M, 4 steps", [](LoopSettings& s) {
        s.sampler = SamplerKind::DpmSolver2M;
        s.steps = 4;
    });
    add("2M, zero terminal SNR, 3 steps", [](LoopSettings& s) {
        s.sampler = SamplerKind::DpmSolver2M;
        s.zeroTerminalSnr = true;
        s.strength = 1;
        s.steps = 3;
    });
    add("consistency, 3 steps", [](LoopSettings& s) {
        s.sampler = SamplerKind::Consistency;
        s.steps = 3;
    });
    add("fresh noise in every step", [](LoopSettings& s) {
        s.eta = 0.6;
        s.steps = 4;
        s.noise = StartNoise::Fresh;
    });
    add("noise and linear betas", [](LoopSettings& s) {
        s.prediction = Prediction::Epsilon;
        s.curve = BetaCurve::Linear;
    });
    add("no clamp", [](LoopSettings& s) { s.clampsEstimate = false; });
    add("correlated noise", [](LoopSettings& s) {
        s.noise = StartNoise::Correlated;
        s.eta = 0.3;
        s.steps = 3;
    });
    add("from the last picture", [](LoopSettings& s) { s.start = StartFrom::Previous; });
    add("from noise", [](LoopSettings& s) { s.start = StartFrom::Noise; });
    add("no history", [](LoopSettings& s) { s.usesHistory = false; });
    add("clean history", [](LoopSettings& s) { s.historyNoise = 0; });
    add("no memory", [](LoopSettings& s) { s.usesMemory = false; });
    add("memory every frame", [](LoopSettings& s) { s.memoryStride = 1; });
    add("cuts flush the memory", [](LoopSettings& s) { s.flushesMemoryOnCut = true; });
    add("full guidance", [](LoopSettings& s) {
        s.guidance = {GuidanceKind::Full, 1.7, 1};
        s.steps = 3;
    });
    add("imagined negative", [](LoopSettings& s) {
        s.guidance = {GuidanceKind::SelfNegative, 1.5, 0.8};
        s.steps = 3;
    });
    add("one negative", [](LoopSettings& s) {
        s.guidance = {GuidanceKind::OnetimeNegative, 1.5, 0.8};
        s.steps = 3;
    });
    add("one negative of noise", [](LoopSettings& s) {
        s.guidance = {GuidanceKind::OnetimeNegative, 1.5, 0.8};
        s.prediction = Prediction::Epsilon;
    });
    add("guidance from pure noise", [](LoopSettings& s) {
        s.guidance = {GuidanceKind::OnetimeNegative, 1.5, 0.8};
        s.zeroTerminalSnr = true;
        s.strength = 1;
    });
    add("dream", [](LoopSettings& s) { s.mode = StreamMode::Dream; });
    add("guided dream", [](LoopSettings& s) {
        s.mode = StreamMode::Dream;
        s.guidance = {GuidanceKind::SelfNegative, 1.5, 0.8};
    });
    add("drift guard", [](LoopSettings& s) { s.driftGuard = 0.4; });
    add("everything", [](LoopSettings& s) { s = everything(); });
    return all;
}

} // namespace

/// Whole frames: all steps, what lies between them, blend and memory write, as one sequence that
/// reads its numbers from device memory.
class TestLiveFrame : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { setLogToStderr(false); }

    void wholeFramesAreTheHostsFrames_data()
    {
        QTest::addColumn<int>("index");
        const auto all = manySettings();
        for (std::size_t i = 0; i < all.size(); ++i)
            QTest::newRow(all[i].first.c_str()) << static_cast<int>(i);
    }
    void wholeFramesAreTheHostsFrames()
    {
        QFETCH(int, index);
        const LoopSettings settings = manySettings().at(static_cast<std::size_t>(index)).second;
        Pair pair(settings);
        QVERIFY(!pair.plain->runsFrames() && pair.whole->runsFrames());
        VERGENCE_SAME(pair.differenceIn(0, 24));
        QVERIFY(pair.whole->cost().framePlans > 0 && pair.plain->cost().framePlans == 0);
        QCOMPARE(pair.whole->cost().recordedPlans, 0); // there is nothing to record
        QVERIFY(!settings.usesMemory || pair.whole->memoryWrites() > 0);
    }

    void everyTypeAndLayoutHasWholeFrames_data()
    {
        QTest::addColumn<int>("precision");
        QTest::addColumn<int>("layout");
        for (const Precision precision : {Precision::Fp32, Precision::Fp16, Precision::Bf16}) {
            for (const Layout layout : {Layout::Nchw, Layout::Nhwc})
                QTest::addRow("%s %s", nameOf(precision).data(), nameOf(layout).data())
                    << static_cast<int>(precision) << static_cast<int>(layout);
        }
    }
    void everyTypeAndLayoutHasWholeFrames()
    {
        QFETCH(int, precision);
        QFETCH(int, layout);
        NetworkWish plain;
        plain.takesSlowTypes = true;
        plain.switches.precision = static_cast<Precision>(precision);
        plain.switches.layout = static_cast<Layout>(layout);
        plain.switches.fusion = plain.switches.layout == Layout::Nhwc;
        NetworkWish whole = plain;
        whole.runsFrames = true;
        LoopSettings settings;
        settings.guidance = {GuidanceKind::Full, 1.3, 1};
        Pair pair(settings, plain, whole);
        VERGENCE_SAME(pair.differenceIn(0, 9));
    }

    /// Settings that are numbers move without new work being laid out.
    void numbersMoveWithoutAnotherPlan()
    {
        LoopSettings settings;
        settings.guidance = {GuidanceKind::SelfNegative, 1.5, 0.8};
        settings.noise = StartNoise::Correlated;
        settings.eta = 0.3;
        settings.memoryStride = 2;
        Pair pair(settings);
        VERGENCE_SAME(pair.differenceIn(0, 4));
        const int plans = pair.whole->cost().framePlans;
        QCOMPARE(plans, 2); // with the memory write, and without
        int frame = 4;
        const auto moved = [&](auto&& change) {
            change(settings);
            pair.setSettings(settings);
            const std::string difference = pair.differenceIn(frame, 4);
            frame += 4;
            return difference;
        };
        VERGENCE_SAME(moved([](LoopSettings& s) { s.strength = 0.9; }));
        VERGENCE_SAME(moved([](LoopSettings& s) { s.guidance.gamma = 2; }));
        VERGENCE_SAME(moved([](LoopSettings& s) { s.guidance.delta = 0.5; }));
        VERGENCE_SAME(moved([](LoopSettings& s) { s.seed = 99; }));
        VERGENCE_SAME(moved([](LoopSettings& s) { s.blend = 0.2; }));
        VERGENCE_SAME(moved([](LoopSettings& s) { s.eta = 0.8; }));
        VERGENCE_SAME(moved([](LoopSettings& s) { s.freshness = 0.9; }));
        VERGENCE_SAME(moved([](LoopSettings& s) { s.historyNoise = 0.5; }));
        VERGENCE_SAME(moved([](LoopSettings& s) { s.usesHistory = false; }));
        VERGENCE_SAME(moved([](LoopSettings& s) { s.start = StartFrom::Previous; }));
        VERGENCE_SAME(moved([](LoopSettings& s) { s.curve = BetaCurve::ScaledLinear; }));
        VERGENCE_SAME(moved([](LoopSettings& s) { s.memoryStride = 1; }));
        QCOMPARE(pair.whole->cost().framePlans, plans);
        // What is other work is laid out, once.
        VERGENCE_SAME(moved([](LoopSettings& s) { s.steps = 3; }));
        QCOMPARE(pair.whole->cost().framePlans, plans + 1);
        VERGENCE_SAME(moved([](LoopSettings& s) { s.steps = 2; }));
        QCOMPARE(pair.whole->cost().framePlans, plans + 1);
    }

    void theHostMayTakeThePictureInItsHands()
    {
        LoopSettings settings;
        Pair pair(settings);
        VERGENCE_SAME(pair.differenceIn(0, 5));
        const auto truth = patternOf(50, pair.values);
        pair.byHost.replaceLast(truth);
        pair.byFrames.replaceLast(truth);
        VERGENCE_SAME(pair.differenceIn(5, 3));
        // Another set of switches: new memory, the picture and the bank go on.
        Switches unfused = fixedSwitches();
        unfused.fusion = false;
        pair.plain->setSwitches(unfused);
        pair.whole->setSwitches(unfused);
        VERGENCE_SAME(pair.differenceIn(8, 5));
        pair.byHost.reset();
        pair.byFrames.reset();
        VERGENCE_SAME(pair.differenceIn(0, 5));
        FrameLoop host(pair.plain, settings), frames(pair.whole, settings);
        host.adopt(pair.byHost);
        frames.adopt(pair.byFrames);
        for (int i = 5; i < 8; ++i) {
            host.process(patternOf(i, pair.values));
            frames.process(patternOf(i, pair.values));
            QVERIFY(areSameBits(host.values(), frames.values()));
        }
        // Two loops that share a network do not take each other's pictures.
        VERGENCE_SAME(pair.differenceIn(5, 2));
    }

    /// A frame that is not finite leaves picture and memory as they were.
    void aBadFrameIsKept()
    {
        LoopSettings settings;
        settings.memoryStride = 1;
        Pair pair(settings);
        VERGENCE_SAME(pair.differenceIn(0, 3));
        const auto before = copyOf(pair.byFrames.values());
        auto bad = patternOf(3, pair.values);
        bad[7] = std::numeric_limits<float>::infinity();
        VERGENCE_SAME(pair.differenceAt(bad));
        QCOMPARE(pair.byFrames.totals().kept, std::int64_t{1});
        QVERIFY(areSameBits(pair.byFrames.values(), before));
        QVERIFY(!pair.keysDiffer());
        QCOMPARE(pair.whole->memoryWrites(), 3);
        VERGENCE_SAME(pair.differenceIn(4, 3));
    }

    void observersHearEveryStep()
    {
        struct Listener : OpObserver {
            int count = 0;
            void began(std::size_t) override {}
            void ended(std::size_t) override { ++count; }
        } listener;
        LoopSettings settings;
        settings.steps = 3;
        const auto network = networkOf({true});
        FrameLoop loop(network, settings);
        network->setObserver(&listener);
        loop.process(patternOf(0, loop.shape().values()));
        QCOMPARE(listener.count, 3 * static_cast<int>(network->operations().size()));
    }

    void wrongFramesAreRefused()
    {
        const auto network = networkOf({true});
        const auto values = static_cast<std::size_t>(network->shape().values());
        std::vector<float> picture(values), last(values);
        const std::vector<int> times = {599, 299};
        FrameCall call;
        call.plan.steps = 2;
        call.timesteps = times;
        call.input = call.last = last;
        VERGENCE_THROWS(ContractError, "each with its time", {
            FrameCall wrong = call;
            wrong.plan.steps = 3;
            network->runFrame(wrong, picture);
        });
        VERGENCE_THROWS(ContractError, "input frame", {
            FrameCall wrong = call;
            wrong.input = {};
            network->runFrame(wrong, picture);
        });
        VERGENCE_THROWS(ContractError, "not asked for", networkOf({})->runFrame(call, picture));
        LinearNetwork linear(kSmall);
        VERGENCE_THROWS(ContractError, "evaluations alone", linear.runFrame(call, picture));
    }

    /// What a card records may touch no memory of the host, allocate nothing and wait for nobody;
    /// and the recording is of the whole frame.
    void aFrameCanBeRecorded_data()
    {
        QTest::addColumn<int>("guidance");
        for (const auto kind : {GuidanceKind::None, GuidanceKind::Full, GuidanceKind::SelfNegative,
                                GuidanceKind::OnetimeNegative})
            QTest::addRow("%s", titleOf(kind).data()) << static_cast<int>(kind);
    }
    void aFrameCanBeRecorded()
    {
        QFETCH(int, guidance);
        const auto card = std::make_shared<test::RecordingDevice>();
        LoopSettings settings;
        settings.guidance = {static_cast<GuidanceKind>(guidance), 1.5, 0.8};
        settings.noise = StartNoise::Correlated;
        settings.eta = 0.4;
        settings.steps = 3;
        NetworkWish onCard{false, fixedSwitches(), card};
        onCard.switches.graph = true;
        onCard.switches.threads = 0;
        // Not beside the CPU: it multiplies by packed weights, which some processors round
        // otherwise.
        NetworkWish onOther{false, onCard.switches, std::make_shared<test::RecordingDevice>()};
        onOther.switches.graph = false;
        for (const int stride : {1, 1000}) { // with a memory write, and without
            settings.memoryStride = stride;
            Pair pair(settings, onOther, onCard);
            QVERIFY(pair.whole->runsFrames());
            const int before = card->recordings;
            // Three frames launch after launch, then one that is recorded while it runs.
            const int frames = stride == 1 ? 4 : 5; // the first writes memory in either
            VERGENCE_SAME(pair.differenceIn(0, frames));
            QCOMPARE(card->recordings, before + 1);
            QCOMPARE(pair.whole->cost().recordedPlans, 1);
            const int replays = card->replays;
            pair.byFrames.process(patternOf(frames, pair.values));
            QCOMPARE(card->replays, replays + 1); // all of the frame, memory write included
            QCOMPARE(card->recordings, before + 1);
        }
    }

    // On a card ----------------------------------------------------------------------------------

    /// A replay is the same bits as launch after launch, while every number moves.
    void replaysAreEagerFrames()
    {
        VERGENCE_CUDA_DEVICE(device);
        NetworkWish eager{true, fixedSwitches(), device}, replayed = eager;
        eager.switches.threads = replayed.switches.threads = 0;
        replayed.switches.graph = true;
        LoopSettings settings;
        settings.guidance = {GuidanceKind::OnetimeNegative, 1.5, 0.8};
        settings.noise = StartNoise::Correlated;
        settings.eta = 0.3;
        Pair pair(settings, eager, replayed);
        for (int part = 0; part < 10; ++part) {
            VERGENCE_SAME(pair.differenceIn(10 * part, 10));
            settings.strength = 0.5 + 0.05 * part;
            settings.blend = 1 - 0.1 * part;
            settings.seed = static_cast<std::uint32_t>(part + 2);
            settings.guidance.gamma = 1.5 + 0.1 * part;
            settings.steps = part < 8 ? 2 : 3;
            pair.setSettings(settings);
        }
        QCOMPARE(pair.plain->cost().recordedPlans, 0);
        QVERIFY(pair.whole->cost().recordedPlans >= 2);
    }

    void precisionsByCapability_data()
    {
        QTest::addColumn<QString>("capability");
        QTest::addColumn<QStringList>("offered");
        const QStringList all{"fp32", "tf32", "fp16", "bf16"};
        QTest::newRow("none said") << "" << QStringList{"fp32"};
        QTest::newRow("Volta") << "7.0" << QStringList{"fp32"};
        QTest::newRow("Turing: no attention of 16 bits") << "7.5" << QStringList{"fp32"};
        QTest::newRow("Ampere") << "8.0" << all;
        QTest::newRow("Ampere, for games") << "8.6" << all;
        QTest::newRow("Ada") << "8.9" << all;
        QTest::newRow("Hopper") << "9.0" << all;
        QTest::newRow("Blackwell") << "10.0" << all;
        QTest::newRow("Blackwell, for games") << "12.0" << all;
    }
    void precisionsByCapability()
    {
        QFETCH(QString, capability);
        QFETCH(QStringList, offered);
        const test::RecordingDevice card(capability.toStdString());
        QStringList found;
        for (const auto precision :
             {Precision::Fp32, Precision::Tf32, Precision::Fp16, Precision::Bf16}) {
            const SwitchChoice choice = precisionChoice(card, precision);
            if (choice.isAvailable)
                found << QString::fromStdString(choice.value);
            else
                QVERIFY2(choice.reason.ends_with("."), choice.reason.c_str());
            Switches wanted;
            wanted.precision = precision;
            std::vector<std::string> changes;
            QCOMPARE(availableSwitches(card, wanted, &changes).precision,
                     choice.isAvailable ? precision : Precision::Fp32);
            QCOMPARE(changes.empty(), choice.isAvailable);
        }
        QCOMPARE(found, offered);
    }

    /// Each network multiplies as its own switches say, whatever another one was asked for before
    /// or meanwhile, and leaves the device as it was.
    void productsFollowTheSwitches_data()
    {
        QTest::addColumn<bool>("isReplica");
        QTest::newRow("denoiser") << false;
        QTest::newRow("replica") << true;
    }
    void productsFollowTheSwitches()
    {
        QFETCH(bool, isReplica);
        const auto device = std::make_shared<vergence::test::RecordingDevice>();
        const auto build = [&](const Switches& switches) -> std::shared_ptr<FrameNetwork> {
            if (isReplica)
                return makeReplicaNetwork(device, buildReplicaB(32, 16), 3, switches, 1);
            return networkOf({.switches = switches, .device = device});
        };
        const auto run = [&](FrameNetwork& network) {
            const auto values = static_cast<std::size_t>(network.shape().values());
            const std::vector<float> x(values, 0.2f);
            const EvalRow row{x, x, x};
            std::vector<float> prediction(values),
                logits(static_cast<std::size_t>(network.shape().cells()));
            network.evaluate({{&row, 1}}, {prediction, logits});
            network.writeMemory(x);
            network.replay(0, 1);
        };
        const auto areAll = [&](bool usesTf32, bool isTimed) {
            auto& seen = device->products.policies;
            const bool are = !seen.empty() && std::ranges::all_of(seen, [&](const auto& policy) {
                return policy.usesTf32 == usesTf32 && policy.isTimed == isTimed;
            });
            seen.clear();
            return are;
        };
        Switches rounded;
        rounded.precision = Precision::Tf32;
        rounded.tuned = rounded.graph = false;
        Switches strict;
        strict.graph = false;
        const auto first = build(rounded);
        QVERIFY(areAll(true, false) || isReplica); // a replica multiplies nothing yet
        const auto second = build(strict);
        QVERIFY(areAll(false, true) || isReplica);
        run(*first);
        QVERIFY(areAll(true, false));
        run(*second);
        QVERIFY(areAll(false, true));
        run(*first);
        QVERIFY(areAll(true, false));
        first->setSwitches(strict);
        device->products.policies.clear();
        run(*first);
        QVERIFY(areAll(false, true));
        second->setSwitches(rounded);
        run(*second);
        device->products.policies.clear();
        const auto stream = device->createStream(); // whoever comes after them
        const Tensor square = Tensor::zeros(*stream, device, {8, 8});
        device->dense().matmul(*stream, square, square, Tensor::zeros(*stream, device, {8, 8}), {});
        QVERIFY(areAll(false, true));
    }

    void aCardsFrameIsTheCpus()
    {
        VERGENCE_CUDA_DEVICE(device);
        LoopSettings settings;
        settings.steps = 1;
        FrameLoop here(networkOf({true}), settings);
        Switches switches = fixedSwitches();
        switches.threads = 0;
        FrameLoop there(networkOf({true, switches, device}), settings);
        const auto input = patternOf(0, here.shape().values());
        here.process(input);
        there.process(input);
        double square = 0;
        for (std::size_t i = 0; i < input.size(); ++i)
            square += std::pow(double(here.values()[i]) - double(there.values()[i]), 2);
        const double error = square / static_cast<double>(input.size());
        QVERIFY2(error <= 4e-9, std::to_string(error).c_str()); // 90 dB of a range of 2
    }
};

VERGENCE_TEST(TestLiveFrame)
#include "tst_live_frame.moc"
