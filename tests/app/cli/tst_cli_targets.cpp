#include "tests/app/cli/cli_bench.h"

#include "core/base/file.h"
#include "tests/support/fake_studio.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;
using nlohmann::json;

/// Clusters and computers that runs may go to, made and tried in a terminal.
class CliTargetsTest : public CliBench {
    Q_OBJECT

private Q_SLOTS:
    void init() { makeHome(); }

    void targetIsMadeShownAndRemoved();
    void wrongTargetIsNotMade_data();
    void wrongTargetIsNotMade();
    void listTellsWhatIsBroken();
    void unknownTargetIsTold();
    void targetIsTried();
    void computerIsTried();
    void studioIsInstalled();
    void studioIsNotInstalledForNothing();

private:
    QString file(const QString& name)
    {
        return path("XDG_CONFIG_HOME/vergence/targets/" + name + ".toml");
    }
};

void CliTargetsTest::targetIsMadeShownAndRemoved()
{
    const Outcome none = vergence({"targets", "list"});
    QCOMPARE(none.code, 0);
    QVERIFY2(none.err.contains("There are no targets; `vergence targets new NAME` makes one."),
             qPrintable(none.err));
    const Outcome made = vergence({"targets", "new", "uni", "--set", "login=me@n1", "--set",
                                   "queue.partition=gpu", "--set", "extra=--exclusive"});
    QVERIFY2(made.code == 0, qPrintable(made.err));
    QCOMPARE(made.out, file("uni") + "\n");
    QCOMPARE(vergence({"targets", "new", "uni"}).code, 2); // never over another one

    const Outcome shown = vergence({"targets", "show", "uni"});
    QCOMPARE(shown.out.toStdString(), readFile(file("uni").toStdString()));
    QVERIFY(shown.out.contains("login = \"me@n1\"  # changed"));
    QVERIFY(shown.out.contains("extra = [\"--exclusive\"]"));
    const json target = vergence({"targets", "show", "uni", "--json"}).parsed();
    QCOMPARE(target["partition"].get<std::string>(), std::string("gpu"));
    QCOMPARE(target["scheduler"].get<std::string>(), std::string("slurm"));
    QCOMPARE(target["disk"].get<std::string>(), std::string("shared"));
    QCOMPARE(target["toml"].get<std::string>(), shown.out.toStdString());

    const Outcome listed = vergence({"targets", "list"});
    QVERIFY2(listed.out.contains("uni     slurm      me@n1  shared  gpu        ready"),
             qPrintable(listed.out));
    QCOMPARE(vergence({"targets", "remove", "uni"}).code, 0);
    QCOMPARE(vergence({"targets", "list", "--json"}).parsed().size(), std::size_t{0});
}

void CliTargetsTest::wrongTargetIsNotMade_data()
{
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<int>("code");
    QTest::addColumn<QString>("sentence");
    QTest::newRow("name") << QStringList{"a/b"} << 2 << "The name of a target is of letters";
    QTest::newRow("range") << QStringList{"uni", "--set", "cores=-1"} << 3
                           << "--set: cores must be at least 0 (found -1).";
    QTest::newRow("rule") << QStringList{"uni", "--set", "time=soon"} << 3
                          << "--set: time must be minutes";
    QTest::newRow("key") << QStringList{"uni", "--set", "partion=x"} << 3
                         << "Unknown key `partion`. Did you mean `partition`?";
    QTest::newRow("no name") << QStringList{} << 2 << "name is required";
}

void CliTargetsTest::wrongTargetIsNotMade()
{
    QFETCH(QStringList, arguments);
    QFETCH(int, code);
    QFETCH(QString, sentence);
    const Outcome outcome = vergence(QStringList{"targets", "new"} + arguments);
    QCOMPARE(outcome.code, code);
    QVERIFY2(outcome.err.contains(sentence), qPrintable(outcome.err));
    QCOMPARE(vergence({"targets", "list", "--json"}).parsed().size(), std::size_t{0});
}

void CliTargetsTest::listTellsWhatIsBroken()
{
    vergence({"targets", "new", "good"});
    writeFileAtomic(file("bad").toStdString(), "cores = 'many'\nmemory = 'much'\n");
    const Outcome listed = vergence({"targets", "list"});
    QCOMPARE(listed.code, 0);
    QVERIFY2(listed.out.contains("cores must be a whole number"), qPrintable(listed.out));
    QVERIFY2(listed.out.contains("good    slurm      this computer  shared             ready"),
             qPrintable(listed.out));
    const json targets = vergence({"targets", "list", "--json"}).parsed();
    QCOMPARE(targets[0]["usable"].get<bool>(), false);
    QCOMPARE(targets[1]["usable"].get<bool>(), true);
    const Outcome shown = vergence({"targets", "show", "bad"});
    QCOMPARE(shown.code, 3);
    QVERIFY2(shown.err.contains("bad.toml line 1: cores must be"), qPrintable(shown.err));
    QCOMPARE(vergence({"targets", "check", "bad"}).code, 3);
}

void CliTargetsTest::unknownTargetIsTold()
{
    vergence({"targets", "new", "uni"});
    for (const char* action : {"show", "check", "install", "remove"}) {
        const Outcome outcome = vergence({"targets", action, "une"});
        QCOMPARE(outcome.code, 6);
        QVERIFY2(outcome.err.contains("There is no target `une`. Did you mean `uni`?"),
                 qPrintable(outcome.err));
    }
    QCOMPARE(vergence({"targets"}).code, 2);
}

