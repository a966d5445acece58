#include <QTest>

#include "core/base/error.h"
#include "plugins/sugar/compute/learning/memory_forecast.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::sugar;

namespace {

constexpr double kGigabyte = 1e9;

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
        QCOMPARE(bytesPerGaussian(question), 844.0);
        question.compactMoments = true;
        QCOMPARE(bytesPerGaussian(question), 844.0 - 472 + 191);
        question.compactMoments = false;
        question.separateGradients = true;
        QCOMPARE(bytesPerGaussian(question), 844.0 + 236);
        question = {};
        question.degree = 0;
        QCOMPARE(bytesPerGaussian(question), 844.0 - 540);
    }

    void tableOfTheSpecification_data()
    {
        QTest::addColumn<double>("millions");
        QTest::addColumn<bool>("isLarge");
        QTest::addColumn<QList<double>>("gigabytes");
        const auto row = [](double millions, bool isLarge, const QList<double>& values) {
            QTest::addRow("%g M, %s", millions, isLarge ? "5187 x 3361" : "1920 x 1244")
                << millions << isLarge << values;
        };
        // Gaussians, neighbours, pixels, instances, buckets, total per tile, total with buckets
        row(2, false, {1.69, 0.13, 0.25, 0.05, 1.02, 2.56, 3.58});
        row(6, false, {5.06, 0.38, 0.25, 0.14, 3.07, 6.29, 9.36});
        row(2, true, {1.69, 0.13, 1.80, 0.22, 3.58, 4.29, 7.87});
        row(6, true, {5.06, 0.38, 1.80, 0.48, 7.68, 8.17, 15.85});
    }
    void tableOfTheSpecification()
    {
        QFETCH(double, millions);
        QFETCH(bool, isLarge);
        QFETCH(QList<double>, gigabytes);
        MemoryQuestion question = alignment(millions, isLarge ? 5187 : 1920, isLarge ? 3361 : 1244);
        // The pairs that its table is for; no fewer are expected.
        const Index assumed = isLarge ? (millions < 3 ? 14'000'000 : 30'000'000)
                                      : (millions < 3 ? 4'000'000 : 12'000'000);
        QVERIFY(question.instances >= assumed);
        question.instances = assumed;
        const double perTile = deviceMemory(question).total();
        question.bucketBackward = true;
        const MemoryForecast got = deviceMemory(question);
        const QList<double> bytes{got.bytesOf("Gaussians"),
                                  got.bytesOf("Neighbours"),
                                  got.bytesOf("Pixels"),
                                  got.bytesOf("Instances"),
                                  got.bytesOf("Buckets"),
                                  perTile,
                                  got.total()};
        for (int i = 0; i < bytes.size(); ++i)
            QVERIFY2(std::abs(bytes[i] / kGigabyte - gigabytes[i]) <= 0.005 + 1e-9,
                     qPrintable(QString("column %1: %2").arg(i).arg(bytes[i] / kGigabyte)));
    }

    void sizesBetween()
    {
        const auto total = [](double millions, Index width, Index height) {
            return deviceMemory(alignment(millions, width, height)).total() / kGigabyte;
        };
        const auto agrees = [](double got, double wanted) { return std::abs(got - wanted) < 0.01; };
        QVERIFY(agrees(total(2, 2594, 1681), 2.79));
        QVERIFY(agrees(total(2, 3242, 2101), 3.06));
        QVERIFY(agrees(total(2, 3890, 2521), 3.39));
        QVERIFY(agrees(total(6, 2594, 1681), 6.54));
        QVERIFY(agrees(total(6, 3242, 2101), 6.83));
        QVERIFY(agrees(total(6, 3890, 2521), 7.18));
        // A covering of 45: 1000 + 4/16 · sqrt(45 · 19200 · 1000/π) + 45 · 19200/256
        QCOMPARE(expectedInstances(1000, 160, 120), Index{8521});
    }

    void bandsBoundThePixels()
    {
        MemoryQuestion question = alignment(6, 5187, 3361);
        question.bandRows = 512;
        // The specification counts 20 rows of halo; tiles make them 32.
        const MemoryForecast bands = deviceMemory(question);
        QCOMPARE(bands.bytesOf("Pixels"), (512 + 32) * 5187 * 103.0);
        QVERIFY(std::abs(bands.bytesOf("Pixels") / kGigabyte - 0.28) < 0.011);
        QCOMPARE(bands.bytesOf("Bands"), 68 * 6e6);
        question.bandRows = 0;
        const MemoryForecast whole = deviceMemory(question);
        QVERIFY(bands.bytesOf("Instances") < 0.17 * whole.bytesOf("Instances"));
        QCOMPARE(whole.bytesOf("Bands"), 0.0);
        QVERIFY(bands.total() < whole.total());
        question.bandRows = 512;
        question.height = 100;
        QCOMPARE(deviceMemory(question).bytesOf("Pixels"), 100 * 5187 * 103.0);
        QCOMPARE(deviceMemory(question).bytesOf("Bands"), 0.0);
    }

    void absentPartsAreLeftOut()
    {
        MemoryQuestion question;
        question.gaussians = 1000;
        question.width = 160;
        question.height = 120;
        QCOMPARE(deviceMemory(question).parts.size(), std::size_t(3));
        QCOMPARE(deviceMemory(question).bytesOf("Pixels"), 160 * 120 * 71.0);
        QCOMPARE(deviceMemory(question).bytesOf("Buckets"), 0.0);
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
