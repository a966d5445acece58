#include <limits>

#include <QtTest>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/metrics/system_sampler.h"
#include "tests/support/test_program.h"

using namespace vergence;

namespace {

/// Keeps one core busy, so that there is something to measure.
void burn(double seconds)
{
    const double end = steadySeconds() + seconds;
    volatile double sink = 0;
    while (steadySeconds() < end)
        sink = sink + 1;
}

} // namespace

class TestSystemSampler : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void ownProcessGivesPlausibleFigures()
    {
        SystemSampler sampler(0);
        burn(0.3);
        const SystemReading reading = sampler.sample();
        QVERIFY(reading.processCpuPercent > 1);
        QVERIFY(reading.processCpuPercent < 200); // one busy thread; ticks are coarse
        QVERIFY(reading.systemCpuPercent > 0 && reading.systemCpuPercent <= 100);
        QVERIFY(reading.processResidentBytes > 1'000'000);
        QVERIFY(reading.processPeakBytes >= reading.processResidentBytes);
        QVERIFY(reading.memoryTotalBytes > reading.processResidentBytes);
        QVERIFY(reading.memoryAvailableBytes > 0 &&
                reading.memoryAvailableBytes <= reading.memoryTotalBytes);
    }

    void samplesInQuickSuccessionStayFinite()
    {
        SystemSampler sampler(0);
        burn(0.1);
        const double first = sampler.sample().processCpuPercent;
        for (int i = 0; i < 20; ++i) {
            const SystemReading reading = sampler.sample();
            QVERIFY(reading.processCpuPercent >= 0 && reading.processCpuPercent < 10'000);
        }
        QVERIFY(first >= 0);
    }

    void aProcessThatIsGoneReadsAsZero()
    {
        SystemSampler sampler(std::numeric_limits<int>::max());
        burn(0.05);
        const SystemReading reading = sampler.sample();
        QCOMPARE(reading.processCpuPercent, 0.0);
        QCOMPARE(reading.processResidentBytes, std::uint64_t{0});
        QVERIFY(reading.memoryTotalBytes > 0);
    }

    void negativeProcessIsRefused() { QVERIFY_EXCEPTION_THROWN(SystemSampler(-1), ContractError); }

    void gpusAreReadWhereTheDriverIsThere()
    {
        SystemSampler sampler(0);
        const SystemReading reading = sampler.sample();
        if (!sampler.hasNvml()) {
            QVERIFY(reading.gpus.empty());
            QSKIP("no NVIDIA driver on this computer");
        }
        for (const GpuReading& gpu : reading.gpus) {
            QVERIFY(!gpu.name.empty() && !gpu.driver.empty());
            QVERIFY(gpu.uuid.starts_with("GPU-"));
            QVERIFY(gpu.totalBytes > 0 && gpu.usedBytes <= gpu.totalBytes);
            QVERIFY(!gpu.utilisationPercent || *gpu.utilisationPercent <= 100);
            QVERIFY(!gpu.temperatureCelsius || *gpu.temperatureCelsius < 150);
        }
    }
};

VERGENCE_TEST(TestSystemSampler)
#include "tst_system_sampler.moc"
