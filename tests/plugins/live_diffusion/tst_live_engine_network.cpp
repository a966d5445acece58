#include <QtTest>

#include <atomic>
#include <bit>
#include <cmath>
#include <new>
#include <random>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "core/compute/cpu_threads.h"
#include "plugins/live_diffusion/engine/executor.h"
#include "plugins/live_diffusion/engine/unet_network.h"
#include "plugins/live_diffusion/model/counts.h"
#include "plugins/live_diffusion/model/memory_bank.h"
#include "plugins/live_diffusion/model/replicas.h"
#include "plugins/live_diffusion/model/tape_network.h"
#include "plugins/live_diffusion/model/unet.h"
#include "tests/plugins/live_diffusion/has_winograd.h"
#include "tests/support/numbers.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::live;

namespace {

std::atomic<int> deviceAllocations{0};

} // namespace

// The CPU device asks for its memory with this one.
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept
{
    ++deviceAllocations;
    const auto align = static_cast<std::size_t>(alignment);
    return std::aligned_alloc(align, (bytes + align - 1) / align * align);
}
void operator delete(void* pointer, std::align_val_t) noexcept
{
    std::free(pointer);
}

namespace {

std::vector<float> randomImage(Index count, unsigned seed, float deviation = 0.5f)
{
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal(0, deviation);
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values)
        value = normal(generator);
    return values;
}

struct Frames {
    std::vector<float> x, u, h;
    Frames(Index values, unsigned seed)
        : x(randomImage(values, seed, 1)),
          u(randomImage(values, seed + 100)),
          h(randomImage(values, seed + 200))
    {
    }
    EvalRow row(int timestep, int bucket, bool seesMemory = true) const
    {
        return {x, u, h, timestep, bucket, seesMemory};
    }
};

struct Result {
    std::vector<float> prediction, blend;
};

Result evaluated(FrameNetwork& network, const std::vector<EvalRow>& rows)
{
    const FrameShape& shape = network.shape();
    Result result;
    result.prediction.resize(rows.size() * static_cast<std::size_t>(shape.values()));
    result.blend.resize(rows.size() * static_cast<std::size_t>(shape.cells()));
    network.evaluate({rows}, {result.prediction, result.blend});
    return result;
}

/// [rows, C, pixels] ↔ [rows, pixels, C]
std::vector<float> turned(const std::vector<float>& values, Index rows, Index first, Index second)
{
    std::vector<float> result(values.size());
    for (Index n = 0; n < rows; ++n) {
        for (Index i = 0; i < first; ++i) {
            for (Index j = 0; j < second; ++j)
                result[static_cast<std::size_t>((n * second + j) * first + i)] =
                    values[static_cast<std::size_t>((n * first + i) * second + j)];
        }
    }
    return result;
}

double largest(const std::vector<float>& values)
{
    double most = 0;
    for (const float value : values)
        most = std::max(most, static_cast<double>(std::abs(value)));
    return most;
}

double worst(const std::vector<float>& got, const std::vector<float>& want)
{
    double most = 0;
    for (std::size_t i = 0; i < want.size(); ++i)
        most = std::max(most, static_cast<double>(std::abs(got[i] - want[i])));
    return most / largest(want);
}

/// The tape on the same weights: what every set of switches must agree with.
class Reference {
public:
    explicit Reference(const UnetSettings& settings)
        : m_settings(settings),
          m_network(*m_stream, m_device, settings)
    {
        m_network.initialise(*m_stream, Start::Bench, 5);
    }

    std::shared_ptr<const HostWeights> weights()
    {
        return hostWeights(*m_stream, m_network.parameters());
    }

