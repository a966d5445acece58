#include <QtTest>

#include "core/base/error.h"
#include "tests/core/config/lab_config.h"
#include "tests/support/test_program.h"

using namespace vergence;
using vergence::test::labSchema;
using vergence::test::readLab;

namespace {

Config changedConfig()
{
    ConfigBuilder builder(labSchema());
    builder.addAssignment("iterations=7");
    builder.addAssignment("rate=1.6e-5");
    builder.addValue("title", std::string("Übung \"é\"\n\t\x01 空"), {});
    return *builder.build().config;
}

} // namespace

class TestConfigEmit : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void fileHasHeaderTablesAndCommentsInSchemaOrder()
    {
        struct Plate {
            int size = 32;
            double heat = 1;
            std::string border = "fixed";
        };
        SchemaBuilder<Plate> schema("heat", 2);
        schema.group("plate")
            .add("size", &Plate::size)
            .range(8, 4096)
            .unit("px")
            .help("Side of the plate.");
        schema.group("view").add("border", &Plate::border).choices({"fixed", "free"});
        schema.group("plate").add("heat", &Plate::heat).range(0, 1e300);
        ConfigBuilder builder(schema.build());
        builder.addAssignment("size=64");
        QCOMPARE(QString::fromStdString(emitToml(*builder.build().config, "demo")),
                 QString("schema = \"org.vergence.heat/2\"\n"
                         "plugin = \"heat\"\n"
                         "preset = \"demo\"\n"
                         "\n"
                         "[plate]\n"
                         "# Side of the plate.\n"
                         "# Unit: px. Range: 8 to 4096.\n"
                         "size = 64  # changed, default 32\n"
                         "\n"
                         "# Range: 0 to 1e+300.\n"
                         "heat = 1.0\n"
                         "\n"
                         "[view]\n"
                         "# One of: fixed, free.\n"
                         "border = \"fixed\"\n"));
    }

    void readingBackGivesTheSameValuesAndBytes()
    {
        const Config config = changedConfig();
        const std::string text = emitToml(config, "demo");
        const auto again = readLab(text);
        QVERIFY2(again.config, again.issues.empty() ? "" : again.issues.front().text().c_str());
        for (const Field& field : config.schema().fields())
            QVERIFY2(again.config->value(field.key) == config.value(field.key), field.key.c_str());
        QCOMPARE(emitToml(*again.config, "demo"), text);
        QCOMPARE(readConfigHeader(text, "lab.toml").preset, std::string("demo"));
        QVERIFY(difference(config, *again.config).empty());
    }

    void flagsRebuildTheConfig()
    {
        const Config config = changedConfig();
        const auto flags = config.asFlags();
        QCOMPARE(flags.size(), std::size_t{3});
        QCOMPARE(flags[0], std::string("iterations=7"));
        QCOMPARE(flags[1], std::string("rate=1.6e-05"));
        ConfigBuilder builder(labSchema());
        for (const std::string& flag : flags)
            builder.addAssignment(flag);
        QVERIFY(difference(*builder.build().config, config).empty());
    }

    void differenceShowsExactlyTheChangedRows()
    {
        const Config defaults = *ConfigBuilder(labSchema()).build().config;
        const auto rows = difference(defaults, changedConfig());
        QCOMPARE(rows.size(), std::size_t{3});
        QCOMPARE(rows[0].key, std::string("iterations"));
        QCOMPARE(rows[0].a, std::string("200"));
        QCOMPARE(rows[0].b, std::string("7"));
        QCOMPARE(rows[1].b, std::string("1.6e-05"));
        QVERIFY(changedConfig().differsFromDefault("title"));
        QVERIFY(!defaults.differsFromDefault("title"));
    }

    void withReplacesOneValueOfACopy()
    {
        const Config defaults = *ConfigBuilder(labSchema()).build().config;
        const Config changed = defaults.with("scale", std::int64_t{4}, {"live", 0, 0});
        QCOMPARE(changed.get<double>("scale"), 4.0);
        QCOMPARE(changed.origin("scale").text(), std::string("live"));
        QCOMPARE(defaults.get<double>("scale"), 1.0);
        QVERIFY_EXCEPTION_THROWN(defaults.with("iterations", std::int64_t{0}, {}), ContractError);
        QVERIFY_EXCEPTION_THROWN(defaults.with("nothing", true, {}), ContractError);
        QVERIFY_EXCEPTION_THROWN(defaults.get<double>("iterations"), ContractError);
        QVERIFY_EXCEPTION_THROWN(defaults.origin("nothing"), ContractError);
    }
};

VERGENCE_TEST(TestConfigEmit)
#include "tst_config_emit.moc"
