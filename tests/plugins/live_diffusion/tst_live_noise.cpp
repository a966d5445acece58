#include <cmath>

#include <QTest>

#include "core/base/error.h"
#include "core/compute/tensor.h"
#include "plugins/live_diffusion/diffusion/noise.h"
#include "plugins/live_diffusion/diffusion/similarity.h"
#include "tests/plugins/live_diffusion/apart.h"
#include "tests/support/device_table.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::live;
using namespace vergence::test;

namespace {

/// u = (word + ½)/2³² rounded to float, as the product has it.
double rounded(double u)
{
    return static_cast<double>(static_cast<float>(u));
}

/// The formula in double: what every device's polynomials are near.
std::vector<double> referenceNormals(const FrameNoise& noise, std::uint32_t frame,
                                     NoisePurpose purpose, std::uint32_t count)
{
    std::vector<double> values;
    for (std::uint32_t i = 0; i < count; i += 2) {
        const double radius = std::sqrt(-2 * std::log(rounded(noise.uniform(frame, purpose, i))));
        const double angle = 2 * M_PI * rounded(noise.uniform(frame, purpose, i + 1));
        values.push_back(radius * std::cos(angle));
        values.push_back(radius * std::sin(angle));
    }
    return values;
}

/// Pictures whose cosine is S with the first unit vector.
std::vector<float> atCosine(double s)
{
    return {static_cast<float>(s), static_cast<float>(std::sqrt(1 - s * s)), 0, 0};
}

} // namespace

class TestLiveNoise : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void wordsAreThePublished();
    void countersAreAsSaid();
    void normalsOfTheFirstWords();
    void normalsFollowTheFormula_data() { addDeviceRows(); }
    void normalsFollowTheFormula();
    void momentsOfAMillion();
    void partsAreThoseOfTheWhole();
    void everythingTellsDrawsApart();
    void startNoiseModes();
    void historyKeepsTheVariance();

    void cosines();
    void skipChances();
    void neverMoreThanTenInARow();
    void shareOfSkipsIsTheChance();
    void referenceIsTheLastProcessed();

private:
    std::shared_ptr<Device> m_device = makeCpuDevice(1);
    std::unique_ptr<Stream> m_stream = m_device->createStream();
};