    /// `written`: frames in the memory bank, at most 16.
    Result operator()(const std::vector<EvalRow>& rows,
                      const std::vector<std::vector<float>>& written)
    {
        Graph graph(*m_stream, m_device, {false, DType::F32});
        const Index c = m_settings.frameChannels(), g = m_settings.grid;
        const auto count = static_cast<Index>(rows.size());
        const auto images = [&](auto part) {
            std::vector<float> all;
            for (const EvalRow& row : rows)
                all.insert(all.end(), part(row).begin(), part(row).end());
            return graph.constant(Tensor::fromHost<float>(*m_stream, m_device, {count, g, g, c},
                                                          turned(all, count, c, g * g)));
        };
        const auto numbers = [&](auto part) {
            std::vector<float> all;
            for (const EvalRow& row : rows)
                all.push_back(static_cast<float>(part(row)));
            return graph.constant(
                Tensor::fromHost<float>(*m_stream, m_device, {count, 1, 1, 1}, all));
        };
        TapeNetwork::Input input;
        input.x = images([](const EvalRow& row) { return row.x; });
        input.u = images([](const EvalRow& row) { return row.input; });
        input.h = images([](const EvalRow& row) { return row.history; });
        input.timesteps = numbers([](const EvalRow& row) { return row.timestep; });
        input.buckets = numbers([](const EvalRow& row) { return row.historyBucket; });
        MemoryRing ring;
        Value tokens;
        if (!written.empty()) {
            std::vector<float> all;
            for (const auto& frame : written) {
                all.insert(all.end(), frame.begin(), frame.end());
                ring.write();
            }
            const auto n = static_cast<Index>(written.size());
            const Value encoded = m_network.encodeFrames(
                graph, graph.constant(Tensor::fromHost<float>(*m_stream, m_device, {n, g, g, c},
                                                              turned(all, n, c, g * g))));
            tokens = graph.constant(
                graph.dense(encoded).reshaped({1, n * kSlotTokens, m_settings.memoryWidth()}));
        }
        input.memory = m_network.assembleMemory(graph, tokens, 1);
        std::vector<float> bias;
        for (const EvalRow& row : rows) {
            auto seen = ring.bias();
            if (!row.seesMemory) {
                seen.fill(kEmptySlotBias);
                seen[static_cast<std::size_t>(kNullToken)] = 0;
            }
            bias.insert(bias.end(), seen.begin(), seen.end());
        }
        input.memoryBias = graph.constant(
            Tensor::fromHost<float>(*m_stream, m_device, {count, kMemoryTokens, 1, 1}, bias));
        const auto output = m_network(graph, input);
        const auto host = [&](Value value) {
            return graph.dense(value).clone(*m_stream).toHost<float>(*m_stream);
        };
        return {turned(host(output.prediction), count, g * g, c), host(output.blend)};
    }

private:
    const bool m_isEveryBlockSeen = qputenv("VERGENCE_HUGE_PAGES", "0"); // see operator new
    std::shared_ptr<Device> m_device = makeCpuDevice(2);
    std::unique_ptr<Stream> m_stream = m_device->createStream();
    UnetSettings m_settings;
    TapeNetwork m_network;
};

Switches cpuSwitches()
{
    Switches switches;
    switches.graph = false;
    switches.threads = 2;
    return switches;
}

UnetSettings settingsOf(Size size)
{
    UnetSettings settings;
    settings.size = size;
    settings.patch = 2;
    settings.grid = layoutOf(size).nativeGrid;
    return settings;
}

} // namespace

class TestLiveEngineNetwork : public QObject {
    Q_OBJECT

    std::shared_ptr<Device> m_device = makeCpuDevice(2);

