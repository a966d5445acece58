#include "tests/app/cli/cli_bench.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;
using nlohmann::json;
namespace fs = std::filesystem;

/// Configurations: layers, files, differences, validation.
class CliConfigTest : public CliBench {
    Q_OBJECT

private Q_SLOTS:
    void init() { makeHome(); }

    void strongerLayersWin();
    void fileNamesPluginAndPreset();
    void configComesFromStandardInput();
    void explainNamesTheWinner();
    void diffTellsDifferencesByCode();
    void schemaIsJsonSchema();
    void shownConfigReadsBackTheSame();
    void validateListsEveryIssue();
};

void CliConfigTest::strongerLayersWin()
{
    const QString file = written("mine.toml", "[plate]\nsize = 24\nhot = 5.0\n");
    const auto valuesOf = [this](const QStringList& more) {
        return vergence(QStringList{"config", "show", "heat", "--json"} + more).parsed()["values"];
    };
    QCOMPARE(valuesOf({})["size"].get<int>(), 32);
    QCOMPARE(valuesOf({"--preset", "demo"})["size"].get<int>(), 16);
    const json withFile = valuesOf({"--preset", "demo", "--config", file});
    QCOMPARE(withFile["size"].get<int>(), 24);
    QCOMPARE(withFile["sweeps"].get<int>(), 20);
    QCOMPARE(
        valuesOf({"--preset", "demo", "--config", file, "--set", "size=48"})["size"].get<int>(),
        48);
}

void CliConfigTest::fileNamesPluginAndPreset()
{
    const QString file =
        written("mine.toml", "plugin = \"heat\"\npreset = \"demo\"\n[plate]\nhot = 5.0\n");
    const json shown = vergence({"config", "show", file, "--json"}).parsed();
    QCOMPARE(shown["plugin"].get<std::string>(), std::string("heat"));
    QCOMPARE(shown["preset"].get<std::string>(), std::string("demo"));
    QCOMPARE(shown["values"]["sweeps"].get<int>(), 20);

    const Outcome nameless =
        vergence({"validate", written("nameless.toml", "[plate]\nsize = 9\n")});
    QCOMPARE(nameless.code, 3);
    QVERIFY2(nameless.err.contains("does not say which plugin"), qPrintable(nameless.err));

    const Outcome wrongPreset =
        vergence({"validate", written("odd.toml", "plugin = \"heat\"\npreset = \"dmo\"\n")});
    QCOMPARE(wrongPreset.code, 3);
    QVERIFY2(wrongPreset.out.contains("Did you mean `demo`?"), qPrintable(wrongPreset.out));

    const Outcome other =
        vergence({"validate", "heat", "--config", written("other.toml", "plugin = \"sugar\"\n")});
    QCOMPARE(other.code, 3);
    QVERIFY2(other.out.contains("a configuration of `sugar`, not of `heat`"),
             qPrintable(other.out));
}

void CliConfigTest::configComesFromStandardInput()
{
    const Outcome outcome =
        vergence({"config", "show", "heat", "--config", "-", "--json"}, "[plate]\nsize = 11\n");
    QCOMPARE(outcome.code, 0);
    QCOMPARE(outcome.parsed()["values"]["size"].get<int>(), 11);
}

void CliConfigTest::explainNamesTheWinner()
{
    const QStringList command = {"config",   "explain", "sweeps", "heat",
                                 "--preset", "demo",    "--json"};
    const json preset = vergence(command).parsed();
    QCOMPARE(preset["winner"].get<std::string>(), std::string("preset demo"));
    QCOMPARE(preset["value"].get<std::string>(), std::string("20"));

    const json assigned = vergence(command + QStringList{"--set", "sweeps=7"}).parsed();
    QCOMPARE(assigned["winner"].get<std::string>(), std::string("--set"));
    QCOMPARE(assigned["layers"].size(), std::size_t{3});

    const Outcome plain = vergence({"config", "explain", "size", "heat"});
    QVERIFY2(plain.out.startsWith("size = 32  from default"), qPrintable(plain.out));
}

void CliConfigTest::diffTellsDifferencesByCode()
{
    const Outcome same = vergence({"config", "diff", "heat", "heat"});
    QCOMPARE(same.code, 0);
    QVERIFY(same.out.isEmpty());

    const Outcome other = vergence({"config", "diff", "heat", "heat:demo", "--json"});
    QCOMPARE(other.code, 9);
    const json rows = other.parsed();
    QCOMPARE(rows.size(), std::size_t{2});
    QCOMPARE(rows[0]["key"].get<std::string>(), std::string("size"));
    QCOMPARE(rows[1]["b"].get<std::string>(), std::string("20"));
}

void CliConfigTest::schemaIsJsonSchema()
{
    const json schema = vergence({"config", "schema", "heat"}).parsed();
    QVERIFY(schema.is_object());
    const json size = schema["properties"]["plate"]["properties"]["size"];
    QCOMPARE(size["type"].get<std::string>(), std::string("integer"));
    QCOMPARE(size["minimum"].get<double>(), 8.0);
    QCOMPARE(size["default"].get<int>(), 32);
    QCOMPARE(size["x-unit"].get<std::string>(), std::string("px"));
}

void CliConfigTest::shownConfigReadsBackTheSame()
{
    const Outcome first =
        vergence({"config", "show", "heat", "--preset", "demo", "--set", "hot=1.6e-5"});
    QCOMPARE(first.code, 0);
    const Outcome second = vergence({"config", "show", written("shown.toml", first.out.toUtf8())});
    QCOMPARE(second.out, first.out);
}

void CliConfigTest::validateListsEveryIssue()
{
    const QString file =
        written("wrong.toml", "plugin = \"heat\"\nsweps = 3\n[plate]\nsize = 1\nhot = \"warm\"\n");
    const Outcome outcome = vergence({"validate", file, "--json"});
    QCOMPARE(outcome.code, 3);
    const json report = outcome.parsed();
    QCOMPARE(report["valid"].get<bool>(), false);
    QCOMPARE(report["issues"].size(), std::size_t{3});

    const Outcome syntax =
        vergence({"validate", "heat", "--config", written("torn.toml", "[plate\n")});
    QCOMPARE(syntax.code, 3);
    const Outcome demo = vergence({"validate", "heat", "--preset", "demo", "--json"});
    QCOMPARE(demo.code, 0);
    QVERIFY(!demo.parsed().contains("data")); // a lab that does not look at any
}

VERGENCE_TEST(CliConfigTest)
#include "tst_cli_config.moc"
