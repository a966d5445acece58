#include "core/cluster/copy_runs.h"

#include <unistd.h>

#include "core/base/file.h"
#include "core/run/request_box.h"
#include "tests/support/fake_programs.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;
namespace fs = std::filesystem;

namespace {

/// Each could be taken for something else than a name.
const std::vector<std::string> kOddNames{
    "plain",       "two words", "it's \"quoted\"", "-rf",  "#comment",       ";comment",
    "new\nline",   "*",         "[a]?\\",          ".dot", "$(touch trace)", "`touch trace`",
    "back\\slash", "exec:host", "a;b&c|d>e<f",     "é ☃",  "\\#012",         "~"};

const std::set<std::string> kCourse{"status.json", "config.toml", "metrics.csv", "checkpoint.txt",
                                    "requests"};

void makeFile(const fs::path& file, const std::string& text = "x")
{
    fs::create_directories(file.parent_path());
    writeFileAtomic(file, text);
}

} // namespace

class CopyRunsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup();

    void namesStayNames();
    void scopeSaysWhatComes_data();
    void scopeSaysWhatComes();
    void scopesOfSeveralRunsStandSideBySide();
    void oneCallForAllRunsOfAFolder();
    void whatThisComputerHasStays();
    void whatIsGoneThereGoesHere();
    void resultsStayWhereTheDiskThereIsCleared();
    void changeOfTheSameSizeComes();
    void linkedRunComesAsAFolder();
    void missingRunIsNamedAndOthersCome();
    void nameOfACopyIsThatOfItsRun();
    void requestsMoveAndAnswersComeOnce();
    void requestsForNobodyGo();
    void sentRunsAreWhole();
    void removedRunsAreGone();
    void refusalIsASentence_data();
    void refusalIsASentence();
    void missingProgramIsTold();
    void unwritableFolderIsOfThisComputer();
    void unreadableFolderIsOfTheOther();

private:
    /// A run there with a file of each kind, and its copy here, which has remote.json alone.
    RemoteCopy newRun(const std::string& id, CopyScope scope = CopyScope::Course);
    std::set<std::string> filesOf(const RemoteCopy& copy) const;

    std::unique_ptr<FakePrograms> m_programs;
    std::unique_ptr<Scratch> m_here, m_there;
};

void CopyRunsTest::init()
{
    m_programs = std::make_unique<FakePrograms>();
    m_programs->addSsh();
    m_here = std::make_unique<Scratch>();
    m_there = std::make_unique<Scratch>();
}

void CopyRunsTest::cleanup()
{
    m_there.reset();
    m_here.reset();
    m_programs.reset();
    QVERIFY(!fs::exists("trace"));
}

RemoteCopy CopyRunsTest::newRun(const std::string& id, CopyScope scope)
{
    const fs::path there = *m_there / id;
    for (const char* file :
         {"status.json", "config.toml", "metrics.csv", "checkpoint.txt", "live/a.frame",
          "artifacts/plate/1.png", "previews/p.png", "checkpoints/step-1/state.json",
          "exports/e.zip", "lease/3.json", "requests/1.request", "explore.json", "labels.json",
          ".status.json.1-1.part", "artifacts/plate/.2.png.1-2.part"})
        makeFile(there / file, file);
    RemoteCopy copy{{*m_here / id}, {"uni", "n1", "/vergence", there}, scope};
    fs::create_directories(copy.here.root);
    writeRemoteRun(copy.here, copy.there);
    return copy;
}

/// Files, and folders that are empty, beside remote.json.
std::set<std::string> CopyRunsTest::filesOf(const RemoteCopy& copy) const
{
    std::set<std::string> files;
    for (const std::string& name : contentOf(copy.here.root)) {
        const fs::path path = copy.here.root / name;
        if (name != "remote.json" && (!fs::is_directory(path) || fs::is_empty(path)))
            files.insert(name);
    }
    return files;
}