    UnetNetwork networkOf(const UnetSettings& unet, std::shared_ptr<const HostWeights> weights,
                          const Switches& switches, int rows = 1)
    {
        return {m_device, std::move(weights), {unet, switches, rows}};
    }

private Q_SLOTS:
    void everySwitchAgreesWithTheTape_data()
    {
        QTest::addColumn<int>("size");
        QTest::newRow("Nano") << static_cast<int>(Size::Nano);
        QTest::newRow("Pico") << static_cast<int>(Size::Pico);
    }
    void everySwitchAgreesWithTheTape()
    {
        QFETCH(int, size);
        const UnetSettings unet = settingsOf(static_cast<Size>(size));
        Reference reference(unet);
        const auto weights = reference.weights();
        const Index values = unet.frameChannels() * unet.grid * unet.grid;
        std::vector<Frames> frames;
        for (unsigned i = 0; i < 4; ++i)
            frames.emplace_back(values, i);
        const std::vector<EvalRow> rows{frames[0].row(599, 1), frames[1].row(299, 1),
                                        frames[2].row(999, 10, false), frames[3].row(0, 0)};
        const std::vector<std::vector<float>> written{frames[1].u, frames[2].u, frames[3].u};
        const Result want = reference(rows, written);
        UnetNetwork network = networkOf(unet, weights, baselineSwitches(), 4);
        for (const auto& frame : written)
            network.writeMemory(frame); // kept when switches change
        for (int bits = 0; bits < 32; ++bits) {
            const bool isOne = bits == 31 || std::has_single_bit(static_cast<unsigned>(bits));
            if (static_cast<Size>(size) != Size::Nano && !isOne)
                continue; // of the larger one: each switch alone, and all
            Switches switches = cpuSwitches();
            switches.layout = bits & 1 ? Layout::Nhwc : Layout::Nchw;
            switches.attention = bits & 2 ? AttentionKind::Flash : AttentionKind::Naive;
            switches.fusion = bits & 4;
            switches.tuned = bits & 8;
            switches.collapsedUpsampling = bits & 16;
            switches.channelRounding = bits % 3 == 0 ? 0 : bits % 3 == 1 ? 8 : 64;
            network.setSwitches(switches);
            const Result all = evaluated(network, rows);
            const std::string label = fmt::format("switches {:05b}", bits);
            QVERIFY2(worst(all.prediction, want.prediction) < 1e-5,
                     fmt::format("{}: {}", label, worst(all.prediction, want.prediction)).c_str());
            QVERIFY2(worst(all.blend, want.blend) < 1e-5, label.c_str());
            // rows do not touch one another: one at a time gives the same
            for (std::size_t i = 0; i < rows.size(); ++i) {
                const Result one = evaluated(network, {rows[i]});
                const std::vector<float> part(
                    all.prediction.begin() + static_cast<Index>(i) * values,
                    all.prediction.begin() + static_cast<Index>(i + 1) * values);
                QVERIFY2(worst(one.prediction, part) < 2e-6, label.c_str());
            }
        }
    }

    void windowsAndLevelZeroAgreeWithTheTape()
    {
        UnetSettings unet = settingsOf(Size::Nano);
        unet.hasAttentionAtLevel0 = true;
        unet.hasWindowAttention = true;
        Reference reference(unet);
        const Frames frames(unet.frameChannels() * unet.grid * unet.grid, 3);
        const Result want = reference({frames.row(700, 2)}, {});
        for (const bool isBest : {false, true}) {
            UnetNetwork network =
                networkOf(unet, reference.weights(), isBest ? cpuSwitches() : baselineSwitches());
            const Result got = evaluated(network, {frames.row(700, 2)});
            QVERIFY(worst(got.prediction, want.prediction) < 1e-5);
        }
    }

    void sameInputsGiveTheSameBits()
    {
        const UnetSettings unet = settingsOf(Size::Pico);
        const auto weights = benchWeights(unet, 3);
        const Frames frames(unet.frameChannels() * unet.grid * unet.grid, 1);
        Switches switches = cpuSwitches();
        switches.tuned = false; // the fastest plan may differ from one process to the next
        std::vector<float> first;
        for (const int threads : {2, 2, 1}) {
            switches.threads = threads;
            UnetNetwork network = networkOf(unet, weights, switches);
            network.writeMemory(frames.u);
            const Result got = evaluated(network, {frames.row(599, 1)});
            const Result again = evaluated(network, {frames.row(599, 1)});
            QVERIFY(got.prediction == again.prediction);
            if (first.empty())
                first = got.prediction;
            else if (threads == 2)
                QVERIFY(got.prediction == first);
            else
                QVERIFY(worst(got.prediction, first) < 1e-5);
        }
    }

