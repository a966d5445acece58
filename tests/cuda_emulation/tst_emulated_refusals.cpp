#include "core/artifact/run_folder.h"
#include "tests/app/cli/cli_bench.h"
#include "tests/support/environment.h"
#include "tests/support/test_program.h"

using namespace vergence;
using test::ScopedVariable;

/// What a GPU may refuse is said, with the exit code of the manual, and the CPU stays usable.
class TestEmulatedRefusals : public test::CliBench {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase()
    {
        makeHome();
        qputenv("VERGENCE_MODULE_PATH",
                QString("%1/lib/emulated/own:%1/lib/emulated").arg(test::kBuild).toUtf8());
    }

    void refusalsAreSaid_data()
    {
        QTest::addColumn<QByteArray>("failure");
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<int>("code");
        QTest::addColumn<QString>("words");
        const auto row = [](const char* name, const QByteArray& failure, const QByteArray& bytes,
                            int code, const char* words) {
            QTest::newRow(name) << failure << bytes << code << QString(words);
        };
        row("no GPU", "cudaGetDeviceCount:1:100", {}, 7, "No NVIDIA GPU was found");
        row("another architecture", "launch:1:209", {}, 7,
            "running a kernel built for this installation's architectures failed");
        row("of another process alone", "cudaSetDevice:1:46", {}, 7, "busy or unavailable");
        row("hardly any memory", {}, "100000", 5, "E-OOM: The GPU ran out of memory");
        row("no memory for a stream", "cudaStreamCreateWithFlags:1:2", {}, 5, "E-OOM");
        row("a kernel that fails", "launch:20:700", {}, 1, "cudaErrorIllegalAddress");
    }
    void refusalsAreSaid()
    {
        QFETCH(QByteArray, failure);
        QFETCH(QByteArray, bytes);
        QFETCH(int, code);
        QFETCH(QString, words);
        const ScopedVariable how("VERGENCE_EMULATED_FAILURE", failure);
        const ScopedVariable room("VERGENCE_EMULATED_BYTES", bytes);
        const test::Outcome outcome = patiently(smallRun("cuda:0", path("refused")));
        QVERIFY2(outcome.code == code, qPrintable(outcome.err));
        QVERIFY2(outcome.err.contains(words), qPrintable(outcome.err));
        const test::Outcome onCpu = patiently(smallRun("cpu", path("cpu")));
        QVERIFY2(onCpu.code == 0, qPrintable(onCpu.err));
        for (const char* folder : {"refused", "cpu"})
            std::filesystem::remove_all(path(folder).toStdString());
    }

    void driversThatDoNotServeAreSaid_data()
    {
        QTest::addColumn<QByteArray>("driver");
        QTest::addColumn<QString>("words");
        QTest::newRow("none") << QByteArray("0") << "No NVIDIA driver for CUDA was found.";
        QTest::newRow("old") << QByteArray("11080")
                             << "The NVIDIA driver is too old: it supports CUDA 11.8, and this "
                                "build needs CUDA";
    }
    void driversThatDoNotServeAreSaid()
    {
        QFETCH(QByteArray, driver);
        QFETCH(QString, words);
        const ScopedVariable version("VERGENCE_EMULATED_DRIVER", driver);
        const test::Outcome outcome = patiently(smallRun("cuda:0", path("refused")));
        QVERIFY2(outcome.code == 7, qPrintable(outcome.err));
        QVERIFY2(outcome.err.contains(words), qPrintable(outcome.err));
    }

    /// Where nothing is asked for, the run takes what there is.
    void withoutAGpuTheCpuIsTaken()
    {
        const ScopedVariable how("VERGENCE_EMULATED_FAILURE", "cudaGetDeviceCount:1:100");
        QStringList run = smallRun("cpu", path("default"));
        run.removeAt(run.indexOf("--device") + 1);
        run.removeOne("--device");
        const test::Outcome outcome = patiently(run);
        QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    }

    void twoRunsShareAGpu()
    {
        const auto first = start(smallRun("cuda:0", path("first")));
        const test::Outcome second = patiently(smallRun("cuda:0", path("second")));
        QVERIFY2(second.code == 0, qPrintable(second.err));
        QVERIFY(first->waitForFinished(-1));
        QCOMPARE(first->exitCode(), 0);
    }

private:
    static QStringList smallRun(const QString& device, const QString& folder)
    {
        QStringList run{"run", "light_field", "--device", device, "--run-dir", folder};
        for (const char* setting :
             {"boards=[26]", "render_res=32", "panel_res=64", "planes=2", "headroom=2",
              "rays_per_pixel=1", "eval_rays=16", "iterations=2", "tolerance=0"})
            run << "--set" << setting;
        return run;
    }
};

VERGENCE_TEST(TestEmulatedRefusals)
#include "tst_emulated_refusals.moc"
