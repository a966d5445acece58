#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <set>
#include <thread>

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/cuda_emulation/faulty_kernels.h"
#include "tests/cuda_emulation/runtime_bench.h"
#include "tests/support/cuda_emulation/engine/counters.h"
#include "tests/support/cuda_emulation/engine/device_memory.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::emulation::fixtures;
using emulation::Finding;
using test::DeviceBytes;

namespace {

constexpr unsigned kOrders = 5;

QStringList sourceLines()
{
    QFile file(QString::fromUtf8(faultyKernelsFile()));
    if (!file.open(QIODevice::ReadOnly))
        return {};
    return QString::fromUtf8(file.readAll()).split(QLatin1Char('\n'));
}

/// "faulty_kernels.cu:<line>" of the line with the mark, or nothing that is in any place.
QString markedPlace(const char* name)
{
    const QStringList lines = sourceLines();
    const QString mark = QStringLiteral("// fault: ") + QString::fromUtf8(name);
    for (int i = 0; i < lines.size(); ++i) {
        if (lines[i].endsWith(mark))
            return QStringLiteral("faulty_kernels.cu:%1").arg(i + 1);
    }
    return QStringLiteral("no such mark");
}

QString inWords(const std::vector<Finding>& findings)
{
    QString text;
    for (const Finding& finding : findings)
        text += QString::fromStdString(finding.kind + " at " + finding.where + " in " +
                                       finding.kernel + ": " + finding.text + "\n");
    return text;
}

/// Whether one of the findings is of this kind and at this line, or in a function called there.
bool isFound(const std::vector<Finding>& findings, const std::string& kind, const QString& place)
{
    const QString exact = QStringLiteral("/") + place + QStringLiteral(" ");
    return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
        const QString places = QString::fromStdString(finding.where + " " + finding.text + " ");
        return finding.kind == kind && places.contains(exact);
    });
}

bool hasKind(const std::vector<Finding>& findings, const std::string& kind)
{
    return std::any_of(findings.begin(), findings.end(),
                       [&](const Finding& finding) { return finding.kind == kind; });
}

std::vector<int> numbersOf(const DeviceBytes& memory)
{
    const test::Bytes bytes = memory.read();
    std::vector<int> numbers(bytes.size() / sizeof(int));
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return numbers;
}

