#include <cstring>
#include <fstream>
#include <numeric>

#include <QTemporaryDir>
#include <QTest>

#include "core/artifact/safetensors.h"
#include "core/base/error.h"
#include "core/compute/dense.h"
#include "core/compute/ops/random.h"
#include "core/compute/rng.h"
#include "plugins/live_diffusion/model/blend.h"
#include "plugins/live_diffusion/model/memory_bank.h"
#include "plugins/live_diffusion/model/pixel_blocks.h"
#include "plugins/live_diffusion/model/tape_network.h"
#include "plugins/live_diffusion/model/time_table.h"
#include "plugins/live_diffusion/model/weight_file.h"
#include "tests/support/device_table.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::live;
using namespace vergence::test;

namespace {
UnetSettings nano(Index patch = 1)
{
    UnetSettings settings;
    settings.size = Size::Nano;
    settings.patch = patch;
    settings.grid = 16;
    return settings;
}

std::vector<std::byte> bytesOf(Stream& stream, const Tensor& tensor)
{
    std::vector<std::byte> bytes(tensor.bytes());
    stream.copy(bytes.data(), tensor.data(), bytes.size());
    stream.synchronize();
    return bytes;
}

/// Weights of the cross-attentions of a network, as the bank wants them.
std::vector<Tensor> projectionsOf(const TapeNetwork& network)
{
    std::vector<Tensor> projections;
    const Program& program = network.unet();
    for (const int op : crossAttentionLayers(program).projections) {
        const std::string& name = program.weight(program.op(op).weight).name;
        projections.push_back(network.parameters().named(name));
    }
    return projections;
}

/// A network with weights, a bank, and tokens to write.
struct Bank {
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream;
    TapeNetwork network;
    MemoryBank bank;

    explicit Bank(std::shared_ptr<Device> on)
        : device(std::move(on)),
          stream(device->createStream()),
          network(*stream, device, nano()),
          bank(*stream, initialised(network, *stream),
               network.parameters().named("mem.null.weight"))
    {
    }
    Tensor tokens(int write)
    {
        const Tensor tokens =
            Tensor::empty(device, {kSlotTokens, network.settings().memoryWidth()});
        fillNormal(*stream, tokens, 0, 1, 7, static_cast<std::uint64_t>(write));
        return tokens;
    }

private:
    static std::vector<Tensor> initialised(TapeNetwork& network, Stream& stream)
    {
        network.initialise(stream, Start::Bench, 3);
        return projectionsOf(network);
    }
};

/// One file that fits, to be damaged.
struct Saved {
    QTemporaryDir folder;
    std::shared_ptr<Device> device = devices().devices.front();
    std::unique_ptr<Stream> stream = device->createStream();
    TapeNetwork network{*stream, device, nano(2)};
    std::filesystem::path path = folder.filePath("model.safetensors").toStdString();

    Saved()
    {
        network.initialise(*stream, Start::Bench, 5);
        ModelDescription description;
        description.settings = nano(2);
        description.mode = "restore";
        description.isConsistencyModel = true;
        description.notes["trained"] = "2,000 steps";
        saveModel(*stream, network.parameters(), description, path);
    }
    void rewrite(const std::function<void(std::vector<HostTensor>&)>& change) const
    {
        SafetensorsFile file = readSafetensors(path);
        change(file.tensors);
        writeSafetensors(path, file.tensors, file.metadata);
    }
    void describe(const std::string& from, const std::string& to) const
    {
        std::filesystem::path json = path;
        json.replace_extension(".json");
        std::ifstream in(json);
        std::string text{std::istreambuf_iterator<char>(in), {}};
        const auto at = text.find(from);
        QVERIFY(at != std::string::npos);
        text.replace(at, from.size(), to);
        std::ofstream(json) << text;
    }
};

HostTensor& named(std::vector<HostTensor>& tensors, const std::string& name)
{
    for (HostTensor& tensor : tensors)
        if (tensor.name == name)
            return tensor;
    throw std::runtime_error("no " + name);
}
} // namespace

