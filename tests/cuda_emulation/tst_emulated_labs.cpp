#include <map>

#include "core/base/file.h"
#include "tests/app/cli/cli_bench.h"
#include "tests/cuda_emulation/lab_runs.h"
#include "tests/support/run_bench.h"
#include "tests/support/test_program.h"

using namespace vergence;

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

    void numbersAreThoseOfTheCpu_data() { test::addLabRows(); }
    void numbersAreThoseOfTheCpu()
    {
        const test::LabRun& given = test::labOfRow();
        const QString lab = QString::fromStdString(given.lab);
        QStringList run{"run", lab, "--zip"};
        for (const std::string& setting : given.settings)
            run << "--set" << QString::fromStdString(setting);
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
            if (test::kOtherwise.contains(name))
                continue;
            const double apart = test::relativeDifference(values, other);
            QVERIFY2(apart <= given.tolerance,
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
