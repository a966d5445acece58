#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <QtTest>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/config/config.h"
#include "tests/support/test_program.h"

Q_DECLARE_METATYPE(vergence::ConfigValue)
Q_DECLARE_METATYPE(vergence::FieldType)

using namespace vergence;

class TestConfigValue : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void spellsAsToml_data()
    {
        QTest::addColumn<ConfigValue>("value");
        QTest::addColumn<QString>("text");
        QTest::newRow("bool") << ConfigValue(true) << "true";
        QTest::newRow("smallest integer")
            << ConfigValue(std::numeric_limits<std::int64_t>::min()) << "-9223372036854775808";
        QTest::newRow("integral float") << ConfigValue(1.0) << "1.0";
        QTest::newRow("small float") << ConfigValue(1.6e-5) << "1.6e-05";
        QTest::newRow("large float") << ConfigValue(1e300) << "1e+300";
        QTest::newRow("minus zero") << ConfigValue(-0.0) << "-0.0";
        QTest::newRow("infinity") << ConfigValue(-std::numeric_limits<double>::infinity())
                                  << "-inf";
        QTest::newRow("not a number")
            << ConfigValue(-std::numeric_limits<double>::quiet_NaN()) << "nan";
        QTest::newRow("text") << ConfigValue(std::string("a\"\\\n\t\x01\x7f é"))
                              << "\"a\\\"\\\\\\n\\t\\u0001\\u007F é\"";
        QTest::newRow("empty list") << ConfigValue(std::vector<double>{}) << "[]";
        QTest::newRow("floats") << ConfigValue(std::vector<double>{1, 0.5}) << "[1.0, 0.5]";
        QTest::newRow("texts") << ConfigValue(std::vector<std::string>{"a", "b,c"})
                               << "[\"a\", \"b,c\"]";
    }
    void spellsAsToml()
    {
        QFETCH(ConfigValue, value);
        QFETCH(QString, text);
        QCOMPARE(QString::fromStdString(toToml(value)), text);
    }

    void floatsReadBackExactlyThroughTomlAndJson()
    {
        struct One {
            double x = 0;
        };
        SchemaBuilder<One> schema("one");
        schema.add("x", &One::x);
        std::vector<double> numbers{0.0,
                                    -0.0,
                                    0.1,
                                    1.6e-5,
                                    std::numeric_limits<double>::denorm_min(),
                                    std::numeric_limits<double>::min(),
                                    std::numeric_limits<double>::max(),
                                    std::numeric_limits<double>::lowest(),
                                    std::nextafter(1.0, 2.0),
                                    9007199254740993.0};
        std::mt19937_64 random(7);
        while (numbers.size() < 2000) {
            const double number = std::bit_cast<double>(random());
            if (std::isfinite(number))
                numbers.push_back(number);
        }
        for (const double number : numbers) {
            ConfigBuilder builder(schema.build());
            builder.addToml("x = " + toToml(number), "one.toml");
            const auto result = builder.build();
            QVERIFY2(result.config, toToml(number).c_str());
            QCOMPARE(std::bit_cast<std::uint64_t>(result.config->get<double>("x")),
                     std::bit_cast<std::uint64_t>(number));
            const auto json = nlohmann::json::parse(toJson(ConfigValue(number)).dump());
            const double back = std::get<double>(valueFromJson(json, FieldType::Float));
            QCOMPARE(std::bit_cast<std::uint64_t>(back), std::bit_cast<std::uint64_t>(number));
        }
    }

    void jsonKeepsEveryKind_data()
    {
        QTest::addColumn<ConfigValue>("value");
        QTest::addColumn<FieldType>("type");
        constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
        QTest::newRow("bool") << ConfigValue(true) << FieldType::Bool;
        QTest::newRow("int") << ConfigValue(kMost) << FieldType::Int;
        QTest::newRow("seed") << ConfigValue(std::int64_t{42}) << FieldType::Seed;
        QTest::newRow("float") << ConfigValue(1.0) << FieldType::Float;
        QTest::newRow("infinite") << ConfigValue(std::numeric_limits<double>::infinity())
                                  << FieldType::Float;
        QTest::newRow("enum") << ConfigValue(std::string("adam")) << FieldType::Enum;
        QTest::newRow("path") << ConfigValue(std::string("Übung é 空")) << FieldType::Path;
        QTest::newRow("ints") << ConfigValue(std::vector<std::int64_t>{1, -kMost})
                              << FieldType::IntList;
        QTest::newRow("floats") << ConfigValue(std::vector<double>{1, 0.1, 1e-320})
                                << FieldType::FloatList;
        QTest::newRow("texts") << ConfigValue(std::vector<std::string>{"", "b"})
                               << FieldType::StringList;
    }
    void jsonKeepsEveryKind()
    {
        QFETCH(ConfigValue, value);
        QFETCH(FieldType, type);
        const auto json = nlohmann::json::parse(toJson(value).dump());
        QVERIFY(valueFromJson(json, type) == value);
        QVERIFY(fieldTypeFromName(nameOf(type)) == type);
    }

    void jsonOfAnotherKindIsRefused_data()
    {
        QTest::addColumn<QString>("json");
        QTest::addColumn<FieldType>("type");
        QTest::newRow("text for bool") << "\"true\"" << FieldType::Bool;
        QTest::newRow("fraction for int") << "1.5" << FieldType::Int;
        QTest::newRow("too large for int") << "9223372036854775808" << FieldType::Int;
        QTest::newRow("text for float") << "\"1\"" << FieldType::Float;
        QTest::newRow("null for text") << "null" << FieldType::String;
        QTest::newRow("number for list") << "1" << FieldType::FloatList;
        QTest::newRow("mixed list") << "[1,\"a\"]" << FieldType::IntList;
        QTest::newRow("object") << "{}" << FieldType::StringList;
    }
    void jsonOfAnotherKindIsRefused()
    {
        QFETCH(QString, json);
        QFETCH(FieldType, type);
        QVERIFY_EXCEPTION_THROWN(valueFromJson(nlohmann::json::parse(json.toStdString()), type),
                                 ContractError);
    }

    void unknownTypeNameIsNothing() { QVERIFY(!fieldTypeFromName("colour")); }
};

VERGENCE_TEST(TestConfigValue)
#include "tst_config_value.moc"
