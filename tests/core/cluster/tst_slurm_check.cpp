#include <algorithm>

#include "core/artifact/manifest.h"
#include "core/cluster/slurm.h"
#include "tests/support/fake_programs.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;

class SlurmCheckTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup() { m_programs.reset(); }

    void goodTargetIsTold();
    void optionsReachTheNode();
    void clusterThatCannotBeAskedIsTold();
    void refusedSettingsAreTold();
    void busyNodesAreNoFault();
    void nodeIsLookedAt_data();
    void nodeIsLookedAt();
    void codeOfANodesProgramIsNotThatOfSrun();
    void timeThatNoPartitionAllowsIsTold_data();
    void timeThatNoPartitionAllowsIsTold();
    void folderThatCannotBeMadeIsTold();

private:
    TargetCheck check() const { return checkTarget(m_target, m_folder->path(), "vergence", 5); }
    /// Which of its sentences contains `part`; null where none does.
    static const TargetCheck::Line* find(const TargetCheck& check, const std::string& part);

    std::unique_ptr<FakePrograms> m_programs;
    std::unique_ptr<Scratch> m_folder;
    Target m_target;
};

namespace {

/// The node is this computer: the words behind the options are what it does.
constexpr const char* kSrun =
    "while [ \"$1\" != sh ]; do shift; done\nSLURMD_NODENAME=n7 exec \"$@\"";

std::string version()
{
    return buildInfo().value("version", "");
}

} // namespace

void SlurmCheckTest::init()
{
    m_programs = std::make_unique<FakePrograms>();
    m_folder = std::make_unique<Scratch>();
    m_target = {};
    m_target.name = "uni";
    m_programs->addSsh();
    m_programs->add("sinfo", "[ \"$1\" = --version ] && echo 'slurm-wlm 22.05.8' && exit\n"
                             "printf 'all*|3|idle\\nall*|2|allocated\\ngpu|1|mixed\\n'");
    m_programs->add("sbatch", "cat >\"$FAKES/script\"");
    m_programs->add("srun", kSrun);
    m_programs->add("vergence",
                    "printf 'vergence " + version() + "\\ndevice: CPU\\ndevice: H100\\n'");
}

const TargetCheck::Line* SlurmCheckTest::find(const TargetCheck& check, const std::string& part)
{
    for (const TargetCheck::Line& line : check.lines)
        if (line.text.find(part) != std::string::npos)
            return &line;
    return nullptr;
}

void SlurmCheckTest::goodTargetIsTold()
{
    for (const std::string login : {"", "me@n1"}) {
        m_target.login = login;
        const TargetCheck check = this->check();
        QVERIFY(check.isGood());
        std::vector<std::string> texts;
        for (const TargetCheck::Line& line : check.lines)
            texts.push_back(line.text);
        QCOMPARE(
            texts,
            (std::vector<std::string>{
                login.empty() ? "Slurm 22.05.8 answers." : "Slurm 22.05.8 answers on me@n1.",
                "Partition `all`: 5 nodes, 3 idle.", "The cluster takes jobs with these settings.",
                "n7 sees and writes " + m_folder->path().string() + ".",
                "n7 has vergence " + version() + ".", "Devices on n7: CPU, H100."}));
        QVERIFY(contentOf(m_folder->path()).empty());
    }
}

void SlurmCheckTest::optionsReachTheNode()
{
    m_target.partition = "gpu,all";
    m_target.gpus = "gpu:1";
    m_target.constraint = "a|b";
    const TargetCheck check = this->check();
    QVERIFY(check.isGood());
    QVERIFY(find(check, "Partition `gpu`: 1 node, 0 idle."));
    QVERIFY(find(check, "Partition `all`: 5 nodes"));
    const auto words = m_programs->arguments("srun");
    for (const char* word :
         {"--partition=gpu,all", "--gres=gpu:1", "--constraint=a|b", "--immediate=5"})
        QVERIFY2(std::ranges::find(words, word) != words.end(), word);
    QCOMPARE(m_programs->arguments("sbatch"), (std::vector<std::string>{"--test-only"}));
    QVERIFY(m_programs->text("script").find("#SBATCH --gres=gpu:1\n") != std::string::npos);
}

void SlurmCheckTest::clusterThatCannotBeAskedIsTold()
{
    m_target.login = "n1";
    m_programs->add("ssh", "echo 'n1: Permission denied (publickey).' >&2; exit 255");
    const TargetCheck check = this->check();
    QVERIFY(!check.isGood());
    QCOMPARE(check.lines.size(), std::size_t{1});
    QVERIFY(find(check, "n1 lets nobody in without a password."));
}

void SlurmCheckTest::refusedSettingsAreTold()
{
    m_target.partition = "none";
    m_programs->add("sbatch", "cat >/dev/null\necho 'allocation failure: Invalid partition name "
                              "specified' >&2\nexit 1");
    const TargetCheck check = this->check();
    QVERIFY(!check.isGood());
    QVERIFY(find(check, "The cluster has no partition `none`."));
    QVERIFY(m_programs->arguments("srun").empty());
}

