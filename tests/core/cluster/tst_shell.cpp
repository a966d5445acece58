#include "core/base/shell_word.h"
#include "core/cluster/shell.h"
#include "tests/support/fake_programs.h"
#include "tests/support/test_program.h"

using namespace vergence;
using vergence::test::FakePrograms;
using vergence::test::ScopedVariable;
using vergence::test::Scratch;

class ShellTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void wordsStayWords_data();
    void wordsStayWords();
    void programHasItsInput();
    void endOfAProgramIsTold();
    void missingProgramIsTold();
    void programThatHangsIsEnded();
    void hostIsNoOption();
    void heldPipeDelaysNothing();
    void callsShareAConnection();
    void commandLineIsOfWordsForRsync();
    void refusalOfSshIsASentence_data();
    void refusalOfSshIsASentence();
    void programMayEndAsSshDoes();
    void lastLineIsNotEmpty();
};

void ShellTest::wordsStayWords_data()
{
    QTest::addColumn<QByteArray>("word");
    const char* words[] = {"plain-1.0_a/b:c=d,e@f%g+h",
                           "",
                           "two words",
                           " ",
                           "it's",
                           "'",
                           "\"quoted\"",
                           "$(touch trace)",
                           "`touch trace`",
                           "$HOME",
                           "line\nline",
                           "\n",
                           "back\\slash",
                           "\\",
                           "*",
                           "~",
                           "a;b&c|d>e<f",
                           "-option",
                           "{a,b}",
                           "!!",
                           "#no comment",
                           "é ☃",
                           "\t\r\x01"};
    for (const char* word : words)
        QTest::newRow(word) << QByteArray(word);
}

void ShellTest::wordsStayWords()
{
    QFETCH(QByteArray, word);
    const std::string text = word.toStdString();
    FakePrograms programs;
    programs.add("record");
    programs.addSsh();
    QVERIFY(Shell().run({"sh", "-c", "record " + shellWord(text) + " end"}).isGood());
    QCOMPARE(programs.arguments("record"), (std::vector<std::string>{text, "end"}));
    QVERIFY(Shell().run({"record", text}).isGood());
    QVERIFY(Shell("n1").run({"record", text, text}).isGood());
    QCOMPARE(programs.arguments("record"),
             (std::vector<std::string>{text, "end", text, text, text}));
    QVERIFY(!std::filesystem::exists("trace"));
}

void ShellTest::programHasItsInput()
{
    FakePrograms programs;
    programs.addSsh();
    const std::string input(1u << 20, 'x'); // more than a pipe holds
    for (const std::string host : {"", "n1"}) {
        const CommandResult result = Shell(host).run({"cat"}, input);
        QVERIFY2(result.isGood(), result.whyNot.c_str());
        QVERIFY(result.output == input);
        QVERIFY(Shell(host).run({"cat"}).output.empty());
    }
}

void ShellTest::endOfAProgramIsTold()
{
    const CommandResult result = Shell().run({"sh", "-c", "echo out; echo err >&2; exit 3"});
    QVERIFY(!result.isGood());
    QCOMPARE(result.exitCode, 3);
    QCOMPARE(result.output, std::string("out\n"));
    QCOMPARE(result.errors, std::string("err\n"));
    QVERIFY(result.whyNot.empty());
    QCOMPARE(Shell().run({"sh", "-c", "kill -9 $$"}).exitCode, 137);
}

void ShellTest::missingProgramIsTold()
{
    const CommandResult result = Shell().run({"vergence-has-no-such-program"});
    QVERIFY(result.isMissing && !result.isGood());
    QVERIFY2(result.whyNot.starts_with("vergence-has-no-such-program cannot be started: "),
             result.whyNot.c_str());
}

void ShellTest::programThatHangsIsEnded()
{
    const CommandResult result = Shell().run({"sleep", "1000"}, {}, 0.1);
    QVERIFY(!result.isGood() && !result.isMissing);
    QCOMPARE(result.whyNot, std::string("sleep did not end within 0.1 s."));
}

void ShellTest::hostIsNoOption()
{
    FakePrograms programs;
    programs.addSsh();
    QVERIFY(Shell("-oProxyCommand=touch trace").run({"true"}).isGood());
    QCOMPARE(programs.text("hosts"), std::string("-oProxyCommand=touch trace\n"));
    const auto arguments = programs.arguments("ssh");
    QVERIFY(std::ranges::find(arguments, "BatchMode=yes") != arguments.end());
}

void ShellTest::heldPipeDelaysNothing()
{
    // As ssh leaves a process behind that keeps the connection, and its standard error.
    FakePrograms programs;
    programs.add("ssh", "sleep 1000 & echo $! >\"$FAKES/held\"; echo out; echo err >&2");
    const CommandResult result = Shell("n1").run({"true"}, "input", 60);
    QVERIFY(Shell().run({"sh", "-c", "kill " + programs.text("held")}).isGood());
    QVERIFY2(result.isGood(), result.whyNot.c_str());
    QCOMPARE(result.output, std::string("out\n"));
    QCOMPARE(result.errors, std::string("err\n"));
}

