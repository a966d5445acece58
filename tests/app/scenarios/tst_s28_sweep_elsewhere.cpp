#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <QElapsedTimer>
#include <QFile>
#include <QLineEdit>
#include <QPushButton>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>

#include "core/base/error.h"
#include "core/cluster/target.h"
#include "tests/app/scenarios/hands.h"
#include "tests/cluster/cluster_results.h"
#include "tests/support/cli/command_line.h"
#include "tests/support/cluster/slurm_bench.h"
#include "tests/support/cluster/ssh_bench.h"
#include "tests/support/gui/gui_harness.h"

using namespace vergence;
using test::SlurmBench;
using test::SshBench;

namespace {

const QString kSize = "256", kSweeps = "8000"; ///< a second or two
const char* const kSeries = "heat/residual";
const QString kPartition = "low"; ///< its jobs make room for others

RunStatus statusIn(const RunFolder& folder)
{
    try {
        return readStatus(folder);
    } catch (const InputError&) {
        return {};
    }
}

bool isWorking(const RunStatus& status)
{
    const auto state = runStateFromName(status.state);
    return state && isLive(*state);
}

/// Of the last whole line of metrics.csv; -1 where there is none.
std::int64_t newestStepIn(const RunFolder& folder)
{
    constexpr qint64 kTail = 2'000;
    QFile file(QString::fromStdString(folder.metrics().string()));
    if (!file.open(QIODevice::ReadOnly))
        return -1;
    file.seek(std::max(qint64{0}, file.size() - kTail));
    const QByteArray tail = file.readAll();
    const auto lines = tail.left(tail.lastIndexOf('\n')).split('\n');
    const auto line = std::find_if(lines.rbegin(), lines.rend(), [](const QByteArray& text) {
        return text.contains(QByteArray(",") + kSeries + ',');
    });
    return line == lines.rend() ? -1 : line->left(line->indexOf(',')).toLongLong();
}

/// As its row says.
QString shownState(const RunListModel& runs, int row)
{
    return runs.data(runs.index(row, RunListModel::State), Qt::DisplayRole).toString();
}

/// Looks at all that a window says of runs: each state that a row was ever shown in, and how long
/// the window lacks points of runs that work.
class Watch : public QObject {
public:
    Watch()
    {
        m_timer.setInterval(50);
        connect(&m_timer, &QTimer::timeout, this, &Watch::sample);
        m_clock.start();
        m_timer.start();
    }

    /// From now on this list. A window that comes up has lacked nothing so far.
    void follow(const RunListModel& runs)
    {
        m_runs = &runs;
        forgive();
        lookAt(0, runs.rowCount() - 1);
        const auto lookAtNew = [this](const QModelIndex&, int first, int last) {
            lookAt(first, last);
        };
        connect(&runs, &RunListModel::dataChanged, this,
                [this](const QModelIndex& first, const QModelIndex& last) {
                    lookAt(first.row(), last.row());
                });
        connect(&runs, &RunListModel::rowsInserted, this, lookAtNew);
    }
    void leave()
    {
        sample();
        m_runs->disconnect(this);
        m_runs = nullptr;
    }
    /// What comes late because of the link is counted for itself.
    void setLinked(bool isLinked)
    {
        sample();
        m_isLinked = isLinked;
        forgive();
    }

    QStringList falseEnds() const { return {m_falseEnds.begin(), m_falseEnds.end()}; }
    qint64 largestLag() const { return m_largestLag; }          ///< ms
    qint64 largestBrokenLag() const { return m_largestBroken; } ///< ms, until the link works again

private:
    struct Row {
        std::int64_t step;
        qint64 seen; ///< ms of the clock
    };