class TestLiveMemory : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void ringKeepsTheFirstAndTheNewestWrites();
    void biasFollowsTheAge();
    void cacheEqualsProjectingSlotBySlot_data() { addDeviceRows(); }
    void cacheEqualsProjectingSlotBySlot();
    void resetEmptiesAllButTheNullToken();
    void tokensThatDoNotFitAreRefused();
    void blendHasItsLimits();
    void blendOfEqualFramesIsThatFrame();
    void blendRefusesWhatDoesNotFit();
    void timeTableEqualsDirectEvaluation_data() { addDeviceRows(); }
    void timeTableEqualsDirectEvaluation();
    void unshuffleIsExact_data();
    void unshuffleIsExact();
    void trainingStartIsAsDescribed();
    void benchStartHasNoZeros();
    void startsRepeatBitForBit();
    void savedModelsComeBack();
    void halfPrecisionFilesAreConverted();
    void weightsThatDoNotFitAreNamed();
    void descriptionsThatDoNotFitAreNamed();
};

void TestLiveMemory::ringKeepsTheFirstAndTheNewestWrites()
{
    MemoryRing ring;
    for (int write = 0; write < 20; ++write)
        QCOMPARE(ring.write(), MemoryRing::slotOfWrite(write));
    QCOMPARE(ring.writeOf(0), 0);
    for (Index slot = 1; slot <= 4; ++slot)
        QCOMPARE(ring.writeOf(slot), 15 + slot);
    for (Index slot = 5; slot <= 15; ++slot)
        QCOMPARE(ring.writeOf(slot), slot);
    for (Index slot = 0; slot < kMemorySlots; ++slot)
        QCOMPARE(ring.age(slot), 19 - ring.writeOf(slot));
    ring.reset();
    for (Index slot = 0; slot < kMemorySlots; ++slot) {
        QVERIFY(ring.isEmpty(slot));
        QCOMPARE(ring.age(slot), -1);
    }
    QCOMPARE(ring.write(), 0);
}

void TestLiveMemory::biasFollowsTheAge()
{
    MemoryRing ring;
    auto bias = ring.bias();
    QCOMPARE(bias.size(), std::size_t{264});
    for (std::size_t key = 0; key < bias.size(); ++key)
        QCOMPARE(bias[key], key == 256 ? 0.0f : -30000.0f);
    for (int write = 0; write < 3; ++write)
        ring.write();
    bias = ring.bias();
    const std::vector<float> perSlot{0, -0.05f, 0, -30000.0f};
    for (std::size_t slot = 0; slot < perSlot.size(); ++slot)
        for (std::size_t token = 0; token < 16; ++token)
            QCOMPARE(bias[16 * slot + token], perSlot[slot]);
    QCOMPARE(bias[256], 0.0f);
    QCOMPARE(bias[257], -30000.0f);
    QCOMPARE(bias[263], -30000.0f);
    for (int write = 3; write < 20; ++write)
        ring.write();
    bias = ring.bias();
    QCOMPARE(bias[0], 0.0f);             // pinned, whatever its age
    QCOMPARE(bias[16 * 5], -0.05f * 14); // write 5
    QCOMPARE(bias[16 * 4], 0.0f);        // write 19
}

void TestLiveMemory::cacheEqualsProjectingSlotBySlot()
{
    VERGENCE_ROW_DEVICE(device);
    Bank setup(device);
    for (int write = 0; write < 20; ++write)
        setup.bank.write(*setup.stream, setup.tokens(write));
    const auto projections = projectionsOf(setup.network);
    QCOMPARE(setup.bank.layers(), static_cast<int>(projections.size()));
    QCOMPARE(setup.bank.layers(), 4);
    MatmulOptions options;
    options.transposeB = true;
    for (int layer = 0; layer < setup.bank.layers(); ++layer) {
        const Tensor& weight = projections[static_cast<std::size_t>(layer)];
        const Tensor alone = Tensor::empty(device, {kSlotTokens, weight.extent(0)});
        for (Index slot = 0; slot < kMemorySlots; ++slot) {
            const auto write = static_cast<int>(setup.bank.ring().writeOf(slot));
            const Tensor tokens = setup.tokens(write);
            device->dense().matmul(*setup.stream, tokens, weight, alone, options);
            const Index row = slot * kSlotTokens;
            QVERIFY(bytesOf(*setup.stream, alone) ==
                    bytesOf(*setup.stream, setup.bank.keysAndValues(layer).narrow(0, row, 16)));
            QVERIFY(bytesOf(*setup.stream, tokens) ==
                    bytesOf(*setup.stream, setup.bank.tokens().narrow(0, row, 16)));
        }
    }
    const auto bias = setup.bank.bias().toHost<float>(*setup.stream);
    const auto want = setup.bank.ring().bias();
    QVERIFY(std::equal(bias.begin(), bias.end(), want.begin(), want.end()));
    std::size_t bytes = 0;
    for (const Tensor& weight : projections)
        bytes += static_cast<std::size_t>(264 * weight.extent(0)) * 4;
    QCOMPARE(setup.bank.cacheBytes(), bytes);
}

