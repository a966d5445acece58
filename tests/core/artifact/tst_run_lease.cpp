#include <atomic>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <QTest>

#include <nlohmann/json.hpp>

#include "core/artifact/run_lease.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "tests/support/scratch.h"
#include "tests/support/silent_run.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using vergence::test::age;
using vergence::test::contentOf;
using vergence::test::Scratch;
namespace fs = std::filesystem;

namespace {

/// A run whose lease a process of another computer holds.
class ForeignRun {
public:
    RunFolder folder() const { return {m_scratch.path()}; }
    fs::path lease(int number) const
    {
        return m_scratch / ("lease/" + std::to_string(number) + ".json");
    }
    /// `since`: when it says that it began, by its own clock.
    void hold(int number, double since = epochSeconds()) const
    {
        fs::create_directories(m_scratch / "lease");
        const nlohmann::json holder{{"pid", 1},
                                    {"host", "elsewhere"},
                                    {"boot_id", "another boot"},
                                    {"job", "slurm 12_3"},
                                    {"since", since}};
        writeFileAtomic(lease(number), holder.dump());
    }

private:
    Scratch m_scratch;
};

/// The number of a process that has ended.
int deadProcess()
{
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(0);
    ::waitpid(child, nullptr, 0);
    return child;
}

} // namespace

class TestRunLease : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void onlyOneHasIt()
    {
        const Scratch scratch;
        const RunFolder folder{scratch.path()};
        {
            RunLease lease(folder);
            QVERIFY(lease.renew());
            VERGENCE_THROWS(RunTaken, "Another process works on the run", RunLease{folder});
            VERGENCE_THROWS(RunTaken, std::to_string(::getpid()).c_str(), RunLease{folder});
            QVERIFY(lease.renew());
        }
        RunLease next(folder);
        QVERIFY(next.renew());
    }

    void onlyTheNewestStays()
    {
        const Scratch scratch;
        for (int i = 0; i < 3; ++i)
            RunLease{RunFolder{scratch.path()}};
        QCOMPARE(contentOf(scratch / "lease"), (std::set<std::string>{"3.released"}));
    }

    void theFirstOfManyThreadsHasIt()
    {
        const Scratch scratch;
        const RunFolder folder{scratch.path()};
        std::atomic<int> holders = 0, refused = 0;
        std::atomic<bool> goes = false;
        {
            std::vector<std::unique_ptr<RunLease>> leases(8);
            std::vector<std::jthread> threads;
            for (auto& lease : leases)
                threads.emplace_back([&] {
                    goes.wait(false);
                    try {
                        lease = std::make_unique<RunLease>(folder);
                        ++holders;
                    } catch (const RunTaken&) {
                        ++refused;
                    }
                });
            goes = true;
            goes.notify_all();
            threads.clear();
        }
        QCOMPARE(holders.load(), 1);
        QCOMPARE(refused.load(), 7);
    }

    void aDeadHolderOfThisComputerIsGoneAtOnce()
    {
        const Scratch scratch;
        fs::create_directories(scratch / "lease");
        const nlohmann::json holder{{"pid", deadProcess()},
                                    {"host", currentHost()},
                                    {"boot_id", currentBootId()},
                                    {"since", epochSeconds()}};
        writeFileAtomic(scratch / "lease/4.json", holder.dump());
        RunLease lease(RunFolder{scratch.path()});
        QCOMPARE(contentOf(scratch / "lease"), (std::set<std::string>{"5.json"}));
    }

    void aHolderElsewhereHasItUntilItIsSilent_data()
    {
        QTest::addColumn<double>("skew");
        QTest::newRow("same clock") << 0.0;
        QTest::newRow("its clock is an hour late") << -3600.0;
        QTest::newRow("its clock is an hour early") << 3600.0;
    }

    void aHolderElsewhereHasItUntilItIsSilent()
    {
        QFETCH(double, skew);
        const ForeignRun run;
        run.hold(7, epochSeconds() + skew);
        VERGENCE_THROWS(RunTaken, "process 1 of elsewhere, slurm 12_3", RunLease{run.folder()});
        age(run.lease(7), kSilence + 1);
        RunLease lease(run.folder());
        QVERIFY(lease.renew());
        QVERIFY(!fs::exists(run.lease(7)));
    }

    /// A computer that slept, for instance.
    void whoWasTakenForDeadSeesItAndTouchesNothing()
    {
        const ForeignRun run;
        {
            RunLease lease(run.folder());
            run.hold(2);
            fs::remove(run.lease(1));
            QVERIFY(!lease.renew());
            QVERIFY(!lease.renew());
        }
        QCOMPARE(contentOf(run.folder().root / "lease"), (std::set<std::string>{"2.json"}));
    }

    void whoIsOvertakenBeforeItsFileGoesSeesItToo()
    {
        const ForeignRun run;
        RunLease lease(run.folder());
        run.hold(2);
        QVERIFY(!lease.renew());
    }

    void aLeaseThatIsBeingWrittenCounts()
    {
        const ForeignRun run;
        fs::create_directories(run.folder().root / "lease");
        writeFileAtomic(run.lease(3), std::string_view());
        VERGENCE_THROWS(RunTaken, "Another process works on", RunLease{run.folder()});
        age(run.lease(3), kSilence + 1);
        RunLease lease(run.folder());
        QVERIFY(lease.renew());
    }

    void otherFilesAreNoLeases()
    {
        const ForeignRun run;
        fs::create_directories(run.folder().root / "lease");
        for (const char* name : {"x.json", "9.txt", "12a.json", ".nfs0001"})
            writeFileAtomic(run.folder().root / "lease" / name, std::string_view("{}"));
        RunLease lease(run.folder());
        QVERIFY(fs::exists(run.lease(1)));
    }

    void aDeletedFolderIsNobodyElses()
    {
        const ForeignRun run;
        RunLease lease(run.folder());
        fs::remove_all(run.folder().root);
        QVERIFY(lease.renew());
    }

    void aFolderThatCannotBeWrittenSaysSo()
    {
        VERGENCE_THROWS(OutputError, "who works on the run", RunLease{RunFolder{"/proc/1"}});
    }
};

VERGENCE_TEST(TestRunLease)
#include "tst_run_lease.moc"