void CliTargetsTest::targetIsTried()
{
    FakePrograms programs;
    programs.add("sinfo", "[ \"$1\" = --version ] && echo 'slurm 22.05.8' && exit\n"
                          "echo 'all*|2|idle'");
    programs.add("sbatch", "cat >/dev/null");
    programs.add("srun", "while [ \"$1\" != sh ]; do shift; done\nSLURMD_NODENAME=n7 exec \"$@\"");
    vergence({"targets", "new", "uni"});
    const Outcome good = vergence({"targets", "check", "uni"});
    QVERIFY2(good.code == 0, qPrintable(good.out + good.err));
    QVERIFY2(good.out.startsWith("✓ Slurm 22.05.8 answers.\n✓ Partition `all`: 2 nodes, 2 idle.\n"),
             qPrintable(good.out));
    QVERIFY2(good.out.contains("✓ n7 sees and writes " + path("runs")), qPrintable(good.out));
    QVERIFY2(good.out.contains("✓ n7 has vergence "), qPrintable(good.out));

    programs.add("sbatch", "cat >/dev/null\necho 'allocation failure: Requested node configuration "
                           "is not available' >&2\nexit 1");
    const Outcome bad = vergence({"targets", "check", "uni", "--json"});
    QCOMPARE(bad.code, 6);
    const json answer = bad.parsed();
    QCOMPARE(answer["good"].get<bool>(), false);
    QCOMPARE(answer["lines"].back()["good"].get<bool>(), false);
}

/// The real program says what this computer has.
void CliTargetsTest::computerIsTried()
{
    vergence({"targets", "new", "here", "--set", "scheduler=lanes", "--set", "lanes=cpu,cpu"});
    const Outcome good = vergence({"targets", "check", "here"});
    QVERIFY2(good.code == 0, qPrintable(good.out + good.err));
    QVERIFY2(good.out.startsWith("✓ This computer writes " + path("runs")), qPrintable(good.out));
    QVERIFY2(good.out.endsWith("✓ 2 runs may work at a time.\n"), qPrintable(good.out));
    vergence({"targets", "new", "gpus", "--set", "scheduler=lanes", "--set", "lanes=cuda:99"});
    const Outcome bad = vergence({"targets", "check", "gpus"});
    QCOMPARE(bad.code, 6);
    QVERIFY2(bad.out.contains("✗ There is no device cuda:99 on this computer for a lane."),
             qPrintable(bad.out));
    QVERIFY2(vergence({"targets", "list"}).out.contains("gpus    lanes      this computer"),
             "the table has its scheduler");
}

void CliTargetsTest::studioIsInstalled()
{
    FakePrograms programs;
    const FakeStudio studio(programs); // what the real one would load is more than is tried here
    const QString version = vergence({"--version"}).out;
    const std::filesystem::path home = path("far").toStdString();
    std::filesystem::create_directories(home);
    addComputer(programs, home, "echo '" + version.trimmed().toStdString() + "'");
    vergence({"targets", "new", "far", "--set", "scheduler=lanes", "--set", "login=me@n1", "--set",
              "disk=own"});
    const Outcome missing = vergence({"targets", "check", "far"});
    QCOMPARE(missing.code, 6);
    QVERIFY2(missing.out.contains("`vergence targets install far` puts this one there."),
             qPrintable(missing.out));

    const Outcome made = vergence({"targets", "install", "far"});
    QVERIFY2(made.code == 0, qPrintable(made.err));
    QVERIFY2(made.err.startsWith("Gathering the program and its libraries.\nSending "),
             qPrintable(made.err));
    QVERIFY2(made.out.startsWith(path("far") + "/.local/share/vergence-studio/") &&
                 made.out.endsWith("/vergence\n"),
             qPrintable(made.out));
    QCOMPARE(readFile(made.out.trimmed().toStdString()).substr(0, 4), std::string("\177ELF"));
    const Outcome again = vergence({"targets", "install", "far"});
    QCOMPARE(again.out, made.out);
    QCOMPARE(again.err, QString("me@n1 has this studio already.\n"));

    addComputer(programs, home, "echo 'x: Exec format error' >&2; exit 126");
    const Outcome broken = vergence({"targets", "install", "far"});
    QCOMPARE(broken.code, 6);
    QVERIFY2(broken.err.contains("me@n1 has another processor than this computer."),
             qPrintable(broken.err));
    QVERIFY(broken.out.isEmpty());
}

void CliTargetsTest::studioIsNotInstalledForNothing()
{
    vergence({"targets", "new", "uni", "--set", "login=me@n1"});
    const Outcome shared = vergence({"targets", "install", "uni"});
    QCOMPARE(shared.code, 2);
    QVERIFY2(shared.err.contains("on a disk that it shares with this computer; nothing is to be "
                                 "installed. `vergence targets check uni` tries it."),
             qPrintable(shared.err));
    vergence({"targets", "new", "far", "--set", "login=me@n1", "--set", "disk=own", "--set",
              "program=/opt/vergence"});
    const Outcome other = vergence({"targets", "install", "far"});
    QCOMPARE(other.code, 2);
    QVERIFY2(other.err.contains("The target `far` starts /opt/vergence there. Remove `program` "
                                "from " +
                                file("far")),
             qPrintable(other.err));
    QCOMPARE(vergence({"targets", "install", "none"}).code, 6);
}

VERGENCE_TEST(CliTargetsTest)
#include "tst_cli_targets.moc"
