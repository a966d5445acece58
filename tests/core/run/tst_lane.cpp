#include "core/run/lane.h"

#include <csignal>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/artifact/run_folder.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/support/environment.h"
#include "tests/support/patience.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;
namespace fs = std::filesystem;

namespace {

using Lane = std::optional<std::string>;

/// Another process that waits for a lane, tells its device, and keeps it until it is ended.
class OtherProcess {
public:
    enum class Then { Stays, Executes, ExecutesWithLane };

    OtherProcess(const fs::path& folder, const std::string& place,
                 const std::vector<std::string>& devices, Then then = Then::Stays)
    {
        int answers[2];
        if (::pipe(answers) != 0)
            qFatal("no pipe");
        m_process = ::fork();
        if (m_process == 0)
            live(folder, place, devices, then, answers[1]);
        ::close(answers[1]);
        m_answers = answers[0];
    }
    ~OtherProcess()
    {
        end();
        ::close(m_answers);
    }
    OtherProcess(const OtherProcess&) = delete;
    OtherProcess& operator=(const OtherProcess&) = delete;

    /// What it says next: "waits", then its device.
    std::string word()
    {
        std::string text;
        for (char byte = 0; hasAnswer(kGuardMilliseconds) && ::read(m_answers, &byte, 1) == 1;) {
            if (byte == '\n')
                return text;
            text += byte;
        }
        return text + " and ended";
    }
    std::string words()
    {
        const std::string first = word();
        return first + " " + word();
    }
    bool hasAnswer(int milliseconds = 0)
    {
        pollfd ready{m_answers, POLLIN, 0};
        return ::poll(&ready, 1, milliseconds) == 1;
    }
    void end()
    {
        if (m_process <= 0)
            return;
        ::kill(m_process, SIGKILL);
        ::waitpid(m_process, nullptr, 0);
        m_process = 0;
    }

private:
    [[noreturn]] static void live(const fs::path& folder, const std::string& place,
                                  const std::vector<std::string>& devices, Then then, int answers)
    {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        const auto say = [&](const std::string& word) {
            if (::write(answers, (word + "\n").data(), word.size() + 1) < 0)
                ::_exit(1);
        };
        LaneTicket ticket(folder, place, devices);
        say("waits");
        Lane device;
        while (!(device = ticket.enter()))
            ::usleep(2'000);
        if (then == Then::ExecutesWithLane)
            ticket.keepAcrossExec();
        if (then != Then::Stays) {
            ::dup2(answers, STDOUT_FILENO);
            ::execl("/bin/sh", "sh", "-c", "echo executed; exec sleep 1000", nullptr);
        }
        say(*device);
        for (;;)
            ::pause();
    }

    pid_t m_process = 0;
    int m_answers = -1;
};

} // namespace

class LaneTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void smallestPlaceGoesFirst();
    void deviceMayHaveSeveralLanes();
    void laneWithoutADeviceIsOneOfItsOwn();
    void whoWaitsForOtherLanesHoldsNobodyUp();
    void processesTakeTurns();
    void killedWaiterLosesItsPlace();
    void killedWorkerLosesItsLane();
    void executedProgramKeepsTheLane_data();
    void executedProgramKeepsTheLane();
    void ticketThatIsRemovedMeanwhileIsMadeAgain();
    void otherFilesAreNoTickets();
    void folderIsThatOfThisComputer();
    void wrongWordsAreRefused();
    void folderThatCannotBeMadeIsTold();
};

void LaneTest::smallestPlaceGoesFirst()
{
    const Scratch folder;
    LaneTicket second(folder.path(), "20", {"cpu"}), third(folder.path(), "30", {"cpu"});
    auto first = std::make_unique<LaneTicket>(folder.path(), "10", std::vector<std::string>{"cpu"});
    QCOMPARE(first->before(), 0);
    QCOMPARE(second.before(), 1);
    QCOMPARE(third.before(), 2);
    QVERIFY(second.enter() == Lane());
    QVERIFY(first->enter() == Lane("cpu"));
    QCOMPARE(first->before(), 0);
    QCOMPARE(third.before(), 1);
    QVERIFY(second.enter() == Lane());
    first.reset();
    QVERIFY(third.enter() == Lane());
    QVERIFY(second.enter() == Lane("cpu"));
    QVERIFY(third.enter() == Lane());
}