    void nothingIsAllocatedAfterTheFirstFrame()
    {
        const UnetSettings unet = settingsOf(Size::Pico);
        const auto weights = benchWeights(unet, 3);
        const Frames frames(unet.frameChannels() * unet.grid * unet.grid, 1);
        for (const bool isBest : {true, false}) {
            Switches switches = isBest ? cpuSwitches() : baselineSwitches();
            UnetNetwork network = networkOf(unet, weights, switches, 2);
            network.prepareSteps(std::vector<int>{599, 299}, 1);
            evaluated(network, {frames.row(599, 1)});
            evaluated(network, {frames.row(599, 1), frames.row(299, 1)});
            network.writeMemory(frames.u);
            QVERIFY(deviceAllocations > 0);
            const int before = deviceAllocations;
            for (int frame = 0; frame < 3; ++frame) {
                evaluated(network, {frames.row(599, 1)});
                evaluated(network, {frames.row(599, 1), frames.row(299, 1)});
            }
            QCOMPARE(deviceAllocations.load(), before);
        }
    }

    void theNextProcessTimesNothing()
    {
        const test::Scratch scratch;
        const UnetSettings unet = settingsOf(Size::Pico);
        const auto weights = benchWeights(unet, 3);
        const Frames frames(unet.frameChannels() * unet.grid * unet.grid, 1);
        Switches switches = cpuSwitches();
        switches.tuned = true;
        switches.threads = 0;
        Result first;
        for (int process = 0; process < 2; ++process) {
            UnetNetworkSettings settings{unet, switches, 1};
            settings.choices = std::make_shared<TunedChoices>(scratch / "fastest.json");
            UnetNetwork network(m_device, weights, settings);
            QCOMPARE(network.cost().tuningPeakBytes > 0, process == 0 && hasWinograd(m_device));
            const Result result = evaluated(network, {frames.row(599, 1)});
            if (process == 0)
                first = result;
            QVERIFY(result.prediction == first.prediction && result.blend == first.blend);
        }
        const auto kept = nlohmann::json::parse(readFile(scratch / "fastest.json"));
        std::set<std::string> keys;
        for (const auto& [machine, words] : kept.at("choices").items())
            for (const auto& [key, word] : words.items())
                keys.insert(key);
        QVERIFY(keys.contains(fmt::format("threads Pico {}", unet.grid)));
        QVERIFY(keys.size() > 3);
    }

    void moreStepsThanTheTableHoldsAreRight()
    {
        const UnetSettings unet = settingsOf(Size::Nano);
        const Frames frames(unet.frameChannels() * unet.grid * unet.grid, 1);
        UnetNetwork network = networkOf(unet, benchWeights(unet, 3), cpuSwitches());
        std::vector<Result> first;
        for (int timestep = 0; timestep < 70; ++timestep)
            first.push_back(evaluated(network, {frames.row(timestep, timestep % 11)}));
        QVERIFY(first[0].prediction != first[1].prediction);
        for (const int timestep : {0, 69, 5, 66})
            QVERIFY(evaluated(network, {frames.row(timestep, timestep % 11)}).prediction ==
                    first[static_cast<std::size_t>(timestep)].prediction);
        QVERIFY(evaluated(network, {frames.row(5, 6)}).prediction != first[5].prediction);
    }

    void threadsAreMeasuredUnlessSaid()
    {
        const UnetSettings unet = settingsOf(Size::Nano);
        const int best = fastestThreads(unet);
        QVERIFY(best >= 1 && best <= usableThreads());
        Switches switches = cpuSwitches();
        switches.threads = 0;
        UnetNetwork network = networkOf(unet, benchWeights(unet, 3), switches);
        QVERIFY(network.cost().threads >= 1 && network.cost().threads <= usableThreads());
        switches.threads = 1;
        network.setSwitches(switches);
        QCOMPARE(network.cost().threads, 1);
    }