void CopyRunsTest::namesStayNames()
{
    std::vector<RemoteCopy> runs;
    for (const std::string& id : kOddNames)
        runs.push_back(newRun(id, id == "plain" ? CopyScope::Course : CopyScope::View));
    bringRuns("n1", runs);
    for (const RemoteCopy& run : runs) {
        auto expected = kCourse;
        if (run.here.id() != "plain")
            expected.insert("live/a.frame");
        QVERIFY2(filesOf(run) == expected, run.here.id().c_str());
    }
    for (const RemoteCopy& run : runs) {
        makeFile(run.here.root / "sent.txt");
        fs::remove_all(run.there.folder);
    }
    sendRuns("n1", runs);
    for (const RemoteCopy& run : runs)
        QVERIFY2(fs::exists(run.there.folder / "sent.txt"), run.here.id().c_str());
    removeThere("n1", runs);
    QVERIFY(contentOf(m_there->path()).empty());
}

void CopyRunsTest::scopeSaysWhatComes_data()
{
    QTest::addColumn<int>("scope");
    QTest::addColumn<QStringList>("more");
    const QStringList view{"live/a.frame"};
    const QStringList results = view + QStringList{"artifacts/plate/1.png", "previews/p.png"};
    QTest::newRow("course") << int(CopyScope::Course) << QStringList{};
    QTest::newRow("view") << int(CopyScope::View) << view;
    QTest::newRow("results") << int(CopyScope::Results) << results;
    QTest::newRow("whole") << int(CopyScope::Whole)
                           << results + QStringList{"checkpoints/step-1/state.json"};
}

void CopyRunsTest::scopeSaysWhatComes()
{
    QFETCH(int, scope);
    QFETCH(QStringList, more);
    const RemoteCopy run = newRun("a", CopyScope(scope));
    bringRuns("n1", {run});
    auto expected = kCourse;
    for (const QString& name : more)
        expected.insert(name.toStdString());
    QVERIFY(filesOf(run) == expected);
    QCOMPARE(readFile(run.here.metrics()), std::string("metrics.csv"));
    QVERIFY(fs::last_write_time(run.here.metrics()) ==
            fs::last_write_time(run.there.folder / "metrics.csv"));
}

void CopyRunsTest::scopesOfSeveralRunsStandSideBySide()
{
    const RemoteCopy course = newRun("a"), view = newRun("b", CopyScope::View),
                     whole = newRun("c", CopyScope::Whole), like = newRun("bb");
    bringRuns("n1", {course, view, whole, like});
    QVERIFY(filesOf(course) == kCourse);
    QVERIFY(filesOf(like) == kCourse);
    QVERIFY(filesOf(view).contains("live/a.frame"));
    QVERIFY(!filesOf(view).contains("previews/p.png"));
    QVERIFY(filesOf(whole).contains("checkpoints/step-1/state.json"));
}

void CopyRunsTest::oneCallForAllRunsOfAFolder()
{
    bringRuns("n1", {newRun("a"), newRun("b"), newRun("c", CopyScope::Whole)});
    QCOMPARE(m_programs->text("hosts"), std::string("n1\n"));
}

void CopyRunsTest::whatThisComputerHasStays()
{
    const RemoteCopy run = newRun("a", CopyScope::Whole);
    const std::vector<std::string> own{"labels.json",       "explore.json",
                                       "exports/mine.png",  "requests/2.request",
                                       "requests/2.answer", ".labels.json.part"};
    for (const std::string& file : own)
        makeFile(run.here.root / file, "mine");
    fs::remove_all(run.there.folder / "requests");
    bringRuns("n1", {run});
    for (const std::string& file : own)
        QVERIFY2(readFile(run.here.root / file) == "mine", file.c_str());
    QVERIFY(readRemoteRun(run.here) == run.there);
    QVERIFY(!fs::exists(run.here.root / "lease"));
}

