#include "core/cluster/studio_there.h"

#include <tuple>

#include <QRegularExpression>

#include "core/artifact/manifest.h"
#include "core/base/error.h"
#include "tests/support/fake_programs.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;
namespace fs = std::filesystem;

/// The studio on another computer, with an ssh of the test that reaches this one.
class StudioThereTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup();

    void loginIsAskedWhereItAloneSees();
    void studioIsAskedInOneCall();
    void pathsBeginInTheHomeThere_data();
    void pathsBeginInTheHomeThere();
    void placesHaveDefaults();
    void greetingIsNoAnswer();
    void missingProgramHasNoVersion();
    void nameOfTheProgramIsNotExecuted();
    void loginThatDoesNotAnswerIsTold();
    void otherVersionIsRefused_data();
    void otherVersionIsRefused();
    void installFolderIsOfABuild();
    void programIsAskedInWords();
    void programThatDoesNotStartIsTold();
    void refusalIsTheLastSentence_data();
    void refusalIsTheLastSentence();

private:
    /// A program below the home there that answers `--version`.
    std::string program(const std::string& name, const std::string& body);

    std::unique_ptr<FakePrograms> m_programs;
    std::unique_ptr<Scratch> m_home;
    std::unique_ptr<ScopedVariable> m_variable;
    Target m_target;
};

void StudioThereTest::init()
{
    m_programs = std::make_unique<FakePrograms>();
    m_programs->addSsh();
    m_home = std::make_unique<Scratch>();
    m_variable = std::make_unique<ScopedVariable>("HOME", m_home->path().c_str());
    m_target = {};
    m_target.name = "far";
    m_target.login = "n1";
    m_target.disk = Disk::Own;
    m_target.scheduler = Scheduler::Lanes;
}

void StudioThereTest::cleanup()
{
    m_variable.reset();
    m_programs.reset();
}

std::string StudioThereTest::program(const std::string& name, const std::string& body)
{
    const fs::path file = *m_home / name;
    fs::create_directories(file.parent_path());
    writeFileAtomic(file, "#!/bin/sh\n" + body + "\n");
    fs::permissions(file, fs::perms::owner_all);
    return file.string();
}

void StudioThereTest::loginIsAskedWhereItAloneSees()
{
    for (const auto& [scheduler, disk, login, isAsked] :
         {std::tuple{Scheduler::Slurm, Disk::Shared, "n1", false},
          std::tuple{Scheduler::Slurm, Disk::Own, "n1", true},
          std::tuple{Scheduler::Lanes, Disk::Shared, "n1", true},
          std::tuple{Scheduler::Lanes, Disk::Own, "n1", true},
          std::tuple{Scheduler::Lanes, Disk::Shared, "", false},
          std::tuple{Scheduler::Slurm, Disk::Shared, "", false}}) {
        Target target;
        target.scheduler = scheduler;
        target.disk = disk;
        target.login = login;
        QCOMPARE(isAskedThere(target), isAsked);
    }
}

void StudioThereTest::studioIsAskedInOneCall()
{
    m_target.vergence = program("opt/my vergence", "echo vergence 1.2.3; echo more");
    m_target.folder = "/scratch/it's mine/runs";
    const StudioThere studio = studioThere(m_target, "/here/vergence", "/here/runs");
    QCOMPARE(studio.program, m_target.vergence);
    QCOMPARE(studio.runs.string(), m_target.folder);
    QCOMPARE(studio.version, std::string("vergence 1.2.3"));
    QCOMPARE(m_programs->text("hosts"), std::string("n1\n"));
}

void StudioThereTest::pathsBeginInTheHomeThere_data()
{
    QTest::addColumn<QByteArray>("path");
    QTest::newRow("relative") << QByteArray("bin/vergence");
    QTest::newRow("home") << QByteArray("~/bin/vergence");
}

void StudioThereTest::pathsBeginInTheHomeThere()
{
    QFETCH(QByteArray, path);
    const std::string whole = program("bin/vergence", "echo vergence 1.2.3");
    m_target.vergence = m_target.folder = path.toStdString();
    const StudioThere studio = studioThere(m_target, "/here/vergence", "/here/runs");
    QCOMPARE(studio.program, whole);
    QCOMPARE(studio.version, std::string("vergence 1.2.3"));
    QCOMPARE(studio.runs.string(), whole);
}