void ShellTest::callsShareAConnection()
{
    FakePrograms programs;
    programs.addSsh();
    const Scratch runtime("/tmp"); // a short name
    std::filesystem::create_directory(runtime / "p");
    std::filesystem::create_directory(runtime / "a b");
    const auto socketIn = [&](const std::string& folder) {
        const ScopedVariable variable("XDG_RUNTIME_DIR", QByteArray(folder.c_str()));
        (void)Shell("n1").run({"true"});
        for (const std::string& word : programs.arguments("ssh"))
            if (word.starts_with("ControlPath="))
                return word;
        return std::string();
    };
    QCOMPARE(socketIn(runtime / "a b"), std::string()); // ssh would read two
    QCOMPARE(socketIn(runtime / "p"),
             "ControlPath=" + (runtime / "p").string() + "/vergence/ssh-%C");
    const auto words = programs.arguments("ssh");
    QVERIFY(std::ranges::find(words, "ControlMaster=auto") != words.end());
    QVERIFY(std::ranges::find(words, "ControlPersist=60") != words.end());
}

void ShellTest::commandLineIsOfWordsForRsync()
{
    const std::string line = sshCommandLine("me@n1");
    QVERIFY2(line.starts_with("ssh -o BatchMode=yes "), line.c_str());
    QVERIFY2(line.ends_with(" -- me@n1"), line.c_str());
    const std::string odd = sshCommandLine("it's \"two words\"");
    QVERIFY2(odd.ends_with(" -- 'it''s \"two words\"'"), odd.c_str());

    // rsync reads it so.
    FakePrograms programs;
    programs.addSsh();
    (void)Shell().run({"rsync", "-e", odd, "exec:/tmp/", "/tmp/"});
    QCOMPARE(programs.text("hosts"), std::string("it's \"two words\"\n"));
}

void ShellTest::refusalOfSshIsASentence_data()
{
    QTest::addColumn<QByteArray>("said");
    QTest::addColumn<QByteArray>("sentence");
    QTest::newRow("changed key")
        << QByteArray("@@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @@\nHost key "
                      "verification failed.")
        << QByteArray("The host key of me@n1 has changed. Ask whether that is meant; then "
                      "`ssh-keygen -R me@n1` forgets the old one.");
    QTest::newRow("unknown key")
        << QByteArray("Host key verification failed.")
        << QByteArray("me@n1 is not known to ssh yet. Connect once with `ssh me@n1` and confirm "
                      "its key.");
    QTest::newRow("no key")
        << QByteArray("me@n1: Permission denied (publickey,password).")
        << QByteArray("me@n1 lets nobody in without a password. Load your key with `ssh-add`, or "
                      "send it there with `ssh-copy-id me@n1`.");
    QTest::newRow("no such computer")
        << QByteArray("ssh: Could not resolve hostname n1: Name or service not known")
        << QByteArray("There is no computer me@n1. Correct `login`, or look whether the network "
                      "is there.");
    QTest::newRow("silence")
        << QByteArray("ssh: connect to host n1 port 22: Connection timed out")
        << QByteArray("me@n1 does not answer. Look whether it runs and the network reaches it.");
    QTest::newRow("closed") << QByteArray("ssh: connect to host n1 port 22: Connection refused")
                            << QByteArray("me@n1 takes no connections by ssh. Ask whether it is a "
                                          "login computer.");
    QTest::newRow("no route") << QByteArray("ssh: connect to host n1 port 22: No route to host")
                              << QByteArray("me@n1 cannot be reached from this network.");
    QTest::newRow("no network")
        << QByteArray("ssh: connect to host n1 port 22: Network is unreachable")
        << QByteArray("me@n1 cannot be reached: this computer has no network.");
    QTest::newRow("no answer")
        << QByteArray("Timeout, server n1 not responding.")
        << QByteArray("me@n1 answers no more. Look whether it runs and the network reaches it.");
    QTest::newRow("cut")
        << QByteArray("client_loop: send disconnect: Broken pipe")
        << QByteArray("The connection to me@n1 broke off. Look whether the network is there.");
    QTest::newRow("other") << QByteArray("welcome\nssh: something new\n")
                           << QByteArray("me@n1 cannot be reached by ssh: ssh: something new.");
    QTest::newRow("nothing") << QByteArray() << QByteArray("me@n1 cannot be reached by ssh.");
}

void ShellTest::refusalOfSshIsASentence()
{
    QFETCH(QByteArray, said);
    QFETCH(QByteArray, sentence);
    FakePrograms programs;
    programs.add("ssh", "echo '" + said.toStdString() + "' >&2\nexit 255");
    const CommandResult result = Shell("me@n1").run({"sbatch"});
    QCOMPARE(sshProblem("me@n1", "sbatch", result), sentence.toStdString());
    QCOMPARE(sshProblem("", "sbatch", result), std::string());
}

void ShellTest::programMayEndAsSshDoes()
{
    FakePrograms programs;
    programs.addSsh();
    programs.add("sbatch", "echo 'sbatch: error: Invalid --time specification' >&2; exit 255");
    const CommandResult result = Shell("n1").run({"sbatch"});
    QCOMPARE(result.exitCode, 255);
    QCOMPARE(sshProblem("n1", "sbatch", result), std::string());

    programs.hideOthers({});
    std::filesystem::remove(programs.folder() / "ssh");
    QCOMPARE(sshProblem("n1", "sbatch", Shell("n1").run({"sbatch"})),
             std::string("n1 cannot be reached: OpenSSH's `ssh` is not on this computer."));
}

void ShellTest::lastLineIsNotEmpty()
{
    QCOMPARE(lastLine("a\nb c \r\n\n"), std::string("b c"));
    QCOMPARE(lastLine("a"), std::string("a"));
    QCOMPARE(lastLine(" \n"), std::string());
}

VERGENCE_TEST(ShellTest)
#include "tst_shell.moc"