    /// Times decide nothing where bits must not differ, not even those that were taken before.
    void withoutTuningTimesDecideNothing()
    {
        const test::Scratch scratch;
        const UnetSettings unet = settingsOf(Size::Nano);
        Switches switches = cpuSwitches();
        switches.tuned = false;
        switches.threads = 0;
        UnetNetworkSettings settings{unet, switches, 1};
        settings.choices = std::make_shared<TunedChoices>(scratch / "fastest.json");
        const std::string machine = tuningMachine(*m_device);
        const std::string key = fmt::format("threads Nano {}", unet.grid);
        const UnetNetwork first(m_device, benchWeights(unet, 3), settings);
        QVERIFY(!settings.choices->find(machine, key).has_value());
        settings.choices->set(machine, key, "1");
        const UnetNetwork second(m_device, benchWeights(unet, 3), settings);
        QCOMPARE(second.cost().threads, productThreads(*m_device));
    }

    void keysOfTheMemoryAreThoseOfTheSlots()
    {
        const UnetSettings unet = settingsOf(Size::Nano);
        const auto weights = benchWeights(unet, 3);
        const Index values = unet.frameChannels() * unet.grid * unet.grid;
        UnetNetwork network = networkOf(unet, weights, cpuSwitches());
        const auto keys = [&](FrameNetwork&, UnetNetwork& one) {
            return std::vector<float>(static_cast<const float*>(one.keysAndValues(0).data()),
                                      static_cast<const float*>(one.keysAndValues(0).data()) +
                                          one.keysAndValues(0).size());
        };
        for (unsigned i = 0; i < 20; ++i)
            network.writeMemory(randomImage(values, i));
        QCOMPARE(network.memoryWrites(), 20);
        const auto before = keys(network, network);
        Switches other = cpuSwitches();
        other.fusion = false;
        network.setSwitches(other); // a new bank, filled slot by slot
        QVERIFY(keys(network, network) == before);
        // slot 0 is the first frame, slots 1 … 4 hold frames 16 … 19
        UnetNetwork fresh = networkOf(unet, weights, cpuSwitches());
        fresh.writeMemory(randomImage(values, 0));
        const auto one = keys(fresh, fresh);
        const Index rowNumbers = fresh.keysAndValues(0).extent(1) * kSlotTokens;
        QVERIFY(std::equal(one.begin(), one.begin() + rowNumbers, before.begin()));
        network.resetMemory();
        QCOMPARE(network.memoryWrites(), 0);
        fresh.resetMemory();
        QVERIFY(keys(network, network) == keys(fresh, fresh));
    }

    void emptyMemoryIsTheNullToken()
    {
        const UnetSettings unet = settingsOf(Size::Nano);
        const auto weights = benchWeights(unet, 3);
        const Frames frames(unet.frameChannels() * unet.grid * unet.grid, 1);
        UnetNetwork network = networkOf(unet, weights, cpuSwitches());
        const auto empty = evaluated(network, {frames.row(599, 1)}).prediction;
        network.writeMemory(frames.u);
        const auto filled = evaluated(network, {frames.row(599, 1)}).prediction;
        const auto hidden = evaluated(network, {frames.row(599, 1, false)}).prediction;
        QVERIFY(filled != empty);
        QVERIFY(hidden == empty);
    }

    void costsAreCounted()
    {
        const UnetSettings unet = settingsOf(Size::Pico);
        const auto weights = benchWeights(unet, 3);
        Switches switches = cpuSwitches();
        switches.tuned = false;
        switches.collapsedUpsampling = false;
        UnetNetwork network = networkOf(unet, weights, switches);
        const FrameCost fused = network.cost();
        std::int64_t flop = 0, most = 0;
        for (const OpRecord& op : network.operations()) {
            flop += op.flop;
            most = std::max(most, op.liveBytes);
            QVERIFY(op.scoreBytes == 0);
        }
        QCOMPARE(flop, fused.flopPerRow);
        QCOMPARE(flop, flopPerEvaluation(buildUnet(unet)));
        QVERIFY(static_cast<std::size_t>(most) <= fused.arenaBytes);
        QVERIFY(fused.weightBytes > 3'093'320u * 4u * 9 / 10);
        network.setSwitches(baselineSwitches());
        const FrameCost plain = network.cost();
        QVERIFY(plain.kernelsPerEval > 3 * fused.kernelsPerEval / 2);
        std::int64_t scores = 0;
        for (const OpRecord& op : network.operations()) {
            scores = std::max(scores, op.scoreBytes);
            QVERIFY(op.liveBytes > op.scoreBytes); // they lie in the arena
        }
        QVERIFY(scores > 0);
    }