void StudioThereTest::placesHaveDefaults()
{
    const std::string here = program("here", "echo vergence 9");
    const StudioThere own = studioThere(m_target, here, "/here/runs");
    const fs::path folder = installFolder(buildInfo().value("version", ""), here);
    QCOMPARE(own.program, (m_home->path() / folder / "vergence").string());
    QCOMPARE(own.runs.string(), (*m_home / "vergence/runs").string());
    QCOMPARE(own.version, std::string());
    m_target.disk = Disk::Shared;
    const StudioThere shared = studioThere(m_target, here, "/here/runs");
    QCOMPARE(shared.program, here);
    QCOMPARE(shared.runs.string(), std::string("/here/runs"));
    QCOMPARE(shared.version, std::string("vergence 9"));
}

void StudioThereTest::greetingIsNoAnswer()
{
    m_target.vergence = program("v", "echo vergence 1.2.3");
    m_programs->add("ssh",
                    "shift $(($# - 1))\necho 'vergence 0.0.1 welcomes you'\n"
                    "echo 'home=/elsewhere' >&2\nprintf 'no end of line'\nexec sh -c \"$1\"");
    const StudioThere studio = studioThere(m_target, "/here/vergence", "/here/runs");
    QCOMPARE(studio.version, std::string("vergence 1.2.3"));
    QCOMPARE(studio.runs.string(), (*m_home / "vergence/runs").string());
}

void StudioThereTest::missingProgramHasNoVersion()
{
    m_target.vergence = (*m_home / "nothing").string();
    QCOMPARE(studioThere(m_target, "/v", "/r").version, std::string());
    m_target.vergence = program("broken", "echo 'error: libQt6Core.so.6: not found' >&2; exit 127");
    QCOMPARE(studioThere(m_target, "/v", "/r").version, std::string());
    m_target.vergence = program("other", "echo convergence 1.2.3");
    QCOMPARE(studioThere(m_target, "/v", "/r").version, std::string());
}

void StudioThereTest::nameOfTheProgramIsNotExecuted()
{
    const fs::path trace = *m_home / "trace";
    for (const std::string& part :
         {"$(touch '" + trace.string() + "')", "`touch " + trace.string() + "`",
          "'; touch " + trace.string() + "; '"}) {
        m_target.vergence = "/" + part;
        QCOMPARE(studioThere(m_target, "/v", "/r").version, std::string());
        QVERIFY2(!fs::exists(trace), part.c_str());
    }
}

void StudioThereTest::loginThatDoesNotAnswerIsTold()
{
    m_programs->add("ssh",
                    "echo 'ssh: connect to host n1 port 22: No route to host' >&2; exit 255");
    VERGENCE_THROWS(InputError, "n1 cannot be reached from this network.",
                    studioThere(m_target, "/bin/sh", "/r"));
    VERGENCE_THROWS(InputError, "n1 cannot be reached from this network.",
                    askVergence("n1", "/v", {"runs"}));
    m_programs->add("ssh", "echo 'This account is not available.'; exit 1");
    VERGENCE_THROWS(InputError, "n1 runs no commands by ssh",
                    studioThere(m_target, "/bin/sh", "/r"));
}

void StudioThereTest::otherVersionIsRefused_data()
{
    QTest::addColumn<bool>("isOwn");
    QTest::addColumn<QByteArray>("program");
    QTest::addColumn<QByteArray>("version");
    QTest::addColumn<QString>("sentence");
    QTest::newRow("own, none") << true << QByteArray() << QByteArray()
                               << "There is no /p/vergence on n1, or it does not start there. "
                                  "`vergence targets install far` puts this one there.";
    QTest::newRow("own, other")
        << true << QByteArray() << QByteArray("vergence 2")
        << "n1 has vergence 2 (/p/vergence), and this computer vergence 1; a run needs the same on "
           "both. `vergence targets install far` puts this one there.";
    QTest::newRow("own, named") << true << QByteArray("/p/vergence") << QByteArray("vergence 2")
                                << "Set `program` of the target `far` to the one that this "
                                   "computer has, or leave it empty and call `vergence targets "
                                   "install`.";
    QTest::newRow("shared") << false << QByteArray() << QByteArray("vergence 2")
                            << "Set `program` of the target `far` to the one that this computer "
                               "has.";
}

