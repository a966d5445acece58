#include <limits>

#include <QtTest>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "tests/core/config/lab_config.h"
#include "tests/support/test_program.h"

using namespace vergence;
using vergence::test::labBuilder;
using vergence::test::LabConfig;
using vergence::test::labSchema;

namespace {

Field floatField(const std::string& key)
{
    Field field;
    field.key = key;
    field.defaultValue = 0.5;
    return field;
}

ConfigSchema schemaOf(Field field)
{
    return ConfigSchema("lab", 1, {std::move(field)});
}

} // namespace

class TestConfigSchema : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void fieldsTakeTypeDefaultAndTitleFromTheStruct()
    {
        const ConfigSchema schema = labSchema();
        QCOMPARE(schema.id(), std::string("lab"));
        QCOMPARE(schema.version(), 3);
        QVERIFY(schema.find("iterations")->type == FieldType::Int);
        QVERIFY(schema.find("seed")->type == FieldType::Seed);
        QVERIFY(schema.find("images")->type == FieldType::Path);
        QVERIFY(schema.find("device")->type == FieldType::Device);
        QVERIFY(schema.find("solver")->type == FieldType::Enum);
        QVERIFY(schema.find("panel_sizes")->type == FieldType::IntList);
        QCOMPARE(schema.find("panel_sizes")->title, std::string("Panel sizes"));
        QCOMPARE(schema.find("title")->title, std::string("Name of the run"));
        QCOMPARE(schema.find("planes")->group, std::string("data and view"));
        QVERIFY(!schema.find("nothing"));
    }

    void floatDefaultsKeepTheirShortSpelling()
    {
        QCOMPARE(toToml(labSchema().find("rate")->defaultValue), std::string("1e-04"));
        const auto result = ConfigBuilder(labSchema()).build();
        QCOMPARE(labBuilder().read(*result.config).rate, 1e-4f);
    }

    void structComesBackFromItsConfig()
    {
        ConfigBuilder builder(labSchema());
        builder.addToml(
            "verbose = true\n[train]\niterations = 7\nseed = 9223372036854775807\nsolver = 'sgd'\n"
            "[\"data and view\"]\nimages = 'x y/é'\npanel_sizes = [8, 16, 32]\nplanes = [1, 2, "
            "3]\nnames = []\n",
            "lab.toml");
        const LabConfig config = labBuilder().read(*builder.build().config);
        QVERIFY(config.isVerbose);
        QCOMPARE(config.iterations, 7);
        QCOMPARE(config.seed, std::uint64_t{9223372036854775807});
        QCOMPARE(config.solver, std::string("sgd"));
        QVERIFY(config.images == std::filesystem::path("x y/é"));
        QVERIFY(config.sizes == (std::vector<int>{8, 16, 32}));
        QVERIFY(config.planes == (std::vector<double>{1, 2, 3}));
        QVERIFY(config.names.empty());
    }

    void intMembersRefuseWhatTheyCannotHold()
    {
        struct Narrow {
            int n = 0;
        };
        SchemaBuilder<Narrow> schema("narrow");
        schema.add("n", &Narrow::n);
        ConfigBuilder builder(schema.build());
        builder.addToml("n = 2147483648", "narrow.toml");
        QCOMPARE(builder.build().issues.at(0).rule, std::string("out_of_range"));
    }

    void jsonRoundTripIsExact()
    {
        const ConfigSchema schema = labSchema();
        const nlohmann::json json = schema.toJson();
        const ConfigSchema back = ConfigSchema::fromJson(nlohmann::json::parse(json.dump()));
        QVERIFY(back.toJson() == json);
        QCOMPARE(back.fields().size(), schema.fields().size());
        for (std::size_t i = 0; i < schema.fields().size(); ++i) {
            const Field &a = schema.fields()[i], &b = back.fields()[i];
            QVERIFY(a.defaultValue == b.defaultValue);
            QVERIFY(a.minimum == b.minimum && a.maximum == b.maximum);
            QVERIFY(a.minimumCount == b.minimumCount && a.maximumCount == b.maximumCount);
            QVERIFY(a.choices == b.choices && a.isLive == b.isLive &&
                    a.isLogarithmic == b.isLogarithmic);
        }
        QCOMPARE(back.find("planes")->visibleIf, std::string("solver=adam|adamw"));
        QVERIFY(back.rules().empty());
    }

    void brokenJsonIsRefused_data()
    {
        QTest::addColumn<QString>("json");
        QTest::newRow("not an object") << "[]";
        QTest::newRow("no fields") << R"({"id":"a","version":1})";
        QTest::newRow("field without key") << R"({"id":"a","version":1,"fields":[{}]})";
        QTest::newRow("fields are text") << R"({"id":"a","version":1,"fields":["b"]})";
        QTest::newRow("id is a number") << R"({"id":1,"version":1,"fields":[]})";
    }
    void brokenJsonIsRefused()
    {
        QFETCH(QString, json);
        QVERIFY_EXCEPTION_THROWN(ConfigSchema::fromJson(nlohmann::json::parse(json.toStdString())),
                                 ContractError);
    }

    void contradictoryDeclarationsAreRefused()
    {
        QVERIFY_EXCEPTION_THROWN(schemaOf(floatField("")), ContractError);
        QVERIFY_EXCEPTION_THROWN(schemaOf(floatField("CamelCase")), ContractError);
        QVERIFY_EXCEPTION_THROWN(schemaOf(floatField("plugin")), ContractError);
        QVERIFY_EXCEPTION_THROWN(ConfigSchema("lab", 1, {floatField("a"), floatField("a")}),
                                 ContractError);
        Field outside = floatField("outside");
        outside.minimum = 1;
        QVERIFY_EXCEPTION_THROWN(schemaOf(outside), ContractError);
        Field mistyped = floatField("mistyped");
        mistyped.defaultValue = std::string("0.5");
        QVERIFY_EXCEPTION_THROWN(schemaOf(mistyped), ContractError);
        Field undecided = floatField("undecided");
        undecided.type = FieldType::Enum;
        QVERIFY_EXCEPTION_THROWN(schemaOf(undecided), ContractError);
        Field pathless = floatField("pathless");
        pathless.pathKind = PathKind::File;
        QVERIFY_EXCEPTION_THROWN(schemaOf(pathless), ContractError);
        Field moving = floatField("moving");
        moving.isDecisive = moving.isLive = true;
        QVERIFY_EXCEPTION_THROWN(schemaOf(moving), ContractError);
        Field inTable = floatField("b");
        inTable.group = std::string("a");
        QVERIFY_EXCEPTION_THROWN(ConfigSchema("lab", 1, {floatField("a"), inTable}), ContractError);
    }

    void infiniteBoundsMeanNone()
    {
        Field field = floatField("a");
        field.minimum = 0;
        field.maximum = std::numeric_limits<double>::infinity();
        QVERIFY(!schemaOf(field).find("a")->maximum);
    }

    void nearestKeyIsTheOneThatWasMeant_data()
    {
        QTest::addColumn<QString>("key");
        QTest::addColumn<QString>("nearest");
        QTest::newRow("missing letter") << "iteration"
                                        << "iterations";
        QTest::newRow("swapped letters") << "sovler"
                                         << "solver";
        QTest::newRow("other letters") << "panel_sizos"
                                       << "panel_sizes";
        QTest::newRow("capital") << "Seed"
                                 << "seed";
        QTest::newRow("nothing near") << "temperature"
                                      << "";
        QTest::newRow("empty") << ""
                               << "";
        QTest::newRow("endless") << QString(100'000, 'a') << "";
    }
    void nearestKeyIsTheOneThatWasMeant()
    {
        QFETCH(QString, key);
        QFETCH(QString, nearest);
        QCOMPARE(QString::fromStdString(labSchema().nearestKey(key.toStdString())), nearest);
    }

    void emptySchemaGivesAnEmptyConfig()
    {
        const auto result = ConfigBuilder(ConfigSchema()).build();
        QVERIFY(result.config && result.issues.empty());
        QVERIFY_EXCEPTION_THROWN(result.config->value("a"), ContractError);
    }
};

VERGENCE_TEST(TestConfigSchema)
#include "tst_config_schema.moc"
