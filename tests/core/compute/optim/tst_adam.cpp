#include <cmath>
#include <limits>

#include <QTest>

#include "core/compute/half.h"
#include "core/compute/optim/adam.h"
#include "core/compute/optim/finite.h"
#include "core/compute/rng.h"
#include "tests/support/device_table.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;

namespace {
/// Parameters with values and gradients to set from the host.
template <class Real>
struct Model {
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream;
    ParameterSet parameters;

    explicit Model(std::shared_ptr<Device> on, DType compute = DTypeOf<Real>::value)
        : device(std::move(on)),
          stream(device->createStream()),
          parameters(device, DTypeOf<Real>::value, compute)
    {
    }
    void set(const Tensor& tensor, const std::vector<Real>& values)
    {
        stream->copy(tensor.data(), values.data(), tensor.bytes());
    }
    std::vector<Real> value(int index)
    {
        return parameters[index].value.template toHost<Real>(*stream);
    }
};

std::vector<float> randomNumbers(std::size_t count, std::uint64_t seed)
{
    const Rng rng(seed);
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = 2 * rng.uniform(i) - 1;
    return values;
}
} // namespace

class TestAdam : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void decoupledDecayReachesKnownValues_data() { addDeviceRows(); }
    void decoupledDecayReachesKnownValues();
    void coupledDecayEntersTheGradient();
    void everySizeFollowsTheFormula_data() { addDeviceAndSizeRows({1, 31, 32, 33, 257, 70000}); }
    void everySizeFollowsTheFormula();
    void globalNormIsClipped_data() { addDeviceRows(); }
    void globalNormIsClipped();
    void frozenGroupKeepsItsBits_data() { addDeviceRows(); }
    void frozenGroupKeepsItsBits();
    void decayIsThatOfTheGroup();
    void gradientThatIsNotFiniteIsSkipped_data();
    void gradientThatIsNotFiniteIsSkipped();
    void hugeGradientsAreFinite();
    void normThatIsNotMeasuredChangesNoUpdate();
    void shadowsFollowTheValues_data() { addDeviceRows(); }
    void shadowsFollowTheValues();
    void resultsDoNotDependOnThreads();
    void movingAverageFollows();
    void lossThatIsNotFiniteNamesStepAndSeries();
    void threeSkippedUpdatesInARowEndTheRun();
    void badOptionsAreNamed();
};

void TestAdam::decoupledDecayReachesKnownValues()
{
    VERGENCE_ROW_DEVICE(device);
    Model<double> model(device);
    model.parameters.addGroup({"all", 0.01, false});
    const int p = model.parameters.add("p", {1});
    model.parameters.allocate(*model.stream);
    model.set(model.parameters[p].value, {1.0});
    Adam adam(model.parameters, *model.stream);
    adam.setRates(*model.stream, {1e-3});
    model.set(model.parameters[p].gradient, {0.1});
    adam.step(*model.stream);
    VERGENCE_AGREES(difference(model.value(p), std::vector<double>{0.9989900001}, 1e-10, 0));
    model.set(model.parameters[p].gradient, {-0.2});
    adam.step(*model.stream);
    VERGENCE_AGREES(difference(model.value(p), std::vector<double>{0.9993461137}, 1e-10, 0));
    QCOMPARE(adam.steps(*model.stream), Index{2});
    QCOMPARE(adam.skippedSteps(*model.stream), Index{0});
}

void TestAdam::coupledDecayEntersTheGradient()
{
    // The first step of Adam is η g/|g| whatever the size of g: decay alone moves it by η.
    Model<double> model(devices().devices.front());
    model.parameters.addGroup({"all", 0.01, false});
    const int p = model.parameters.add("p", {1});
    model.parameters.allocate(*model.stream);
    model.set(model.parameters[p].value, {1.0});
    AdamOptions options;
    options.decoupledDecay = false;
    Adam adam(model.parameters, *model.stream, options);
    adam.setRates(*model.stream, {1e-3});
    adam.step(*model.stream);
    VERGENCE_AGREES(difference(model.value(p), std::vector<double>{0.999}, 1e-8, 0));
}