    void forgive()
    {
        for (auto& [id, rows] : m_lacking)
            for (Row& row : rows)
                row.seen = m_clock.elapsed();
    }
    void lookAt(int first, int last)
    {
        for (int row = first; row <= last; ++row) {
            const RunEntry& run = m_runs->entry(row);
            const QString text = shownState(*m_runs, row);
            for (const char* end : {"Lost", "Failed", "Crashed"}) {
                if (text.contains(end) && m_falseEnds.insert(run.id).second)
                    qWarning("%s is shown as %s", qPrintable(run.id), qPrintable(text));
            }
        }
    }
    void sample()
    {
        for (int row = 0; m_runs != nullptr && row < m_runs->rowCount(); ++row) {
            if (const RunEntry& run = m_runs->entry(row); run.remote)
                measure(run);
        }
    }
    void measure(const RunEntry& run)
    {
        auto& lacking = m_lacking[run.id];
        const RunFolder there{run.remote->folder};
        const std::int64_t newest = newestStepIn(there);
        if (newest < 0 || !isWorking(statusIn(there)))
            return lacking.clear();
        if (!lacking.empty() && newest < lacking.back().step) // it goes on from a checkpoint
            lacking.clear();
        if (lacking.empty() || newest > lacking.back().step)
            lacking.push_back({newest, m_clock.elapsed()});
        const Series* shown =
            run.session == nullptr ? nullptr : run.session->client().metrics().find(kSeries);
        const std::int64_t here =
            shown == nullptr || shown->size() == 0 ? -1 : shown->steps().back();
        while (!lacking.empty() && lacking.front().step <= here)
            lacking.pop_front();
        const qint64 lag = lacking.empty() ? 0 : m_clock.elapsed() - lacking.front().seen;
        qint64& largest = m_isLinked ? m_largestLag : m_largestBroken;
        largest = std::max(largest, lag);
    }

    const RunListModel* m_runs = nullptr; ///< null while there is no window
    QTimer m_timer;
    QElapsedTimer m_clock;
    std::set<QString> m_falseEnds;
    std::map<QString, std::deque<Row>> m_lacking; ///< what is there and not here, by run
    bool m_isLinked = true;
    qint64 m_largestLag = 0, m_largestBroken = 0;
};

/// Slurm is asked four times a second: meanwhile the window stands still.
template <class Predicate>
bool waitForSlurm(Predicate isThere)
{
    constexpr int kAskMs = 250;
    QElapsedTimer sinceAsked;
    return test::waitFor([&] {
        if (sinceAsked.isValid() && !sinceAsked.hasExpired(kAskMs))
            return false;
        const bool is = isThere();
        sinceAsked.start();
        return is;
    });
}

int numberIn(const char* variable, int otherwise)
{
    bool isNumber = false;
    const int number = qEnvironmentVariableIntValue(variable, &isNumber);
    return isNumber ? number : otherwise;
}

} // namespace

/// S28: a sweep goes to a cluster behind ssh, and much happens to it there and on the way.
class TestSweepElsewhere : public QObject {
    Q_OBJECT

    const int m_count = numberIn("VERGENCE_SWEEP_RUNS", 6);
    const int m_linkSeconds = numberIn("VERGENCE_LINK_SECONDS", 0);
    QTemporaryDir m_twins;
    std::unique_ptr<SlurmBench> m_slurm;
    std::unique_ptr<SshBench> m_ssh;
    std::unique_ptr<GuiHarness> m_gui;

    RunListModel& runs() { return m_gui->window().runs(); }
    bool begin();
    void submitSweep();
    /// A run that works there and has done less than this share; null where there is none now.
    const RunEntry* workingRun(double share);
    QStringList unfinished();
    QString statesOfUnfinished(); ///< as their rows have them, without repetitions
    void preemptOne();
    void powerOffOneNode();
    void breakLink(Watch& watch);
    void closeAndOpen(Watch& watch);
    bool waitForAll();
    void compareWithTwin(const RunEntry& run);

private Q_SLOTS:
    void initTestCase()
    {
        VERGENCE_NEEDS_SLURM();
        VERGENCE_NEEDS_SSHD();
    }
    void everyRunEndsAsAnUndisturbedOne();
};

bool TestSweepElsewhere::begin()
{
    m_slurm = std::make_unique<SlurmBench>();
    m_ssh = std::make_unique<SshBench>();
    if (!m_slurm->start() || !m_ssh->start())
        return false;
    m_ssh->setVariable("h1", "SLURM_CONF", QFile::decodeName(qgetenv("SLURM_CONF")));
    Target target;
    target.name = "uni";
    target.login = "h1";
    target.disk = Disk::Own;
    target.vergence = VERGENCE_BINARY_DIR "/bin/vergence";
    target.partition = kPartition.toStdString();
    target.cores = 2;
    target.grace = 10;
    saveTarget(target);
    StudioSettings().setCheckpointSeconds(1);
    m_gui = std::make_unique<GuiHarness>();
    return m_gui->waitForPlugins();
}

