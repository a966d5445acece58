#include <QTest>

#include "plugins/live_diffusion/model/blend.h"
#include "plugins/live_diffusion/model/memory_ring.h"
#include "plugins/live_diffusion/model/program_builder.h"
#include "plugins/live_diffusion/model/replicas.h"
#include "plugins/live_diffusion/model/tape_ops.h"
#include "tests/plugins/live_diffusion/tape_support.h"
#include "tests/support/device_table.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::live;
using namespace vergence::test;

namespace {
UnetSettings plainNano()
{
    UnetSettings settings;
    settings.size = Size::Nano;
    settings.patch = 1;
    settings.grid = 16;
    return settings;
}

/// Runs a program that has no weights, or weights as given.
std::vector<double> runAlone(Tape& tape, const Program& program,
                             const std::map<std::string, Value>& inputs,
                             const std::map<std::string, std::vector<double>>& weights = {})
{
    ParameterSettings settings;
    settings.master = settings.compute = tape.type;
    ProgramBuilder other("a weight, so that there is one");
    other.beginBlock("other");
    other.output(other.learned("", 1, 1), "other");
    const Program one = other.finish();
    tape.kept.push_back(declareParameters(*tape.stream, tape.device, {&program, &one}, settings));
    const ParameterSet& parameters = *tape.kept.back();
    for (const auto& [name, values] : weights) {
        const Tensor target = parameters.named(name);
        const Tensor source = tape.tensor(target.shape(), values);
        tape.stream->copy(target.data(), source.data(), source.bytes());
    }
    return tape.host(runOnTape(tape.graph, program, parameters, inputs).front());
}

/// Input x [channels, side, side] → one operation.
template <class Add>
Program single(Index channels, Index height, Index width, const Add& add)
{
    ProgramBuilder build("single");
    const int x = build.input("x", channels, height, width);
    build.beginBlock("b");
    build.output(add(build, x), "y");
    return build.finish();
}

std::vector<double> answer(Tape& tape, const TapeNetwork& network, const Question& question)
{
    const auto output = network(tape.graph, question.on(tape, network));
    auto numbers = tape.host(output.prediction);
    const auto logits = tape.host(output.blend);
    numbers.insert(numbers.end(), logits.begin(), logits.end());
    return numbers;
}

ParameterSettings inType(DType master, DType compute, bool trains = false)
{
    ParameterSettings settings;
    settings.master = master;
    settings.compute = compute;
    settings.trains = trains;
    return settings;
}

double dot(const std::vector<double>& a, const std::vector<double>& b)
{
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        sum += a[i] * b[i];
    return sum;
}
} // namespace

class TestLiveNetwork : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void sinusoidHasItsKnownValues();
    void groupNormAndSiluHaveTheirKnownValues();
    void convolutionOfOnesCountsItsTaps();
    void attentionHasItsKnownRows();
    void ageBiasWeighsTheKeys();
    void emptyBankGivesTheNullTokensValue();
    void windowsAttendAlone();
    void adaptiveMeanAveragesItsBins();
    void operationsOfReplicasHaveTheirKnownValues();
    void blendOnTheTapeIsThatOfFrames();
    void partsHaveTheirDerivatives_data();
    void partsHaveTheirDerivatives();
    void nanoHasItsDerivatives();
    void recomputedBlocksGiveTheSameGradients();
    void rowsDoNotSeeEachOther();
    void sharedMemoryIsThatOfEveryRow();
    void trainingStartDoesNotSeeItsMemory();
    void highGridsEncodeToTheSameTokens();
    void sixteenBitsComeClose();
    void replicasRunForward();
    void inputsThatDoNotFitAreNamed();
};

void TestLiveNetwork::sinusoidHasItsKnownValues()
{
    Tape tape(devices().devices.front(), DType::F64);
    const auto of = [&](Index channels, double scale) {
        const Program program = single(
            1, 1, 1, [&](ProgramBuilder& b, int x) { return b.sinusoid("s", x, channels, scale); });
        return runAlone(tape, program, {{"x", tape.constant({1, 1, 1, 1}, {7})}});
    };
    const std::vector<double> want{0.75390225, 0.76484219, 0.99755100, 0.99997550,
                                   0.65698660, 0.64421769, 0.06994285, 0.00699994};
    QCOMPARE(difference(of(8, 1), want, 5e-9, 0), std::string());
    const auto odd = of(9, 1);
    QCOMPARE(difference(std::vector<double>(odd.begin(), odd.end() - 1), want, 5e-9, 0),
             std::string());
    QCOMPARE(odd.back(), 0.0);
    QVERIFY(std::abs(of(8, 100)[0] - std::cos(700.0)) < 1e-12);
}