void TestLiveNoise::wordsAreThePublished()
{
    const auto check = [](std::uint64_t seed, std::uint64_t stream, std::uint64_t index,
                          std::array<std::uint32_t, 4> want) {
        const PhiloxBlock block = philox(seed, stream, index);
        for (std::size_t i = 0; i < 4; ++i)
            QCOMPARE(block.word[i], want[i]);
    };
    check(0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    const std::uint64_t ones = ~std::uint64_t{0};
    check(ones, ones, ones, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    check(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88,
          {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

void TestLiveNoise::countersAreAsSaid()
{
    // Counter (element/4, frame, purpose, 0), key (seed, stream).
    const FrameNoise noise(0xa4093822, 0x299f31d0);
    const PhiloxBlock want = philox(0x299f31d0a4093822, 3, (std::uint64_t{77} << 32) + 25);
    for (std::uint32_t i = 0; i < 4; ++i)
        QCOMPARE(noise.word(77, NoisePurpose::Filter, 100 + i), want.word[i]);
    QCOMPARE(FrameNoise(0).uniform(0, NoisePurpose::Start, 0),
             (double(0x6627e8d5) + 0.5) / 4294967296.0);
}

void TestLiveNoise::normalsOfTheFirstWords()
{
    std::vector<float> numbers(4);
    FrameNoise(0).normals(*m_stream, 0, NoisePurpose::Start, numbers);
    const std::vector<double> want{0.9911376799, -0.9246625877, -0.6176089595, -0.4820685875};
    QCOMPARE(apart(numbers, want, 3e-7, 0), QString());
    QCOMPARE(apart(referenceNormals(FrameNoise(0), 0, NoisePurpose::Start, 4), want, 3e-7, 0),
             QString());
}

void TestLiveNoise::normalsFollowTheFormula()
{
    QFETCH(int, device);
    const auto on = deviceOrSkip(device);
    if (!on)
        return;
    const auto stream = on->createStream();
    for (const Index size : {Index{1}, Index{31}, Index{32}, Index{33}, Index{257}, Index{12288}}) {
        const Tensor tensor = Tensor::empty(on, {size});
        const FrameNoise noise(9, 2);
        noise.normals(*stream, 5, NoisePurpose::History,
                      {static_cast<float*>(tensor.data()), static_cast<std::size_t>(size)});
        const auto count = static_cast<std::uint32_t>(size + 1) / 2 * 2;
        std::vector<double> want = referenceNormals(noise, 5, NoisePurpose::History, count);
        want.resize(static_cast<std::size_t>(size));
        // The sine's error of 2e-7 counts in units of the radius, which is below 7.
        QCOMPARE(apart(tensor.toHost<float>(*stream), want, 1.5e-6, 0), QString());
    }
}

void TestLiveNoise::momentsOfAMillion()
{
    std::vector<float> numbers(1'000'000);
    FrameNoise(4).normals(*m_stream, 0, NoisePurpose::Start, numbers);
    double sum = 0, squares = 0, fourth = 0, neighbours = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const double x = static_cast<double>(numbers[i]);
        sum += x;
        squares += x * x;
        fourth += x * x * x * x;
        if (i > 0)
            neighbours += x * static_cast<double>(numbers[i - 1]);
    }
    const double count = 1e6, mean = sum / count;
    QVERIFY(std::abs(mean) < 0.004);
    QVERIFY(std::abs(squares / count - mean * mean - 1) < 0.006);
    QVERIFY(std::abs(fourth / count - 3) < 0.05); // 5 deviations of √(96/n)
    QVERIFY(std::abs(neighbours / count) < 0.005);
}

void TestLiveNoise::partsAreThoseOfTheWhole()
{
    std::vector<float> whole(1000), parts(1000);
    const FrameNoise noise(3, 1);
    noise.normals(*m_stream, 8, NoisePurpose::Start, whole);
    const std::span<float> all(parts);
    for (const std::size_t first : {0u, 4u, 36u, 500u}) {
        const std::size_t last = first == 0 ? 4 : first == 4 ? 36 : first == 36 ? 500 : 1000;
        noise.normals(*m_stream, 8, NoisePurpose::Start, all.subspan(first, last - first),
                      static_cast<std::uint32_t>(first));
    }
    QCOMPARE(apart(parts, whole, 0, 0), QString());
    VERGENCE_THROWS(ContractError, "multiple of 4",
                    noise.normals(*m_stream, 8, NoisePurpose::Start, all.first(4), 2));
}

void TestLiveNoise::everythingTellsDrawsApart()
{
    const auto first = [this](const FrameNoise& noise, std::uint32_t frame, NoisePurpose purpose) {
        std::vector<float> four(4);
        noise.normals(*m_stream, frame, purpose, four);
        return four;
    };
    std::vector<float> step(4), sameStep(4);
    FrameNoise(1).stepNormals(*m_stream, 0, 1, step);
    FrameNoise(1).stepNormals(*m_stream, 0, 0, sameStep);
    const std::vector<std::vector<float>> draws{first(FrameNoise(1), 0, NoisePurpose::Start),
                                                first(FrameNoise(2), 0, NoisePurpose::Start),
                                                first(FrameNoise(1, 1), 0, NoisePurpose::Start),
                                                first(FrameNoise(1), 1, NoisePurpose::Start),
                                                first(FrameNoise(1), 0, NoisePurpose::History),
                                                step,
                                                sameStep};
    for (std::size_t i = 0; i < draws.size(); ++i) {
        for (std::size_t k = 0; k < i; ++k)
            QVERIFY(draws[i] != draws[k]);
    }
    QCOMPARE(first(FrameNoise(1), 0, NoisePurpose::Start), draws[0]);
}

void TestLiveNoise::startNoiseModes()
{
    const FrameNoise noise(6);
    const auto make = [&](StartNoise mode, double a, std::uint32_t frame) {
        std::vector<float> out(4096);
        startNoise(*m_stream, noise, mode, a, frame, out);
        return out;
    };
    QCOMPARE(make(StartNoise::Fixed, 0, 7), make(StartNoise::Fixed, 0, 0));
    QCOMPARE(make(StartNoise::Fresh, 0, 0), make(StartNoise::Fixed, 0, 0));
    QVERIFY(make(StartNoise::Fresh, 0, 7) != make(StartNoise::Fresh, 0, 8));
    QCOMPARE(make(StartNoise::Correlated, 0, 7), make(StartNoise::Fixed, 0, 7));
    const auto fixed = make(StartNoise::Fixed, 0, 7), fresh = make(StartNoise::Fresh, 0, 7);
    const auto mixed = make(StartNoise::Correlated, 0.6, 7);
    std::vector<double> want;
    double square = 0;
    for (std::size_t i = 0; i < mixed.size(); ++i) {
        want.push_back(0.8 * static_cast<double>(fixed[i]) + 0.6 * static_cast<double>(fresh[i]));
        square += want.back() * want.back();
    }
    QCOMPARE(apart(mixed, want, 1e-6, 0), QString());
    QVERIFY(std::abs(square / 4096 - 1) < 0.1); // still unit variance
    VERGENCE_THROWS(ContractError, "outside [0, 1]", make(StartNoise::Correlated, 1.1, 7));
}

void TestLiveNoise::historyKeepsTheVariance()
{
    const FrameNoise noise(6);
    std::vector<float> picture(8192), out(8192), none(8192);
    noise.normals(*m_stream, 0, NoisePurpose::Layout, picture);
    historyNoise(*m_stream, noise, 0, 3, picture, none);
    QCOMPARE(none, picture);
    historyNoise(*m_stream, noise, 0.7, 3, picture, out);
    double square = 0, product = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
        square += static_cast<double>(out[i] * out[i]);
        product += static_cast<double>(out[i] * picture[i]);
    }
    QVERIFY(std::abs(square / 8192 - 1) < 0.08);
    QVERIFY(std::abs(product / 8192 - std::sqrt(1 - 0.49)) < 0.06);
    std::vector<float> inPlace = picture;
    historyNoise(*m_stream, noise, 0.7, 3, inPlace, inPlace);
    QCOMPARE(inPlace, out);
    VERGENCE_THROWS(ContractError, "outside [0, 1]",
                    historyNoise(*m_stream, noise, -0.1, 3, picture, out));
}

void TestLiveNoise::cosines()
{
    const std::vector<float> a{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, zero(10);
    std::vector<float> b = a;
    for (float& value : b)
        value *= -2;
    QVERIFY(std::abs(cosineSimilarity(a, a) - 1) < 1e-15);
    QVERIFY(std::abs(cosineSimilarity(a, b) + 1) < 1e-15);
    QCOMPARE(cosineSimilarity(a, zero), 0.0);
    QCOMPARE(cosineSimilarity(zero, zero), 1.0);
    QVERIFY(std::abs(cosineSimilarity(std::vector<float>{1, 0}, std::vector<float>{1, 1}) -
                     std::sqrt(0.5)) < 1e-15);
    VERGENCE_THROWS(ContractError, "size", cosineSimilarity(a, std::vector<float>(9)));
}

void TestLiveNoise::skipChances()
{
    QVERIFY(std::abs(skipProbability(0.99, 0.98) - 0.5) < 1e-12);
    QVERIFY(std::abs(skipProbability(0.999, 0.98) - 0.95) < 1e-12);
    QVERIFY(skipProbability(0.98, 0.98) < 1e-12);
    QCOMPARE(skipProbability(0.5, 0.98), 0.0);
    QCOMPARE(skipProbability(-1, 0.98), 0.0);
    QCOMPARE(skipProbability(1, 0.98), 1.0);
}

void TestLiveNoise::neverMoreThanTenInARow()
{
    SimilarityFilter filter{FrameNoise(1)};
    const std::vector<float> still{0.1f, 0.2f, 0.3f};
    int inRow = 0, most = 0, processed = 0;
    for (std::uint32_t frame = 0; frame < 110; ++frame) {
        const bool isSkipped = filter.skips(still, frame);
        inRow = isSkipped ? inRow + 1 : 0;
        processed += isSkipped ? 0 : 1;
        most = std::max(most, inRow);
        QCOMPARE(filter.inRow(), inRow);
    }
    QCOMPARE(most, 10); // a still picture is skipped with certainty but for the tenth
    QCOMPARE(processed, 10);
    filter.reset();
    QVERIFY(!filter.skips(still, 110));
}

void TestLiveNoise::shareOfSkipsIsTheChance()
{
    // Two pictures in turn; the limit is out of reach. 4,000 draws of chance ½: 5 deviations are
    // 0.04.
    SimilarityFilter filter(FrameNoise(2), {.threshold = 0.98, .mostSkips = 1'000'000});
    const std::vector<float> first = atCosine(1), second = atCosine(0.99);
    int skipped = 0;
    for (std::uint32_t frame = 0; frame < 4000; ++frame) {
        filter.reset();
        QVERIFY(!filter.skips(first, 0));
        skipped += filter.skips(second, frame) ? 1 : 0;
        QVERIFY(std::abs(filter.similarity() - 0.99) < 1e-6);
    }
    QVERIFY2(std::abs(skipped / 4000.0 - 0.5) < 0.04, qPrintable(QString::number(skipped)));
}

void TestLiveNoise::referenceIsTheLastProcessed()
{
    // Creeping change: each frame is like its neighbour, but the reference stays behind.
    SimilarityFilter filter(FrameNoise(5), {.threshold = 0.9, .mostSkips = 1'000'000});
    double atLast = 0;
    int processed = 0;
    for (std::uint32_t frame = 0; frame < 400; ++frame) {
        const double angle = 0.01 * frame;
        const std::vector<float> picture{static_cast<float>(std::cos(angle)),
                                         static_cast<float>(std::sin(angle))};
        if (filter.skips(picture, frame)) {
            QVERIFY(std::abs(filter.similarity() - std::cos(angle - atLast)) < 1e-6);
            QVERIFY(filter.similarity() > 0.9);
        } else {
            atLast = angle;
            ++processed;
        }
    }
    QVERIFY(processed > 8 && processed < 200);
}

VERGENCE_TEST(TestLiveNoise)
#include "tst_live_noise.moc"
