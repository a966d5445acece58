#include "core/cluster/target.h"

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/cluster/target_rules.h"
#include "tests/support/environment.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using vergence::test::ScopedVariable;
using vergence::test::Scratch;

class TargetTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everySettingIsExplained();
    void fileKeepsATarget();
    void fileExplainsItself();
    void breachOfARuleIsASentence_data();
    void breachOfARuleIsASentence();
    void computerIsATarget();
    void whatSlurmTakesIsTaken_data();
    void whatSlurmTakesIsTaken();
    void unknownKeyNamesTheNearest();
    void shortTimeIsAWarning();
    void timesAreRead_data();
    void timesAreRead();
    void targetsAreFoundByName();
    void unknownTargetNamesTheKnown();
    void badNamesAreRefused_data();
    void badNamesAreRefused();
    void badTargetIsNotSaved();
};

namespace {

Target wholeTarget()
{
    Target target;
    target.name = "uni";
    target.login = "me@login.uni.example";
    target.disk = Disk::Own;
    target.folder = "/shared/runs of \"me\"";
    target.vergence = "/opt/vergence/bin/vergence";
    target.partition = "gpu,gpu-long";
    target.account = "lab_7";
    target.qos = "normal";
    target.constraint = "a100&[rack1*2]";
    target.time = "1-12:00:00";
    target.memory = "16G";
    target.gpus = "gpu:a100:1";
    target.cores = 8;
    target.atOnce = 4;
    target.grace = 300;
    target.extra = {"--exclusive", "--mail-user=\"me\" \\ <me@uni.example>"};
    return target;
}

} // namespace

void TargetTest::everySettingIsExplained()
{
    for (const Field& field : targetSchema().fields()) {
        QVERIFY2(!field.title.empty() && !field.help.empty(), field.key.c_str());
        QVERIFY2(field.help.ends_with('.'), field.key.c_str());
    }
    QCOMPARE(targetSchema().find("grace")->unit, std::string("s"));
}

void TargetTest::fileKeepsATarget()
{
    const Target target = wholeTarget();
    const TargetFile file = parseTarget("uni", targetToToml(target));
    QVERIFY2(file.issues.empty(), file.issues.empty() ? "" : file.issues[0].text().c_str());
    const Target& read = file.target;
    QCOMPARE(read.name, target.name);
    for (const auto member :
         {&Target::login, &Target::folder, &Target::vergence, &Target::partition, &Target::account,
          &Target::qos, &Target::constraint, &Target::time, &Target::memory, &Target::gpus})
        QCOMPARE(read.*member, target.*member);
    for (const auto member : {&Target::cores, &Target::atOnce, &Target::grace})
        QCOMPARE(read.*member, target.*member);
    QCOMPARE(read.extra, target.extra);
    QCOMPARE(read.scheduler, Scheduler::Slurm);
    QCOMPARE(read.disk, Disk::Own);
    QVERIFY(parseTarget("uni", "").isUsable());
}

void TargetTest::fileExplainsItself()
{
    const std::string toml = targetToToml(wholeTarget());
    QVERIFY(toml.starts_with("# Target uni: where runs of Vergence Studio may work.\n"));
    QVERIFY(toml.find("plugin") == std::string::npos);
    QVERIFY(toml.find("[queue]\n# Partition of the cluster") != std::string::npos);
    QVERIFY(toml.find("grace = 300  # changed, default 120") != std::string::npos);
}

