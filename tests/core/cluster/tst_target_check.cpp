#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/artifact/manifest.h"
#include "core/cluster/slurm.h"
#include "tests/support/fake_programs.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;

/// Targets whose runs the studio there starts. The other computer is this one, by a fake ssh.
class TargetCheckTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup() { m_programs.reset(); }

    void goodComputerIsTold();
    void goodComputerOfASharedDiskIsTold();
    void thisComputerIsTold();
    void clusterWithADiskOfItsOwnIsTold();
    void problemIsASentence_data();
    void problemIsASentence();
    void lanesAreFound_data();
    void lanesAreFound();
    void computerThatCannotBeReachedIsTold();
    void diskThatIsNotSharedIsTold();
    void folderThatCannotBeWrittenIsTold();
    void doctorThatCannotBeReadIsTold_data();
    void doctorThatCannotBeReadIsTold();

private:
    QString far() const { return QString::fromStdString(m_target.folder); }
    QString here() const { return QString::fromStdString(m_runs->path().string()); }
    static QString version();
    void addVergence(const std::string& version, const std::string& doctor);
    TargetCheck check() const
    {
        return checkTarget(m_target, m_runs->path(), (m_programs->folder() / "vergence").string(),
                           5);
    }
    /// All sentences, with their judgement.
    static QStringList textsOf(const TargetCheck& check);
    static const TargetCheck::Line* find(const TargetCheck& check, const std::string& part);

    std::unique_ptr<FakePrograms> m_programs;
    std::unique_ptr<Scratch> m_runs, m_far; ///< runs folders, here and there
    Target m_target;
};

namespace {

std::string thisVersion()
{
    return "vergence " + buildInfo().value("version", "");
}

/// As `vergence doctor --json` tells a computer with two GPUs.
const char* const kTwoGpus = R"({"devices": {"list": [
    {"kind": "cpu", "name": "EPYC", "uuid": "cpu"},
    {"kind": "cuda", "name": "H100", "uuid": "GPU-12ab"},
    {"kind": "cuda", "name": "A100", "uuid": "GPU-34cd"}], "why_no_cuda": ""}})";

const char* const kNoGpu = R"({"devices": {"list": [
    {"kind": "cpu", "name": "EPYC", "uuid": "cpu"}], "why_no_cuda": "No driver is here."}})";

} // namespace

QString TargetCheckTest::version()
{
    return QString::fromStdString(thisVersion());
}

void TargetCheckTest::init()
{
    m_programs = std::make_unique<FakePrograms>();
    m_runs = std::make_unique<Scratch>();
    m_far = std::make_unique<Scratch>();
    m_programs->addSsh();
    m_programs->add("rsync");
    m_programs->add("df", "echo 'Filesystem 1024-blocks Used Available Capacity Mounted'\n"
                          "echo '/dev/x 9000000000 1 812345678 1% /home'");
    addVergence(thisVersion(), kTwoGpus);
    m_target = {};
    m_target.name = "far";
    m_target.scheduler = Scheduler::Lanes;
    m_target.login = "me@n1";
    m_target.disk = Disk::Own;
    m_target.folder = m_far->path() / "runs of me";
    m_target.vergence = m_programs->folder() / "vergence";
}

void TargetCheckTest::addVergence(const std::string& version, const std::string& doctor)
{
    m_programs->add("vergence", "case $1 in --version) echo '" + version +
                                    "'; [ -z \"$2\" ] || echo 'device: EPYC' ;; doctor) cat "
                                    "<<'END'\n" +
                                    doctor + "\nEND\n;; esac");
}

QStringList TargetCheckTest::textsOf(const TargetCheck& check)
{
    QStringList texts;
    for (const TargetCheck::Line& line : check.lines)
        texts << QString::fromStdString((line.isGood ? "+ " : "- ") + line.text);
    return texts;
}

const TargetCheck::Line* TargetCheckTest::find(const TargetCheck& check, const std::string& part)
{
    for (const TargetCheck::Line& line : check.lines)
        if (line.text.find(part) != std::string::npos)
            return &line;
    return nullptr;
}

void TargetCheckTest::goodComputerIsTold()
{
    m_target.lanes = {"cuda:0", "cuda:1", "cpu"};
    QCOMPARE(textsOf(check()),
             (QStringList{"+ me@n1 answers.", "+ Runs can be copied: rsync is on both sides.",
                          "+ me@n1 writes " + far() + " (812 GB free).",
                          "+ me@n1 has " + version() + ".", "+ Devices on me@n1: EPYC, H100, A100.",
                          "+ 3 runs may work at a time."}));
    QVERIFY(std::filesystem::is_empty(m_target.folder)); // made there, and nothing left in it
    QVERIFY(contentOf(m_runs->path()).empty());
}

