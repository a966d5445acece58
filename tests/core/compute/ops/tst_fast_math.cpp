#include <bit>
#include <cmath>
#include <limits>

#include "tests/core/compute/ops/fast_math_kernels.h"
#include "tests/core/compute/ops/ops_support.h"

using namespace vergence;
using namespace vergence::test;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

struct Case {
    const char* name;
    Function function;
    double (*exact)(double);
    double ulps;
    std::vector<std::pair<float, float>> special; ///< argument and exact result
};

double exactExp(double x)
{
    return std::exp(x);
}
double exactErf(double x)
{
    return std::erf(x);
}
double exactTanh(double x)
{
    return std::tanh(x);
}
double exactLog(double x)
{
    return std::log(x);
}

const std::vector<Case>& cases()
{
    static const std::vector<Case> list{{"exponential",
                                         Function::Exponential,
                                         exactExp,
                                         2,
                                         {{0.0f, 1.0f},
                                          {-0.0f, 1.0f},
                                          {kInfinity, kInfinity},
                                          {-kInfinity, 0.0f},
                                          {kNan, kNan},
                                          {1e-40f, 1.0f},
                                          {89.0f, kInfinity},
                                          {3e38f, kInfinity},
                                          {-3e38f, 0.0f},
                                          {-120.0f, 0.0f}}},
                                        {"errorFunction",
                                         Function::ErrorFunction,
                                         exactErf,
                                         2,
                                         {{0.0f, 0.0f},
                                          {-0.0f, -0.0f},
                                          {kInfinity, 1.0f},
                                          {-kInfinity, -1.0f},
                                          {kNan, kNan},
                                          {5.0f, 1.0f},
                                          {-3e38f, -1.0f}}},
                                        {"hyperbolicTangent",
                                         Function::HyperbolicTangent,
                                         exactTanh,
                                         3,
                                         {{0.0f, 0.0f},
                                          {-0.0f, -0.0f},
                                          {kInfinity, 1.0f},
                                          {-kInfinity, -1.0f},
                                          {kNan, kNan},
                                          {20.0f, 1.0f},
                                          {-3e38f, -1.0f},
                                          {1e-40f, 1e-40f}}},
                                        {"logarithm",
                                         Function::Logarithm,
                                         exactLog,
                                         2,
                                         {{1.0f, 0.0f},
                                          {0.0f, -kInfinity},
                                          {-0.0f, -kInfinity},
                                          {kInfinity, kInfinity},
                                          {-1.0f, kNan},
                                          {-kInfinity, kNan},
                                          {kNan, kNan}}}};
    return list;
}

/// Distance of `got` from `exact` in units in the last place of a float of that size; denormals
/// have the unit of the smallest.
double distanceInUlps(float got, double exact)
{
    if (static_cast<double>(got) == exact)
        return 0;
    const double size = std::max(std::abs(exact), 1.1754943508222875e-38);
    if (size >= 3.4028235677973366e38)
        return std::isinf(got) ? 0 : HUGE_VAL;
    return std::abs(static_cast<double>(got) - exact) / std::ldexp(1.0, std::ilogb(size) - 23);
}

/// Every 509th float of the whole line, both signs.
std::vector<float> sweep()
{
    std::vector<float> numbers;
    for (std::uint32_t bits = 0; bits < 0x7f800000u; bits += 509) {
        numbers.push_back(std::bit_cast<float>(bits));
        numbers.push_back(std::bit_cast<float>(bits | 0x80000000u));
    }
    return numbers;
}

void addRows(bool perFunction)
{
    QTest::addColumn<int>("place");
    QTest::addColumn<int>("function");
    forEachPlace([&](const std::string& place, int index) {
        for (int f = 0; f < (perFunction ? static_cast<int>(cases().size()) : 1); ++f)
            QTest::addRow("%s, %s", place.c_str(),
                          perFunction ? cases()[static_cast<std::size_t>(f)].name : "")
                << index << f;
    });
}

std::vector<float> applied(const std::shared_ptr<Device>& device, Function function,
                           const std::vector<float>& x)
{
    const auto stream = device->createStream();
    const auto count = static_cast<Index>(x.size());
    const Tensor in = Tensor::fromHost<float>(*stream, device, {count}, x);
    const Tensor out = Tensor::zeros(*stream, device, {count});
    applyFunction(*stream, function, static_cast<const float*>(in.data()),
                  static_cast<float*>(out.data()), count);
    return out.toHost<float>(*stream);
}

} // namespace