void TargetTest::breachOfARuleIsASentence_data()
{
    QTest::addColumn<QByteArray>("toml");
    QTest::addColumn<QByteArray>("key");
    QTest::addColumn<QByteArray>("part");
    const auto row = [](const char* name, const char* toml, const char* key, const char* part) {
        QTest::newRow(name) << QByteArray(toml) << QByteArray(key) << QByteArray(part);
    };
    row("login with a blank", "login = 'a b'", "login", "a computer as ssh takes it");
    row("login that is an option", "login = '-oProxyCommand=x'", "login", "a computer as ssh");
    row("folder", "folder = 'runs'", "folder", "a whole path from / on");
    row("folder of two lines", "folder = \"/a\\nb\"", "folder", "one line");
    row("program of two lines", "program = \"a\\nb\"", "program", "one line");
    row("partition", "partition = 'a b'", "partition", "the name of a partition");
    row("partition of two lines", "partition = \"a\\n#SBATCH --wrap=x\"", "partition",
        "the name of a partition");
    row("account", "account = 'a;b'", "account", "the name of an account");
    row("account that is an option", "account = '--wrap'", "account", "the name of an account");
    row("quality of service", "qos = '\"'", "qos", "the name of a quality of service");
    row("constraint of two lines", "constraint = \"a\\u007f\"", "constraint", "one line");
    row("memory", "memory = '16 GB'", "memory", "K, M, G or T, like 16G (found \"16 GB\")");
    row("GPUs", "gpus = 'gpu: 1'", "gpus", "like gpu:1 or gpu:a100:2");
    row("time", "time = '4h'", "time", "like 90, 4:00:00 or 1-12:00:00 (found \"4h\")");
    row("time with a newline", "time = \"10\\n\"", "time", "like 90");
    row("time within grace", "time = '2'\ngrace = 120", "time", "longer than grace (120 s)");
    row("cores", "cores = -1", "cores", "cores must be at least 0");
    row("grace", "grace = 1", "grace", "grace must be at least 5 s");
    row("at once", "at_once = 10001", "at_once", "at most 10000");
    row("short option", "extra = ['-x']", "extra", "long options of sbatch");
    row("option of two lines", "extra = [\"--comment=a\\nb\"]", "extra", "long options of sbatch");
    row("two options in one", "extra = ['--a --b']", "extra", "long options of sbatch");
    row("array", "extra = ['--array=0-5']", "extra", "leave --array to the studio");
    row("scheduler", "scheduler = 'cron'", "scheduler", "slurm");
    row("disk", "disk = 'usb'", "disk", "shared");
    row("lane", "scheduler = 'lanes'\nlanes = ['gpu']", "lanes", "cuda:0 or the UUID of a GPU");
    row("lane with more behind it", "scheduler = 'lanes'\nlanes = ['cpu;x']", "lanes",
        "(found \"cpu;x\")");
    row("lane that is empty", "scheduler = 'lanes'\nlanes = ['cpu', '']", "lanes", "(found \"\")");
    row("lanes of a cluster", "lanes = ['cpu']", "lanes", "empty where Slurm decides");
    row("disk of nobody", "disk = 'own'", "login", "the computer whose disk the runs are on");
    row("abbreviated output", "extra = ['--outp=x']", "extra", "leave --outp to the studio");
}

void TargetTest::breachOfARuleIsASentence()
{
    QFETCH(QByteArray, toml);
    QFETCH(QByteArray, key);
    QFETCH(QByteArray, part);
    const TargetFile file = parseTarget("uni", toml.toStdString());
    QVERIFY(!file.isUsable());
    QCOMPARE(file.issues.size(), std::size_t{1});
    QCOMPARE(file.issues[0].key, key.toStdString());
    QVERIFY2(file.issues[0].sentence.find(part.toStdString()) != std::string::npos,
             file.issues[0].sentence.c_str());
    QCOMPARE(file.issues[0].place.line,
             toml.startsWith("time = '2'") ? 1 : file.issues[0].place.line);
}

void TargetTest::computerIsATarget()
{
    QCOMPARE(parseTarget("uni", "").target.scheduler, Scheduler::Slurm); // files of before lanes
    QCOMPARE(parseTarget("uni", "").target.disk, Disk::Shared);
    Target target;
    target.name = "far";
    target.scheduler = Scheduler::Lanes;
    target.login = "me@n1";
    target.lanes = {"cuda:0", "cuda", "cpu", "cpu", "GPU-0f3c2a1b-8d7e"};
    const TargetFile file = parseTarget("far", targetToToml(target));
    QVERIFY2(file.issues.empty(), file.issues.empty() ? "" : file.issues[0].text().c_str());
    QCOMPARE(file.target.scheduler, Scheduler::Lanes);
    QCOMPARE(file.target.lanes, target.lanes);
    QVERIFY(parseTarget("here", "scheduler = 'lanes'").isUsable()); // this computer
}

void TargetTest::whatSlurmTakesIsTaken_data()
{
    QTest::addColumn<QByteArray>("toml");
    for (const char* toml :
         {"login = 'cluster'", "login = 'ssh://me@host:22'", "partition = 'a,b'",
          "account = 'grp:x'", "time = '90'", "time = '1:30:00'", "time = '7-0'", "time = '1-0:30'",
          "memory = '4000'", "memory = '1t'", "gpus = 'gpu'", "gpus = 'gpu:2,shard:1'",
          "constraint = '(a|b)&c'", "extra = ['--nodelist=n[1-2]']", "extra = ['--comment=a b']",
          "extra = ['--wait-all-nodes=1']"})
        QTest::newRow(toml) << QByteArray(toml);
}

void TargetTest::whatSlurmTakesIsTaken()
{
    QFETCH(QByteArray, toml);
    const TargetFile file = parseTarget("uni", toml.toStdString());
    QVERIFY2(file.issues.empty(), file.issues.empty() ? "" : file.issues[0].text().c_str());
}