void TestLiveNetwork::groupNormAndSiluHaveTheirKnownValues()
{
    Tape tape(devices().devices.front(), DType::F64);
    // Two pixels; channels {1, 2}, {3, 4}, {5, 6}, {7, 8}.
    const Value x = tape.constant({1, 1, 2, 4}, {1, 3, 5, 7, 2, 4, 6, 8});
    const std::map<std::string, std::vector<double>> weights{{"b.n.weight", {1, 1, 1, 1}},
                                                             {"b.n.bias", {0, 0, 0, 0}}};
    const auto norm = [](ProgramBuilder& b, int v) { return b.groupNorm("n", v, 2); };
    const auto silu = [&](ProgramBuilder& b, int v) {
        return b.unary(OpKind::Silu, "s", norm(b, v));
    };
    const double a = 1.34163542, c = 0.44721181;
    QCOMPARE(difference(runAlone(tape, single(4, 1, 2, norm), {{"x", x}}, weights),
                        std::vector<double>{-a, c, -a, c, -c, a, -c, a}, 1e-8, 0),
             std::string());
    const double d = -0.27804219, e = -0.17442329, f = 0.27278852, g = 1.06359323;
    QCOMPARE(difference(runAlone(tape, single(4, 1, 2, silu), {{"x", x}}, weights),
                        std::vector<double>{d, f, d, f, e, g, e, g}, 1e-8, 0),
             std::string());
    const Program alone =
        single(1, 1, 3, [](ProgramBuilder& b, int v) { return b.unary(OpKind::Silu, "s", v); });
    QCOMPARE(difference(runAlone(tape, alone, {{"x", tape.constant({1, 1, 3, 1}, {1, -1, 2})}}),
                        std::vector<double>{0.7310585786, -0.2689414214, 1.7615941560}, 1e-10, 0),
             std::string());
    const Value flat = tape.constant({1, 1, 2, 4}, std::vector<double>(8, 0.7));
    QCOMPARE(runAlone(tape, single(4, 1, 2, norm), {{"x", flat}},
                      {{"b.n.weight", {1, 2, 3, 4}}, {"b.n.bias", {5, 6, 7, 8}}}),
             (std::vector<double>{5, 6, 7, 8, 5, 6, 7, 8}));
}

void TestLiveNetwork::convolutionOfOnesCountsItsTaps()
{
    Tape tape(devices().devices.front(), DType::F64);
    const Value ones = tape.constant({1, 3, 3, 1}, std::vector<double>(9, 1));
    const auto run = [&](int stride) {
        const Program program = single(1, 3, 3, [&](ProgramBuilder& b, int x) {
            return b.convolution("c", x, {.channels = 1, .stride = stride});
        });
        return runAlone(tape, program, {{"x", ones}},
                        {{"b.c.weight", std::vector<double>(9, 1)}, {"b.c.bias", {0.5}}});
    };
    QCOMPARE(run(1), (std::vector<double>{4.5, 6.5, 4.5, 6.5, 9.5, 6.5, 4.5, 6.5, 4.5}));
    QCOMPARE(run(2), (std::vector<double>{4.5, 4.5, 4.5, 4.5}));
}

void TestLiveNetwork::attentionHasItsKnownRows()
{
    Tape tape(devices().devices.front(), DType::F64);
    const Program program =
        single(6, 1, 2, [](ProgramBuilder& b, int x) { return b.selfAttention("a", x, 1); });
    const std::vector<double> want{1.6604769013, 2.6604769013, 2.3395230987, 3.3395230987};
    const Value qkv = tape.constant({1, 1, 2, 6}, {1, 0, 1, 0, 1, 2, 0, 1, 0, 1, 3, 4});
    QCOMPARE(difference(runAlone(tape, program, {{"x", qkv}}), want, 1e-10, 0), std::string());
    // Equal keys: the mean of all values.
    const Value equal = tape.constant({1, 1, 2, 6}, {1, 0, 3, 3, 1, 2, 0, 1, 3, 3, 3, 4});
    QCOMPARE(difference(runAlone(tape, program, {{"x", equal}}), std::vector<double>{2, 3, 2, 3},
                        1e-14, 0),
             std::string());
}

