#include <QTemporaryDir>
#include <QTest>

#include "app/shell/extension.h"
#include "app/shell/worker_commands.h"
#include "core/base/file.h"
#include "core/config/config.h"
#include "tests/support/test_program.h"

using namespace vergence;

namespace {

struct Sample {
    int steps = 200, size = 200, batch = 4;
};

ConfigSchema sampleSchema()
{
    SchemaBuilder<Sample> schema("sample");
    schema.group("run").add("steps", &Sample::steps);
    schema.add("size", &Sample::size);
    schema.add("batch", &Sample::batch);
    return schema.build();
}

} // namespace

class TestWorkerCommands : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aRunIsWhatAPersonWouldType()
    {
        const RunDraft draft{"light_field", "demo", {"iterations=200"}, {}};
        const QStringList arguments = runArguments(draft, "/tmp/r", 60);
        QCOMPARE(arguments.mid(0, 6), QStringList({"run", "light_field", "--preset", "demo",
                                                   "--set", "iterations=200"}));
        QVERIFY(arguments.join(' ').contains("--checkpoint-every 60"));
        QVERIFY(arguments.join(' ').contains("--run-dir /tmp/r"));
    }
    void aResumedRunKeepsTheHabitsOfANewOne()
    {
        const QString resumed = resumeArguments("/tmp/r", 7).join(' ');
        QVERIFY(resumed.startsWith("run /tmp/r --resume "));
        QVERIFY(resumed.contains("--checkpoint-every 7"));
        QVERIFY(resumed.contains("--linger"));
        const QString extended = extendArguments("/tmp/r", "steps=9", 7).join(' ');
        QVERIFY(extended.contains("--checkpoint-every 7"));
        QVERIFY(extended.endsWith("--set steps=9"));
    }
    void aConfigurationFileReplacesPluginAndPreset()
    {
        const QStringList arguments =
            runArguments({"light_field", "mine", {}, "/p/mine.toml"}, "/tmp/r", 60);
        QCOMPARE(arguments.value(1), QString("/p/mine.toml"));
        QVERIFY(!arguments.contains("--preset"));
    }
    void aSubmissionNamesItsTarget()
    {
        const RunDraft draft{"heat", "demo", {"sweeps=9"}, {}};
        QCOMPARE(submitArguments(draft, "uni", "/runs"),
                 QStringList({"submit", "heat", "--preset", "demo", "--set", "sweeps=9", "--target",
                              "uni", "--runs-dir", "/runs"}));
        QCOMPARE(submitArguments(draft, "uni", {}).back(), QString("uni"));
        QCOMPARE(resubmitArguments("/runs/r", "uni", "sweeps=9"),
                 QStringList({"submit", "/runs/r", "--target", "uni", "--set", "sweeps=9"}));
    }
    void aForecastIsMadeHereOrThere()
    {
        const RunDraft draft{"heat", "demo", {"sweeps=9"}, {}};
        QCOMPARE(forecastArguments(draft, {}),
                 QStringList({"forecast", "heat", "--preset", "demo", "--set", "sweeps=9"}));
        QCOMPARE(forecastArguments(draft, "uni").mid(6), QStringList({"--target", "uni"}));
    }
    void aSweepIsSubmittedAtOnce()
    {
        Field field;
        field.key = "sweeps";
        field.type = FieldType::Int;
        const auto drafts =
            sweepDrafts({"heat", {}, {"size=8", "sweeps=9"}, {}}, field, {"4", "5"});
        QCOMPARE(submitSweepArguments(drafts, "uni", {}),
                 QStringList({"submit", "heat", "--set", "size=8", "--target", "uni", "--sweep",
                              "sweeps=4,5"}));
    }
    void wordsAreQuotedWhereNeeded()
    {
        QCOMPARE(commandLine("vergence", {"run", "--set", "name=a b"}),
                 QString("vergence run --set 'name=a b'"));
        QCOMPARE(commandLine("vergence", {"it's"}), QString("vergence 'it'\\''s'"));
    }
    void newRunsGetFreeNames()
    {
        const QTemporaryDir folder;
        const auto path = newRunPath(folder.path(), "heat");
        QVERIFY(QString::fromStdString(path.filename().string()).contains("-heat-"));
        QVERIFY(!std::filesystem::exists(path));
    }
    void stepsKeyIsTheFieldWithTheTotal()
    {
        const QTemporaryDir folder;
        const RunFolder run{folder.path().toStdString()};
        writeFileAtomic(run.config(),
                        std::string_view("[run]\nsteps = 300\nsize = 8\nbatch = 4\n"));
        QCOMPARE(stepsKey(sampleSchema(), run, 300), QString("steps"));
        QCOMPARE(stepsKey(sampleSchema(), run, 301), QString());
    }
    void amongSeveralTheNameDecides()
    {
        const QTemporaryDir folder;
        const RunFolder run{folder.path().toStdString()};
        writeFileAtomic(run.config(),
                        std::string_view("[run]\nsteps = 200\nsize = 200\nbatch = 4\n"));
        QCOMPARE(stepsKey(sampleSchema(), run, 200), QString("steps"));
    }
};

VERGENCE_WINDOW_TEST(TestWorkerCommands)
#include "tst_worker_commands.moc"