void SlurmCheckTest::busyNodesAreNoFault()
{
    m_programs->add("srun", "echo 'srun: error: Unable to allocate resources: Requested nodes are "
                            "busy' >&2\nexit 1");
    const TargetCheck check = this->check();
    QVERIFY(check.isGood());
    QVERIFY(find(check, "No node is free at present, so what the nodes see was not looked at "
                        "(Unable to allocate resources: Requested nodes are busy)."));
}

void SlurmCheckTest::nodeIsLookedAt_data()
{
    QTest::addColumn<QByteArray>("program");
    QTest::addColumn<QByteArray>("answer"); ///< of the node
    QTest::addColumn<QByteArray>("sentence");
    QTest::newRow("blind") << QByteArray("srun") << QByteArray("echo 'node n7'")
                           << QByteArray("n7 does not see ");
    QTest::newRow("read-only") << QByteArray("srun")
                               << QByteArray("echo 'node n7'; echo 'sees folder'")
                               << QByteArray("n7 may not write ");
    QTest::newRow("without the program")
        << QByteArray("vergence") << QByteArray("exit 127")
        << QByteArray("vergence does not start on n7. Set `program` to the path that the program "
                      "has there.");
    QTest::newRow("other version") << QByteArray("vergence") << QByteArray("echo 'vergence 0.0.0'")
                                   << QByteArray("n7 has vergence 0.0.0, this computer ");
    QTest::newRow("without GPU")
        << QByteArray("vergence") << QByteArray("echo 'device: CPU'")
        << QByteArray("Devices on n7: CPU. The program finds no GPU there, though `gpus` asks for "
                      "one.");
}

void SlurmCheckTest::nodeIsLookedAt()
{
    QFETCH(QByteArray, program);
    QFETCH(QByteArray, answer);
    QFETCH(QByteArray, sentence);
    m_target.gpus = "gpu:1";
    m_programs->add(program.toStdString(), answer.toStdString());
    const TargetCheck check = this->check();
    QVERIFY(!check.isGood());
    const TargetCheck::Line* line = find(check, sentence.toStdString());
    QVERIFY(line && !line->isGood);
}

/// 127: a shell finds no program; srun ends with the code of its own one.
void SlurmCheckTest::codeOfANodesProgramIsNotThatOfSrun()
{
    for (const std::string login : {"", "me@n1"}) {
        m_target.login = login;
        m_programs->add("srun", "echo 'srun: error: n7: task 0: Exited with exit code 127' >&2\n"
                                "echo 'node n7'; exit 127");
        const TargetCheck check = this->check();
        QVERIFY(!find(check, "Slurm's commands are not"));
        QVERIFY(find(check, "vergence does not start on n7."));
    }
}

void SlurmCheckTest::timeThatNoPartitionAllowsIsTold_data()
{
    QTest::addColumn<QByteArray>("partition");
    QTest::addColumn<QByteArray>("time");
    QTest::addColumn<QByteArray>("sentence"); ///< empty: nothing
    QTest::newRow("none") << QByteArray("all") << QByteArray() << QByteArray();
    QTest::newRow("as long") << QByteArray("all") << QByteArray("60") << QByteArray();
    QTest::newRow("longer") << QByteArray("all") << QByteArray("1:00:01")
                            << QByteArray("The time 1:00:01 is longer than the partition `all` "
                                          "allows (1:00:00): a job would wait for ever. Set a "
                                          "shorter `time`; a run that needs longer goes back into "
                                          "the queue.");
    QTest::newRow("of the default one")
        << QByteArray() << QByteArray("2:00:00") << QByteArray("than the partition `all` allows");
    QTest::newRow("no limit") << QByteArray("long") << QByteArray("90-0") << QByteArray();
    QTest::newRow("one of two") << QByteArray("all,days") << QByteArray("1-0") << QByteArray();
    QTest::newRow("none of two") << QByteArray("all,days") << QByteArray("4-0")
                                 << QByteArray("than the partition `days` allows (2-00:00:00)");
}

void SlurmCheckTest::timeThatNoPartitionAllowsIsTold()
{
    QFETCH(QByteArray, partition);
    QFETCH(QByteArray, time);
    QFETCH(QByteArray, sentence);
    m_programs->add("sinfo", "printf 'all*|3|idle|8|1:00:00\\ndays|1|idle|8|2-00:00:00\\n"
                             "long|2|allocated|8|infinite\\n'");
    m_target.partition = partition.toStdString();
    m_target.time = time.toStdString();
    const TargetCheck check = this->check();
    QCOMPARE(check.isGood(), sentence.isEmpty());
    QVERIFY(sentence.isEmpty() || find(check, sentence.toStdString()));
}

void SlurmCheckTest::folderThatCannotBeMadeIsTold()
{
    const TargetCheck check = checkTarget(m_target, "/proc/sys/runs", "vergence", 5);
    QVERIFY(!check.isGood());
    QVERIFY(find(check, "/proc/sys/runs"));
}

VERGENCE_TEST(SlurmCheckTest)
#include "tst_slurm_check.moc"