void TestLiveNetwork::ageBiasWeighsTheKeys()
{
    Tape tape(devices().devices.front(), DType::F64);
    // Keys of 0, values 1, 2, 4 in the first of four channels.
    const Value q = tape.noise({1, 2, 2, 4}, 1);
    const Value kv = tape.constant(
        {1, 3, 1, 8}, {0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0});
    const Value bias = tape.constant({1, 3, 1, 1}, {0, -0.5, -1});
    const auto o = tape.host(crossAttention(tape.graph, q, kv, bias, 1));
    for (std::size_t i = 0; i < o.size(); i += 4)
        QVERIFY(std::abs(o[i] - 1.8661670554) < 1e-10);
}

void TestLiveNetwork::emptyBankGivesTheNullTokensValue()
{
    Tape tape(devices().devices.front());
    const Index channels = 128;
    const auto bias = MemoryRing().bias();
    std::vector<double> keys = numbers(kMemoryTokens * 2 * channels, 5);
    const Value kv = tape.constant({1, kMemoryTokens, 1, 2 * channels}, keys);
    const Value added =
        tape.constant({1, kMemoryTokens, 1, 1}, std::vector<double>(bias.begin(), bias.end()));
    const Value o = crossAttention(tape.graph, tape.noise({2, 4, 4, channels}, 6), kv, added, 2);
    const auto got = tape.host(o);
    for (std::size_t i = 0; i < got.size(); ++i) {
        const auto c = static_cast<Index>(i) % channels;
        const double value = keys[static_cast<std::size_t>((2 * kNullToken + 1) * channels + c)];
        QCOMPARE(got[i], static_cast<double>(static_cast<float>(value)));
    }
}

void TestLiveNetwork::windowsAttendAlone()
{
    Tape tape(devices().devices.front(), DType::F64);
    const Index side = 4, window = 2, channels = 8;
    const Value qkv = tape.noise({2, side, side, 3 * channels}, 1);
    const auto got = tape.host(live::selfAttention(tape.graph, qkv, 2, window));
    for (Index y = 0; y < side; y += window)
        for (Index x = 0; x < side; x += window) {
            Value part = narrow(tape.graph, narrow(tape.graph, qkv, 1, y, window), 2, x, window);
            const auto want = tape.host(live::selfAttention(tape.graph, part, 2, 0));
            for (Index row = 0; row < 2; ++row)
                for (Index i = 0; i < window * window * channels; ++i) {
                    const Index c = i % channels, dx = i / channels % window;
                    const Index dy = i / (channels * window);
                    const Index at = ((row * side + y + dy) * side + x + dx) * channels + c;
                    const Index alone = row * window * window * channels + i;
                    QVERIFY(std::abs(got[static_cast<std::size_t>(at)] -
                                     want[static_cast<std::size_t>(alone)]) < 1e-13);
                }
        }
}

void TestLiveNetwork::adaptiveMeanAveragesItsBins()
{
    Tape tape(devices().devices.front(), DType::F64);
    const auto pool = [&](Index from, Index to) {
        std::vector<double> ramp;
        for (Index y = 0; y < from; ++y)
            for (Index x = 0; x < from; ++x)
                ramp.push_back(static_cast<double>(10 * y + x));
        return tape.host(
            adaptiveMeanPool(tape.graph, tape.constant({1, from, from, 1}, ramp), to, to));
    };
    QCOMPARE(pool(4, 2), (std::vector<double>{5.5, 7.5, 25.5, 27.5}));
    // Bins [0, 2), [1, 3): they share the middle.
    QCOMPARE(pool(3, 2), (std::vector<double>{5.5, 6.5, 15.5, 16.5}));
    QCOMPARE(pool(1, 2), (std::vector<double>{0, 0, 0, 0}));
    QCOMPARE(pool(2, 4)[3], 1.0);
}

