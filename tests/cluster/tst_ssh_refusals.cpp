#include "tests/cluster/ssh_cluster_bench.h"

#include <algorithm>

#include <QDir>

#include "core/base/error.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;

/// What another computer refuses, in sentences that say what to do; nothing is left behind, here or
/// there.
class SshRefusalsTest : public SshClusterBench {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { VERGENCE_NEEDS_SSHD(); }
    void init() { QVERIFY(begin()); }
    void cleanup() { end(); }

    void changedHostKey();
    void keyThatIsNotGood();
    void loginThatIsNotThere_data();
    void loginThatIsNotThere();
    void silentComputer();
    void otherVersion();
    void missingProgram();
    void missingRsync();
    void missingLab();
    void configurationThatIsWrongThere();
    void folderThatCannotBeWritten();
    void fullDisk();
    void folderThatIsGone();

private:
    /// A submission is refused with this code and with a sentence that has these words.
    void verifyRefusal(ExitCode code, const QStringList& words, const QString& target = "h1",
                       const QStringList& arguments = {"heat", "--preset", "demo"});
    /// Configurations of runs below a folder.
    static int runsBelow(const QString& folder);
};

int SshRefusalsTest::runsBelow(const QString& folder)
{
    if (!QDir(folder).exists())
        return 0;
    const std::set<std::string> content = contentOf(folder.toStdString());
    return static_cast<int>(std::ranges::count_if(
        content, [](const std::string& name) { return name.ends_with("config.toml"); }));
}

void SshRefusalsTest::verifyRefusal(ExitCode code, const QStringList& words, const QString& target,
                                    const QStringList& arguments)
{
    const Outcome outcome = submitTo(arguments, target);
    QVERIFY2(outcome.code == static_cast<int>(code), qPrintable(outcome.err));
    for (const QString& word : words)
        QVERIFY2(outcome.err.contains(word), qPrintable(outcome.err));
    QCOMPARE(outcome.out, QString());
    QCOMPARE(vergence({"runs", "list", "--json"}).parsed().size(), std::size_t{0});
    for (const QString& place : {path("runs"), ssh().home("h1"), ssh().disk("h1")})
        QCOMPARE(runsBelow(place), 0);
}

void SshRefusalsTest::changedHostKey()
{
    QVERIFY(ssh().changeHostKey("h1"));
    verifyRefusal(ExitCode::InputUnreadable, {"The host key of h1 has changed"});
    const Outcome check = vergence({"targets", "check", "h1"});
    QVERIFY2(check.code != 0 && check.out.contains("The host key of h1 has changed"),
             qPrintable(check.out));
}

void SshRefusalsTest::keyThatIsNotGood()
{
    QVERIFY(ssh().letNobodyIn("h1"));
    verifyRefusal(ExitCode::InputUnreadable, {"h1 lets nobody in without a password"});
}

void SshRefusalsTest::loginThatIsNotThere_data()
{
    QTest::addColumn<QString>("login");
    QTest::addColumn<QString>("sentence");
    QTest::newRow("no such name") << "h3.invalid"
                                  << "There is no computer h3.invalid";
    QTest::newRow("key never seen") << "stranger"
                                    << "stranger is not known to ssh yet";
}

void SshRefusalsTest::loginThatIsNotThere()
{
    QFETCH(QString, login);
    QFETCH(QString, sentence);
    QCOMPARE(newComputer("other", {{"login", login}}).code, 0);
    verifyRefusal(ExitCode::InputUnreadable, {sentence}, "other");
}

void SshRefusalsTest::silentComputer()
{
    ssh().breakLink("h1");
    verifyRefusal(ExitCode::InputUnreadable, {"h1 does not answer"});
    ssh().mendLink("h1");
    QCOMPARE(submitTo({"heat", "--preset", "demo"}).code, 0);
}

void SshRefusalsTest::otherVersion()
{
    const QString program = written("old", "#!/bin/sh\necho vergence 0.0.1\n");
    QFile::setPermissions(program, QFile::ReadOwner | QFile::ExeOwner);
    QCOMPARE(newComputer("old", {{"program", program}}).code, 0);
    verifyRefusal(ExitCode::ConfigInvalid, {"0.0.1", "vergence targets install"}, "old");
}

void SshRefusalsTest::missingProgram()
{
    QCOMPARE(newComputer("empty", {{"program", "/nonexistent/vergence"}}).code, 0);
    verifyRefusal(ExitCode::ConfigInvalid, {"/nonexistent/vergence", "vergence targets install"},
                  "empty");
}

void SshRefusalsTest::missingRsync()
{
    ssh().hideProgram("h1", "rsync");
    verifyRefusal(ExitCode::InputUnreadable, {"rsync is not on h1"});
    const Outcome check = vergence({"targets", "check", "h1"});
    QVERIFY2(check.code != 0 && check.out.contains("rsync"), qPrintable(check.out));
}

void SshRefusalsTest::missingLab()
{
    ssh().setVariable("h1", "VERGENCE_PLUGIN_PATH", {});
    verifyRefusal(ExitCode::PluginUnavailable, {"heat"});
}

/// This computer does not judge what is on the disk of another.
void SshRefusalsTest::configurationThatIsWrongThere()
{
    verifyRefusal(ExitCode::ConfigInvalid, {"/nonexistent/input is not a file"}, "h1",
                  {"chaos", "--set", "input=/nonexistent/input"});
}

void SshRefusalsTest::folderThatCannotBeWritten()
{
    const QString folder = written("file", "text") + "/runs";
    QCOMPARE(newComputer("closed", {{"folder", folder}}).code, 0);
    verifyRefusal(ExitCode::InputUnreadable, {folder}, "closed");
    const Outcome check = vergence({"targets", "check", "closed"});
    QVERIFY2(check.code != 0 && check.out.contains(folder), qPrintable(check.out));
}

void SshRefusalsTest::fullDisk()
{
    QCOMPARE(newComputer("full", {{"folder", ssh().disk("h1") + "/runs"}}).code, 0);
    ssh().setVariable("h1", "VERGENCE_TEST_FULL_DISK", ssh().disk("h1"));
    ssh().setVariable("h1", "LD_PRELOAD",
                      kBuild + "/lib/vergence-test-support/libvergence-full-disk.so");
    verifyRefusal(ExitCode::InputUnreadable, {"the disk is full"}, "full");
}

/// Somebody has deleted the folder there while its run works.
void SshRefusalsTest::folderThatIsGone()
{
    const RunFolder run = submitWaiting();
    const std::string folder = folderThere(run).root.string();
    std::filesystem::remove_all(folder);
    QCOMPARE(listedState(run), QString("Lost"));
    const auto row = listed(run);
    QVERIFY2(row.dump().find("h1 has no run " + folder) != std::string::npos, row.dump(2).c_str());
    for (const Outcome& outcome : {fetch(run), submitAgain(run)}) {
        QVERIFY2(outcome.code == 6, qPrintable(outcome.err));
        QVERIFY2(outcome.err.contains(QString::fromStdString(folder)), qPrintable(outcome.err));
    }
    QVERIFY(std::filesystem::exists(run.config())); // what came here stays
}

VERGENCE_TEST(SshRefusalsTest)
#include "tst_ssh_refusals.moc"
