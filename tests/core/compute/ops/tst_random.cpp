#include <limits>

#include "core/compute/ops/random.h"
#include "core/compute/rng.h"
#include "tests/core/compute/ops/ops_support.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;

namespace {

constexpr std::int64_t kSeed = 0x123456789abcdefll;

Tensor seedAndStep(const Bench& bench, std::int64_t seed, std::int64_t step)
{
    const Tensor key = bench.result({2}, DType::I64);
    const std::int64_t values[2] = {seed, step};
    bench.stream().copy(key.data(), values, sizeof(values));
    return key;
}

/// Words of dropout by the definition.
Rng wordsOf(std::int64_t seed, std::int64_t step, std::uint32_t purpose)
{
    return Rng(static_cast<std::uint64_t>(seed),
               (static_cast<std::uint64_t>(step) << 32) + purpose);
}

} // namespace

class TestRandom : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void dropoutFollowsThePhiloxWords_data() { addPlaceAndTypeRows(); }
    void dropoutFollowsThePhiloxWords()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        const Tensor key = seedAndStep(bench, kSeed, 5);
        for (const int size : {0, 1, 31, 32, 33, 64, 257, 1000}) {
            bench.misaligned = size % 2 == 1;
            for (const double p : {0.0, 0.1, 0.5, 0.999}) {
                const Numbers x = roundedTo(kind.type, randomNumbers(size, 1));
                const Tensor y = bench.result({size}), in = bench.tensor({size}, x);
                dropout(bench.stream(), in, p, {&key, 17}, y);
                const Rng words = wordsOf(kSeed, 5, 17);
                Numbers want(x.size());
                for (std::size_t i = 0; i < x.size(); ++i) {
                    const bool isKept =
                        static_cast<double>(words.bits(i)) >= std::ceil(p * 4294967296.0);
                    want[i] = isKept ? x[i] / (1 - p) : 0;
                }
                VERGENCE_AGREES(difference(bench.numbers(y), want, 0, kind.accuracy));
                dropout(bench.stream(), in, p, {&key, 17}, in); // in place
                QCOMPARE(bench.numbers(in), bench.numbers(y));
            }
        }
    }

    void droppedNumbersAreZeroEvenWhereNotFinite_data() { addPlaceAndTypeRows(); }
    void droppedNumbersAreZeroEvenWhereNotFinite()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        const Tensor key = seedAndStep(bench, kSeed, 0), y = bench.result({256});
        dropout(bench.stream(),
                bench.tensor({256}, Numbers(256, std::numeric_limits<double>::infinity())), 0.5,
                {&key, 0}, y);
        for (const double v : bench.numbers(y))
            QVERIFY(v == 0 || std::isinf(v));
    }

    void masksDifferByStepAndPurpose()
    {
        const Bench bench(makeCpuDevice(1));
        const Numbers ones(512, 1);
        std::vector<Numbers> masks;
        for (const auto& [step, purpose] : {std::pair{0, 0u}, {1, 0u}, {0, 1u}}) {
            const Tensor key = seedAndStep(bench, kSeed, step), y = bench.result({512});
            dropout(bench.stream(), bench.tensor({512}, ones), 0.5, {&key, purpose}, y);
            masks.push_back(bench.numbers(y));
        }
        QVERIFY(masks[0] != masks[1]);
        QVERIFY(masks[0] != masks[2]);
        QVERIFY(masks[1] != masks[2]);
    }

    void keptShareFitsItsProbability_data() { addPlaceAndTypeRows(); }
    void keptShareFitsItsProbability()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        // Chi-square of kept numbers in 64 blocks of 4096; 64 degrees of freedom, 112 is the bound
        // of a significance of 2e-4. The seed is fixed, so the test is too.
        const Index blocks = 64, size = 4096;
        const double p = 0.3;
        const Tensor key = seedAndStep(bench, 99, 3), y = bench.result({blocks * size});
        dropout(bench.stream(),
                bench.tensor({blocks * size}, Numbers(static_cast<std::size_t>(blocks * size), 1)),
                p, {&key, 2}, y);
        const Numbers got = bench.numbers(y);
        double chi = 0;
        for (Index b = 0; b < blocks; ++b) {
            double kept = 0;
            for (Index i = 0; i < size; ++i)
                kept += got[static_cast<std::size_t>(b * size + i)] > 0 ? 1 : 0;
            const double expected = static_cast<double>(size) * (1 - p);
            chi += (kept - expected) * (kept - expected) / (expected * p);
        }
        QVERIFY2(chi < 112 && chi > 28, qPrintable(QString::number(chi)));
    }

    void masksCrossTheLowHalfOfTheCounter_data()
    {
        QTest::addColumn<int>("place");
        forEachPlace(
            [](const std::string& name, int place) { QTest::newRow(name.c_str()) << place; });
    }
    void masksCrossTheLowHalfOfTheCounter()
    {
        // Seeds and steps with high bits set reach every part of key and counter.
        QFETCH(int, place);
        const auto device = placeOrSkip(place);
        if (!device)
            return;
        const Bench bench(device);
        const std::int64_t seed = -2, step = 0x7fffffff;
        const std::uint32_t purpose = 0xffffffffu;
        const Tensor key = seedAndStep(bench, seed, step), y = bench.result({300});
        dropout(bench.stream(), bench.tensor({300}, Numbers(300, 1)), 0.5, {&key, purpose}, y);
        const Rng words = wordsOf(seed, step, purpose);
        const Numbers got = bench.numbers(y);
        for (std::size_t i = 0; i < got.size(); ++i)
            QCOMPARE(got[i] > 0, words.bits(i) >= 0x80000000u);
    }

    void normalsAreThoseOfBoxAndMuller_data() { addPlaceAndTypeRows(); }
    void normalsAreThoseOfBoxAndMuller()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        for (const int size : {0, 1, 2, 3, 31, 257, 4001}) {
            bench.misaligned = size % 2 == 1;
            const Tensor y = bench.result({size});
            fillNormal(bench.stream(), y, 0.5, 2, 42, 7);
            const Rng rng(42, 7);
            Numbers want(static_cast<std::size_t>(size));
            for (std::size_t i = 0; i < want.size(); ++i) {
                const double u = (static_cast<double>(rng.bits(i / 2 * 2)) + 0.5) / 4294967296.0;
                const double v =
                    (static_cast<double>(rng.bits(i / 2 * 2 + 1)) + 0.5) / 4294967296.0;
                const double radius = std::sqrt(-2 * std::log(u)), angle = 2 * M_PI * v;
                want[i] = 0.5 + 2 * radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
            }
            // In float u and the angle are rounded to 24 bits, near u = 1 that shows most.
            const double absolute = kind.type == DType::F64 ? 1e-12 : 5e-4;
            VERGENCE_AGREES(difference(bench.numbers(y), want, absolute, kind.accuracy));
        }
    }

    void normalsHaveTheirMoments_data() { addPlaceAndTypeRows(); }
    void normalsHaveTheirMoments()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        const Tensor y = bench.result({200000});
        fillNormal(bench.stream(), y, 0, 1, 1, 2);
        double mean = 0, square = 0, fourth = 0;
        for (const double v : bench.numbers(y)) {
            QVERIFY(std::isfinite(v));
            mean += v / 200000;
            square += v * v / 200000;
            fourth += v * v * v * v / 200000;
        }
        // Five standard errors: 1/√n, √2/√n, √96/√n.
        QVERIFY(std::abs(mean) < 0.0112);
        QVERIFY(std::abs(square - 1) < 0.0158);
        QVERIFY(std::abs(fourth - 3) < 0.11);
    }

    void uniformNumbersStayInTheirRange_data() { addPlaceAndTypeRows(); }
    void uniformNumbersStayInTheirRange()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        for (const auto& [low, high] :
             {std::pair{0.0, 1.0}, {-3.0, -1.0}, {-1.0, 0.0}, {7.0, 7.5}}) {
            const Tensor y = bench.result({20001});
            fillUniform(bench.stream(), y, low, high, 11, 12);
            const Numbers got = bench.numbers(y);
            const Rng rng(11, 12);
            double chi = 0;
            std::array<int, 16> bins{};
            for (std::size_t i = 0; i < got.size(); ++i) {
                QVERIFY2(got[i] >= low && got[i] < high,
                         qPrintable(QString::number(got[i], 'g', 17)));
                const double u = static_cast<double>(rng.bits(i)) / 4294967296.0;
                const double exact = low + (high - low) * u;
                QVERIFY(std::abs(got[i] - exact) <= 2e-7 + kind.accuracy * std::abs(exact));
                ++bins[static_cast<std::size_t>(u * 16)];
            }
            for (const int bin : bins)
                chi += (bin - 20001 / 16.0) * (bin - 20001 / 16.0) / (20001 / 16.0);
            QVERIFY(chi < 44); // 15 degrees of freedom, significance 1e-4
        }
    }

    void badOperandsAreNamed()
    {
        const Bench bench(makeCpuDevice(1));
        Stream& stream = bench.stream();
        const Tensor x = bench.result({4}), key = seedAndStep(bench, 1, 2);
        VERGENCE_THROWS(ContractError, "probability of 1", dropout(stream, x, 1, {&key, 0}, x));
        VERGENCE_THROWS(ContractError, "probability of -0.5",
                        dropout(stream, x, -0.5, {&key, 0}, x));
        VERGENCE_THROWS(ContractError, "no seed", dropout(stream, x, 0.5, {}, x));
        VERGENCE_THROWS(ContractError, "F32 instead of I64", dropout(stream, x, 0.5, {&x, 0}, x));
        VERGENCE_THROWS(ContractError, "[4] and [3]",
                        dropout(stream, x, 0.5, {&key, 0}, bench.result({3})));
        VERGENCE_THROWS(ContractError, "from 1 to 1", fillUniform(stream, x, 1, 1, 0, 0));
        VERGENCE_THROWS(ContractError, "I32",
                        fillNormal(stream, bench.result({2}, DType::I32), 0, 1, 0, 0));
    }
};

VERGENCE_TEST(TestRandom)
#include "tst_random.moc"