void CopyRunsTest::whatIsGoneThereGoesHere()
{
    const RemoteCopy run = newRun("a", CopyScope::View);
    bringRuns("n1", {run});
    fs::remove_all(run.there.folder / "live");
    fs::remove(run.there.folder / "checkpoint.txt");
    bringRuns("n1", {run});
    auto expected = kCourse;
    expected.erase("checkpoint.txt");
    QVERIFY(filesOf(run) == expected);
}

void CopyRunsTest::resultsStayWhereTheDiskThereIsCleared()
{
    const RemoteCopy run = newRun("a", CopyScope::Results);
    bringRuns("n1", {run});
    const auto before = filesOf(run);
    fs::remove_all(run.there.folder / "artifacts");
    fs::create_directory(run.there.folder / "artifacts");
    fs::remove_all(run.there.folder / "previews");
    bringRuns("n1", {run});
    QVERIFY(filesOf(run) == before);
}

void CopyRunsTest::changeOfTheSameSizeComes()
{
    const RemoteCopy run = newRun("a");
    const fs::path status = run.there.folder / "status.json";
    const auto second = fs::file_time_type::clock::from_sys(
        std::chrono::sys_seconds(std::chrono::seconds(1'700'000'000)));
    writeFileAtomic(status, "one");
    fs::last_write_time(status, second + std::chrono::milliseconds(100));
    bringRuns("n1", {run});
    writeFileAtomic(status, "two"); // within the same second
    fs::last_write_time(status, second + std::chrono::milliseconds(200));
    bringRuns("n1", {run});
    QCOMPARE(readFile(run.here.status()), std::string("two"));
}

void CopyRunsTest::linkedRunComesAsAFolder()
{
    const RemoteCopy run = newRun("a");
    fs::rename(run.there.folder, *m_there / "elsewhere");
    fs::create_directory_symlink(*m_there / "elsewhere", run.there.folder);
    bringRuns("n1", {run});
    QVERIFY(filesOf(run) == kCourse);
}

void CopyRunsTest::missingRunIsNamedAndOthersCome()
{
    const RemoteCopy here = newRun("a"), gone = newRun("new\nline"), other = newRun("c");
    bringRuns("n1", {here, gone, other});
    fs::remove_all(gone.there.folder);
    fs::remove(other.there.folder / "checkpoint.txt");
    writeFileAtomic(here.there.folder / "metrics.csv", "more numbers");
    try {
        bringRuns("n1", {here, gone, other});
        QFAIL("nothing was thrown");
    } catch (const RunsMissing& error) {
        QCOMPARE(error.what(), "n1 has no run " + gone.there.folder.string() + " any more.");
        QVERIFY(error.runs() == std::vector{gone.there.folder});
    }
    QCOMPARE(readFile(here.here.metrics()), std::string("more numbers"));
    QVERIFY(!fs::exists(other.here.root / "checkpoint.txt"));
    QVERIFY(filesOf(gone) == kCourse); // what came before is kept

    fs::remove_all(m_there->path());
    VERGENCE_THROWS(RunsMissing, "n1 has no run ", bringRuns("n1", {here}));
}

void CopyRunsTest::nameOfACopyIsThatOfItsRun()
{
    RemoteCopy run = newRun("a");
    run.here.root = *m_here / "b";
    VERGENCE_THROWS(InputError, "is a copy of a run that n1 calls a", bringRuns("n1", {run}));
    run.there.folder = *m_there / "..";
    run.here.root = *m_here / "..";
    VERGENCE_THROWS(InputError, "is no folder of a run", bringRuns("n1", {run}));
    removeThere("n1", {run});
    QVERIFY(fs::exists(m_there->path()));
    QCOMPARE(m_programs->text("hosts"), std::string());
}

void CopyRunsTest::requestsMoveAndAnswersComeOnce()
{
    const RemoteCopy run = newRun("it's [a] new\nline"), silent = newRun("b");
    QVERIFY(!sendRequests("n1", {run, silent}));
    QCOMPARE(m_programs->text("hosts"), std::string()); // nothing to say, no call
    RequestBox box({run.there.folder});
    postRequest(run.here, "window", {{"type", "pause"}, {"id", 7}});
    QVERIFY(sendRequests("n1", {silent, run}));
    const auto requests = box.take();
    QCOMPARE(requests.size(), 1u);
    QCOMPARE(requests[0].message.at("id").get<int>(), 7);
    QVERIFY(!sendRequests("n1", {run}));

    box.answer(requests[0], {{"accepted", true}});
    bringRuns("n1", {run, silent});
    bringRuns("n1", {run, silent}); // until somebody here takes it
    const auto answers = takeAnswers(run.here, "window");
    QCOMPARE(answers.size(), 1u);
    QVERIFY(answers[0].at("accepted").get<bool>());
    QVERIFY(contentOf(run.there.folder / "requests").empty());
    bringRuns("n1", {run, silent});
    QVERIFY(takeAnswers(run.here, "window").empty());
}

void CopyRunsTest::requestsForNobodyGo()
{
    const RemoteCopy run = newRun("a");
    fs::remove_all(run.there.folder);
    postRequest(run.here, "window", {{"type", "pause"}, {"id", 7}});
    QVERIFY(!sendRequests("n1", {run}));
    QVERIFY(!fs::exists(run.there.folder));
    QVERIFY(contentOf(run.here.root / "requests").empty());
}

void CopyRunsTest::sentRunsAreWhole()
{
    RemoteCopy run = newRun("a");
    fs::rename(run.there.folder, *m_here / "whole");
    fs::remove_all(run.here.root);
    fs::rename(*m_here / "whole", run.here.root);
    writeRemoteRun(run.here, run.there);
    run.there.folder = *m_there / "new/folder of runs/a";
    sendRuns("n1", {run});
    std::set<std::string> sent;
    for (const std::string& name : contentOf(run.there.folder))
        if (!fs::is_directory(run.there.folder / name))
            sent.insert(name);
    QVERIFY((sent == std::set<std::string>{"status.json", "config.toml", "metrics.csv",
                                           "checkpoint.txt", "labels.json", "artifacts/plate/1.png",
                                           "previews/p.png", "checkpoints/step-1/state.json"}));
}

void CopyRunsTest::removedRunsAreGone()
{
    const RemoteCopy run = newRun("a"), other = newRun("b");
    removeThere("n1", {run});
    QVERIFY(!fs::exists(run.there.folder) && fs::exists(other.there.folder));
    removeThere("n1", {});
    m_programs->add("ssh", "exit 255");
    removeThere("n1", {other}); // says it in the log
    QVERIFY(fs::exists(other.there.folder));
}

void CopyRunsTest::refusalIsASentence_data()
{
    QTest::addColumn<QByteArray>("ssh");
    QTest::addColumn<QByteArray>("sentence");
    QTest::newRow("no key")
        << QByteArray("echo 'n1: Permission denied (publickey).' >&2; exit 255")
        << QByteArray("n1 lets nobody in without a password. Load your key with `ssh-add`, or send "
                      "it there with `ssh-copy-id n1`.");
    QTest::newRow("silence")
        << QByteArray("echo 'ssh: connect to host n1 port 22: Connection timed out' >&2; exit 255")
        << QByteArray("n1 does not answer. Look whether it runs and the network reaches it.");
    QTest::newRow("other") << QByteArray("echo 'ssh: something new' >&2; exit 255")
                           << QByteArray("n1 cannot be reached by ssh: ssh: something new.");
    QTest::newRow("nothing") << QByteArray("exit 255")
                             << QByteArray("The connection to n1 broke off.");
    QTest::newRow("no rsync") << QByteArray("PATH=/nowhere; exec rsync --server")
                              << QByteArray("rsync is not on n1. Install it there: it copies "
                                            "runs.");
    QTest::newRow("C shell") << QByteArray("echo 'rsync: Command not found.' >&2; exit 1")
                             << QByteArray("rsync is not on n1. Install it there: it copies runs.");
    QTest::newRow("cut by a shell") // rsync sees the end of the connection before its code
        << QByteArray("echo 'sh: 1: exec: rsync: not found' >&2; exit 1")
        << QByteArray("rsync is not on n1. Install it there: it copies runs.");
    QTest::newRow("greeting")
        << QByteArray("echo Welcome to n1; while [ \"$1\" != n1 ]; do shift; done; shift; "
                      "exec sh -c \"$*\"")
        << QByteArray("n1 prints text in front of what programs answer. Remove that from ~/.bashrc "
                      "there, or keep it for shells that somebody types into.");
    QTest::newRow("cut") << QByteArray("exit 0") << QByteArray("The connection to n1 broke off.");
}

void CopyRunsTest::refusalIsASentence()
{
    QFETCH(QByteArray, ssh);
    QFETCH(QByteArray, sentence);
    const RemoteCopy run = newRun("a");
    m_programs->add("ssh", ssh.toStdString());
    QCOMPARE(thrown<InputError>([&] { bringRuns("n1", {run}); }), QString::fromUtf8(sentence));
    makeFile(run.here.root / "requests/1.request");
    QCOMPARE(thrown<InputError>([&] { sendRequests("n1", {run}); }), QString::fromUtf8(sentence));
    QVERIFY(fs::exists(run.here.root / "requests/1.request")); // for when it answers again
}

void CopyRunsTest::missingProgramIsTold()
{
    const RemoteCopy run = newRun("a");
    m_programs->hideOthers({"rsync", "sh"});
    fs::remove(m_programs->folder() / "ssh");
    VERGENCE_THROWS(InputError, "n1 cannot be reached: OpenSSH's `ssh` is not on this computer.",
                    bringRuns("n1", {run}));
    fs::remove(m_programs->folder() / "rsync");
    VERGENCE_THROWS(InputError, "rsync is not on this computer. Install it",
                    bringRuns("n1", {run}));
}

void CopyRunsTest::unwritableFolderIsOfThisComputer()
{
    // A rsync that says what the real one does where the disk is full.
    const RemoteCopy run = newRun("a");
    m_programs->add("rsync", "echo \"rsync: [receiver] write failed on \\\"$FAKES/a\\\": No space "
                             "left on device (28)\" >&2\n"
                             "echo 'rsync error: error in file IO (code 11)' >&2; exit 11");
    try {
        bringRuns("n1", {run});
        QFAIL("nothing was thrown");
    } catch (const OutputError& error) {
        QVERIFY(error.diskIsFull());
        QCOMPARE(error.what(), "What is on n1 cannot be copied to " + m_here->path().string() +
                                   ": the disk is full. Make room there.");
    }
    VERGENCE_THROWS(InputError,
                    "n1 takes nothing in " + m_there->path().string() +
                        ": the disk is full. Make room there.",
                    sendRuns("n1", {run}));
    m_programs->add("rsync", "echo 'rsync: mkstemp \"/x\" failed: Disk quota exceeded (122)' >&2\n"
                             "echo 'rsync: [sender] write error: Broken pipe (32)' >&2; exit 23");
    VERGENCE_THROWS(OutputError, "the quota is used up", bringRuns("n1", {run}));

    m_programs->add("rsync", "echo 'rsync error: timeout in data send/receive (code 30)' >&2; "
                             "exit 30");
    VERGENCE_THROWS(InputError, "n1 answers no more", bringRuns("n1", {run}));
    m_programs->add("rsync", "echo 'file has vanished: \"/x\"' >&2; exit 24");
    bringRuns("n1", {run});
}

void CopyRunsTest::unreadableFolderIsOfTheOther()
{
    const RemoteCopy run = newRun("a");
    m_programs->add("rsync", "echo 'rsync: [sender] opendir \"/x\" failed: Permission denied (13)' "
                             ">&2; exit 23");
    VERGENCE_THROWS(InputError, "Runs on n1 cannot be read: permission is denied (opendir",
                    bringRuns("n1", {run}));
}

VERGENCE_TEST(CopyRunsTest)
#include "tst_copy_runs.moc"