void LaneTest::deviceMayHaveSeveralLanes()
{
    const Scratch folder;
    const std::vector<std::string> lanes{"cpu", "cuda:0", "cpu"};
    LaneTicket a(folder.path(), "1", lanes), b(folder.path(), "2", lanes),
        c(folder.path(), "3", lanes), d(folder.path(), "4", lanes);
    QVERIFY(a.enter() == Lane("cpu"));
    QVERIFY(b.enter() == Lane("cuda:0"));
    QVERIFY(c.enter() == Lane("cpu"));
    QVERIFY(d.enter() == Lane());
    // Of another target: the same devices, one of them with fewer lanes.
    LaneTicket e(folder.path(), "5", {"cpu"}), f(folder.path(), "6", {"cuda:1"});
    QVERIFY(e.enter() == Lane());
    QVERIFY(f.enter() == Lane("cuda:1"));
}

void LaneTest::laneWithoutADeviceIsOneOfItsOwn()
{
    const Scratch folder;
    LaneTicket a(folder.path(), "1", {""}), b(folder.path(), "2", {""}),
        c(folder.path(), "3", {"cpu"});
    QVERIFY(a.enter() == Lane(""));
    QVERIFY(b.enter() == Lane());
    QVERIFY(c.enter() == Lane("cpu"));
}

void LaneTest::whoWaitsForOtherLanesHoldsNobodyUp()
{
    const Scratch folder;
    LaneTicket works(folder.path(), "1", {"cuda:0"});
    QVERIFY(works.enter());
    LaneTicket waits(folder.path(), "2", {"cuda:0", "cuda:1"});
    LaneTicket both(folder.path(), "3", {"cuda:0", "cuda:1", "cpu"}),
        other(folder.path(), "4", {"cpu"});
    QCOMPARE(both.before(), 1);
    QCOMPARE(other.before(), 1);
    QVERIFY(both.enter() == Lane("cpu")); // cuda:1 is free, and another's
    QVERIFY(other.enter() == Lane());
    QCOMPARE(other.before(), 0);
    QVERIFY(waits.enter() == Lane("cuda:1"));
}

void LaneTest::processesTakeTurns()
{
    const Scratch folder;
    OtherProcess first(folder.path(), "1", {"cpu", "cpu"});
    QCOMPARE(first.word(), std::string("waits"));
    QCOMPARE(first.word(), std::string("cpu"));
    OtherProcess second(folder.path(), "2", {"cpu", "cpu"});
    QCOMPARE(second.words(), std::string("waits cpu"));
    OtherProcess fourth(folder.path(), "4", {"cpu", "cpu"}),
        third(folder.path(), "3", {"cpu", "cpu"});
    QCOMPARE(third.word(), std::string("waits"));
    QCOMPARE(fourth.word(), std::string("waits"));
    second.end();
    QCOMPARE(third.word(), std::string("cpu"));
    LaneTicket last(folder.path(), "5", {"cpu", "cpu"});
    QVERIFY(last.enter() == Lane());
    QCOMPARE(last.before(), 1);
    QVERIFY(!fourth.hasAnswer());
    first.end();
    QCOMPARE(fourth.word(), std::string("cpu"));
    third.end();
    QVERIFY(last.enter() == Lane("cpu"));
}

void LaneTest::killedWaiterLosesItsPlace()
{
    const Scratch folder;
    OtherProcess works(folder.path(), "1", {"cpu"});
    QCOMPARE(works.words(), std::string("waits cpu"));
    OtherProcess waits(folder.path(), "2", {"cpu"});
    QCOMPARE(waits.word(), std::string("waits"));
    LaneTicket last(folder.path(), "3", {"cpu"});
    QCOMPARE(last.before(), 1);
    QCOMPARE(contentOf(folder / "line").size(), std::size_t{2});
    waits.end();
    QCOMPARE(last.before(), 0);
    QCOMPARE(contentOf(folder / "line").size(), std::size_t{1});
    works.end();
    QVERIFY(last.enter() == Lane("cpu"));
    QVERIFY(contentOf(folder / "line").empty());
}

