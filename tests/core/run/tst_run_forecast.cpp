#include "core/run/run_forecast.h"

#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using vergence::test::Scratch;

class RunForecastTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void slowBeginningIsNotThePace();
    void seriesOfEveryTenthStepAreEnough();
    void runsShareTheLanes();
    void peaksAreThoseOfTheManifest();
    void tooShortIsRefused();
    void unknownLengthIsRefused();
    void failureIsTold();
    void durationsAreRough_data();
    void durationsAreRough();
};

namespace {

/// A run that was cut short after lines of metrics.csv.
RunFolder probeWith(const Scratch& scratch, const std::string& lines, std::int64_t total = 100,
                    const std::string& problem = {})
{
    const RunFolder run = RunFolder::createAt(scratch / "run");
    RunStatus status;
    status.state = "Stopped";
    status.plugin = "heat";
    status.total = total;
    status.problem = problem;
    writeStatus(run, status);
    writeFileAtomic(run.metrics(), "step,wall_s,name,value\n" + lines);
    writeFileAtomic(
        run.manifest(),
        R"({"format": "vergence-manifest/1", "resources": {"peak_rss_mib": 512.5, "peak_vram_mib": 2048}})");
    return run;
}

} // namespace

/// Steps 1 and 2 take 10 s each, later ones 2 s.
void RunForecastTest::slowBeginningIsNotThePace()
{
    const Scratch scratch;
    std::string lines;
    for (int step = 1; step <= 12; ++step)
        lines += std::to_string(step) + "," +
                 std::to_string(step <= 2 ? 10 * step : 20 + 2 * (step - 2)) + ",loss,1\n" +
                 std::to_string(step) + ",39.9,system/ram_mib,1\n";
    const RunForecast forecast = forecastFrom(probeWith(scratch, lines));
    QCOMPARE(forecast.total, std::int64_t{100});
    QCOMPARE(forecast.secondsPerStep, 2.0);
    QCOMPARE(forecast.measured, std::int64_t{8}); // from 24 s (step 4) to 40 s (step 12)
    QCOMPARE(forecast.secondsBefore, 8.0);
    QCOMPARE(forecast.seconds(), 208.0);
}

void RunForecastTest::seriesOfEveryTenthStepAreEnough()
{
    const Scratch scratch;
    const RunForecast forecast =
        forecastFrom(probeWith(scratch, "0,0.5,loss,9\n10,7,loss,3\n20,12,loss,2\n30,17,loss,1\n"));
    QCOMPARE(forecast.secondsPerStep, 0.5);
    QCOMPARE(forecast.secondsBefore, 2.0);
    QCOMPARE(forecast.seconds(), 52.0);
}

void RunForecastTest::runsShareTheLanes()
{
    RunForecast forecast;
    forecast.total = 10;
    forecast.secondsPerStep = 1;
    QCOMPARE(forecast.secondsFor(5, 2), 30.0);
    QCOMPARE(forecast.secondsFor(1, 8), 10.0);
}

void RunForecastTest::peaksAreThoseOfTheManifest()
{
    const Scratch scratch;
    const RunForecast forecast = forecastFrom(probeWith(scratch, "1,1,loss,1\n2,2,loss,1\n"));
    QCOMPARE(forecast.memoryMiB, 512.5);
    QCOMPARE(forecast.deviceMiB, 2048.0);
}

void RunForecastTest::tooShortIsRefused()
{
    const Scratch scratch;
    const RunFolder run = probeWith(scratch, "1,5,loss,1\n1,6,system/ram_mib,1\n");
    VERGENCE_THROWS(InputError, "The run made 1 of 100 steps", forecastFrom(run));
    VERGENCE_THROWS(InputError, "--seconds", forecastFrom(run));
}

void RunForecastTest::unknownLengthIsRefused()
{
    const Scratch scratch;
    const RunFolder run = probeWith(scratch, "1,1,loss,1\n2,2,loss,1\n", 0);
    VERGENCE_THROWS(InputError, "how many steps", forecastFrom(run));
}

void RunForecastTest::failureIsTold()
{
    const Scratch scratch;
    const RunFolder run =
        probeWith(scratch, "1,1,loss,1\n2,2,loss,1\n", 100, "The GPU has no memory left.");
    VERGENCE_THROWS(InputError, "The GPU has no memory left.", forecastFrom(run));
}

void RunForecastTest::durationsAreRough_data()
{
    QTest::addColumn<double>("seconds");
    QTest::addColumn<QString>("text");
    QTest::newRow("nothing") << 0.0 << "0 s";
    QTest::newRow("seconds") << 44.2 << "45 s";
    QTest::newRow("minutes") << 12.4 * 60 << "12 min";
    QTest::newRow("hours") << 2.25 * 3600 << "2 h 15 min";
    QTest::newRow("days") << 76.5 * 3600 << "3 d 4 h";
}

void RunForecastTest::durationsAreRough()
{
    QFETCH(double, seconds);
    QTEST(QString::fromStdString(roughDuration(seconds)), "text");
}

VERGENCE_TEST(RunForecastTest)
#include "tst_run_forecast.moc"