void TestLiveNetwork::operationsOfReplicasHaveTheirKnownValues()
{
    Tape tape(devices().devices.front(), DType::F64);
    const Value square = tape.constant({1, 2, 2, 1}, {1, 2, 3, 5});
    QCOMPARE(tape.host(maxPool2(tape.graph, square)), (std::vector<double>{5}));
    QCOMPARE(tape.host(upsampleBilinear2(tape.graph, tape.constant({1, 1, 2, 1}, {0, 4}))),
             (std::vector<double>{0, 1, 3, 4, 0, 1, 3, 4}));
    const auto bent = tape.host(live::tanh(tape.graph, square));
    QVERIFY(std::abs(bent[3] - std::tanh(5.0)) < 1e-15);
    // Every input pixel stamps the kernel; stamps of 4 × 4 at distance 2, the border cut by one.
    const Program stamp = single(1, 2, 2, [](ProgramBuilder& b, int x) {
        return b.transposedConvolution("c", x, {.channels = 1, .kernel = 4, .stride = 2});
    });
    const auto up = runAlone(tape, stamp, {{"x", square}},
                             {{"b.c.weight", std::vector<double>(16, 1)}, {"b.c.bias", {0}}});
    QCOMPARE(up, (std::vector<double>{1, 3, 3, 2, 4, 11, 11, 7, 4, 11, 11, 7, 3, 8, 8, 5}));
    const Program norm =
        single(1, 2, 2, [](ProgramBuilder& b, int x) { return b.batchNorm("n", x); });
    QCOMPARE(difference(runAlone(tape, norm, {{"x", square}},
                                 {{"b.n.weight", {3}},
                                  {"b.n.bias", {1}},
                                  {"b.n.mean", {2}},
                                  {"b.n.variance", {4 - 1e-5}}}),
                        std::vector<double>{-0.5, 1, 2.5, 5.5}, 1e-12, 0),
             std::string());
    Tape recording(devices().devices.front(), DType::F64, true);
    const Value x = recording.graph.variable(recording.tensor({1, 2, 2, 1}, {1, 2, 3, 5}));
    const Value y = maxPool2(recording.graph, x);
    VERGENCE_THROWS(ContractError, "runs forward only",
                    recording.graph.backward(reshape(recording.graph, y, {1})));
}

void TestLiveNetwork::blendOnTheTapeIsThatOfFrames()
{
    Tape tape(devices().devices.front());
    const Index pixels = 6, channels = 3;
    const auto x0 = numbers(pixels * channels, 1), previous = numbers(pixels * channels, 2);
    auto logits = numbers(pixels, 3);
    for (double& logit : logits)
        logit *= 5;
    const auto got = tape.host(temporalBlend(tape.graph, tape.constant({1, 2, 3, channels}, x0),
                                             tape.tensor({1, 2, 3, channels}, previous),
                                             tape.constant({1, 2, 3, 1}, logits), 0.9));
    // Frames have their channels first.
    std::vector<float> x(x0.size()), before(x0.size()), y(x0.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t planar = i % 3 * 6 + i / 3;
        x[planar] = static_cast<float>(x0[i]);
        before[planar] = static_cast<float>(previous[i]);
    }
    temporalBlend(x, before, std::vector<float>(logits.begin(), logits.end()), 0.9,
                  {1, channels, pixels}, y);
    for (std::size_t i = 0; i < got.size(); ++i)
        QVERIFY(std::abs(got[i] - static_cast<double>(y[i % 3 * 6 + i / 3])) < 1e-6);
}

void TestLiveNetwork::partsHaveTheirDerivatives_data()
{
    QTest::addColumn<int>("device");
    QTest::addColumn<int>("part");
    const std::vector<const char*> names{
        "channels",           "padded concat",  "windowed attention", "naive attention", "gate",
        "mean pool, 5 to 3",  "smooth root",    "mean pool, 2 to 4",  "blend",           "cross",
        "cross, shared rows", "cross, own bias"};
    forEachDevice([&](const std::string& device, int number) {
        const bool isThere = static_cast<std::size_t>(number) < devices().devices.size();
        for (std::size_t i = 0; i < (isThere ? names.size() : 1); ++i)
            QTest::addRow("%s, %s", device.c_str(), names[i]) << number << static_cast<int>(i);
    });
}