void TestLiveMemory::resetEmptiesAllButTheNullToken()
{
    Bank setup(devices().devices.front());
    std::vector<std::vector<std::byte>> fresh;
    for (int layer = 0; layer < setup.bank.layers(); ++layer)
        fresh.push_back(bytesOf(*setup.stream, setup.bank.keysAndValues(layer)));
    setup.bank.write(*setup.stream, setup.tokens(0));
    QVERIFY(bytesOf(*setup.stream, setup.bank.keysAndValues(0)) != fresh[0]);
    setup.bank.reset(*setup.stream);
    for (int layer = 0; layer < setup.bank.layers(); ++layer) {
        const Tensor& cache = setup.bank.keysAndValues(layer);
        QVERIFY(bytesOf(*setup.stream, cache) == fresh[static_cast<std::size_t>(layer)]);
        const auto numbers = cache.toHost<float>(*setup.stream);
        const Index width = cache.extent(1);
        for (Index i = 0; i < cache.size(); ++i)
            QCOMPARE(numbers[static_cast<std::size_t>(i)] != 0, i / width == kNullToken);
    }
    QCOMPARE(setup.bank.ring().writes(), 0);
    QCOMPARE(setup.bank.bias().toHost<float>(*setup.stream)[0], kEmptySlotBias);
}

void TestLiveMemory::tokensThatDoNotFitAreRefused()
{
    Bank setup(devices().devices.front());
    const Tensor few = Tensor::zeros(*setup.stream, setup.device, {15, 64});
    VERGENCE_THROWS(ContractError, "[15, 64]", setup.bank.write(*setup.stream, few));
    QCOMPARE(setup.bank.ring().writes(), 0);
    const Tensor wide = Tensor::zeros(*setup.stream, setup.device, {8, 65});
    VERGENCE_THROWS(
        ContractError, "[8, 65]",
        MemoryBank(*setup.stream, {wide}, setup.network.parameters().named("mem.null.weight")));
}

void TestLiveMemory::blendHasItsLimits()
{
    QCOMPARE(blendWeight(0, 0), 1.0);
    QCOMPARE(blendWeight(-1e9, 0), 1.0);
    QCOMPARE(blendWeight(-HUGE_VAL, 1), 0.25);
    QCOMPARE(blendWeight(-HUGE_VAL, 0.5), 0.625);
    QCOMPARE(blendWeight(HUGE_VAL, 1), 1.0);
    QVERIFY(std::abs(blendWeight(4, 1) - 0.98201379) < 1e-8);
    QVERIFY(std::abs(blendWeight(0, 1) - 0.5) < 1e-15);
    const float inf = HUGE_VALF;
    const std::vector<float> x0{0.5f, -2, 0.25f, 0.75f}, previous{-0.5f, -1, 1, 3};
    std::vector<float> y(4);
    const auto run = [&](std::span<const float> before, double beta) {
        temporalBlend(x0, before, std::vector<float>{-inf, inf}, beta, {1, 2, 2}, y);
        return y;
    };
    QCOMPARE(run(previous, 0), (std::vector<float>{0.5f, -1, 0.25f, 0.75f}));
    QCOMPARE(run({}, 1), (std::vector<float>{0.5f, -1, 0.25f, 0.75f}));
    // Channels first: pixel 0 has numbers 0 and 2, a quarter of them new; pixel 1 is all new.
    QCOMPARE(run(previous, 1), (std::vector<float>{-0.25f, -1, 0.8125f, 0.75f}));
}

