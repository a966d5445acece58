#include <QTest>

#include "core/base/error.h"
#include "plugins/sugar/compute/learning/memory_forecast.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::sugar;

namespace {

/// The stage of surface alignment on a GPU.
MemoryQuestion alignment(double millions, Index width, Index height)
{
    MemoryQuestion question;
    question.gaussians = static_cast<Index>(millions * 1e6);
    question.width = width;
    question.height = height;
    question.instances = expectedInstances(question.gaussians, width, height);
    question.neighbours = 16;
    question.geometry = true;
    return question;
}

} // namespace

class SugarForecastTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void bytesPerGaussianAddUp()
    {
        MemoryQuestion question;
        // 59 numbers and their moments, filter, statistics; splat, box, keys, sort, flag.
        QCOMPARE(bytesPerGaussian(question), 708.0 + 4 + 16 + 64 + 8 + 16 + 16 + 1);
        question.compactMoments = true;
        QCOMPARE(bytesPerGaussian(question), 833.0 - 472 + 191);
        question.compactMoments = false;
        question.separateGradients = true; // of shapes and opacities
        QCOMPARE(bytesPerGaussian(question), 833.0 + 44);
        question = {};
        question.degree = 0;
        question.filter = false;
        QCOMPARE(bytesPerGaussian(question), 833.0 - 540 - 4);
    }

    void partsOfAGpuAddUp()
    {
        MemoryQuestion question = alignment(2, 1920, 1244);
        question.instances = 4'000'000;
        question.samples = 1'000'000;
        question.residentPhotographs = 3e8;
        const auto bytesOf = [&](const char* part) {
            return deviceMemory(question).bytesOf(part) / 1.05; // the pool's size classes
        };
        const auto is = [](double got, double wanted) { return std::abs(got - wanted) < 1; };
        QVERIFY(is(bytesOf("Gaussians"), 2e6 * 833));
        QVERIFY(is(bytesOf("Neighbours"), 2e6 * (16 * 4 + 12)));
        QVERIFY(is(bytesOf("Pixels"), 1920 * 1244 * (72.0 + 80)));
        QVERIFY(is(bytesOf("Instances"), 4e6 * (72 * 1.25 + 12)));
        QVERIFY(is(bytesOf("Samples"), 1e6 * (20 + 8)));
        QVERIFY(is(bytesOf("Photographs"), 3e8));
        QVERIFY(is(bytesOf("Passing"), 4e6 * 24 + 2e6 * 4)); // pairs that are sorted
        question.rearranges = true;                          // the harmonics once more
        QVERIFY(is(bytesOf("Passing"), 2e6 * (180 + 5)));
        question.tests = true; // another rasteriser
        QVERIFY(is(bytesOf("Passing"), 2e6 * (105 + 4) + 4e6 * 17 + 1920 * 1244 * 56.0));
        QVERIFY(is(bytesOf("Half size"), 0));
        question.halfGeometry = true;
        const auto pairs = std::min<Index>(4'000'000, expectedInstances(2'000'000, 960, 622));
        QVERIFY(is(bytesOf("Half size"),
                   2e6 * 105 + static_cast<double>(pairs) * 72 * 1.25 + 960 * 622 * (24.0 + 80)));
        QVERIFY(is(bytesOf("Pixels"), 1920 * 1244 * 72.0));
        double sum = 0;
        for (const MemoryPart& part : deviceMemory(question).parts)
            sum += part.bytes;
        QCOMPARE(deviceMemory(question).total(), sum);
        QCOMPARE(deviceMemory(question).bytesOf("Runtime"), 0.45e9);
    }

    void pairsFollowFromTheCoveredArea()
    {
        // A covering of 45: 1000 + 4/16 · sqrt(45 · 19200 · 1000/π) + 45 · 19200/256
        QCOMPARE(expectedInstances(1000, 160, 120), Index{8521});
        // No fewer than the specification assumes.
        QVERIFY(expectedInstances(2'000'000, 1920, 1244) >= 4'000'000);
        QVERIFY(expectedInstances(6'000'000, 5187, 3361) >= 30'000'000);
    }

    void bandsBoundThePixels()
    {
        MemoryQuestion question = alignment(6, 5187, 3361);
        question.bandRows = 512;
        // The specification counts 20 rows of halo; tiles make them 32.
        const MemoryForecast bands = deviceMemory(question);
        QCOMPARE(bands.bytesOf("Pixels"), (512 + 32) * 5187 * 152.0 * 1.05);
        QCOMPARE(bands.bytesOf("Bands"), 68 * 6e6 * 1.05);
        question.bandRows = 0;
        const MemoryForecast whole = deviceMemory(question);
        QVERIFY(bands.bytesOf("Instances") < 0.17 * whole.bytesOf("Instances"));
        QVERIFY(bands.bytesOf("Passing") < 0.25 * whole.bytesOf("Passing"));
        QCOMPARE(whole.bytesOf("Bands"), 0.0);
        QVERIFY(bands.total() < whole.total());
        question.bandRows = 512;
        question.height = 100;
        QCOMPARE(deviceMemory(question).bytesOf("Pixels"), 100 * 5187 * 152.0 * 1.05);
        QCOMPARE(deviceMemory(question).bytesOf("Bands"), 0.0);
    }

    void absentPartsAreLeftOut()
    {
        MemoryQuestion question;
        question.gaussians = 1000;
        question.width = 160;
        question.height = 120;
        // Gaussians, pixels, what the sort by depth works in, what passes, the driver's.
        QCOMPARE(deviceMemory(question).parts.size(), std::size_t(5));
        QCOMPARE(deviceMemory(question).bytesOf("Pixels"), 160 * 120 * 72.0 * 1.05);
        QCOMPARE(deviceMemory(question).bytesOf("Neighbours"), 0.0);
    }

    void hostHoldsPhotographsAndOnTheCpuAll()
    {
        MemoryQuestion question;
        question.gaussians = 8000;
        question.degree = 1;
        question.width = 160;
        question.height = 120;
        question.instances = 16'000;
        question.photographs = 28 * 160 * 120 * 3.0;
        const MemoryForecast beside = hostMemory(question, false), all = hostMemory(question, true);
        QCOMPARE(beside.bytesOf("Photographs"), 28 * 160 * 120 * 3.0);
        // Values and moments, filter, statistics; the harmonics once more while they are copied.
        QCOMPARE(beside.bytesOf("Checkpoint"), 8000 * (23 * 12.0 + 4 + 16 + 36));
        QCOMPARE(beside.bytesOf("Gaussians"), 0.0);
        QCOMPARE(hostBytesPerGaussian(question), 23 * 12.0 + 4 + 16 + 113);
        QCOMPARE(all.bytesOf("Gaussians"), 8000 * hostBytesPerGaussian(question));
        question.compactMoments = true;
        QCOMPARE(hostBytesPerGaussian(question), 23 * 4.0 + 83 + 4 + 16 + 113);
        // Three copies of a result are more.
        QCOMPARE(hostMemory(question, false).bytesOf("Checkpoint"), 8000 * 3 * (23 * 4.0 + 4));
        QCOMPARE(all.bytesOf("Instances"), 16'000 * (16.0 + 64) * 1.125);
        QCOMPARE(all.bytesOf("Pixels"), 160 * 120 * 36.0);
        QVERIFY(all.total() > beside.total());
    }

    void badInputIsRefused()
    {
        MemoryQuestion question;
        question.gaussians = -1;
        VERGENCE_THROWS(ContractError, "negative", deviceMemory(question));
        question = {};
        question.degree = 4;
        VERGENCE_THROWS(ContractError, "degree", hostMemory(question, true));
    }
};

VERGENCE_TEST(SugarForecastTest)
#include "tst_sugar_forecast.moc"