void TestSweepElsewhere::submitSweep()
{
    test::choose(*m_gui->find<QComboBox>("targetChoice"), "uni");
    m_gui->window().actions().newRun->trigger();
    m_gui->window().setup().choose("heat", {});
    const QString toml = QString("[plate]\nsize = %1\n[solver]\nsweeps = %2\n").arg(kSize, kSweeps);
    const auto issues = m_gui->window().setup().loadToml(toml.toStdString(), "test", "heat");
    QVERIFY(!hasErrors(issues));
    m_gui->findAction("sweep")->trigger();
    auto* dialog = m_gui->find<QDialog>("sweepDialog");
    QVERIFY(dialog != nullptr);
    auto* field = dialog->findChild<QComboBox*>("sweepField");
    field->setCurrentIndex(field->findData("seed"));
    QStringList seeds;
    for (int seed = 1; seed <= m_count; ++seed)
        seeds << QString::number(seed);
    dialog->findChild<QLineEdit*>("sweepList")->setText(seeds.join(", "));
    auto* add = dialog->findChild<QPushButton*>("sweepAdd");
    QTRY_VERIFY(add->isEnabled()); // each has been checked
    m_gui->shoot("sweep_elsewhere");
    QTest::mouseClick(add, Qt::LeftButton);
    QTRY_COMPARE(runs().rowCount(), m_count);
    QTRY_COMPARE(unfinished().size(), qsizetype{m_count});
}

const RunEntry* TestSweepElsewhere::workingRun(double share)
{
    for (int row = 0; row < runs().rowCount(); ++row) {
        const RunEntry& run = runs().entry(row);
        if (!run.remote || !run.job)
            continue;
        const RunStatus status = statusIn(RunFolder{run.remote->folder});
        const bool isEarly = status.step > 0 && static_cast<double>(status.step) <
                                                    share * static_cast<double>(status.total);
        if (status.state == "Running" && isEarly)
            return &run;
    }
    return nullptr;
}

/// Ids of those that are known not to have ended.
QStringList TestSweepElsewhere::unfinished()
{
    QStringList ids;
    for (int row = 0; row < runs().rowCount(); ++row)
        if (const RunEntry& run = runs().entry(row);
            run.isLoaded && run.remote && run.state != RunState::Completed)
            ids << run.id;
    return ids;
}

QString TestSweepElsewhere::statesOfUnfinished()
{
    QStringList states;
    for (const QString& id : unfinished())
        states << shownState(runs(), runs().rowOf(id));
    states.removeDuplicates();
    return states.join(", ");
}

/// A job of another partition takes the place of a run. It may come between two runs, which harms
/// nobody; then there comes another one.
void TestSweepElsewhere::preemptOne()
{
    QString job, other;
    const auto hasMadeRoom = [&] {
        if (!job.isEmpty() && SlurmBench::jobWord(job, "Restarts").toInt() > 0)
            return true;
        const RunEntry* run = workingRun(0.5);
        if (run == nullptr || (!other.isEmpty() && SlurmBench::jobState(other) != "COMPLETED"))
            return false;
        job = QString::fromStdString(run->job->slurmId());
        other = SlurmBench::ask({"sbatch", "--parsable", "-p", "high", "-c", "2", "-w",
                                 SlurmBench::jobWord(job, "NodeList"), "-o", "/dev/null", "--wrap",
                                 "exit 0"});
        return false;
    };
    QVERIFY(waitForSlurm(hasMadeRoom));
}

void TestSweepElsewhere::powerOffOneNode()
{
    const RunEntry* run = nullptr;
    QVERIFY(test::waitFor([&] { return (run = workingRun(0.8)) != nullptr; }));
    const QString job = QString::fromStdString(run->job->slurmId());
    const QString node = SlurmBench::jobWord(job, "NodeList");
    m_slurm->powerOff(node);
    QVERIFY(waitForSlurm([&] { return m_slurm->isDown(node); }));
    QVERIFY(waitForSlurm([&] { return SlurmBench::jobWord(job, "Restarts").toInt() > 0; }));
}

