#include <cmath>
#include <map>
#include <set>

#include "core/base/file.h"
#include "tests/app/cli/cli_bench.h"
#include "tests/support/run_bench.h"
#include "tests/support/test_program.h"

using namespace vergence;

namespace {

/// Series that depend on time, or count what lies near a threshold.
const std::set<std::string> kOtherwise{
    "it_per_s", "clips_per_s", "data_wait_ms", "gflop_per_s",       "updates_per_s",
    "frame_ms", "fps",         "fps_mean",     "gaussians/visible", "gaussians/instances"};

/// The largest difference of a series, as a share of its largest value.
double difference(const std::vector<double>& a, const std::vector<double>& b)
{
    double largest = 0, apart = 0;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        if (std::isnan(a[i]) != std::isnan(b[i]))
            return INFINITY;
        if (std::isnan(a[i]))
            continue;
        largest = std::max(largest, std::abs(a[i]));
        apart = std::max(apart, std::abs(a[i] - b[i]));
    }
    return apart > 0 ? apart / largest : 0;
}

} // namespace

/// Each lab from start to export on the emulated device, beside the same run on the CPU.
class TestEmulatedLabs : public test::CliBench {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase()
    {
        makeHome();
        qputenv("VERGENCE_MODULE_PATH",
                QString("%1/lib/emulated/exact:%1/lib/emulated").arg(test::kBuild).toUtf8());
        qputenv("VERGENCE_EMULATED_REPORT", path("findings").toUtf8());
    }

    void numbersAreThoseOfTheCpu_data()
    {
        QTest::addColumn<double>("tolerance"); ///< of each series, relative to its largest value
        QTest::addColumn<QStringList>("settings");
        QTest::newRow("light_field")
            << 1e-6
            << QStringList{"boards=[26,40]",  "render_res=32",    "panel_res=64", "planes=4",
                           "headroom=4",      "rays_per_pixel=4", "eval_rays=16", "iterations=6",
                           "heldout_every=3", "tolerance=0"};
        QTest::newRow("sugar") << 1e-4 << QStringList{"goal=gaussians",     "built_in_width=64",
                                                      "built_in_height=48", "iterations=30",
                                                      "sh_degree=1",        "sh_every=10",
                                                      "densify=none",       "reset_every=0",
                                                      "eval_every=10",      "cap=4000",
                                                      "turntable_frames=2", "turntable_size=64",
                                                      "milestones=[20]"};
        QTest::newRow("foveated_vlm")
            << 1e-5
            << QStringList{"vit=tiny",        "llm=tiny",     "query_dim=16",     "frames=3",
                           "size=32",         "batch=2",      "grad_accum=3",     "micro_steps=9",
                           "samples=0",       "eval_every=6", "eval_samples=4",   "log_every=1",
                           "caption_clips=1", "gaze_clips=1", "caption_tokens=4", "gaze_size=32",
                           "precision=fp32"};
        QTest::newRow("mc_embedding") << 1e-5 << QStringList{"models=[\"tiny_clip\"]",
                                                             "experiment=[\"exp0\"]",
                                                             "p=0.05",
                                                             "count=4",
                                                             "trials=2",
                                                             "passes=[4]",
                                                             "precision=fp32"};
        QTest::newRow("live_diffusion") << 1e-5
                                        << QStringList{"parts=[\"train\", \"stream\"]",
                                                       "model_size=nano",
                                                       "frame_size=16",
                                                       "weights=trained",
                                                       "tuned=false",
                                                       "precision=fp32",
                                                       "train_updates=4",
                                                       "warmup=2",
                                                       "train_clips=2",
                                                       "sample_every=2",
                                                       "stream_frames=2",
                                                       "paced=false",
                                                       "steps=2"};
    }
    void numbersAreThoseOfTheCpu()
    {
        QFETCH(double, tolerance);
        QFETCH(QStringList, settings);
        const QString lab = QTest::currentDataTag();
        QStringList run{"run", lab, "--zip"};
        for (const QString& setting : settings)
            run << "--set" << setting;
        std::map<QString, std::map<std::string, std::vector<double>>> numbers;
        for (const QString device : {"cpu", "cuda:0"}) {
            const QString folder = path(lab + " " + device);
            const test::Outcome outcome =
                patiently(run + QStringList{"--device", device, "--run-dir", folder});
            QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
            numbers[device] = test::timelessNumbers(RunFolder{folder.toStdString()});
        }
        for (const auto& [name, values] : numbers["cpu"]) {
            const auto& other = numbers["cuda:0"][name];
            QVERIFY2(values.size() == other.size(), name.c_str());
            if (kOtherwise.contains(name))
                continue;
            const double apart = difference(values, other);
            QVERIFY2(apart <= tolerance,
                     qPrintable(QString("%1: %2").arg(name.c_str()).arg(apart)));
        }
        QVERIFY2(!QFile::exists(path("findings")), qPrintable(findings()));
    }

private:
    QString findings() const
    {
        QFile file(path("findings"));
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QString();
    }
};

VERGENCE_TEST(TestEmulatedLabs)
#include "tst_emulated_labs.moc"