void TargetCheckTest::goodComputerOfASharedDiskIsTold()
{
    m_target.disk = Disk::Shared;
    m_target.folder.clear();
    QCOMPARE(
        textsOf(check()),
        (QStringList{"+ me@n1 answers.", "+ me@n1 sees and writes " + here() + " (812 GB free).",
                     "+ me@n1 has " + version() + ".", "+ Devices on me@n1: EPYC, H100, A100.",
                     "+ 1 run may work at a time."}));
    QVERIFY(contentOf(m_runs->path()).empty());
}

void TargetCheckTest::thisComputerIsTold()
{
    m_target.disk = Disk::Shared;
    m_target.login.clear();
    QCOMPARE(textsOf(check()), (QStringList{"+ This computer writes " + here() + " (812 GB free).",
                                            "+ This computer has " + version() + ".",
                                            "+ Devices on this computer: EPYC, H100, A100.",
                                            "+ 1 run may work at a time."}));
    QVERIFY(m_programs->arguments("ssh").empty());
    m_programs->add("vergence", "exit 1");
    const TargetCheck broken = check();
    const auto* line = find(broken, "/vergence does not start. Set `program`");
    QVERIFY(line && !line->isGood);
}

void TargetCheckTest::clusterWithADiskOfItsOwnIsTold()
{
    m_target.scheduler = Scheduler::Slurm;
    m_programs->add("sinfo", "[ \"$1\" = --version ] && echo 'slurm 22.05.8' && exit\n"
                             "echo 'all*|2|idle'");
    m_programs->add("sbatch", "cat >/dev/null");
    m_programs->add("srun", "while [ \"$1\" != sh ]; do shift; done\nSLURMD_NODENAME=n7 exec "
                            "\"$@\"");
    QCOMPARE(textsOf(check()),
             (QStringList{"+ me@n1 answers.", "+ Runs can be copied: rsync is on both sides.",
                          "+ me@n1 writes " + far() + " (812 GB free).",
                          "+ me@n1 has " + version() + ".", "+ Slurm 22.05.8 answers on me@n1.",
                          "+ Partition `all`: 2 nodes, 2 idle.",
                          "+ The cluster takes jobs with these settings.",
                          "+ n7 sees and writes " + far() + ".", "+ n7 has " + version() + ".",
                          "+ Devices on n7: EPYC."}));
    QVERIFY(std::filesystem::is_empty(m_target.folder));
    QVERIFY(contentOf(m_runs->path()).empty());

    // Both files for others to find, the login's own and the nodes', were made on that disk.
    QCOMPARE(std::ranges::count_if(m_programs->arguments("ssh"),
                                   [](const std::string& word) {
                                       return word.find("who sees this folder") != word.npos;
                                   }),
             2);

    m_programs->add("srun", "echo 'node n7'");
    const TargetCheck blind = check();
    const auto* line = find(blind, "Set `folder` to one on a disk that me@n1 and the nodes share.");
    QVERIFY(line && !line->isGood);
}

void TargetCheckTest::problemIsASentence_data()
{
    QTest::addColumn<QByteArray>("program");
    QTest::addColumn<QByteArray>("body"); ///< null: taken away
    QTest::addColumn<QByteArray>("sentence");
    QTest::newRow("no rsync there")
        << QByteArray("rsync") << QByteArray("exit 127")
        << QByteArray("The program rsync is not on me@n1. Install the package rsync there; runs "
                      "are copied by it.");
    QTest::newRow("no program there")
        << QByteArray("vergence") << QByteArray("exit 1") << QByteArray("There is no ");
    QTest::newRow("other version there")
        << QByteArray("vergence") << QByteArray("echo 'vergence 0.0.1'")
        << QByteArray("me@n1 has vergence 0.0.1 (");
}

void TargetCheckTest::problemIsASentence()
{
    QFETCH(QByteArray, program);
    QFETCH(QByteArray, body);
    QFETCH(QByteArray, sentence);
    m_programs->add(program.toStdString(), body.toStdString());
    const TargetCheck check = this->check();
    QVERIFY(!check.isGood());
    const TargetCheck::Line* line = find(check, sentence.toStdString());
    QVERIFY2(line && !line->isGood, qPrintable(textsOf(check).join('\n')));
    QCOMPARE(find(check, "Devices on") == nullptr, program == "vergence");
    m_target.vergence.clear(); // what is installed counts, and nothing is
    const TargetCheck without = this->check();
    QVERIFY(find(without, "`vergence targets install far`"));
}