void TestAdam::everySizeFollowsTheFormula()
{
    VERGENCE_ROW_DEVICE(device);
    QFETCH(int, size);
    Model<float> model(device);
    const auto count = static_cast<std::size_t>(size);
    const double eta = 0.01, decay = 0.1;
    model.parameters.addGroup({"all", decay, false});
    const int p = model.parameters.add("p", {size});
    model.parameters.allocate(*model.stream);
    const auto start = randomNumbers(count, 1);
    model.set(model.parameters[p].value, start);
    Adam adam(model.parameters, *model.stream, {0.8, 0.95, 1e-6, true, 0});
    adam.setRates(*model.stream, {eta});
    std::vector<double> wanted(start.begin(), start.end()), m(count), v(count);
    for (int t = 1; t <= 3; ++t) {
        const auto gradient = randomNumbers(count, 10 + static_cast<std::uint64_t>(t));
        model.set(model.parameters[p].gradient, gradient);
        adam.step(*model.stream);
        for (std::size_t i = 0; i < count; ++i) {
            const double g = gradient[i];
            m[i] = 0.8 * m[i] + 0.2 * g;
            v[i] = 0.95 * v[i] + 0.05 * g * g;
            wanted[i] = wanted[i] * (1 - eta * decay) -
                        eta * (m[i] / (1 - std::pow(0.8, t))) /
                            (std::sqrt(v[i] / (1 - std::pow(0.95, t))) + 1e-6);
        }
        double squares = 0;
        for (const float g : gradient)
            squares += static_cast<double>(g) * g;
        VERGENCE_AGREES(difference(std::vector<double>{adam.gradientNorm(*model.stream)},
                                   std::vector<double>{std::sqrt(squares)}, 0, 1e-7));
    }
    VERGENCE_AGREES(difference(model.value(p), wanted, 1e-6, 1e-6));
}

void TestAdam::globalNormIsClipped()
{
    VERGENCE_ROW_DEVICE(device);
    // Clipping multiplies both gradients by one factor; a moment shows it.
    Model<double> model(device);
    const int a = model.parameters.add("a", {1}), b = model.parameters.add("b", {1});
    model.parameters.allocate(*model.stream);
    AdamOptions options;
    options.clipNorm = 1;
    Adam adam(model.parameters, *model.stream, options);
    adam.setRates(*model.stream, {0});
    model.set(model.parameters[a].gradient, {3});
    model.set(model.parameters[b].gradient, {4});
    adam.step(*model.stream);
    QCOMPARE(adam.gradientNorm(*model.stream), 5.0);
    const auto first = adam.state().at(0).second.toHost<double>(*model.stream);
    VERGENCE_AGREES(difference(std::vector<double>{first[0], first[64]},
                               std::vector<double>{0.1 * 3 / 5, 0.1 * 4 / 5}, 0, 1e-6));
    model.set(model.parameters[a].gradient, {0.3});
    model.set(model.parameters[b].gradient, {0.4});
    adam.step(*model.stream);
    const auto second = adam.state().at(0).second.toHost<double>(*model.stream);
    VERGENCE_AGREES(difference(std::vector<double>{second[0]},
                               std::vector<double>{0.9 * first[0] + 0.1 * 0.3}, 0, 1e-12));
}

void TestAdam::frozenGroupKeepsItsBits()
{
    VERGENCE_ROW_DEVICE(device);
    Model<float> model(device);
    const int trained = model.parameters.addGroup({"trained", 0.1, false});
    const int frozen = model.parameters.addGroup({"frozen", 0.1, true});
    const int a = model.parameters.add("a", {100}, trained);
    const int b = model.parameters.add("b", {100}, frozen);
    model.parameters.allocate(*model.stream);
    model.set(model.parameters[a].value, randomNumbers(100, 1));
    model.set(model.parameters[b].value, randomNumbers(100, 2));
    model.set(model.parameters[a].gradient, randomNumbers(100, 3));
    Adam adam(model.parameters, *model.stream);
    adam.setRates(*model.stream, {0.1, 0.1});
    adam.step(*model.stream);
    QVERIFY(model.value(a) != randomNumbers(100, 1));
    QVERIFY(model.value(b) == randomNumbers(100, 2));
    QCOMPARE(adam.state().at(0).second.size(), Index{128});
}

