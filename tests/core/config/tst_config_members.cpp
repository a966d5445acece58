#include <filesystem>
#include <fstream>

#include <QTemporaryDir>
#include <QtTest>

#include <nlohmann/json.hpp>

#include "core/base/enum_names.h"
#include "core/config/config.h"
#include "tests/support/test_program.h"

using namespace vergence;

namespace {

enum class Solver { Adam, Sgd };
constexpr auto namesOf(Solver)
{
    return std::array{EnumName{Solver::Sgd, "sgd"}, EnumName{Solver::Adam, "adam"}};
}

struct Rate {
    double peak = 0.5;
    Solver solver = Solver::Adam;
};

struct Training {
    Rate rate;
};

struct Members {
    Solver solver = Solver::Adam;
    std::optional<Solver> second;
    std::vector<Solver> turns{Solver::Adam};
    std::vector<std::string> parts{"train"};
    Training training;
    std::filesystem::path weights, photographs;
};

SchemaBuilder<Members> builder()
{
    SchemaBuilder<Members> schema("members");
    schema.add("solver", &Members::solver).decisive();
    schema.add("second", &Members::second);
    schema.add("turns", &Members::turns);
    schema.add("parts", &Members::parts).choices({"train", "export"}).distinct();
    schema.add("peak", &Members::training, &Training::rate, &Rate::peak).range(0, 1).decisive();
    schema.add("inner", &Members::training, &Training::rate, &Rate::solver);
    schema.add("weights", &Members::weights).file().visibleIf("solver=adam");
    schema.add("photographs", &Members::photographs).folder();
    return schema;
}

ConfigBuilder::Result read(const std::string& toml)
{
    ConfigBuilder config(builder().build());
    config.addToml(toml, "members.toml");
    return config.build();
}

} // namespace

class TestConfigMembers : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void namesAreThoseOfTheTable()
    {
        QVERIFY(nameOf(Solver::Sgd) == "sgd");
        QVERIFY(enumOf<Solver>("adam") == Solver::Adam);
        QVERIFY(!enumOf<Solver>("Adam"));
        QVERIFY_EXCEPTION_THROWN(nameOf(static_cast<Solver>(7)), ContractError);
    }

    void enumsAreChoices()
    {
        const ConfigSchema schema = builder().build();
        QVERIFY(schema.find("solver")->type == FieldType::Enum);
        QVERIFY(schema.find("solver")->choices == (std::vector<std::string>{"sgd", "adam"}));
        QVERIFY(schema.find("second")->choices ==
                (std::vector<std::string>{"auto", "sgd", "adam"}));
        QVERIFY(schema.find("turns")->type == FieldType::StringList);
        QVERIFY(schema.find("parts")->type == FieldType::StringList);
        const Members defaults = builder().read(*read("").config);
        QVERIFY(defaults.solver == Solver::Adam && !defaults.second);
        QVERIFY(defaults.turns == std::vector<Solver>{Solver::Adam});
    }

    void membersComeBack()
    {
        const Members members = builder().read(*read("solver = 'sgd'\nsecond = 'adam'\n"
                                                     "turns = ['sgd', 'adam']\npeak = 0.25\n"
                                                     "inner = 'sgd'\nparts = ['export']\n")
                                                    .config);
        QVERIFY(members.solver == Solver::Sgd && members.second == Solver::Adam);
        QVERIFY(members.turns == (std::vector<Solver>{Solver::Sgd, Solver::Adam}));
        QCOMPARE(members.training.rate.peak, 0.25);
        QVERIFY(members.training.rate.solver == Solver::Sgd);
        QVERIFY(members.parts == std::vector<std::string>{"export"});
    }

    void elementsOfListsAreChoices_data()
    {
        QTest::addColumn<QString>("toml");
        QTest::addColumn<QString>("sentence");
        QTest::newRow("text") << "parts = ['train', 'exprt']"
                              << "parts[1] must be one of train, export (found \"exprt\"). Did you "
                                 "mean `export`?";
        QTest::newRow("twice") << "parts = ['train', 'train']"
                               << "parts has \"train\" twice.";
        QTest::newRow("enum") << "turns = ['cg']"
                              << "turns[0] must be one of sgd, adam (found \"cg\").";
    }
    void elementsOfListsAreChoices()
    {
        QFETCH(QString, toml);
        QFETCH(QString, sentence);
        const auto result = read(toml.toStdString());
        QVERIFY(!result.config);
        QCOMPARE(QString::fromStdString(result.issues.at(0).sentence), sentence);
    }

    void pathsLeadToWhatTheyShould()
    {
        const QTemporaryDir folder;
        const std::string root = folder.path().toStdString(), file = root + "/a file";
        std::ofstream(file) << "x";
        QVERIFY(read("weights = '" + file + "'\nphotographs = '" + root + "'").issues.empty());
        const auto swapped = read("weights = '" + root + "'\nphotographs = '" + file + "'");
        QCOMPARE(swapped.issues.size(), std::size_t{2});
        QCOMPARE(swapped.issues[0].sentence, root + " is not a file.");
        QCOMPARE(swapped.issues[0].place.line, 1);
        QCOMPARE(swapped.issues[1].sentence, file + " is not a folder.");
        // No one looks at what is not shown.
        QVERIFY(read("solver = 'sgd'\nweights = '" + root + "'").config);
    }

    void decisiveValuesAreKeptByKey()
    {
        const auto values = decisiveValues(*read("peak = 0.125").config);
        QVERIFY(values ==
                (std::map<std::string, std::string>{{"peak", "0.125"}, {"solver", "\"adam\""}}));
    }

    void revisionsTellChanges()
    {
        const Config config = *read("").config;
        const Config copy = config; // NOLINT: the copy is what is looked at
        QCOMPARE(copy.revision(), config.revision());
        QVERIFY(config.with("peak", 0.25, {}).revision() != config.revision());
        QVERIFY(read("").config->revision() != config.revision());
    }

    void attributesSurviveJson()
    {
        const ConfigSchema back = ConfigSchema::fromJson(builder().build().toJson());
        QVERIFY(back.find("weights")->pathKind == PathKind::File);
        QVERIFY(back.find("photographs")->pathKind == PathKind::Folder);
        QVERIFY(back.find("peak")->isDecisive && !back.find("inner")->isDecisive);
        QVERIFY(back.find("turns")->choices == (std::vector<std::string>{"sgd", "adam"}));
    }
};

VERGENCE_TEST(TestConfigMembers)
#include "tst_config_members.moc"
