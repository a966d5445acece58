#include "tests/cluster/cluster_bench.h"

#include <csignal>
#include <fstream>

#include "core/artifact/checkpoint.h"
#include "tests/cluster/cluster_results.h"

using namespace vergence;
using namespace vergence::test;

namespace {

/// Far enough for numbers and pictures to have been told.
bool isWellUnderWay(const RunFolder& run)
{
    const RunStatus status = statusOf(run);
    return status.step > 0 && 5 * status.step >= status.total;
}

/// Whether a process has a signal that it has not taken yet.
bool isWaitingFor(pid_t process, int signal)
{
    std::ifstream file("/proc/" + std::to_string(process) + "/status");
    const std::string key = "ShdPnd:";
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(key))
            return (std::stoull(line.substr(key.size()), nullptr, 16) >> (signal - 1) & 1) != 0;
    }
    return false;
}

} // namespace

/// A small run of every lab whose job's time runs out: saved, queued again, continued.
class SlurmLabsTest : public ClusterBench {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { VERGENCE_NEEDS_SLURM(); }
    void init() { QVERIFY(begin()); }
    void cleanup() { end(); }

    void interruptedRunEqualsItsLocalTwin_data();
    void interruptedRunEqualsItsLocalTwin();
};

void SlurmLabsTest::interruptedRunEqualsItsLocalTwin_data()
{
    QTest::addColumn<QStringList>("settings");
    QTest::addColumn<QStringList>("timed"); ///< beginnings of what tells of time
    QTest::newRow("light_field") << QStringList{"boards=[26,40]",  "render_res=32",
                                                "panel_res=64",    "planes=4",
                                                "headroom=4",      "rays_per_pixel=4",
                                                "eval_rays=16",    "iterations=9000",
                                                "heldout_every=3", "tolerance=0"}
                                 << QStringList{"boards/n26/loss.csv", "boards/n40/loss.csv",
                                                "sweep.csv"};
    QTest::newRow("sugar") << QStringList{"goal=gaussians",    "built_in_width=64",
                                          "iterations=1500",   "built_in_height=48",
                                          "sh_degree=1",       "sh_every=20",
                                          "densify=classic",   "densify_from=10",
                                          "densify_until=50",  "densify_every=10",
                                          "reset_every=0",     "eval_every=200",
                                          "cap=4000",          "turntable_frames=4",
                                          "turntable_size=64", "milestones=[20]"}
                           << QStringList{"evaluation.", "report."};
    // The last lines: what is told every so many steps, and what is drawn of it, begins anew with
    // each worker.
    QTest::newRow("foveated_vlm") << QStringList{"micro_steps=90",  "eval_every=30",
                                                 "eval_samples=16", "caption_clips=2",
                                                 "gaze_clips=1",    "size=32",
                                                 "frames=3"}
                                  << QStringList{"series it_per_s",
                                                 "series clips_per_s",
                                                 "series gflop_per_s",
                                                 "charts.",
                                                 "loss.",
                                                 "metrics.json",
                                                 "series epoch",
                                                 "series samples_seen",
                                                 "series skipped_updates"};
    QTest::newRow("mc_embedding")
        << QStringList{"models=[\"tiny_clip\"]", "count=100",      "p=0.05",        "trials=3",
                       "passes=[4, 8]",          "batch_images=2", "batch_passes=3"}
        << QStringList{"report/", "study/state.json", "study/exp0/exp0_overall_summary.json",
                       "study/exp0/tiny_clip/exp0_summary.json"};
    QTest::newRow("live_diffusion") << QStringList{"parts=[\"train\", \"stream\", \"drift\"]",
                                                   "model_size=nano",
                                                   "frame_size=32",
                                                   "weights=trained",
                                                   "tuned=false",
                                                   "train_updates=60",
                                                   "warmup=10",
                                                   "train_clips=4",
                                                   "sample_every=20",
                                                   "stream_frames=40",
                                                   "drift_frames=30",
                                                   "drift_grid=false",
                                                   "export_overlay=false"}
                                    << QStringList{"stream/", "tensor shown/"};
}

void SlurmLabsTest::interruptedRunEqualsItsLocalTwin()
{
    QFETCH(QStringList, settings);
    QFETCH(QStringList, timed);
    const QString lab = QTest::currentDataTag();
    QStringList arguments{lab};
    if (lab == "foveated_vlm")
        arguments << "--preset"
                  << "demo-ask";
    for (const QString& setting : settings)
        arguments << "--set" << setting;
    const Outcome outcome = submit(arguments);
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    const RunFolder run{outcome.folder()};
    QTRY_VERIFY(isWellUnderWay(run));
    const QString job = jobOf(run);
    // However long Slurm takes to tell it, the run does not end meanwhile.
    const pid_t worker = statusOf(run).pid;
    ::kill(worker, SIGSTOP);
    SlurmBench::ask({"scancel", "--batch", "--signal=USR1", job});
    QTRY_VERIFY(isWaitingFor(worker, SIGUSR1));
    ::kill(worker, SIGCONT);
    QTRY_COMPARE(SlurmBench::jobState(job), QString("PENDING"));
    QVERIFY(statusOf(run).step < statusOf(run).total && !listCheckpoints(run).empty());
    qInfo("Saved at step %lld of %lld.", static_cast<long long>(statusOf(run).step),
          static_cast<long long>(statusOf(run).total));

    const RunFolder twin = madeHere(arguments);
    QTRY_COMPARE(SlurmBench::jobState(job), QString("COMPLETED"));
    QCOMPARE(SlurmBench::jobWord(job, "Restarts"), QString("1"));
    QCOMPARE(differences(run, twin, timed), QString());
    QCOMPARE(repeatedLines(run), QString());
}

QTEST_GUILESS_MAIN(SlurmLabsTest)
#include "tst_slurm_labs.moc"
