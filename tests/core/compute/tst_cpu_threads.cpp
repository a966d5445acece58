#include <cmath>
#include <fstream>
#include <vector>

#include <QTest>

#include "core/base/error.h"
#include "core/compute/cpu_threads.h"
#include "core/compute/device.h"
#include "tests/support/environment.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using test::ScopedVariable;

class TestCpuThreads : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void quotaOfUnifiedGroups();
    void quotaOfOldGroups();
    void noGroupsNoQuota();
    void environmentBoundsTheThreads();
    void productsUseOneThreadACoreWhereFaster();
    void nothingIsMeasuredWithoutSharedCores();
    void productsStayBelowTheDevice();
};

namespace {

void write(const std::filesystem::path& path, const std::string& text)
{
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
}

/// VERGENCE_THREADS for one scope.
class Bound : ScopedVariable {
public:
    explicit Bound(const char* value) : ScopedVariable("VERGENCE_THREADS", value) {}
};

} // namespace

void TestCpuThreads::quotaOfUnifiedGroups()
{
    const test::Scratch folder;
    write(folder / "proc/cgroup", "0::/jobs/one\n");
    write(folder / "groups/jobs/one/cpu.max", "max 100000\n");
    QVERIFY(std::isinf(cpuQuota(folder / "proc", folder / "groups")));
    write(folder / "groups/jobs/cpu.max", "250000 100000\n"); // of a group above
    QCOMPARE(cpuQuota(folder / "proc", folder / "groups"), 2.5);
    write(folder / "groups/cpu.max", "400000 100000\n");
    QCOMPARE(cpuQuota(folder / "proc", folder / "groups"), 2.5);
    write(folder / "groups/jobs/one/cpu.max", "150000 100000\n");
    QCOMPARE(cpuQuota(folder / "proc", folder / "groups"), 1.5);
}

void TestCpuThreads::quotaOfOldGroups()
{
    const test::Scratch folder;
    write(folder / "proc/cgroup", "9:name=systemd:/\n4:cpuset:/box\n2:cpu,cpuacct:/box\n0::/\n");
    write(folder / "groups/cpu,cpuacct/box/cpu.cfs_quota_us", "-1\n");
    write(folder / "groups/cpu,cpuacct/box/cpu.cfs_period_us", "100000\n");
    QVERIFY(std::isinf(cpuQuota(folder / "proc", folder / "groups")));
    write(folder / "groups/cpu,cpuacct/box/cpu.cfs_quota_us", "300000\n");
    QCOMPARE(cpuQuota(folder / "proc", folder / "groups"), 3.0);
}

void TestCpuThreads::noGroupsNoQuota()
{
    const test::Scratch folder;
    QVERIFY(std::isinf(cpuQuota(folder.path(), folder.path())));
    write(folder / "cgroup", "broken\n\n0:\n");
    QVERIFY(std::isinf(cpuQuota(folder.path(), folder.path())));
}

void TestCpuThreads::environmentBoundsTheThreads()
{
    const int all = usableThreads();
    QVERIFY(all >= 1);
    {
        const Bound one("1");
        QCOMPARE(usableThreads(), 1);
        QVERIFY(makeCpuDevice()->info().name.ends_with("(1 threads)"));
        QVERIFY(makeCpuDevice(3)->info().name.ends_with("(3 threads)")); // asked for by name
    }
    {
        const Bound many("100000");
        QCOMPARE(usableThreads(), all); // a bound, not a wish
    }
    for (const char* wrong : {"0", "-2", "many", "2x", ""}) {
        const Bound bound(wrong);
        VERGENCE_THROWS(DeviceError, "VERGENCE_THREADS is", usableThreads());
    }
}

void TestCpuThreads::productsUseOneThreadACoreWhereFaster()
{
    const auto sharingHurts = [](int count) { return count == 4 ? 1.0 : 1.2; };
    const auto sharingHelps = [](int count) { return count == 4 ? 1.0 : 0.9; };
    QCOMPARE(threadsForProducts(8, 4, sharingHurts), 4);
    QCOMPARE(threadsForProducts(8, 4, sharingHelps), 8);
    // One disturbed measurement does not decide.
    int calls = 0;
    QCOMPARE(threadsForProducts(
                 8, 4, [&](int count) { return calls++ == 0 ? 50.0 : 1.0 / (12 - count); }),
             4);
}

void TestCpuThreads::nothingIsMeasuredWithoutSharedCores()
{
    const auto never = [](int) -> double { qFatal("measured"); };
    QCOMPARE(threadsForProducts(4, 4, never), 4);
    QCOMPARE(threadsForProducts(2, 16, never), 2);
    QCOMPARE(threadsForProducts(1, 1, never), 1);
}

void TestCpuThreads::productsStayBelowTheDevice()
{
    // More threads than cores, so the choice is measured here on every computer.
    const int threads = 2 * usableCores();
    const auto device = makeCpuDevice(threads);
    const int count = productThreads(*device);
    QVERIFY(count == threads || count == usableCores());
}

VERGENCE_TEST(TestCpuThreads)
#include "tst_cpu_threads.moc"