void TargetTest::unknownKeyNamesTheNearest()
{
    const TargetFile file = parseTarget("uni", "partitoin = 'gpu'\n");
    QCOMPARE(file.issues.size(), std::size_t{1});
    QCOMPARE(file.issues[0].nearest, std::string("partition"));
    QCOMPARE(file.issues[0].text(),
             std::string("uni.toml line 1: Unknown key `partitoin`. Did you mean "
                         "`partition`?"));
}

void TargetTest::shortTimeIsAWarning()
{
    const TargetFile file = parseTarget("uni", "time = '3'");
    QVERIFY(file.isUsable());
    QCOMPARE(file.issues.size(), std::size_t{1});
    QVERIFY2(file.issues[0].sentence.starts_with("time is hardly longer than grace (120 s)"),
             file.issues[0].sentence.c_str());
}

void TargetTest::timesAreRead_data()
{
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<qlonglong>("seconds"); ///< -1: none
    const auto row = [](const char* text, qlonglong seconds) {
        QTest::newRow(text) << QByteArray(text) << seconds;
    };
    row("90", 5400);
    row("90:30", 5430);
    row("1:30:05", 5405);
    row("2-0", 172800);
    row("1-2:03", 93780);
    row("1-02:03:04", 93784);
    row("", -1);
    row("1:2:3:4", -1);
    row("-1", -1);
    row("1-", -1);
    row("10 ", -1);
    row("UNLIMITED", -1);
}

void TargetTest::timesAreRead()
{
    QFETCH(QByteArray, text);
    QFETCH(qlonglong, seconds);
    QCOMPARE(static_cast<qlonglong>(detail::slurmSeconds(text.toStdString()).value_or(-1)),
             seconds);
}

void TargetTest::targetsAreFoundByName()
{
    const Scratch home;
    const ScopedVariable config("XDG_CONFIG_HOME", home.path().c_str());
    QVERIFY(targetNames().empty());
    Target target = wholeTarget();
    saveTarget(target);
    target.name = "a.b-c";
    saveTarget(target);
    writeFileAtomic(targetsFolder() / "broken.toml", "cores = 'many'");
    writeFileAtomic(targetsFolder() / "notes.txt", "");
    QCOMPARE(targetNames(), (std::vector<std::string>{"a.b-c", "broken", "uni"}));
    QCOMPARE(readTarget("uni").target.account, std::string("lab_7"));
    QVERIFY(!readTarget("broken").isUsable());
    target.cores = 2;
    saveTarget(target);
    QCOMPARE(readTarget("a.b-c").target.cores, 2);
    removeTarget("a.b-c");
    QCOMPARE(targetNames(), (std::vector<std::string>{"broken", "uni"}));
}

void TargetTest::unknownTargetNamesTheKnown()
{
    const Scratch home;
    const ScopedVariable config("XDG_CONFIG_HOME", home.path().c_str());
    VERGENCE_THROWS(InputError,
                    "There is no target `uni`, and no other one; `vergence targets new uni` makes "
                    "it.",
                    readTarget("uni"));
    saveTarget(wholeTarget());
    VERGENCE_THROWS(InputError, "There is no target `unu`. Did you mean `uni`? Known are: uni.",
                    readTarget("unu"));
    VERGENCE_THROWS(InputError, "There is no target `../uni`.", readTarget("../uni"));
    VERGENCE_THROWS(InputError, "There is no target `other`. Known are: uni.",
                    removeTarget("other"));
}

void TargetTest::badNamesAreRefused_data()
{
    QTest::addColumn<QByteArray>("name");
    for (const char* name : {"", ".hidden", "-x", "a/b", "a b", "a\n", "é"})
        QTest::newRow(name) << QByteArray(name);
    QTest::newRow("long") << QByteArray(101, 'a');
}

void TargetTest::badNamesAreRefused()
{
    QFETCH(QByteArray, name);
    const std::string refusal = refusedTargetName(name.toStdString());
    QVERIFY2(refusal.starts_with("The name of a target is of letters"), refusal.c_str());
    Target target;
    target.name = name.toStdString();
    VERGENCE_THROWS(Error, "The name of a target", saveTarget(target));
    QVERIFY(refusedTargetName("Uni_2.gpu-long").empty());
}

void TargetTest::badTargetIsNotSaved()
{
    const Scratch home;
    const ScopedVariable config("XDG_CONFIG_HOME", home.path().c_str());
    Target target = wholeTarget();
    target.time = "soon";
    try {
        saveTarget(target);
        QFAIL("it was saved");
    } catch (const Error& error) {
        QCOMPARE(error.exitCode(), ExitCode::ConfigInvalid);
        QVERIFY2(std::string(error.what()).starts_with("time must be"), error.what());
    }
    QVERIFY(targetNames().empty());
}

VERGENCE_TEST(TargetTest)
#include "tst_target.moc"
