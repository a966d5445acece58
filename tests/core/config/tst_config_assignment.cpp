#include <QtTest>

#include "tests/core/config/lab_config.h"
#include "tests/support/test_program.h"

using namespace vergence;
using vergence::test::labSchema;

class TestConfigAssignment : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void assignmentsSetValues_data()
    {
        QTest::addColumn<QString>("assignment");
        QTest::addColumn<QString>("key");
        QTest::addColumn<QString>("value");
        const auto row = [](const char* assignment, const char* key, const char* value) {
            QTest::newRow(assignment) << assignment << key << value;
        };
        row("iterations=5", "iterations", "5");
        row(" train.iterations = 1_000 ", "iterations", "1000");
        row("iterations=1e3", "iterations", "1000");
        row("iterations=0x10", "iterations", "16");
        row("rate=1.6e-5", "rate", "1.6e-05");
        row("scale=-2", "scale", "-2.0");
        row("verbose=true", "verbose", "true");
        row("solver=sgd", "solver", "\"sgd\"");
        row("solver=\"sgd\"", "solver", "\"sgd\"");
        row("solver='sgd'", "solver", "\"sgd\"");
        row("title=a = b # c", "title", "\"a = b # c\"");
        row("title=", "title", "\"\"");
        row("title=true", "title", "\"true\"");
        row("title=\"a\\tb\"", "title", "\"a\\tb\"");
        row("title=\"half", "title", "\"\\\"half\"");
        row("data and view.title=x", "title", "\"x\"");
        row("device=0", "device", "\"0\"");
        row("images=/data/2026-03-02/x.y", "images", "\"/data/2026-03-02/x.y\"");
        row("planes=[1,2,3]", "planes", "[1.0, 2.0, 3.0]");
        row("planes=1,2.5,3", "planes", "[1.0, 2.5, 3.0]");
        row("panel_sizes=8", "panel_sizes", "[8]");
        row("names=a,b c , 'd,e'", "names", "[\"a\", \"b c\", \"'d\", \"e'\"]");
        row("names='d,e',\"f\"", "names", "[\"d,e\", \"f\"]");
        row("names=[a, b]", "names", "[\"a\", \"b\"]");
        row("names=[\"a\", 'b']", "names", "[\"a\", \"b\"]");
        row("names=1,2", "names", "[\"1\", \"2\"]");
        row("names=", "names", "[]");
        row("names=[]", "names", "[]");
    }
    void assignmentsSetValues()
    {
        QFETCH(QString, assignment);
        QFETCH(QString, key);
        QFETCH(QString, value);
        ConfigBuilder builder(labSchema());
        builder.addAssignment(assignment.toStdString());
        const auto result = builder.build();
        for (const ConfigIssue& issue : result.issues)
            qInfo("%s", issue.text().c_str());
        QVERIFY(result.config);
        QCOMPARE(QString::fromStdString(toToml(result.config->value(key.toStdString()))), value);
    }

    void faultyAssignmentsAreIssues_data()
    {
        QTest::addColumn<QString>("assignment");
        QTest::addColumn<QString>("sentence");
        const auto row = [](const char* assignment, const char* sentence) {
            QTest::newRow(assignment) << assignment << sentence;
        };
        row("iterations", "Write key=value (found \"iterations\").");
        row("=5", "Write key=value (found \"=5\").");
        row("iteration=5", "Unknown key `iteration`. Did you mean `iterations`?");
        row("data.iterations=5",
            "Key `iterations` is called train.iterations, not data.iterations.");
        row("train.verbose=true", "Key `verbose` is called verbose, not train.verbose.");
        row("iterations=", "iterations must be a whole number (found \"\").");
        row("iterations=many", "iterations must be a whole number (found \"many\").");
        row("iterations=5\nx = 4", "iterations must be a whole number (found \"5\\nx = 4\").");
        row("iterations=-5", "iterations must be at least 1 (found -5).");
        row("scale=0,5", "scale must be a number (found \"0,5\").");
        row("verbose=yes", "verbose must be true or false (found \"yes\").");
        row("solver=sgg",
            "solver must be one of adam, adamw, sgd (found \"sgg\"). Did you mean `sgd`?");
        row("planes=1,2", "planes must have 3 entries (found 2).");
        row("planes=1,x,3", "planes must be a list of numbers (found \"1,x,3\").");
        row("planes=1,true,3", "planes[1] must be a number (found true).");
    }
    void faultyAssignmentsAreIssues()
    {
        QFETCH(QString, assignment);
        QFETCH(QString, sentence);
        ConfigBuilder builder(labSchema());
        builder.addAssignment(assignment.toStdString());
        const auto result = builder.build();
        QCOMPARE(result.issues.size(), std::size_t{1});
        QCOMPARE(QString::fromStdString(result.issues.front().text()), "--set: " + sentence);
    }
};

VERGENCE_TEST(TestConfigAssignment)
#include "tst_config_assignment.moc"