class TestFastMath : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void errorsStayWithinTheNamedUnits_data() { addRows(true); }
    void errorsStayWithinTheNamedUnits()
    {
        QFETCH(int, place);
        QFETCH(int, function);
        const auto device = placeOrSkip(place);
        if (!device)
            return;
        const Case& c = cases()[static_cast<std::size_t>(function)];
        const auto x = sweep();
        const auto y = applied(device, c.function, x);
        double worst = 0;
        float at = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            if (c.function == Function::Logarithm && x[i] <= 0)
                continue;
            const double distance = distanceInUlps(y[i], c.exact(static_cast<double>(x[i])));
            if (!(distance <= worst)) {
                worst = distance;
                at = x[i];
            }
        }
        qInfo("%s: largest error %.3f ulp at %g", c.name, worst, static_cast<double>(at));
        QVERIFY2(worst <= c.ulps, qPrintable(QString("%1 ulp at %2").arg(worst).arg(at)));
    }

    void specialValuesAreExact_data() { addRows(true); }
    void specialValuesAreExact()
    {
        QFETCH(int, place);
        QFETCH(int, function);
        const auto device = placeOrSkip(place);
        if (!device)
            return;
        const Case& c = cases()[static_cast<std::size_t>(function)];
        std::vector<float> x, want;
        for (const auto& [argument, result] : c.special) {
            x.push_back(argument);
            want.push_back(result);
        }
        const auto got = applied(device, c.function, x);
        for (std::size_t i = 0; i < x.size(); ++i) {
            const bool isRight =
                std::isnan(want[i])
                    ? std::isnan(got[i])
                    : got[i] == want[i] && std::signbit(got[i]) == std::signbit(want[i]);
            QVERIFY2(isRight, qPrintable(QString("%1(%2) = %3 instead of %4")
                                             .arg(c.name)
                                             .arg(x[i])
                                             .arg(got[i])
                                             .arg(want[i])));
        }
    }

    void tailOfTheNormalDistribution_data() { addRows(false); }
    void tailOfTheNormalDistribution()
    {
        QFETCH(int, place);
        const auto device = placeOrSkip(place);
        if (!device)
            return;
        std::vector<float> at;
        for (int i = 0; i < 100000; ++i)
            at.push_back(static_cast<float>(i) / 10000.0f);
        const auto got = applied(device, Function::NormalTail, at);
        double worst = 0, worstShare = 0;
        for (std::size_t i = 0; i < at.size(); ++i) {
            const double exact = 0.5 * std::erfc(static_cast<double>(at[i]) * M_SQRT1_2);
            const double error = std::abs(static_cast<double>(got[i]) - exact);
            worst = std::max(worst, error);
            worstShare = std::max(worstShare, error / exact);
        }
        qInfo("largest error %.3g, of its own size %.3g", worst, worstShare);
        QVERIFY(worst <= 1.3e-7);
        // A float near the exponent −76 rounds by 3.8e-6, twenty times over in the far tail.
        QVERIFY(worstShare <= 1.5e-4);
        QCOMPARE(applied(device, Function::NormalTail, {40.0f}).front(), 0.0f);
    }

    void sineAndCosineOfTurns_data() { addRows(false); }
    void sineAndCosineOfTurns()
    {
        QFETCH(int, place);
        const auto device = placeOrSkip(place);
        if (!device)
            return;
        std::vector<float> turns;
        for (int i = 0; i <= 100000; ++i)
            turns.push_back(static_cast<float>(i) / 100000.0f);
        const auto stream = device->createStream();
        const auto count = static_cast<Index>(turns.size());
        const Tensor in = Tensor::fromHost<float>(*stream, device, {count}, turns);
        const Tensor out = Tensor::zeros(*stream, device, {count, 2});
        sineCosine(*stream, static_cast<const float*>(in.data()), static_cast<float*>(out.data()),
                   count);
        const auto got = out.toHost<float>(*stream);
        std::vector<double> want;
        for (const float turn : turns) {
            const double angle = 6.283185307179586 * static_cast<double>(turn);
            want.push_back(std::sin(angle));
            want.push_back(std::cos(angle));
        }
        VERGENCE_AGREES(
            difference(std::span<const float>(got), std::span<const double>(want), 2e-7, 0));
    }
};

QTEST_GUILESS_MAIN(TestFastMath)
#include "tst_fast_math.moc"
