#include <dlfcn.h>

#include <QtTest>

#include "core/metrics/system_sampler.h"
#include "tests/support/test_program.h"

using namespace vergence;

/// GPUs as the driver's management library tells of them, with a library of the test in its place.
class TestNvml : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// It is found by its name, as whoever opens it later asks for it.
    void initTestCase()
    {
        QVERIFY2(dlopen(VERGENCE_BINARY_DIR "/lib/fake/libnvidia-ml.so.1", RTLD_NOW), dlerror());
    }

    void instancesOfADividedGpuAreRead()
    {
        SystemSampler sampler(0);
        QVERIFY(sampler.hasNvml());
        QStringList uuids;
        std::vector<std::uint64_t> bytes;
        for (const GpuReading& gpu : sampler.sample().gpus) {
            uuids << QString::fromStdString(gpu.uuid);
            bytes.push_back(gpu.totalBytes);
        }
        QCOMPARE(uuids, (QStringList{"GPU-0", "GPU-1", "MIG-0", "MIG-1"}));
        QCOMPARE(bytes, (std::vector<std::uint64_t>{80'000, 80'000, 10'000, 20'000}));
    }
};

VERGENCE_TEST(TestNvml)
#include "tst_nvml.moc"