void TestLiveMemory::blendOfEqualFramesIsThatFrame()
{
    std::vector<float> frame(2 * 12 * 64), logits(2 * 64), y(frame.size());
    const Rng rng(11);
    for (std::size_t i = 0; i < frame.size(); ++i)
        frame[i] = 2 * rng.uniform(i) - 1;
    for (std::size_t i = 0; i < logits.size(); ++i)
        logits[i] = 12 * rng.uniform(i + 10'000) - 6;
    for (const double beta : {0.0, 0.3, 1.0}) {
        temporalBlend(frame, frame, logits, beta, {2, 12, 64}, y);
        QVERIFY(y == frame);
    }
}

void TestLiveMemory::blendRefusesWhatDoesNotFit()
{
    std::vector<float> four(4), two(2);
    VERGENCE_THROWS(ContractError, "logits", temporalBlend(four, {}, four, 1, {1, 2, 2}, four));
    VERGENCE_THROWS(ContractError, "temporalBlend",
                    temporalBlend(four, two, two, 1, {1, 2, 2}, four));
    VERGENCE_THROWS(ContractError, "1.5", temporalBlend(four, {}, two, 1.5, {1, 2, 2}, four));
}

void TestLiveMemory::timeTableEqualsDirectEvaluation()
{
    VERGENCE_ROW_DEVICE(device);
    const auto stream = device->createStream();
    TapeNetwork network(*stream, device, nano());
    network.initialise(*stream, Start::Bench, 9);
    const TimeTable table(*stream, network.unet(), network.parameters());
    QCOMPARE(table.layout().width, 16 + 32 + 2 * 32 + 2 * 32 + 2 * 16);
    const std::vector<double> timesteps{999, 749, 499, 249, 0};
    for (const int bucket : {0, 1, 10}) {
        const Tensor rows = table.evaluate(*stream, timesteps, std::vector<int>{bucket});
        QCOMPARE(rows.shape(), Shape({5, table.layout().width}));
        const auto got = rows.toHost<float>(*stream);
        for (std::size_t step = 0; step < timesteps.size(); ++step) {
            for (const auto& entry : table.layout().entries) {
                const Program direct =
                    partOf(network.unet(), {network.unet().op(entry.linear).output});
                Graph graph(*stream, device, {false, DType::F32});
                const Value e = runOnTape(graph, direct, network.parameters(),
                                          {{"t", network.perRow(graph, {timesteps[step]})},
                                           {"b", network.perRow(graph, {1.0 * bucket})}})
                                    .front();
                const auto want = graph.tensor(e).toHost<float>(*stream);
                const auto* first =
                    got.data() + step * static_cast<std::size_t>(rows.extent(1)) + entry.first;
                QCOMPARE(difference(std::span<const float>(first, want.size()),
                                    std::span<const float>(want), 2e-6, 2e-6),
                         std::string());
            }
        }
    }
    VERGENCE_THROWS(ContractError, "2 buckets for 5 steps",
                    table.evaluate(*stream, timesteps, std::vector<int>{1, 2}));
}

void TestLiveMemory::unshuffleIsExact_data()
{
    QTest::addColumn<int>("patch");
    for (const int patch : {1, 2, 4, 8})
        QTest::addRow("%d", patch) << patch;
}

void TestLiveMemory::unshuffleIsExact()
{
    QFETCH(int, patch);
    const Index size = 24, cells = size / patch;
    std::vector<float> frame(static_cast<std::size_t>(3 * size * size)), grid(frame.size()),
        back(frame.size());
    std::iota(frame.begin(), frame.end(), 1.0f);
    pixelUnshuffle(frame, size, patch, grid);
    for (Index c = 0; c < 3; ++c)
        for (Index dy = 0; dy < patch; ++dy)
            for (Index dx = 0; dx < patch; ++dx)
                for (Index y = 0; y < cells; ++y)
                    for (Index x = 0; x < cells; ++x) {
                        const Index channel = (c * patch + dy) * patch + dx;
                        const auto in = (c * size + y * patch + dy) * size + x * patch + dx;
                        const auto out = (channel * cells + y) * cells + x;
                        QCOMPARE(grid[static_cast<std::size_t>(out)],
                                 frame[static_cast<std::size_t>(in)]);
                    }
    pixelShuffle(grid, size, patch, back);
    QVERIFY(back == frame);
    VERGENCE_THROWS(ContractError, "patches of 5", pixelUnshuffle(frame, size, 5, grid));
    VERGENCE_THROWS(ContractError, "instead of 12", pixelUnshuffle(frame, 2, 2, grid));
}

void TestLiveMemory::trainingStartIsAsDescribed()
{
    const auto device = devices().devices.front();
    const auto stream = device->createStream();
    UnetSettings settings;
    settings.size = Size::Pico;
    settings.patch = 2;
    settings.grid = 32;
    TapeNetwork network(*stream, device, settings);
    network.initialise(*stream, Start::Training, 1);
    const auto numbers = [&](const char* name) {
        const Tensor value = network.parameters().named(name);
        return value.reshaped({value.size()}).toHost<float>(*stream);
    };
    for (const char* name :
         {"d1.0.c2.weight", "d2.0.a.o1.weight", "m.a0.o2.weight", "d1.0.c1.bias"})
        for (const float x : numbers(name))
            QCOMPARE(x, 0.0f);
    for (const float x : numbers("d1.0.n1.weight"))
        QCOMPARE(x, 1.0f);
    const auto bias = numbers("head.c.bias");
    for (std::size_t i = 0; i < bias.size(); ++i)
        QCOMPARE(bias[i], i == 12 ? 4.0f : 0.0f);
    // 110,592 normals with deviation 1/√(9 · 96): four deviations of their own spread.
    const auto c1 = numbers("u1.0.c1.weight");
    QCOMPARE(c1.size(), std::size_t{64 * 9 * 192});
    double sum = 0, squares = 0;
    for (const float x : c1) {
        sum += x;
        squares += static_cast<double>(x) * x;
    }
    const double n = static_cast<double>(c1.size()), deviation = 1 / std::sqrt(9.0 * 192);
    QVERIFY(std::abs(sum / n) < 4 * deviation / std::sqrt(n));
    QVERIFY(std::abs(std::sqrt(squares / n) / deviation - 1) < 4 / std::sqrt(2 * n));
}

void TestLiveMemory::benchStartHasNoZeros()
{
    const auto device = devices().devices.front();
    const auto stream = device->createStream();
    TapeNetwork network(*stream, device, nano());
    network.initialise(*stream, Start::Bench, 1);
    const auto deviation = [&](const std::string& name) {
        const Tensor value = network.parameters().named(name);
        double squares = 0;
        for (const float x : value.reshaped({value.size()}).toHost<float>(*stream)) {
            if (x == 0)
                return 0.0;
            squares += static_cast<double>(x) * x;
        }
        return std::sqrt(squares / static_cast<double>(value.size()));
    };
    for (const Program* program : network.programs())
        for (const ProgramWeight& weight : program->weights) {
            if (weight.role != WeightRole::NormShift)
                QVERIFY2(deviation(weight.name) > 0, weight.name.c_str());
            if (weight.role != WeightRole::Matrix)
                continue;
            const double want =
                (weight.endsResidual ? 0.5 : 1) / std::sqrt(static_cast<double>(weight.fanIn));
            const double n = static_cast<double>(weight.size());
            QVERIFY2(std::abs(deviation(weight.name) / want - 1) < 5 / std::sqrt(2 * n),
                     weight.name.c_str());
        }
}

void TestLiveMemory::startsRepeatBitForBit()
{
    const auto device = devices().devices.front();
    const auto stream = device->createStream();
    TapeNetwork a(*stream, device, nano()), b(*stream, device, nano());
    const auto values = [&](TapeNetwork& network, Start start, std::uint64_t seed) {
        network.initialise(*stream, start, seed);
        return bytesOf(*stream, network.parameters().values());
    };
    QVERIFY(values(a, Start::Bench, 4) == values(b, Start::Bench, 4));
    QVERIFY(values(a, Start::Training, 4) == values(b, Start::Training, 4));
    QVERIFY(values(a, Start::Bench, 4) != values(b, Start::Bench, 5));
}

void TestLiveMemory::savedModelsComeBack()
{
    Saved saved;
    TapeNetwork other(*saved.stream, saved.device, nano(2));
    loadModel(*saved.stream, other.parameters(), saved.path);
    QVERIFY(bytesOf(*saved.stream, other.parameters().values()) ==
            bytesOf(*saved.stream, saved.network.parameters().values()));
    const ModelDescription description = readModelDescription(saved.path);
    QCOMPARE(description.settings, nano(2));
    QCOMPARE(description.mode, std::string("restore"));
    QCOMPARE(description.prediction, std::string("v"));
    QVERIFY(description.isConsistencyModel);
    QCOMPARE(description.notes.at("trained"), std::string("2,000 steps"));
    const SafetensorsFile file = readSafetensors(saved.path);
    QVERIFY(file.find("d1.0.c1.weight"));
    QCOMPARE(file.find("d1.0.c1.weight")->shape, Shape({32, 3, 3, 16}));
}

void TestLiveMemory::halfPrecisionFilesAreConverted()
{
    Saved saved;
    ModelDescription description;
    description.settings = nano(2);
    saveModel(*saved.stream, saved.network.parameters(), description, saved.path, DType::F16);
    TapeNetwork other(*saved.stream, saved.device, nano(2));
    loadModel(*saved.stream, other.parameters(), saved.path);
    const auto got = other.parameters().named("mem.c2.weight");
    const auto want = saved.network.parameters().named("mem.c2.weight");
    QCOMPARE(difference(got.reshaped({got.size()}).toHost<float>(*saved.stream),
                        want.reshaped({want.size()}).toHost<float>(*saved.stream), 1e-7, 4.9e-4),
             std::string());
}

void TestLiveMemory::weightsThatDoNotFitAreNamed()
{
    Saved saved;
    saved.rewrite([](std::vector<HostTensor>& tensors) {
        std::erase_if(tensors, [](const HostTensor& t) { return t.name == "m.0.c1.bias"; });
        named(tensors, "d1.0.c1.weight").shape = {16, 3, 3, 32};
        HostTensor& whole = named(tensors, "m.0.c2.bias");
        whole.dtype = DType::I32;
        tensors.push_back(HostTensor::from<float>("ema.decay", {1}, std::vector<float>{1}));
    });
    const auto before = bytesOf(*saved.stream, saved.network.parameters().values());
    const auto load = [&] { loadModel(*saved.stream, saved.network.parameters(), saved.path); };
    VERGENCE_THROWS(InputError, "`m.0.c1.bias` [32] is missing from the file.", load());
    VERGENCE_THROWS(
        InputError,
        "`d1.0.c1.weight` is [16, 3, 3, 32] in the file and [32, 3, 3, 16] in the model.", load());
    VERGENCE_THROWS(InputError, "`m.0.c2.bias` holds I32 in the file where F32 is needed.", load());
    VERGENCE_THROWS(InputError, "`ema.decay` [1] in the file belongs to no weight of the model.",
                    load());
    QVERIFY(bytesOf(*saved.stream, saved.network.parameters().values()) == before);
    // A network of another patch differs in stem, head and encoder; all others fit.
    TapeNetwork other(*saved.stream, saved.device, nano(4));
    Saved whole;
    VERGENCE_THROWS(InputError,
                    "`input.stem.weight` is [16, 3, 3, 40] in the file and "
                    "[16, 3, 3, 144] in the model.",
                    loadModel(*whole.stream, other.parameters(), whole.path));
    UnetSettings pico = nano(2);
    pico.size = Size::Pico;
    pico.grid = 32;
    TapeNetwork larger(*saved.stream, saved.device, pico);
    VERGENCE_THROWS(InputError, "more.", loadModel(*whole.stream, larger.parameters(), whole.path));
}

void TestLiveMemory::descriptionsThatDoNotFitAreNamed()
{
    const auto after = [](const std::string& from, const std::string& to) {
        Saved saved;
        saved.describe(from, to);
        return thrown<InputError>([&] { readModelDescription(saved.path); });
    };
    QVERIFY(after("\"Nano\"", "\"Tiny\"").contains("`size` is \"Tiny\", not one of Nano"));
    QVERIFY(after("\"patch\": 2", "\"patch\": \"2\"").contains("`patch` is \"2\" where a whole"));
    QVERIFY(after("\"grid\": 16", "\"grid\": 20").contains("a grid of 20"));
    QVERIFY(after("\"misaligned\"", "\"aligned\"").contains("`misaligned` is missing"));
    QVERIFY(after("\"restore\"", "\"paint\"").contains("`mode` is \"paint\""));
    QVERIFY(after("diffusion/1", "diffusion/9").contains("`format`"));
    QVERIFY(after("{", "[").contains("model.json"));
    QVERIFY(after("\"2,000 steps\"", "2000").contains("the note `trained` is no text"));
}

VERGENCE_TEST(TestLiveMemory)
#include "tst_live_memory.moc"