void TargetCheckTest::lanesAreFound_data()
{
    QTest::addColumn<QByteArray>("lane");
    QTest::addColumn<QByteArray>("sentence"); ///< empty: it is there
    for (const char* lane : {"cpu", "cuda", "cuda:0", "cuda:1", "GPU-34cd", "GPU-12"})
        QTest::newRow(lane) << QByteArray(lane) << QByteArray();
    QTest::newRow("third GPU") << QByteArray("cuda:2")
                               << QByteArray("There is no device cuda:2 on me@n1 for a lane. "
                                             "Correct `lanes`.");
    QTest::newRow("other GPU") << QByteArray("GPU-56ef")
                               << QByteArray("There is no device GPU-56ef on me@n1 for a lane.");
    QTest::newRow("no GPU") << QByteArray("cuda:0")
                            << QByteArray("There is no device cuda:0 on me@n1 for a lane. No "
                                          "driver is here. Correct `lanes`.");
}

void TargetCheckTest::lanesAreFound()
{
    QFETCH(QByteArray, lane);
    QFETCH(QByteArray, sentence);
    if (sentence.contains("driver"))
        addVergence(thisVersion(), kNoGpu);
    m_target.lanes = {"cpu", lane.toStdString(), lane.toStdString()};
    const TargetCheck check = this->check();
    QVERIFY2(check.isGood() == sentence.isEmpty(), qPrintable(textsOf(check).join('\n')));
    QVERIFY(sentence.isEmpty() || find(check, sentence.toStdString()));
    QVERIFY(find(check, "3 runs may work at a time."));
}

void TargetCheckTest::computerThatCannotBeReachedIsTold()
{
    m_programs->add("ssh", "echo 'me@n1: Permission denied (publickey).' >&2; exit 255");
    const TargetCheck check = this->check();
    QCOMPARE(check.lines.size(), std::size_t{1});
    QVERIFY(find(check, "me@n1 lets nobody in without a password."));
    QVERIFY(!check.isGood());
}

/// The other side has the folder, and another disk under it.
void TargetCheckTest::diskThatIsNotSharedIsTold()
{
    m_target.disk = Disk::Shared;
    m_target.folder.clear();
    m_programs->addSsh();
    const std::string ssh = m_programs->text("ssh");
    writeFileAtomic(m_programs->folder() / "ssh",
                    ssh.substr(0, ssh.find('\n') + 1) +
                        "case \"$*\" in *.vergence-check-*) exit 0;; esac\n" +
                        ssh.substr(ssh.find('\n') + 1));
    std::filesystem::permissions(m_programs->folder() / "ssh", std::filesystem::perms::owner_all);
    const TargetCheck check = this->check();
    const auto* line = find(check, "me@n1 does not see " + m_runs->path().string() +
                                       " as this computer has it. Set `folder`");
    QVERIFY(line && !line->isGood);
}

void TargetCheckTest::folderThatCannotBeWrittenIsTold()
{
    m_target.folder = "/proc/sys/runs";
    const TargetCheck check = this->check();
    const auto* line = find(check, "/proc/sys/runs cannot be written on me@n1 (");
    QVERIFY(line && !line->isGood);
    QVERIFY(find(check, "Devices on me@n1")); // the rest is told, too
}

void TargetCheckTest::doctorThatCannotBeReadIsTold_data()
{
    QTest::addColumn<QByteArray>("said");
    for (const char* said : {"", "{", "[]", "{}", R"({"devices": 1})",
                             R"({"devices": {"list": [{}], "why_no_cuda": ""}})"})
        QTest::newRow(said) << QByteArray(said);
}

void TargetCheckTest::doctorThatCannotBeReadIsTold()
{
    QFETCH(QByteArray, said);
    addVergence(thisVersion(), said.toStdString());
    const TargetCheck check = this->check();
    const auto* line = find(check, "doctor --json` says on me@n1 cannot be read.");
    QVERIFY2(line && !line->isGood, qPrintable(textsOf(check).join('\n')));
}

VERGENCE_TEST(TargetCheckTest)
#include "tst_target_check.moc"