void TestLiveNetwork::partsHaveTheirDerivatives()
{
    QFETCH(int, part);
    VERGENCE_ROW_DEVICE(device);
    using In = std::vector<Value>;
    Tape tape(device, DType::F64);
    const Tensor previous = tape.tensor({2, 3, 2, 4}, numbers(48, 50));
    const auto cross = [&](Index keyRows, Index biasRows) {
        const Tensor bias = tape.tensor({biasRows, 5, 1, 1}, numbers(5 * biasRows, 51));
        return TapeCase{{{2, 2, 2, 8}, {keyRows, 5, 1, 16}}, [bias](Graph& g, const In& in) {
                            return crossAttention(g, in[0], in[1], g.constant(bias), 2);
                        }};
    };
    const std::vector<TapeCase> cases{
        {{{2, 3, 2, 5}, {2, 1, 1, 5}},
         [](Graph& g, const In& in) { return addChannels(g, in[0], in[1]); }},
        {{{2, 3, 2, 5}, {2, 3, 2, 2}},
         [](Graph& g, const In& in) {
             return concatChannels(g, {in[0], in[1]}, 9);
         }},
        {{{1, 4, 4, 24}},
         [](Graph& g, const In& in) { return live::selfAttention(g, in[0], 2, 2); }},
        {{{2, 2, 3, 12}},
         [](Graph& g, const In& in) { return live::selfAttention(g, in[0], 2, 0); }},
        {{{2, 3, 2, 8}}, [](Graph& g, const In& in) { return gatedGelu(g, in[0]); }},
        {{{2, 5, 5, 3}}, [](Graph& g, const In& in) { return adaptiveMeanPool(g, in[0], 3, 3); }},
        {{{2, 3}},
         [](Graph& g, const In& in) { return smoothRoot(g, multiply(g, in[0], in[0]), 0.3); }},
        {{{1, 2, 2, 3}}, [](Graph& g, const In& in) { return adaptiveMeanPool(g, in[0], 4, 4); }},
        {{{2, 3, 2, 4}, {2, 3, 2, 1}},
         [previous](Graph& g, const In& in) {
             // Logits from −2 to 2: both sides of the least share, away from the kink at −ln 3.
             return temporalBlend(g, in[0], previous, scale(g, 2, in[1]), 0.8);
         }},
        cross(2, 2),
        cross(1, 1),
        cross(1, 2)};
    tape.stream->synchronize(); // the checks have streams of their own
    for (const bool strided : {false, true}) {
        const std::string fault =
            TapeCheck(device, cases[static_cast<std::size_t>(part)], strided).run();
        QVERIFY2(fault.empty(), fault.c_str());
    }
}

void TestLiveNetwork::nanoHasItsDerivatives()
{
    const auto device = devices().devices.front();
    Tape tape(device, DType::F64, true), plain(device, DType::F64);
    TapeNetwork network(*tape.stream, device, plainNano(), inType(DType::F64, DType::F64, true));
    // No zeros anywhere, so that every weight has an influence.
    network.initialise(*tape.stream, Start::Bench, 2);
    const Question question{1, false, 1};
    const auto loss = [&](Tape& on) {
        const auto output = network(on.graph, question.on(on, network));
        const Value a =
            weightedSum(on.graph, output.prediction,
                        on.tensor(on.graph.shape(output.prediction), numbers(16 * 16 * 3, 31)));
        const Value b = weightedSum(on.graph, output.blend,
                                    on.tensor(on.graph.shape(output.blend), numbers(256, 32)));
        return add(on.graph, a, b);
    };
    const auto value = [&] {
        plain.graph.reset();
        return plain.host(loss(plain)).front();
    };
    network.parameters().zeroGradients(*tape.stream);
    tape.graph.backward(loss(tape));
    ParameterSet& parameters = network.parameters();
    for (int i = 0; i < parameters.count(); ++i) {
        const Parameter& parameter = parameters[i];
        const Index n = parameter.value.size();
        const auto kept = parameter.value.reshaped({n}).toHost<double>(*tape.stream);
        const auto gradient = parameter.gradient.reshaped({n}).toHost<double>(*tape.stream);
        auto direction = numbers(n, 1000 + i);
        const double length = std::sqrt(dot(direction, direction));
        for (double& d : direction)
            d /= length;
        const auto at = [&](double distance) {
            auto moved = kept;
            for (std::size_t j = 0; j < moved.size(); ++j)
                moved[j] += distance * direction[j];
            tape.stream->copy(parameter.value.data(), moved.data(), moved.size() * 8);
            return value();
        };
        const double step = 1e-4; // for all numbers of the tensor together
        const double slope = (at(step) - at(-step)) / (2 * step);
        tape.stream->copy(parameter.value.data(), kept.data(), kept.size() * 8);
        const double want = dot(gradient, direction);
        const double size = std::sqrt(dot(gradient, gradient) / static_cast<double>(n));
        QVERIFY2(std::abs(slope - want) <= 1e-6 * std::max(std::abs(want), size),
                 qPrintable(QString("%1: %2 instead of %3")
                                .arg(QString::fromStdString(parameter.name))
                                .arg(slope, 0, 'g', 12)
                                .arg(want, 0, 'g', 12)));
        QVERIFY2(size > 0, parameter.name.c_str());
    }
}

