#include <csignal>
#include <regex>

#include <sys/wait.h>
#include <unistd.h>

#include <QtTest>

#include <fmt/format.h>

#include "core/artifact/run_folder.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/support/environment.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using vergence::test::ScopedVariable;
using vergence::test::Scratch;
namespace fs = std::filesystem;

namespace {

RunStatus liveStatus()
{
    RunStatus status;
    status.state = "Running";
    status.pid = ::getpid();
    status.bootId = currentBootId();
    status.heartbeat = epochSeconds();
    return status;
}

void addRun(const fs::path& parent, const std::string& name)
{
    fs::create_directories(parent / name);
    writeFileAtomic(parent / name / "status.json", "{}");
}

} // namespace

class TestRunFolder : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void newFoldersAreNamedByTimeAndDiffer()
    {
        const Scratch scratch;
        const std::regex pattern(R"(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ-light_field-[0-9a-f]{4})");
        std::set<std::string> ids;
        for (int i = 0; i < 20; ++i) {
            const RunFolder folder = RunFolder::create(scratch / "Übung é 空 (1)", "light_field");
            QVERIFY2(std::regex_match(folder.id(), pattern), folder.id().c_str());
            ids.insert(folder.id());
            for (const auto& path :
                 {folder.checkpoints(), folder.artifacts(), folder.previews(), folder.exports()})
                QVERIFY(fs::is_directory(path));
        }
        QCOMPARE(ids.size(), std::size_t{20});
    }

    void givenFolderMustBeFree()
    {
        const Scratch scratch;
        const RunFolder folder = RunFolder::createAt(scratch / "mine");
        QCOMPARE(folder.id(), std::string("mine"));
        VERGENCE_THROWS(OutputError, "not an empty folder", RunFolder::createAt(scratch / "mine"));
        writeFileAtomic(scratch / "file", "x");
        VERGENCE_THROWS(OutputError, "not an empty folder", RunFolder::createAt(scratch / "file"));
        VERGENCE_THROWS(OutputError, "Cannot make the run folder",
                        RunFolder::create(scratch / "file", "x"));
        fs::create_directory(scratch / "empty");
        RunFolder::createAt(scratch / "empty");
    }

    void openingNamesWhatIsMissing()
    {
        const Scratch scratch;
        const RunFolder folder = RunFolder::createAt(scratch / "run");
        VERGENCE_THROWS(InputError, "status.json is missing", RunFolder::open(folder.root));
        writeStatus(folder, liveStatus());
        VERGENCE_THROWS(InputError, "config.toml is missing", RunFolder::open(folder.root));
        writeFileAtomic(folder.config(), "");
        QCOMPARE(RunFolder::open(folder.root.string() + "/").id(), std::string("run"));
    }

    void statusComesBackWhole()
    {
        const Scratch scratch;
        const RunFolder folder{scratch.path()};
        RunStatus status = liveStatus();
        status.plugin = "sugar";
        status.preset = "demo";
        status.device = "cuda:1";
        status.step = std::int64_t{1} << 40;
        status.total = 7;
        status.exitCode = 137;
        status.phase = "loading data é";
        status.problem = "Out of memory.";
        status.problemId = "E-OOM";
        status.socket = "vergence-1";
        status.rings = {"/a", "/b"};
        writeStatus(folder, status);
        const RunStatus read = readStatus(folder);
        QVERIFY(read.toJson() == status.toJson());
        QCOMPARE(read.exitCode.value(), 137);
        QCOMPARE(read.heartbeat, status.heartbeat);
        QVERIFY(!RunStatus::fromJson(liveStatus().toJson()).exitCode);
    }

    void damagedStatusNamesTheField_data()
    {
        QTest::addColumn<QString>("json");
        QTest::addColumn<QString>("part");
        QTest::newRow("torn") << "{\"state\": \"Run"
                              << "not valid JSON";
        QTest::newRow("range") << "{\"step\": 1e999}"
                               << "out of range";
        QTest::newRow("array") << "[]"
                               << "not a JSON object";
        QTest::newRow("no state") << "{}"
                                  << "`state` is missing";
        QTest::newRow("state") << R"({"state": 3})"
                               << "`state` must be a text";
        QTest::newRow("step") << R"({"state": "Running", "step": "x"})"
                              << "`step` must be a whole number";
        QTest::newRow("fraction") << R"({"state": "Running", "pid": 1.5})"
                                  << "`pid` must be a whole number";
        QTest::newRow("exit") << R"({"state": "Running", "exit_code": "x"})"
                              << "`exit_code` must be a whole number";
        QTest::newRow("rings") << R"({"state": "Running", "rings": [1]})"
                               << "`rings` must be an array of texts";
    }
    void damagedStatusNamesTheField()
    {
        QFETCH(QString, json);
        QFETCH(QString, part);
        const Scratch scratch;
        writeFileAtomic(scratch / "status.json", json.toStdString());
        VERGENCE_THROWS(InputError, part.toUtf8().constData(),
                        readStatus(RunFolder{scratch.path()}));
    }

    void workerIsAliveOnlyIfItIsTheSameProcess()
    {
        RunStatus status = liveStatus();
        QVERIFY(isWorkerAlive(status));
        status.bootId = "another boot";
        QVERIFY(!isWorkerAlive(status));
        status = liveStatus();
        status.host = "elsewhere"; // a container may have the boot id of its host
        QVERIFY(!isWorkerAlive(status));
        status.host = currentHost();
        QVERIFY(isWorkerAlive(status));
        status.heartbeat -=
            3600.0 * 24 * 365; // this process did not exist then: the number was given anew
        QVERIFY(!isWorkerAlive(status));
        status = liveStatus();
        status.pid = 0;
        QVERIFY(!isWorkerAlive(status));
    }

    void deadAndUnreapedWorkersAreDead()
    {
        RunStatus status = liveStatus();
        int ready[2];
        QCOMPARE(::pipe(ready), 0);
        const pid_t child = ::fork();
        QVERIFY(child >= 0);
        if (child == 0) {
            char byte;
            ::close(ready[1]);
            ::_exit(static_cast<int>(::read(ready[0], &byte, 1)));
        }
        status.pid = child;
        status.heartbeat = epochSeconds();
        QVERIFY(isWorkerAlive(status));
        ::close(ready[0]);
        ::close(ready[1]);
        siginfo_t info{};
        QCOMPARE(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
        QVERIFY(!isWorkerAlive(status)); // a zombie
        QCOMPARE(::waitpid(child, nullptr, 0), child);
        QVERIFY(!isWorkerAlive(status));
    }

    void listIsNewestFirstAndSkipsOthers()
    {
        const Scratch scratch;
        addRun(scratch.path(), "2026-03-02T10-15-07Z-sugar-0001");
        addRun(scratch.path(), "2026-03-02T10-15-08Z-light_field-0000");
        addRun(scratch.path(), "named by hand"); // its status is of now
        addRun(scratch.path(), "2099-01-01T00-00-00Z-sugar-0002");
        addRun(scratch.path(), ".hidden");
        fs::create_directory(scratch / "2026-03-02T10-15-09Z-no-status");
        writeFileAtomic(scratch / "file", "");
        std::vector<std::string> ids;
        for (const RunFolder& folder : listRuns(scratch.path()))
            ids.push_back(folder.id());
        const std::vector<std::string> wanted{"2099-01-01T00-00-00Z-sugar-0002", "named by hand",
                                              "2026-03-02T10-15-08Z-light_field-0000",
                                              "2026-03-02T10-15-07Z-sugar-0001"};
        QVERIFY(ids == wanted);
        QVERIFY(listRuns(scratch / "nowhere").empty());
    }

    void tenThousandRunsAreListed()
    {
        const Scratch scratch(
            "/dev/shm"); // making the folders on a disk would take longer than all other tests
        constexpr int kRuns = 10'000;
        for (int i = 0; i < kRuns; ++i) {
            const fs::path folder = scratch / fmt::format("2026-03-02T{:02}-{:02}-00Z-sugar-{:04x}",
                                                          i / 600, i / 10 % 60, i);
            fs::create_directory(folder);
            std::fclose(std::fopen((folder / "status.json").c_str(), "w"));
        }
        QElapsedTimer timer;
        timer.start();
        const auto runs = listRuns(scratch.path());
        qInfo("listing %d runs took %lld ms", kRuns, static_cast<long long>(timer.elapsed()));
        QCOMPARE(runs.size(), std::size_t{kRuns});
        QVERIFY(runs.front().id() > runs.back().id());
    }

    void defaultFolderFollowsTheEnvironment()
    {
        {
            const ScopedVariable runs("VERGENCE_RUNS", "/somewhere/runs");
            QCOMPARE(defaultRunsFolder(), fs::path("/somewhere/runs"));
        }
        const ScopedVariable none("VERGENCE_RUNS", {});
        QCOMPARE(defaultRunsFolder(), fs::current_path() / "runs");
    }
};

VERGENCE_TEST(TestRunFolder)
#include "tst_run_folder.moc"
