#include "tests/app/cli/cli_bench.h"

#include "core/base/file.h"
#include "tests/support/fake_programs.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;
using nlohmann::json;

/// Clusters that runs may go to, made and tried in a terminal.
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
    QCOMPARE(target["toml"].get<std::string>(), shown.out.toStdString());

    const Outcome listed = vergence({"targets", "list"});
    QVERIFY2(listed.out.contains("uni     me@n1  gpu        ready"), qPrintable(listed.out));
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
    QVERIFY2(listed.out.contains("good    this computer             ready"),
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
    for (const char* action : {"show", "check", "remove"}) {
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

VERGENCE_TEST(CliTargetsTest)
#include "tst_cli_targets.moc"