void TestLiveNetwork::recomputedBlocksGiveTheSameGradients()
{
    const auto device = devices().devices.front();
    std::vector<std::vector<double>> gradients;
    std::vector<std::size_t> peaks;
    for (const bool recomputes : {false, true}) {
        Tape tape(device, DType::F64, true);
        TapeNetwork network(*tape.stream, device, plainNano(),
                            inType(DType::F64, DType::F64, true));
        network.initialise(*tape.stream, Start::Bench, 2);
        network.parameters().zeroGradients(*tape.stream);
        const auto output =
            network(tape.graph, Question().on(tape, network), TapeOptions{recomputes});
        tape.graph.backward(meanSquaredError(tape.graph, output.prediction,
                                             tape.noise(tape.graph.shape(output.prediction), 40)));
        gradients.push_back(network.parameters().gradients().toHost<double>(*tape.stream));
        peaks.push_back(tape.graph.peakBytes());
    }
    QCOMPARE(gradients[0].size(), gradients[1].size());
    QVERIFY(dot(gradients[0], gradients[0]) > 0);
    QCOMPARE(difference(gradients[1], gradients[0], 1e-14, 1e-11), std::string());
    QVERIFY(peaks[1] < peaks[0]);
}

void TestLiveNetwork::rowsDoNotSeeEachOther()
{
    const auto device = devices().devices.front();
    Tape tape(device, DType::F64);
    TapeNetwork network(*tape.stream, device, plainNano(), inType(DType::F64, DType::F64));
    network.initialise(*tape.stream, Start::Bench, 2);
    const TapeNetwork::Input both = Question{3, false, 2}.on(tape, network);
    const auto all = network(tape.graph, both);
    const auto rowOf = [&](Value value, Index row) {
        return tape.graph.constant(tape.graph.dense(value).narrow(0, row, 1));
    };
    for (Index row = 0; row < 3; ++row) {
        const auto alone =
            network(tape.graph, {rowOf(both.x, row), rowOf(both.u, row), rowOf(both.h, row),
                                 rowOf(both.timesteps, row), rowOf(both.buckets, row),
                                 rowOf(both.memory, row), rowOf(both.memoryBias, row)});
        QCOMPARE(difference(tape.host(rowOf(all.prediction, row)), tape.host(alone.prediction),
                            1e-12, 0),
                 std::string());
        QCOMPARE(difference(tape.host(rowOf(all.blend, row)), tape.host(alone.blend), 1e-12, 0),
                 std::string());
    }
}

void TestLiveNetwork::sharedMemoryIsThatOfEveryRow()
{
    const auto device = devices().devices.front();
    Tape tape(device, DType::F64);
    TapeNetwork network(*tape.stream, device, plainNano(), inType(DType::F64, DType::F64));
    network.initialise(*tape.stream, Start::Bench, 2);
    TapeNetwork::Input input = Question{2, true, 4}.on(tape, network);
    const auto shared = tape.host(network(tape.graph, input).prediction);
    const auto repeated = [&](Value value) { return concat(tape.graph, {value, value}, 0); };
    input.memoryBias = repeated(input.memoryBias);
    QCOMPARE(difference(tape.host(network(tape.graph, input).prediction), shared, 1e-12, 0),
             std::string());
    input.memory = repeated(input.memory);
    QCOMPARE(difference(tape.host(network(tape.graph, input).prediction), shared, 1e-12, 0),
             std::string());
}

void TestLiveNetwork::trainingStartDoesNotSeeItsMemory()
{
    const auto device = devices().devices.front();
    Tape tape(device);
    TapeNetwork network(*tape.stream, device, plainNano());
    for (const Start start : {Start::Training, Start::Bench}) {
        network.initialise(*tape.stream, start, 6);
        const auto empty = answer(tape, network, {2, false, 0});
        const auto filled = answer(tape, network, {2, false, 16});
        QCOMPARE(empty == filled, start == Start::Training);
    }
}

