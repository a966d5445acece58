#include <optional>

#include <QTest>

#include "core/plugin/plugin_registry.h"
#include "tests/cuda_emulation/lab_runs.h"
#include "tests/support/devices.h"
#include "tests/support/run_bench.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"

using namespace vergence;

/// A run that is stopped on the emulated device goes on from its checkpoint as if it had not been.
class TestEmulatedResume : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase()
    {
        qputenv("VERGENCE_MODULE_PATH",
                QString("%1/lib/emulated/own:%1/lib/emulated").arg(VERGENCE_BINARY_DIR).toUtf8());
        for (const char* name :
             {"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"})
            qputenv(name, (m_home / name).c_str());
        m_plugins.emplace(PluginSearch{});
        m_plugins->scan();
    }

    void numbersAreThoseOfOneRun_data() { test::addLabRows(); }
    void numbersAreThoseOfOneRun()
    {
        const test::LabRun& given = test::labOfRow();
        const test::Scratch scratch;
        LabPlugin& plugin = m_plugins->load(given.lab);
        test::RunBench bench(
            scratch.path(), plugin.schema(),
            [&](const Config& config) { return plugin.createRun(config); }, given.settings);
        bench.device = test::devices().select("cuda:0");
        bench.checkpointSteps = 1;
        std::vector<std::string> shorter;
        if (given.lab == "sugar")
            shorter = {"iterations=8", "sh_every=3", "eval_every=4", "milestones=[4]"};
        const Config config = bench.configOf(shorter);

        const RunFolder whole = bench.newFolder(), parts = bench.newFolder();
        const auto once = bench.run(whole, config);
        QVERIFY2(once.code == ExitCode::Success, once.problems().c_str());
        QVERIFY(once.steps > 1);
        bool isAsked = false;
        const auto first = bench.run(parts, config, false, [&](RunController& controller) {
            isAsked = isAsked || (2 * controller.step() >= once.steps && controller.requestStop());
        });
        QVERIFY2(first.state == RunState::Stopped, first.problems().c_str());
        const auto second = bench.run(parts, config, true);
        QVERIFY2(second.code == ExitCode::Success, second.problems().c_str());

        const auto wanted = test::timelessNumbers(whole), got = test::timelessNumbers(parts);
        QCOMPARE(got.size(), wanted.size());
        for (const auto& [name, values] : wanted) {
            const auto found = got.find(name);
            if (test::kOtherwise.contains(name))
                continue;
            QVERIFY2(found != got.end() && found->second.size() == values.size(), name.c_str());
            // Sums by atomics have no order.
            const double tolerance = given.lab == "sugar" ? given.tolerance : 0;
            const double apart = test::relativeDifference(values, found->second);
            QVERIFY2(apart <= tolerance,
                     qPrintable(QString("%1: %2").arg(name.c_str()).arg(apart)));
        }
    }

private:
    test::Scratch m_home;
    std::optional<PluginRegistry> m_plugins;
};

VERGENCE_TEST(TestEmulatedResume)
#include "tst_emulated_resume.moc"
