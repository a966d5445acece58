#include "core/artifact/manifest.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/compute/backend.h"
#include "tests/app/cli/cli_bench.h"
#include "tests/support/cuda_emulation/engine/settings.h"
#include "tests/support/cuda_emulation/engine/streams.h"
#include "tests/support/cuda_emulation/engine/visible_devices.h"
#include "tests/support/environment.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;

extern "C" DeviceBackend* vergenceDeviceBackend();

namespace {

using Devices = std::vector<std::shared_ptr<Device>>;

Devices backendDevices()
{
    std::string reason;
    return vergenceDeviceBackend()->devices(reason);
}

const QString kFirst = "GPU-656d756c-6174-6564-2d67-70752d303030";
const QString kSecond = "GPU-656d756c-6174-6564-2d67-70752d303031";

} // namespace

/// Which devices a process has contexts on, and which it sees.
class TestEmulatedDevices : public test::CliBench {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase()
    {
        qputenv("VERGENCE_MODULE_PATH",
                QString("%1/lib/emulated/exact:%1/lib/emulated").arg(test::kBuild).toUtf8());
        qputenv("VERGENCE_EMULATED_DEVICES", "2");
        emulation::settings().devices = 2;
    }
    void init()
    {
        makeHome();
        qputenv("VERGENCE_EMULATED_CONTEXTS", path("contexts").toUtf8());
    }

    void onlyUseOpensAContext()
    {
        const Devices devices = backendDevices();
        QCOMPARE(devices.size(), std::size_t{2});
        QVERIFY(!emulation::hasContext(0) && !emulation::hasContext(1));
        QVERIFY(devices[1]->memory().total > 0);
        QVERIFY(!emulation::hasContext(0) && emulation::hasContext(1));
    }
    void firstUseSaysThatNoKernelRuns()
    {
        constexpr const char* kSentence =
            "The GPU cannot be used: running a kernel built for this installation's architectures "
            "failed (no kernel image is available for execution on the device).";
        const Devices devices = backendDevices();
        emulation::settings().failure = "launch:1:209";
        try {
            devices[0]->createStream();
            QFAIL("a device that runs no kernel has no stream");
        } catch (const DeviceError& error) {
            QCOMPARE(error.what(), kSentence);
            QCOMPARE(error.exitCode(), ExitCode::NoDevice);
        }
        emulation::settings().failure.clear();
        emulation::setStickyError(0);
        QVERIFY(devices[0]->createStream() != nullptr);
    }
    void theFirstThatCanBeUsedIsTaken()
    {
        const DeviceList list{backendDevices(), {}};
        emulation::settings().failure = "cudaMalloc:1:2";
        QCOMPARE(list.select("cuda"), list.devices[1]);
        emulation::settings().failure.clear();
    }
    void instancesOfADividedDeviceAreNamedSo()
    {
        emulation::settings().isMig = true;
        const Devices devices = backendDevices();
        emulation::settings().isMig = false;
        QCOMPARE(QString::fromStdString(devices.at(1)->info().uuid),
                 QString(kSecond).replace("GPU-", "MIG-"));
    }

    void aRunSeesItsDeviceAlone_data()
    {
        QTest::addColumn<QString>("wanted");
        QTest::addColumn<QByteArray>("visible"); ///< to the program that is started
        QTest::addColumn<QString>("uuid");
        QTest::addColumn<bool>("isTried"); ///< before the program begins anew
        QTest::newRow("none named") << "" << QByteArray() << kFirst << true;
        QTest::newRow("first that works") << "cuda" << QByteArray() << kFirst << true;
        QTest::newRow("second") << "cuda:1" << QByteArray() << kSecond << false;
        QTest::newRow("UUID") << kSecond << QByteArray() << kSecond << false;
        QTest::newRow("the user's order") << "cuda:0" << QByteArray("1,0") << kSecond << false;
        QTest::newRow("the user's one") << "cuda" << kSecond.toUtf8() << kSecond << false;
    }
    void aRunSeesItsDeviceAlone()
    {
        QFETCH(QString, wanted);
        QFETCH(QByteArray, visible);
        QFETCH(QString, uuid);
        QFETCH(bool, isTried);
        const test::ScopedVariable seen("CUDA_VISIBLE_DEVICES", visible);
        const QStringList run = tinyRun(wanted);
        const test::Outcome outcome = patiently(run);
        QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
        QStringList want{uuid + " of 1"};
        if (isTried)
            want.prepend(uuid + " of 2");
        QCOMPARE(contexts(), want);
        const auto manifest =
            nlohmann::json::parse(readFile(path("run/manifest.json").toStdString()));
        QCOMPARE(QString::fromStdString(manifest["device"]["uuid"]), uuid);
        std::vector<std::string> command;
        manifest["command"].get_to(command);
        QCOMPARE(QString::fromStdString(command.back()), run.back());
    }
    void aRunResumesOnItsDevice()
    {
        QVERIFY(patiently(tinyRun("cuda:1")).code == 0);
        const test::Outcome more = patiently(
            {"run", path("run"), "--resume", "--set", "iterations=2", "--device", "cuda:1"});
        QVERIFY2(more.code == 0, qPrintable(more.err));
        QCOMPARE(contexts(), (QStringList{kSecond + " of 1", kSecond + " of 1"}));
    }
    void anUnknownDeviceIsToldWhatThereIs()
    {
        const test::Outcome outcome = patiently(tinyRun("cuda:2"));
        QCOMPARE(outcome.code, static_cast<int>(ExitCode::NoDevice));
        QVERIFY2(outcome.err.contains("No device cuda:2 here; there is: cpu, cuda:0, cuda:1."),
                 qPrintable(outcome.err));
    }
    void aBusyDeviceIsSaidToBe()
    {
        const test::ScopedVariable failure("VERGENCE_EMULATED_FAILURE", "cudaSetDevice:1:46");
        const test::Outcome named = patiently(tinyRun("cuda:0"));
        QCOMPARE(named.code, static_cast<int>(ExitCode::NoDevice));
        QVERIFY(!QFile::exists(path("run")));
        QVERIFY2(named.err.contains("The GPU cannot be used: opening it failed (CUDA-capable "
                                    "device(s) is/are busy or unavailable)."),
                 qPrintable(named.err));
    }

private:
    QStringList tinyRun(const QString& device)
    {
        QStringList run{"run", "light_field", "--run-dir", path("run")};
        for (const char* setting :
             {"boards=[13,20]", "render_res=16", "panel_res=32", "planes=2", "headroom=2",
              "rays_per_pixel=1", "eval_rays=16", "iterations=1", "heldout_every=1", "tolerance=0"})
            run << "--set" << setting;
        return device.isEmpty() ? run : run + QStringList{"--device", device};
    }
    /// What processes wrote when they opened one.
    QStringList contexts() const
    {
        const auto text = readFile(path("contexts").toStdString());
        return QString::fromStdString(text).split('\n', Qt::SkipEmptyParts);
    }
};

VERGENCE_TEST(TestEmulatedDevices)
#include "tst_emulated_devices.moc"