void TestAdam::decayIsThatOfTheGroup()
{
    // Biases with zero gradient do not move; matrices shrink.
    Model<float> model(devices().devices.front());
    const int matrices = model.parameters.addGroup({"matrices", 0.1, false});
    const int biases = model.parameters.addGroup({"biases", 0, false});
    const int w = model.parameters.add("w", {1}, matrices);
    const int b = model.parameters.add("b", {1}, biases);
    model.parameters.allocate(*model.stream);
    model.set(model.parameters[w].value, {1});
    model.set(model.parameters[b].value, {1});
    Adam adam(model.parameters, *model.stream);
    adam.setRates(*model.stream, {0.5, 0.5});
    adam.step(*model.stream);
    QCOMPARE(model.value(w).at(0), 0.95f);
    QCOMPARE(model.value(b).at(0), 1.0f);
}

void TestAdam::gradientThatIsNotFiniteIsSkipped_data()
{
    QTest::addColumn<int>("device");
    QTest::addColumn<float>("bad");
    forEachDevice([](const std::string& name, int device) {
        QTest::addRow("%s, nan", name.c_str()) << device << std::numeric_limits<float>::quiet_NaN();
        QTest::addRow("%s, infinity", name.c_str())
            << device << -std::numeric_limits<float>::infinity();
    });
}

void TestAdam::gradientThatIsNotFiniteIsSkipped()
{
    VERGENCE_ROW_DEVICE(device);
    QFETCH(float, bad);
    Model<float> model(device);
    const int p = model.parameters.add("p", {100});
    model.parameters.allocate(*model.stream);
    model.set(model.parameters[p].value, randomNumbers(100, 1));
    AdamOptions options;
    options.clipNorm = 1;
    Adam adam(model.parameters, *model.stream, options);
    adam.setRates(*model.stream, {0.1});
    auto gradient = randomNumbers(100, 2);
    model.set(model.parameters[p].gradient, gradient);
    adam.step(*model.stream);
    const auto value = model.value(p);
    const auto moments = adam.state().at(1).second.toHost<float>(*model.stream);
    gradient[57] = bad;
    model.set(model.parameters[p].gradient, gradient);
    adam.step(*model.stream);
    QVERIFY(model.value(p) == value);
    QVERIFY(adam.state().at(1).second.toHost<float>(*model.stream) == moments);
    QCOMPARE(adam.steps(*model.stream), Index{1});
    QCOMPARE(adam.skippedSteps(*model.stream), Index{1});
    QVERIFY(!std::isfinite(adam.gradientNorm(*model.stream)));
    VERGENCE_THROWS(NumericsError, "Step 12: gradient norm",
                    expectFinite(adam.gradientNorm(*model.stream), 12, "gradient norm"));
}

void TestAdam::hugeGradientsAreFinite()
{
    Model<float> model(devices().devices.front());
    const int p = model.parameters.add("p", {2});
    model.parameters.allocate(*model.stream);
    AdamOptions options;
    options.clipNorm = 1;
    Adam adam(model.parameters, *model.stream, options);
    adam.setRates(*model.stream, {0.1});
    model.set(model.parameters[p].gradient, {3e30f, 4e30f});
    adam.step(*model.stream);
    QCOMPARE(adam.skippedSteps(*model.stream), Index{0});
    VERGENCE_AGREES(difference(std::vector<double>{adam.gradientNorm(*model.stream)},
                               std::vector<double>{5e30}, 0, 1e-6));
    VERGENCE_AGREES(difference(model.value(p), std::vector<float>{-0.1f, -0.1f}, 0, 1e-5));
}

void TestAdam::normThatIsNotMeasuredChangesNoUpdate()
{
    std::vector<std::vector<float>> results;
    for (const bool measures : {true, false}) {
        Model<float> model(devices().devices.front());
        const int p = model.parameters.add("p", {1000});
        model.parameters.allocate(*model.stream);
        model.set(model.parameters[p].gradient, randomNumbers(1000, 2));
        AdamOptions options;
        options.measuresNorm = measures;
        Adam adam(model.parameters, *model.stream, options);
        adam.setRates(*model.stream, {0.1});
        adam.step(*model.stream);
        results.push_back(model.value(p));
        QCOMPARE(adam.gradientNorm(*model.stream) > 0, measures);
        QCOMPARE(adam.steps(*model.stream), Index{1});
    }
    QVERIFY(results[0] == results[1]);
}