    void observersHearEveryOperationOnce()
    {
        struct Counter : OpObserver {
            std::vector<int> begun, over;
            void began(std::size_t op) override { ++begun.at(op); }
            void ended(std::size_t op) override { ++over.at(op); }
        } counter;
        const UnetSettings unet = settingsOf(Size::Nano);
        UnetNetwork network = networkOf(unet, benchWeights(unet, 3), cpuSwitches());
        counter.begun.resize(network.operations().size());
        counter.over.resize(network.operations().size());
        network.setObserver(&counter);
        const Frames frames(unet.frameChannels() * unet.grid * unet.grid, 1);
        evaluated(network, {frames.row(599, 1)});
        network.setObserver(nullptr);
        evaluated(network, {frames.row(599, 1)});
        for (std::size_t i = 0; i < counter.begun.size(); ++i) {
            QCOMPARE(counter.begun[i], 1);
            QCOMPARE(counter.over[i], 1);
            QVERIFY(network.replay(i, 2) > 0);
        }
    }

    void replicasRun_data()
    {
        QTest::addColumn<bool>("isA");
        QTest::newRow("A") << true;
        QTest::newRow("B") << false;
    }
    void replicasRun()
    {
        QFETCH(bool, isA);
        const Program program = isA ? buildReplicaA(24, 16) : buildReplicaB(32, 16);
        const auto source = sourceOf(benchWeights(program, 4));
        const auto stream = m_device->createStream();
        ConvolutionTuner tuner(m_device);
        std::vector<float> first;
        for (const bool isBest : {false, true}) {
            ExecutorSettings settings;
            settings.switches = isBest ? cpuSwitches() : baselineSwitches();
            settings.runs = [](const ProgramOp&) { return true; };
            settings.maxRows = 2;
            Executor executor(m_device, *stream, program, source, settings, tuner);
            for (const int input : program.inputs) {
                const Tensor& place = executor.input(input);
                const auto image = randomImage(place.size(), static_cast<unsigned>(input));
                stream->copy(place.data(), image.data(), place.bytes());
            }
            executor.run(*stream, 2);
            const auto got = executor.output(program.outputs.at(0)).toHost<float>(*stream);
            if (first.empty())
                first = got;
            QVERIFY(std::isfinite(largest(got)) && largest(got) > 0);
            QVERIFY2(worst(got, first) < 1e-5, std::to_string(worst(got, first)).c_str());
        }
    }

    void wrongArgumentsAreRefused()
    {
        const UnetSettings unet = settingsOf(Size::Nano);
        const auto weights = benchWeights(unet, 3);
        UnetNetwork network = networkOf(unet, weights, cpuSwitches());
        const Frames frames(unet.frameChannels() * unet.grid * unet.grid, 1);
        VERGENCE_THROWS(ContractError, "2 batch rows",
                        evaluated(network, {frames.row(1, 1), frames.row(1, 1)}));
        VERGENCE_THROWS(ContractError, "out of range", evaluated(network, {frames.row(1000, 1)}));
        EvalRow shortRow = frames.row(1, 1);
        shortRow.x = shortRow.x.first(7);
        VERGENCE_THROWS(ContractError, "7 numbers", evaluated(network, {shortRow}));
        Switches wrong = cpuSwitches();
        wrong.precision = Precision::Tf32;
        VERGENCE_THROWS(ContractError, "TF32", network.setSwitches(wrong));
        QVERIFY(network.switches() == cpuSwitches()); // all is as before
        const auto none = std::make_shared<HostWeights>();
        VERGENCE_THROWS(ContractError, "have no", networkOf(unet, none, cpuSwitches()));
    }
};

VERGENCE_TEST(TestLiveEngineNetwork)
#include "tst_live_engine_network.moc"