void StudioThereTest::otherVersionIsRefused()
{
    QFETCH(bool, isOwn);
    QFETCH(QByteArray, program);
    QFETCH(QByteArray, version);
    QFETCH(QString, sentence);
    m_target.disk = isOwn ? Disk::Own : Disk::Shared;
    m_target.vergence = program.toStdString();
    const StudioThere studio{"/p/vergence", "/r", version.toStdString()};
    try {
        requireSameVersion(m_target, studio, "vergence 1");
        QFAIL("another version was taken");
    } catch (const Error& error) {
        QVERIFY2(QString(error.what()).contains(sentence), error.what());
        QVERIFY(error.exitCode() == ExitCode::ConfigInvalid);
    }
    requireSameVersion(m_target, {"/p/vergence", "/r", "vergence 1"}, "vergence 1");
}

void StudioThereTest::installFolderIsOfABuild()
{
    const std::string one = program("one", "a"), same = program("same", "a"),
                      other = program("other", "b");
    const fs::path folder = installFolder("vergence 1.2.3", one);
    QVERIFY(folder.parent_path() == ".local/share/vergence-studio");
    QVERIFY(QRegularExpression("^1\\.2\\.3-[0-9a-f]{12}$")
                .match(QString::fromStdString(folder.filename().string()))
                .hasMatch());
    QVERIFY(folder == installFolder("1.2.3", same));
    QVERIFY(folder != installFolder("1.2.3", other));
    QVERIFY(folder != installFolder("1.2.4", one));
    QVERIFY(installFolder("1/../..", one).parent_path() == folder.parent_path());
    VERGENCE_THROWS(InputError, "Cannot read", installFolder("1", (*m_home / "none").string()));
}

void StudioThereTest::programIsAskedInWords()
{
    const std::string asked =
        program("v", "printf '%s|' \"$@\"; cat; echo 'vergence: No.' >&2; exit 4");
    const CommandResult result =
        askVergence("n1", asked, {"submit", "a b", "$(touch x)", "--", ""}, "input\n");
    QCOMPARE(result.output, std::string("submit|a b|$(touch x)|--||input\n"));
    QCOMPARE(result.exitCode, 4);
    QCOMPARE(refusalOf(result), std::string("No."));
    QCOMPARE(askVergence("", asked, {"runs"}).output, std::string("runs|")); // this computer
    // The program may end as ssh does.
    const std::string as255 = program("w", "echo 'vergence: Failed.' >&2; exit 255");
    QCOMPARE(refusalOf(askVergence("n1", as255, {"runs"})), std::string("Failed."));
}

void StudioThereTest::programThatDoesNotStartIsTold()
{
    VERGENCE_THROWS(InputError, "/no/vergence cannot be started on n1 (",
                    askVergence("n1", "/no/vergence", {"runs"}));
    const fs::path plain = *m_home / "plain";
    writeFileAtomic(plain, "no program");
    VERGENCE_THROWS(InputError, "plain cannot be started on n1 (",
                    askVergence("n1", plain.string(), {"runs"}));
}

void StudioThereTest::refusalIsTheLastSentence_data()
{
    QTest::addColumn<QByteArray>("errors");
    QTest::addColumn<QByteArray>("sentence");
    QTest::newRow("one") << QByteArray("vergence: The run is completed.\n")
                         << QByteArray("The run is completed.");
    QTest::newRow("more") << QByteArray("a.toml line 1: x\nvergence: It has errors.\n\n")
                          << QByteArray("It has errors.");
    QTest::newRow("another program") << QByteArray("sh: killed\n") << QByteArray("sh: killed");
    QTest::newRow("nothing") << QByteArray("\n")
                             << QByteArray("It ended with exit code 3 and said nothing.");
}

void StudioThereTest::refusalIsTheLastSentence()
{
    QFETCH(QByteArray, errors);
    QFETCH(QByteArray, sentence);
    CommandResult result;
    result.exitCode = 3;
    result.errors = errors.toStdString();
    QCOMPARE(refusalOf(result), sentence.toStdString());
}

VERGENCE_TEST(StudioThereTest)
#include "tst_studio_there.moc"