void TestSweepElsewhere::breakLink(Watch& watch)
{
    QVERIFY(!unfinished().isEmpty());
    m_ssh->breakLink("h1");
    watch.setLinked(false);
    const QDeadlineTimer length(m_linkSeconds * 1'000);
    QTRY_COMPARE(statesOfUnfinished(), QString("Not reached"));
    m_gui->shoot("sweep_not_reached");
    QVERIFY(test::waitFor([&] { return length.hasExpired(); }, m_linkSeconds * 2'000));
    QCOMPARE(statesOfUnfinished(), QString("Not reached"));
    m_ssh->mendLink("h1");
}

void TestSweepElsewhere::closeAndOpen(Watch& watch)
{
    QVERIFY(!unfinished().isEmpty());
    watch.leave();
    m_gui->restart();
    watch.follow(runs());
    QTRY_COMPARE(runs().rowCount(), m_count);
    const auto areReached = [this] {
        for (int row = 0; row < runs().rowCount(); ++row)
            if (const RunEntry& run = runs().entry(row);
                !run.isLoaded || !run.remote || run.isUnreached())
                return false;
        return true;
    };
    QTRY_VERIFY(areReached());
    watch.setLinked(true);
}

/// Bears with runs as long as one of them moves.
bool TestSweepElsewhere::waitForAll()
{
    QString told;
    const auto hasNews = [&] {
        QString now;
        for (const QString& id : unfinished())
            now += stateText(*runs().find(id)) + QString::number(runs().find(id)->step) + '\n';
        return std::exchange(told, now) != now || now.isEmpty();
    };
    while (!unfinished().isEmpty()) {
        if (!test::waitFor(hasNews)) {
            qWarning("Nothing moves any more:\n%s", qPrintable(told));
            return false;
        }
    }
    return true;
}

void TestSweepElsewhere::compareWithTwin(const RunEntry& run)
{
    const QString here = QString::fromStdString(run.folder.root.string());
    const test::Outcome fetched =
        test::runCommand({"fetch", here, "--checkpoints"}, m_twins.path());
    QVERIFY2(fetched.code == 0, qPrintable(fetched.err));
    const test::Outcome made = test::runCommand(
        {"run", "heat", "--set", "size=" + kSize, "--set", "sweeps=" + kSweeps, "--set",
         "seed=" + run.sweep->value, "--device", "cpu", "--runs-dir", m_twins.path(),
         "--plugin-path", VERGENCE_BINARY_DIR "/lib/vergence-test-plugins"},
        m_twins.path());
    QVERIFY2(made.code == 0, qPrintable(made.err));
    QCOMPARE(test::differences(run.folder, RunFolder{made.folder()}), QString());
    QCOMPARE(test::repeatedLines(run.folder), QString());
}

void TestSweepElsewhere::everyRunEndsAsAnUndisturbedOne()
{
    QVERIFY(begin());
    Watch watch;
    watch.follow(runs());
    submitSweep();
    if (QTest::currentTestFailed())
        return;
    QElapsedTimer seconds;
    seconds.start();
    preemptOne();
    if (!QTest::currentTestFailed())
        powerOffOneNode();
    QCOMPARE(watch.falseEnds(), QStringList());
    if (!QTest::currentTestFailed())
        breakLink(watch);
    if (!QTest::currentTestFailed())
        closeAndOpen(watch);
    if (QTest::currentTestFailed())
        return;
    QVERIFY(waitForAll());
    qInfo(
        "%d runs: %.1f s in all, %lld falsely Lost or Failed; charts lag at most %lld ms, %lld ms "
        "while the link is broken",
        m_count, static_cast<double>(seconds.elapsed()) / 1'000,
        static_cast<long long>(watch.falseEnds().size()), watch.largestLag(),
        watch.largestBrokenLag());
    m_gui->shoot("sweep_completed");
    QCOMPARE(watch.falseEnds(), QStringList());
    QStringList seeds;
    for (int row = 0; row < runs().rowCount(); ++row) {
        const RunEntry& run = runs().entry(row);
        QVERIFY(run.state == RunState::Completed && run.sweep);
        seeds << run.sweep->value;
        compareWithTwin(run);
        if (QTest::currentTestFailed())
            return;
    }
    seeds.removeDuplicates();
    QCOMPARE(seeds.size(), qsizetype{m_count});
    QCOMPARE(watch.falseEnds(), QStringList());
}

VERGENCE_GUI_TEST(TestSweepElsewhere)
#include "tst_s28_sweep_elsewhere.moc"