void TestAdam::shadowsFollowTheValues()
{
    VERGENCE_ROW_DEVICE(device);
    Model<float> model(device, DType::BF16);
    const int p = model.parameters.add("p", {257});
    model.parameters.allocate(*model.stream);
    model.set(model.parameters[p].value, randomNumbers(257, 1));
    model.parameters.refreshShadows(*model.stream);
    model.set(model.parameters[p].gradient, randomNumbers(257, 2));
    Adam adam(model.parameters, *model.stream);
    adam.setRates(*model.stream, {0.1});
    adam.step(*model.stream);
    const auto values = model.value(p);
    const auto shadows = model.parameters[p].shadow.toHost<BFloat16>(*model.stream);
    for (std::size_t i = 0; i < values.size(); ++i)
        QCOMPARE(shadows[i].bits, BFloat16(values[i]).bits);
}

void TestAdam::resultsDoNotDependOnThreads()
{
    std::vector<std::vector<float>> results;
    for (const int threads : {1, 2}) {
        Model<float> model(makeCpuDevice(threads));
        const int p = model.parameters.add("p", {100000});
        model.parameters.allocate(*model.stream);
        AdamOptions options;
        options.clipNorm = 1;
        Adam adam(model.parameters, *model.stream, options);
        adam.setRates(*model.stream, {0.1});
        for (std::uint64_t t = 0; t < 3; ++t) {
            model.set(model.parameters[p].gradient, randomNumbers(100000, t));
            adam.step(*model.stream);
        }
        results.push_back(model.value(p));
    }
    QVERIFY(results[0] == results[1]);
}

void TestAdam::movingAverageFollows()
{
    Model<float> model(devices().devices.front());
    const int p = model.parameters.add("p", {2});
    model.parameters.allocate(*model.stream);
    model.set(model.parameters[p].value, {1, 2});
    MovingAverage average(model.parameters, *model.stream, 0.75);
    model.set(model.parameters[p].value, {5, 2});
    average.update(*model.stream);
    const auto values = average.values().toHost<float>(*model.stream);
    QCOMPARE(values[0], 2.0f);
    QCOMPARE(values[1], 2.0f);
    VERGENCE_THROWS(ContractError, "decay", MovingAverage(model.parameters, *model.stream, 1));
}

void TestAdam::lossThatIsNotFiniteNamesStepAndSeries()
{
    expectFinite(1e300, 4, "loss");
    VERGENCE_THROWS(NumericsError, "Step 41: loss is nan",
                    expectFinite(std::numeric_limits<double>::quiet_NaN(), 41, "loss"));
    VERGENCE_THROWS(NumericsError, "loss is inf", expectFinite(HUGE_VAL, 41, "loss"));
}

void TestAdam::threeSkippedUpdatesInARowEndTheRun()
{
    SkipWatch watch;
    watch.check(10, 1, 11);
    watch.check(10, 2, 12);
    watch.check(11, 2, 13); // one went well in between
    watch.check(11, 3, 14);
    watch.check(11, 4, 15);
    VERGENCE_THROWS(NumericsError, "Step 16", watch.check(11, 5, 16));
}

void TestAdam::badOptionsAreNamed()
{
    Model<float> model(devices().devices.front());
    model.parameters.add("p", {2});
    VERGENCE_THROWS(ContractError, "allocate", Adam(model.parameters, *model.stream));
    model.parameters.allocate(*model.stream);
    VERGENCE_THROWS(ContractError, "betas",
                    Adam(model.parameters, *model.stream, {1, 0.9, 1e-8, true, 0}));
    AdamOptions blind;
    blind.clipNorm = 1;
    blind.measuresNorm = false;
    VERGENCE_THROWS(ContractError, "clipping needs", Adam(model.parameters, *model.stream, blind));
    Adam adam(model.parameters, *model.stream);
    VERGENCE_THROWS(ContractError, "2 rates for 1 groups", adam.setRates(*model.stream, {1, 2}));
}

VERGENCE_TEST(TestAdam)
#include "tst_adam.moc"