/// How a process ends that does this; what it writes to the error stream goes into `errors`.
int exitCodeOf(const std::function<void()>& body, QString& errors)
{
    const QTemporaryDir folder;
    const QByteArray path = folder.filePath(QStringLiteral("errors")).toUtf8();
    const pid_t child = fork();
    if (child == 0) {
        if (!std::freopen(path.constData(), "w", stderr) || !std::freopen("/dev/null", "w", stdout))
            _exit(1);
        body();
        std::exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    QFile file(QString::fromUtf8(path));
    errors = file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

float* floatsOf(const DeviceBytes& memory)
{
    return reinterpret_cast<float*>(memory.at());
}

} // namespace

/// The engine runs kernels as a device may, and finds what is wrong with them.
class TestEmulatedEngine : public QObject {
    Q_OBJECT
private:
    test::RuntimeBench m_bench;

private Q_SLOTS:
    void init()
    {
        m_bench.begin();
        emulation::settings().devices = 2;
    }
    void cleanup() { QVERIFY2(m_bench.endsWell(), "findings that no test expected"); }

    // --- faults --------------------------------------------------------------------------------

    void everyFaultIsFound_data() { faultRows(); }
    void everyFaultIsFound()
    {
        QFETCH(const int, number);
        QFETCH(const unsigned, seed);
        emulation::settings().seed = seed;
        const FaultyKernel& kernel = faultyKernels()[static_cast<std::size_t>(number)];
        kernel.run(true);
        emulation::finishAll();
        const auto findings = emulation::takeFindings();
        const bool found = *kernel.name == '\0'
                               ? hasKind(findings, kernel.kind)
                               : isFound(findings, kernel.kind, markedPlace(kernel.name));
        QVERIFY2(found, qPrintable(markedPlace(kernel.name) + QStringLiteral(" is not in\n") +
                                   inWords(findings)));
        QCOMPARE(hasKind(findings, "host-memory"), std::string(kernel.kind) == "host-memory");
    }

    void rightTwinsHaveNoFindings_data() { faultRows(); }
    void rightTwinsHaveNoFindings()
    {
        QFETCH(const int, number);
        QFETCH(const unsigned, seed);
        emulation::settings().seed = seed;
        QVERIFY(faultyKernels()[static_cast<std::size_t>(number)].run(false));
        const auto findings = emulation::takeFindings();
        QVERIFY2(findings.empty(), qPrintable(inWords(findings)));
    }

    void rightKernelsHaveNoFindings_data()
    {
        QTest::addColumn<int>("number");
        QTest::addColumn<unsigned>("seed");
        addRows(rightKernels());
    }
    void rightKernelsHaveNoFindings()
    {
        QFETCH(const int, number);
        QFETCH(const unsigned, seed);
        emulation::settings().seed = seed;
        QVERIFY(rightKernels()[static_cast<std::size_t>(number)].run());
        const auto findings = emulation::takeFindings();
        QVERIFY2(findings.empty(), qPrintable(inWords(findings)));
    }

    void findingsSayWhoAndHowOften()
    {
        emulation::settings().seed = 0;
        runFaulty("read beyond the end");
        const auto findings = emulation::takeFindings();
        QCOMPARE(findings.size(), std::size_t{1});
        QCOMPARE(findings[0].count, 1L);
        const QString text = QString::fromStdString(findings[0].text);
        QVERIFY2(
            text.startsWith(QStringLiteral("reads 4 bytes at byte 4000 of an allocation of 4000; "
                                           "block (3,0,0) thread (231,0,0); called at /")),
            qPrintable(text));
        QVERIFY(QString::fromStdString(findings[0].kernel)
                    .startsWith(QStringLiteral("kernel (faulty_kernels.cu:")));
    }

    void eachPlaceIsReportedOnce()
    {
        runFaulty("memory of the host");
        runFaulty("memory of the host");
        const auto findings = emulation::takeFindings();
        QCOMPARE(findings.size(), std::size_t{1});
        QCOMPARE(findings[0].count, 512L);
        QVERIFY(emulation::takeFindings().empty());
    }

    void deadlockIsAStickyError()
    {
        runFaulty("deadlock");
        QCOMPARE(cudaDeviceSynchronize(), cudaErrorLaunchTimeout);
        QCOMPARE(launchEmpty({}), static_cast<int>(cudaErrorLaunchTimeout));
        emulation::takeFindings();
        emulation::setStickyError(0);
        cudaGetLastError();
        QCOMPARE(launchEmpty({}), 0); // and the threads' stacks are in order again
        QCOMPARE(cudaDeviceSynchronize(), cudaSuccess);
    }

    void threadsOfTheHostTakeTurns()
    {
        std::atomic<int> right = 0;
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] {
                for (const RightKernel& kernel : rightKernels())
                    right += kernel.run() ? 1 : 0;
            });
        }
        for (std::thread& thread : threads)
            thread.join();
        QCOMPARE(right.load(), 4 * static_cast<int>(rightKernels().size()));
        const auto findings = emulation::takeFindings();
        QVERIFY2(findings.empty(), qPrintable(inWords(findings)));
    }

    void missingWaitBetweenStreamsShowsUnderSomeSeed()
    {
        std::set<int> withWait, without;
        for (unsigned seed = 0; seed < 20; ++seed) {
            emulation::settings().seed = seed;
            withWait.insert(incrementsSeen(true));
            without.insert(incrementsSeen(false));
        }
        QCOMPARE(withWait, std::set<int>{1});
        QVERIFY(without.contains(0) && without.contains(1));
    }

    // --- ends of processes ---------------------------------------------------------------------

    void findingsEndTheProcessWith86()
    {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("report"));
        QString errors;
        QCOMPARE(exitCodeOf(
                     [&] {
                         emulation::settings().reportFile = path.toStdString();
                         runFaulty("memory of the host");
                     },
                     errors),
                 86);
        const QString begin = QStringLiteral("EMULATED host-memory at ");
        QVERIFY2(errors.startsWith(begin), qPrintable(errors));
        QCOMPARE(errors.count(QLatin1Char('\n')), 1);
        QVERIFY2(errors.contains(markedPlace("memory of the host") +
                                 QStringLiteral(" in addOthers (faulty_kernels.cu:")),
                 qPrintable(errors));
        QFile report(path);
        QVERIFY(report.open(QIODevice::ReadOnly));
        QCOMPARE(QString::fromUtf8(report.readAll()), errors);
    }

    void takenFindingsDoNotEndTheProcess()
    {
        QString errors;
        QCOMPARE(exitCodeOf(
                     [] {
                         runFaulty("memory of the host");
                         emulation::takeFindings();
                     },
                     errors),
                 0);
    }

    void hostReadOfDeviceMemoryEndsTheProcess()
    {
        const DeviceBytes memory(64);
        QString errors;
        QCOMPARE(exitCodeOf([&] { std::printf("%d", *memory.at(8)); }, errors), 86);
        QVERIFY2(errors.startsWith(QStringLiteral("EMULATED host-access at ")), qPrintable(errors));
        QCOMPARE(exitCodeOf([&] { std::printf("%d", memory.read()[8]); }, errors), 0);
    }

    // --- launches ------------------------------------------------------------------------------

    void shapesNoDeviceHasAreRefused_data()
    {
        QTest::addColumn<QList<unsigned>>("numbers");
        QTest::addColumn<bool>("isRight");
        const auto row = [](const char* name, QList<unsigned> numbers, bool isRight) {
            QTest::newRow(name) << std::move(numbers) << isRight;
        };
        row("smallest", {1, 1, 1, 1, 1, 1}, true);
        row("most threads", {1, 1, 1, 1024, 1, 1}, true);
        row("most layers", {1, 1, 1, 16, 1, 64}, true);
        row("most rows of blocks", {1, 65535, 1, 1, 1, 1}, true);
        row("no blocks", {0, 1, 1, 1, 1, 1}, false);
        row("no threads", {1, 1, 1, 1, 0, 1}, false);
        row("too many threads", {1, 1, 1, 1025, 1, 1}, false);
        row("too many together", {1, 1, 1, 512, 2, 2}, false);
        row("product that overflows", {1, 1, 1, 1u << 31, 1u << 31, 4}, false);
        row("too many layers", {1, 1, 1, 1, 1, 65}, false);
        row("too many rows of blocks", {1, 65536, 1, 1, 1, 1}, false);
        row("too many layers of blocks", {1, 1, 65536, 1, 1, 1}, false);
        row("too many blocks", {0x80000000u, 1, 1, 1, 1, 1}, false);
    }
    void shapesNoDeviceHasAreRefused()
    {
        QFETCH(const QList<unsigned>, numbers);
        QFETCH(const bool, isRight);
        Shape shape;
        std::copy_n(numbers.begin(), 3, shape.blocks);
        std::copy_n(numbers.begin() + 3, 3, shape.threads);
        QCOMPARE(launchEmpty(shape), isRight ? 0 : static_cast<int>(cudaErrorInvalidConfiguration));
        QCOMPARE(hasKind(emulation::takeFindings(), "launch"), !isRight);
        QCOMPARE(launchEmpty({}), 0); // not sticky
        QCOMPARE(cudaDeviceSynchronize(), cudaSuccess);
    }

    void sharedMemoryIsLimitedByCapability_data()
    {
        QTest::addColumn<int>("capability");
        QTest::addColumn<int>("kibibytes");
        for (const auto& [capability, kibibytes] : std::vector<std::pair<int, int>>{
                 {75, 64}, {80, 163}, {86, 99}, {89, 99}, {90, 227}, {100, 227}, {120, 99}})
            QTest::addRow("%d", capability) << capability << kibibytes;
    }
    void sharedMemoryIsLimitedByCapability()
    {
        QFETCH(const int, capability);
        QFETCH(const int, kibibytes);
        emulation::settings().capability = capability;
        const int most = kibibytes * 1024;
        QCOMPARE(allowDynamicShared(most + 1), static_cast<int>(cudaErrorInvalidValue));
        QCOMPARE(allowDynamicShared(most), 0);
        cudaGetLastError();
        QCOMPARE(launchEmpty({{1, 1, 1}, {1, 1, 1}, static_cast<unsigned>(most)}), 0);
        QCOMPARE(cudaDeviceSynchronize(), cudaSuccess);
        QVERIFY(emulation::takeFindings().empty());
        QCOMPARE(launchEmpty({{1, 1, 1}, {1, 1, 1}, static_cast<unsigned>(most) + 1}),
                 static_cast<int>(cudaErrorInvalidValue));
        QVERIFY(hasKind(emulation::takeFindings(), "launch"));
        launchWithShared(40, most - 40 * 1024);
        cudaDeviceSynchronize();
        QVERIFY(emulation::takeFindings().empty());
        launchWithShared(40, most - 40 * 1024 + 4);
        cudaDeviceSynchronize();
        QVERIFY(hasKind(emulation::takeFindings(), "shared"));
    }

    void variablesHaveAtMost48Kibibytes()
    {
        launchWithShared(40, 4);
        cudaDeviceSynchronize();
        QVERIFY(emulation::takeFindings().empty());
        launchWithShared(60, 4);
        cudaDeviceSynchronize();
        QVERIFY(hasKind(emulation::takeFindings(), "shared"));
    }

    void parametersAreLimitedByCapability()
    {
        QCOMPARE(launchWithParameters(4000), 0);
        QCOMPARE(launchWithParameters(5000), 0);
        QCOMPARE(launchWithParameters(40000), static_cast<int>(cudaErrorInvalidValue));
        QVERIFY(hasKind(emulation::takeFindings(), "launch"));
        emulation::settings().capability = 60;
        QCOMPARE(launchWithParameters(4000), 0);
        QCOMPARE(launchWithParameters(5000), static_cast<int>(cudaErrorInvalidValue));
        QVERIFY(hasKind(emulation::takeFindings(), "launch"));
    }

    void instructionsNeedTheirCapability()
    {
        emulation::settings().capability = 75;
        const auto& all = rightKernels();
        const auto products = std::find_if(all.begin(), all.end(), [](const RightKernel& kernel) {
            return std::string(kernel.name) == "products of matrices";
        });
        products->run();
        QVERIFY(hasKind(emulation::takeFindings(), "mma"));
    }

    void injectedFailureIsSeenAtTheNextWait()
    {
        emulation::settings().failure = "launch:2:700";
        const DeviceBytes x(4, 0);
        launchIncrement(floatsOf(x), 1, nullptr);
        QCOMPARE(cudaDeviceSynchronize(), cudaSuccess);
        launchIncrement(floatsOf(x), 1, nullptr);
        QCOMPARE(cudaGetLastError(), cudaSuccess);
        QCOMPARE(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
        QCOMPARE(launchEmpty({}), static_cast<int>(cudaErrorIllegalAddress));
    }

    // --- order ---------------------------------------------------------------------------------

    void theSeedOrdersBlocksAndThreads()
    {
        std::vector<int> ascending(300);
        std::iota(ascending.begin(), ascending.end(), 0);
        QCOMPARE(orderUnder(0), ascending);
        const std::vector<int> descending(ascending.rbegin(), ascending.rend());
        QCOMPARE(orderUnder(1), descending);
        std::set<std::vector<int>> orders{ascending, descending};
        for (unsigned seed = 2; seed < 6; ++seed) {
            std::vector<int> order = orderUnder(seed);
            QVERIFY2(orders.insert(order).second, "an order comes twice");
            std::sort(order.begin(), order.end());
            QCOMPARE(order, ascending);
        }
    }

    // --- counters ------------------------------------------------------------------------------

    void countersTellTheCostOfStrides_data()
    {
        QTest::addColumn<int>("stride");
        QTest::addColumn<int>("sectors");
        QTest::addColumn<int>("conflicts");
        // 4 warps: a load of 128 bytes apart by the stride and a store of 128 in a row;
        // conflicts of a store and a load
        QTest::newRow("1") << 1 << 4 * (4 + 4) << 0;
        QTest::newRow("2") << 2 << 4 * (8 + 4) << 4 * 2 * 1;
        QTest::newRow("8") << 8 << 4 * (32 + 4) << 4 * 2 * 7;
        QTest::newRow("32") << 32 << 4 * (32 + 4) << 4 * 2 * 31;
        QTest::newRow("33") << 33 << 4 * (32 + 4) << 0;
    }
    void countersTellTheCostOfStrides()
    {
        QFETCH(const int, stride);
        emulation::settings().countersFile = "/dev/null";
        const DeviceBytes x(static_cast<std::size_t>(128 * stride) * sizeof(float), 0), sum(512);
        const emulation::KernelCounters before = strideCounters();
        launchStrided(floatsOf(x), floatsOf(sum), stride);
        cudaDeviceSynchronize();
        const emulation::KernelCounters after = strideCounters();
        QCOMPARE(after.launches - before.launches, 1u);
        QCOMPARE(after.blocks - before.blocks, 1u);
        QCOMPARE(after.threads - before.threads, 128u);
        QCOMPARE(after.globalBytes - before.globalBytes, 1024u);
        QCOMPARE(after.sharedBytes - before.sharedBytes, 1024u);
        QCOMPARE(after.barriers - before.barriers, 1u);
        QTEST(static_cast<int>(after.globalSectors - before.globalSectors), "sectors");
        QTEST(static_cast<int>(after.bankConflicts - before.bankConflicts), "conflicts");
    }

    void countersAreWrittenAtTheEnd()
    {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("counters"));
        QString errors;
        for (int turn = 0; turn < 2; ++turn) {
            QCOMPARE(exitCodeOf(
                         [&] {
                             emulation::settings().countersFile = path.toStdString();
                             launchEmpty({{3, 1, 1}, {64, 1, 1}});
                             cudaDeviceSynchronize();
                         },
                         errors),
                     0);
        }
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QStringList lines = QString::fromUtf8(file.readAll()).split(QLatin1Char('\n'));
        QVERIFY2(lines[0].startsWith(QStringLiteral("kernel\tlaunches\tblocks\tthreads\t")),
                 qPrintable(lines[0]));
        QCOMPARE(lines.filter(QStringLiteral("kernel\t")).size(), 1);
        const auto ours = lines.filter(QStringLiteral("empty (right_kernels.cu:"));
        QCOMPARE(ours.size(), 2);
        QVERIFY2(ours[0].endsWith(QStringLiteral("\t1\t3\t192\t0\t0\t0\t0\t0\t0")),
                 qPrintable(ours[0]));
    }

    void nothingIsCountedUnasked()
    {
        const auto launches = strideCounters().launches;
        const DeviceBytes x(512, 0), sum(512);
        launchStrided(floatsOf(x), floatsOf(sum), 1);
        cudaDeviceSynchronize();
        QCOMPARE(strideCounters().launches, launches);
    }