void LaneTest::killedWorkerLosesItsLane()
{
    const Scratch folder;
    OtherProcess works(folder.path(), "1", {"cpu"});
    QCOMPARE(works.words(), std::string("waits cpu"));
    LaneTicket next(folder.path(), "2", {"cpu"});
    QVERIFY(next.enter() == Lane());
    works.end();
    QVERIFY(next.enter() == Lane("cpu"));
}

void LaneTest::executedProgramKeepsTheLane_data()
{
    QTest::addColumn<bool>("keeps");
    QTest::newRow("where it is told to") << true;
    QTest::newRow("nowhere else") << false;
}

void LaneTest::executedProgramKeepsTheLane()
{
    QFETCH(bool, keeps);
    const Scratch folder;
    using Then = OtherProcess::Then;
    OtherProcess works(folder.path(), "1", {"cpu"},
                       keeps ? Then::ExecutesWithLane : Then::Executes);
    QCOMPARE(works.words(), std::string("waits executed"));
    LaneTicket next(folder.path(), "2", {"cpu"});
    QVERIFY(next.enter() == (keeps ? Lane() : Lane("cpu")));
    if (keeps) {
        works.end();
        QVERIFY(next.enter() == Lane("cpu"));
    }
}

/// Another process has taken the file for one of a process that is gone.
void LaneTest::ticketThatIsRemovedMeanwhileIsMadeAgain()
{
    const Scratch folder;
    fs::create_directories(folder / "line");
    const fs::path file = folder / ("line/1-" + std::to_string(::getpid()));
    LockedFile other(::open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
    QCOMPARE(::flock(other.descriptor(), LOCK_EX), 0);
    const auto timesOpen = [&] {
        int times = 0;
        std::error_code code;
        for (const auto& link : fs::directory_iterator("/proc/self/fd"))
            times += fs::read_symlink(link, code) == file ? 1 : 0;
        return times;
    };
    std::unique_ptr<LaneTicket> ticket;
    std::jthread joins([&] {
        ticket = std::make_unique<LaneTicket>(folder.path(), "1", std::vector<std::string>{"cpu"});
    });
    QTRY_COMPARE(timesOpen(), 2);
    fs::remove(file);
    other.close();
    joins.join();
    QVERIFY(fs::exists(file));
    LaneTicket next(folder.path(), "2", {"cpu"});
    QCOMPARE(next.before(), 1);
    QVERIFY(next.enter() == Lane());
}

void LaneTest::otherFilesAreNoTickets()
{
    const Scratch folder;
    fs::create_directories(folder / "line");
    writeFileAtomic(folder / "line/.nfs0001", "cpu.0\n");
    writeFileAtomic(folder / "line/0-1", "cpu.0\n");
    LaneTicket ticket(folder.path(), "1", {"cpu"});
    QCOMPARE(ticket.before(), 0);
    QVERIFY(ticket.enter() == Lane("cpu"));
    QCOMPARE(contentOf(folder / "line"), (std::set<std::string>{".nfs0001"}));
}

void LaneTest::folderIsThatOfThisComputer()
{
    const Scratch home;
    const ScopedVariable state("XDG_STATE_HOME", home.path().c_str());
    QVERIFY(laneFolder() == home.path() / "vergence/lanes" / currentHost());
}

void LaneTest::wrongWordsAreRefused()
{
    const Scratch folder;
    for (const char* place : {"", "../1", ".1"})
        QVERIFY_EXCEPTION_THROWN(LaneTicket(folder.path(), place, {"cpu"}), ContractError);
    QVERIFY_EXCEPTION_THROWN(LaneTicket(folder.path(), "1", {"../cpu"}), ContractError);
    QVERIFY_EXCEPTION_THROWN(LaneTicket(folder.path(), "1", {}), ContractError);
    QVERIFY(contentOf(folder.path()).empty());
}

void LaneTest::folderThatCannotBeMadeIsTold()
{
    const Scratch folder;
    writeFileAtomic(folder / "file", "");
    VERGENCE_THROWS(OutputError, "Cannot wait for a lane of this computer in",
                    LaneTicket(folder / "file", "1", {"cpu"}));
}

VERGENCE_TEST(LaneTest)
#include "tst_lane.moc"
