#include <cmath>

#include <QTest>

#include "core/artifact/safetensors.h"
#include "core/base/error.h"
#include "core/compute/rng.h"
#include "plugins/light_field/compute/evaluation.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::light_field;

class TestLightFieldMetrics : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void identicalImagesAreIdentical();
    void knownDifferenceHasKnownPsnr();
    void imagesAreClampedBeforeComparison();
    void maskSelectsPixels();
    void similarityEqualsTheReference();
    void contrastOfAHalfContrastImageIsOneHalf();
    void sizesMustAgree();
};

namespace {

std::vector<float> noise(std::size_t count, std::uint64_t seed)
{
    const Rng rng(seed);
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = rng.uniform(i);
    return values;
}

} // namespace

void TestLightFieldMetrics::identicalImagesAreIdentical()
{
    const auto image = noise(33 * 31, 1);
    QVERIFY(std::isinf(psnr(image, image)));
    QVERIFY(std::abs(ssim(image, image, 33, 31) - 1) < 1e-12);
}

void TestLightFieldMetrics::knownDifferenceHasKnownPsnr()
{
    const std::vector<float> a(100, 0.5f), b(100, 0.6f);
    QVERIFY(std::abs(psnr(a, b) - 20) < 1e-5);
}

void TestLightFieldMetrics::imagesAreClampedBeforeComparison()
{
    const std::vector<float> bright(4, 1.7f), white(4, 1.0f);
    QVERIFY(std::isinf(psnr(bright, white)));
}

void TestLightFieldMetrics::maskSelectsPixels()
{
    const std::vector<float> a{0, 0.5f, 0.5f, 0}, b{1, 0.5f, 0.5f, 1}, mask{0, 1, 1, 0},
        none(4, 0.0f);
    QVERIFY(std::isinf(psnr(a, b, mask)));
    QVERIFY(std::isnan(psnr(a, b, none)));
}

void TestLightFieldMetrics::similarityEqualsTheReference()
{
    // Computed with an established implementation in double; here the images are floats, hence
    // 1e-6.
    const SafetensorsFile data =
        readSafetensors(VERGENCE_SOURCE_DIR "/tests/plugins/light_field/data/ssim.safetensors");
    const HostTensor* image = data.find("image");
    const HostTensor* target = data.find("target");
    QVERIFY(image && target && data.find("psnr") && data.find("ssim_same"));
    const auto a = image->as<float>(), b = target->as<float>();
    QVERIFY(std::abs(psnr(a, b) - data.find("psnr")->as<double>()[0]) < 1e-4);
    double mean = 0;
    for (std::size_t channel = 0; channel < 3; ++channel) {
        std::vector<float> x, y;
        for (std::size_t i = channel; i < a.size(); i += 3) {
            x.push_back(a[i]);
            y.push_back(b[i]);
        }
        mean += ssim(x, y, 48, 64) / 3;
    }
    QVERIFY(std::abs(mean - data.find("ssim_same")->as<double>()[0]) < 1e-6);
}

void TestLightFieldMetrics::contrastOfAHalfContrastImageIsOneHalf()
{
    std::vector<float> target(64 * 64), image(64 * 64);
    for (std::size_t i = 0; i < target.size(); ++i) {
        target[i] = (i / 64 / 8 + i % 64 / 8) % 2 == 0 ? 1.0f : 0.0f;
        image[i] = 0.25f + 0.5f * target[i];
    }
    QVERIFY(std::abs(contrastTransfer(image, target, 64, 64, {}) - 0.5) < 1e-6);
    const std::vector<float> flat(64 * 64, 1.0f);
    QVERIFY(std::isnan(contrastTransfer(image, flat, 64, 64, {})));
}

void TestLightFieldMetrics::sizesMustAgree()
{
    const std::vector<float> a(4, 0.0f), b(5, 0.0f);
    QVERIFY_THROWS_EXCEPTION(ContractError, psnr(a, b));
    QVERIFY_THROWS_EXCEPTION(ContractError, ssim(a, a, 3, 3));
}

VERGENCE_TEST(TestLightFieldMetrics)
#include "tst_light_field_metrics.moc"