void TestLiveNetwork::highGridsEncodeToTheSameTokens()
{
    // A frame that is constant over each cell looks the same at twice the grid.
    const auto device = devices().devices.front();
    Tape tape(device, DType::F64);
    UnetSettings fine = plainNano();
    fine.grid = 32;
    TapeNetwork coarse(*tape.stream, device, plainNano(), inType(DType::F64, DType::F64));
    TapeNetwork large(*tape.stream, device, fine, inType(DType::F64, DType::F64));
    coarse.initialise(*tape.stream, Start::Bench, 2);
    large.initialise(*tape.stream, Start::Bench, 2);
    const Value frame = tape.noise({1, 16, 16, 3}, 7);
    const auto tokens = tape.host(coarse.encodeFrames(tape.graph, frame));
    QCOMPARE(tokens.size(), std::size_t{16 * 64});
    QCOMPARE(
        difference(tape.host(large.encodeFrames(tape.graph, upsampleNearest2(tape.graph, frame))),
                   tokens, 1e-12, 0),
        std::string());
}

void TestLiveNetwork::sixteenBitsComeClose()
{
    const auto device = devices().devices.front();
    Tape wide(device), narrow(device, DType::BF16);
    TapeNetwork reference(*wide.stream, device, plainNano());
    TapeNetwork network(*narrow.stream, device, plainNano(), inType(DType::F32, DType::BF16));
    reference.initialise(*wide.stream, Start::Bench, 2);
    network.initialise(*narrow.stream, Start::Bench, 2);
    const auto want = answer(wide, reference, {}), got = answer(narrow, network, {});
    const double cosine = dot(got, want) / std::sqrt(dot(got, got) * dot(want, want));
    QVERIFY2(cosine >= 0.999, qPrintable(QString::number(cosine, 'g', 8)));
    QVERIFY(got != want);
}

void TestLiveNetwork::replicasRunForward()
{
    Tape tape(devices().devices.front());
    for (const Program& program : {buildReplicaA(3, 16), buildReplicaB(32, 16)}) {
        tape.kept.push_back(declareParameters(*tape.stream, tape.device, {&program}));
        ParameterSet& parameters = *tape.kept.back();
        initialiseParameters(*tape.stream, parameters, {&program}, Start::Bench, 1);
        std::map<std::string, Value> inputs{{"x", tape.noise({2, 16, 16, 3}, 1)},
                                            {"t", tape.constant({2, 1, 1, 1}, {4, 1})}};
        if (program.findValue("previous") >= 0)
            inputs["previous"] = tape.noise({2, 16, 16, 3}, 2);
        const auto run = [&] {
            return tape.host(runOnTape(tape.graph, program, parameters, inputs).front());
        };
        const auto y = run();
        QCOMPARE(y.size(), std::size_t{2 * 16 * 16 * 3});
        double squares = 0;
        for (const double number : y) {
            QVERIFY(std::isfinite(number));
            squares += number * number;
        }
        QVERIFY(squares > 0);
        inputs["t"] = tape.constant({2, 1, 1, 1}, {40, 1});
        const auto later = run();
        QVERIFY(!std::equal(y.begin(), y.begin() + 768, later.begin()));
        QVERIFY(std::equal(y.begin() + 768, y.end(), later.begin() + 768));
    }
}

void TestLiveNetwork::inputsThatDoNotFitAreNamed()
{
    const auto device = devices().devices.front();
    Tape tape(device);
    TapeNetwork network(*tape.stream, device, plainNano());
    network.initialise(*tape.stream, Start::Training, 1);
    const TapeNetwork::Input good = Question().on(tape, network);
    TapeNetwork::Input bad = good;
    bad.u = {};
    VERGENCE_THROWS(ContractError, "the input u is missing", network(tape.graph, bad));
    bad = good;
    bad.h = tape.noise({2, 16, 16, 4}, 1);
    VERGENCE_THROWS(ContractError, "the input h is [2, 16, 16, 4] instead of [B, 16, 16, 3]",
                    network(tape.graph, bad));
    bad = good;
    bad.u = tape.noise({3, 16, 16, 3}, 1);
    VERGENCE_THROWS(ContractError, "the input u has 3 rows beside 2", network(tape.graph, bad));
    VERGENCE_THROWS(ContractError, "assembleMemory",
                    network.assembleMemory(tape.graph, tape.noise({2, 17, 64}, 1), 2));
    VERGENCE_THROWS(ContractError, "263 numbers",
                    network.perKey(tape.graph, std::vector<float>(263)));
}

VERGENCE_TEST(TestLiveNetwork)
#include "tst_live_network.moc"