private:
    template <class Kernel>
    static void addRows(const std::vector<Kernel>& kernels)
    {
        for (std::size_t i = 0; i < kernels.size(); ++i) {
            for (unsigned seed = 0; seed < kOrders; ++seed)
                QTest::addRow("%d %s, seed %u", static_cast<int>(i), kernels[i].name, seed)
                    << static_cast<int>(i) << seed;
        }
    }

    static void faultRows()
    {
        QTest::addColumn<int>("number");
        QTest::addColumn<unsigned>("seed");
        addRows(faultyKernels());
    }

    static void runFaulty(const char* name)
    {
        for (const FaultyKernel& kernel : faultyKernels()) {
            if (std::string(kernel.name) == name) {
                kernel.run(true);
                return;
            }
        }
        qFatal("no such kernel");
    }

    /// What a second stream's copy sees of a kernel on the first one.
    static int incrementsSeen(bool waits)
    {
        const DeviceBytes x(4, 0), y(4, 0);
        const test::StreamHandle writer, reader;
        const test::EventHandle event;
        launchIncrement(floatsOf(x), 1, writer);
        cudaEventRecord(event, writer);
        if (waits)
            cudaStreamWaitEvent(reader, event, 0);
        cudaMemcpyAsync(y.at(), x.at(), 4, cudaMemcpyDeviceToDevice, reader);
        cudaStreamSynchronize(reader);
        float seen = 0;
        const test::Bytes bytes = y.read();
        std::memcpy(&seen, bytes.data(), sizeof(seen));
        return static_cast<int>(seen);
    }

    static std::vector<int> orderUnder(unsigned seed)
    {
        emulation::settings().seed = seed;
        const DeviceBytes order(300 * sizeof(int)), taken(sizeof(int), 0);
        launchOrder(reinterpret_cast<int*>(order.at()), reinterpret_cast<int*>(taken.at()), 3, 100);
        return numbersOf(order);
    }

    static emulation::KernelCounters strideCounters()
    {
        for (const auto& [name, counters] : emulation::kernelCounters()) {
            if (name.starts_with("readStrided"))
                return counters;
        }
        return {};
    }
};

VERGENCE_TEST(TestEmulatedEngine)
#include "tst_emulated_engine.moc"
