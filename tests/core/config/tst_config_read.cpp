#include <random>

#include <QtTest>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "tests/core/config/lab_config.h"
#include "tests/support/test_program.h"

using namespace vergence;
using vergence::test::labSchema;
using vergence::test::readLab;

class TestConfigRead : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void oneFaultGivesOneIssueWithItsPlace_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("rule");
        QTest::addColumn<int>("line");
        QTest::addColumn<int>("column");
        QTest::addColumn<QString>("sentence");
        const auto row = [](const char* name, const char* text, const char* rule, int line,
                            int column, const char* sentence) {
            QTest::newRow(name) << text << rule << line << column << sentence;
        };
        row("unknown key", "\n[train]\niteration = 5\n", "unknown_key", 3, 1,
            "Unknown key `iteration`. Did you mean `iterations`?");
        row("unknown key, nothing near", "temperature = 5", "unknown_key", 1, 1,
            "Unknown key `temperature`.");
        row("unknown table", "[trian]\n", "unknown_table", 1, 2,
            "Unknown table [trian]. Did you mean [train]?");
        row("unknown table, nothing near", "[camera]\nx = 1", "unknown_table", 1, 2,
            "Unknown table [camera].");
        row("table in a table", "[train]\n[train.inner]\na = 1", "unknown_table", 2, 8,
            "Unknown table [train.inner].");
        row("wrong table", "['data and view']\niterations = 5", "wrong_table", 2, 1,
            "Key `iterations` belongs in table [train], not in [data and view].");
        row("belongs to the top", "[train]\nverbose = true", "wrong_table", 2, 1,
            "Key `verbose` belongs at the top of the file, not in [train].");
        row("table as value", "train = 3", "wrong_type", 1, 1,
            "`train` is a table; write [train] and its keys below.");
        row("twice", "iterations = 4\n[train]\niterations = 5", "duplicate_key", 3, 1,
            "Key `iterations` is set twice in this file. Keep one.");
        row("text for integer", "[train]\niterations = 'many'", "wrong_type", 2, 14,
            "iterations must be a whole number (found \"many\").");
        row("fraction for integer", "iterations = 2.5", "wrong_type", 1, 14,
            "iterations must be a whole number (found 2.5).");
        row("table for integer", "iterations = {a = 1}", "wrong_type", 1, 14,
            "iterations must be a whole number (found a table).");
        row("date for text", "title = 2026-03-02", "wrong_type", 1, 9,
            "title must be text (found a date).");
        row("number for bool", "verbose = 1", "wrong_type", 1, 11,
            "verbose must be true or false (found 1).");
        row("bool for float", "rate = true", "wrong_type", 1, 8,
            "rate must be a number (found true).");
        row("number for text", "title = 5", "wrong_type", 1, 9, "title must be text (found 5).");
        row("scalar for list", "planes = 5", "wrong_type", 1, 10,
            "planes must be a list of numbers (found 5).");
        row("mixed list", "planes = [1,\n 'a', 2]", "wrong_type", 2, 2,
            "planes[1] must be a number (found \"a\").");
        row("nested list", "planes = [1, [2], 3]", "wrong_type", 1, 14,
            "planes[1] must be a number (found a list).");
        row("fraction in integers", "panel_sizes = [8, 9.5]", "wrong_type", 1, 19,
            "panel_sizes[1] must be a whole number (found 9.5).");
        row("too small", "[train]\niterations = -5", "out_of_range", 2, 14,
            "iterations must be at least 1 (found -5).");
        row("too large", "iterations = 1000001", "out_of_range", 1, 14,
            "iterations must be at most 1000000 (found 1000001).");
        row("negative seed", "seed = -1", "out_of_range", 1, 8,
            "seed must be at least 0 (found -1).");
        row("element too small", "panel_sizes = [\n8,\n7]", "out_of_range", 3, 1,
            "panel_sizes[1] must be at least 8 px (found 7).");
        row("wrong choice", "solver = 'adm'", "wrong_choice", 1, 10,
            "solver must be one of adam, adamw, sgd (found \"adm\"). Did you mean `adam`?");
        row("number for choice", "solver = 3", "wrong_type", 1, 10,
            "solver must be one of adam, adamw, sgd (found 3).");
        row("too short", "planes = [1, 2]", "wrong_length", 1, 10,
            "planes must have 3 entries (found 2).");
        row("too long", "panel_sizes = [8,8,8,8,8]", "wrong_length", 1, 15,
            "panel_sizes must have at most 4 entries (found 5).");
        row("empty", "panel_sizes = []", "wrong_length", 1, 15,
            "panel_sizes must have at least 1 entry (found 0).");
        row("not a number", "scale = nan", "not_finite", 1, 9,
            "scale must be a finite number (found nan).");
        row("infinite integer", "iterations = inf", "not_finite", 1, 14,
            "iterations must be a finite number (found inf).");
        row("infinite element", "planes = [1, -inf, 2]", "not_finite", 1, 14,
            "planes[1] must be a finite number (found -inf).");
    }
    void oneFaultGivesOneIssueWithItsPlace()
    {
        QFETCH(QString, text);
        QFETCH(QString, rule);
        QFETCH(int, line);
        QFETCH(int, column);
        QFETCH(QString, sentence);
        const auto result = readLab(text.toStdString());
        QVERIFY(!result.config);
        for (const ConfigIssue& issue : result.issues)
            qInfo("%s", issue.text().c_str());
        QCOMPARE(result.issues.size(), std::size_t{1});
        const ConfigIssue& issue = result.issues.front();
        QCOMPARE(QString::fromStdString(issue.sentence), sentence);
        QCOMPARE(QString::fromStdString(issue.rule), rule);
        QCOMPARE(issue.place.source, std::string("lab.toml"));
        QCOMPARE(issue.place.line, line);
        QCOMPARE(issue.place.column, column);
    }

    void everyFaultIsReportedInOrderOfAppearance()
    {
        const auto result =
            readLab("verbos = true\n" // 1 unknown
                    "title = \n"      // 2 syntax
                    "[train]\n"
                    "iterations = -5\n"    // 4 range
                    "solver = 'rmsprop'\n" // 5 choice
                    "rate = 'fast'\n"      // 6 type
                    "= 4\n"                // 7 syntax
                    "low = 1\nlow = 2\n"   // 9 defined twice
                    "[\"data and view\"]\n"
                    "planes = [1, 'x', nan]\n"          // 11 element
                    "panel_sizes = [1, 2, 3, 4, 5]\n"); // 12 five elements and the length
        std::vector<int> lines;
        for (const ConfigIssue& issue : result.issues)
            lines.push_back(issue.place.line);
        QVERIFY(lines == (std::vector<int>{1, 2, 4, 5, 6, 7, 9, 11, 12, 12, 12, 12, 12, 12}));
        QCOMPARE(result.issues[1].rule, std::string("syntax"));
        QCOMPARE(result.issues[6].rule, std::string("syntax"));
    }

    void syntaxErrorsNameLineAndColumn_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<int>("line");
        QTest::newRow("open quote") << QByteArray("verbose = true\ntitle = \"abc\nseed = 4\n") << 2;
        QTest::newRow("no value") << QByteArray("[train]\niterations =\n") << 2;
        QTest::newRow("open table") << QByteArray("[train\niterations = 5\n") << 1;
        QTest::newRow("invalid UTF-8") << QByteArray("title = \"\xff\"\n") << 1;
        QTest::newRow("control byte") << QByteArray("title = \"\x01\"\n") << 1;
        QTest::newRow("integer too large") << QByteArray("\nseed = 9223372036854775808\n") << 2;
        QTest::newRow("leading zero") << QByteArray("seed = 007\n") << 1;
        QTest::newRow("comma in a number") << QByteArray("scale = 0,5\n") << 1;
    }
    void syntaxErrorsNameLineAndColumn()
    {
        QFETCH(QByteArray, text);
        QFETCH(int, line);
        const auto result = readLab(text.toStdString());
        QVERIFY(!result.config);
        for (const ConfigIssue& issue : result.issues)
            qInfo("%s", issue.text().c_str());
        QCOMPARE(result.issues.size(), std::size_t{1});
        QCOMPARE(result.issues.front().rule, std::string("syntax"));
        QCOMPARE(result.issues.front().place.line, line);
        QVERIFY(result.issues.front().place.column > 0);
        QVERIFY(result.issues.front().text().starts_with("lab.toml line "));
    }

    void anUnclosedListIsNotBlamedOnTheLinesAfterIt()
    {
        const auto result = readLab("planes = [1, 2\nseed = 4\nscale = 2.0\nlow = 1\n");
        QCOMPARE(result.issues.size(), std::size_t{1});
    }

    void numbersConvertWhereNothingIsLost()
    {
        const auto result =
            readLab("[train]\niterations = 1e3\nbig = -9223372036854775808\nscale = 3\n"
                    "['data and view']\nplanes = [1, 2.5, 3]\npanel_sizes = [8.0, 16]\n");
        QVERIFY(result.config);
        QCOMPARE(result.config->get<std::int64_t>("iterations"), std::int64_t{1000});
        QCOMPARE(result.config->get<std::int64_t>("big"), std::numeric_limits<std::int64_t>::min());
        QCOMPARE(result.config->get<double>("scale"), 3.0);
        QVERIFY(result.config->get<std::vector<double>>("planes") ==
                (std::vector<double>{1, 2.5, 3}));
        QVERIFY(result.config->get<std::vector<std::int64_t>>("panel_sizes") ==
                (std::vector<std::int64_t>{8, 16}));
    }

    void headerKeysAndBareTopLevelKeysAreAccepted()
    {
        const auto result = readLab(
            "schema = 'org.vergence.lab/3'\nvergence = '0.4.1'\nplugin = 'lab'\npreset = 'demo'\n"
            "iterations = 3\n");
        QVERIFY(result.config && result.issues.empty());
        QCOMPARE(result.config->get<std::int64_t>("iterations"), std::int64_t{3});
        QCOMPARE(result.config->origin("iterations").text(),
                 std::string("lab.toml line 5, column 14"));
        QVERIFY(result.config->origin("low").text().empty());
    }

    void strongerLayersWin()
    {
        ConfigBuilder builder(labSchema());
        builder.addToml("iterations = 1\nlow = 2\nscale = 2", "preset demo");
        builder.addToml("iterations = 3\nlow = 4", "run.toml");
        builder.addAssignment("iterations=5");
        const auto result = builder.build();
        QCOMPARE(result.config->get<std::int64_t>("iterations"), std::int64_t{5});
        QCOMPARE(result.config->origin("iterations").text(), std::string("--set"));
        QCOMPARE(result.config->get<std::int64_t>("low"), std::int64_t{4});
        QCOMPARE(result.config->origin("scale").source, std::string("preset demo"));
    }

    void rulesRunOnlyOnValidFields()
    {
        const auto both = readLab("iterations = -5\n[train]\nlow = 10\nhigh = 3");
        QCOMPARE(both.issues.size(), std::size_t{1});
        const auto linked = readLab("[train]\nlow = 10\nhigh = 3");
        QVERIFY(!linked.config);
        QCOMPARE(linked.issues.size(), std::size_t{1});
        QCOMPARE(linked.issues.front().rule, std::string("low_below_high"));
        QCOMPARE(linked.issues.front().text(),
                 std::string("lab.toml line 3: high must be above low."));
    }

    void warningsDoNotPreventAConfig()
    {
        ConfigBuilder builder(labSchema());
        ConfigIssue deprecated;
        deprecated.severity = IssueSeverity::Warning;
        deprecated.sentence = "Use scale.";
        builder.addIssue(deprecated);
        const auto result = builder.build();
        QVERIFY(result.config);
        QCOMPARE(result.issues.size(), std::size_t{1});
    }

    void valuesOfTheFormAreChecked()
    {
        ConfigBuilder builder(labSchema());
        builder.addValue("scale", std::int64_t{2}, {"form", 0, 0});
        builder.addValue("iterations", std::int64_t{0}, {"form", 0, 0});
        builder.addValue("iteration", std::int64_t{1}, {"form", 0, 0});
        builder.addValue("title", std::string("\xc3\x28"), {"form", 0, 0});
        builder.addValue("big", 9.3e18, {"form", 0, 0});
        const auto issues = builder.build().issues;
        QCOMPARE(issues.size(), std::size_t{4});
        QCOMPARE(issues[0].text(), std::string("form: iterations must be at least 1 (found 0)."));
        QCOMPARE(issues[1].nearest, std::string("iterations"));
        QCOMPARE(issues[2].rule, std::string("not_utf8"));
        QCOMPARE(issues[3].rule, std::string("wrong_type"));
    }

    void headerIsReadWithoutASchema()
    {
        const auto header =
            readConfigHeader("plugin = 'lab'\npreset = 'demo'\nschema = 'org.vergence.lab/3'\n"
                             "vergence = '0.4.1'\nanything = 1\n[train]\nx = 2\n",
                             "lab.toml");
        QCOMPARE(header.plugin, std::string("lab"));
        QCOMPARE(header.preset, std::string("demo"));
        QCOMPARE(header.schema, std::string("org.vergence.lab/3"));
        QCOMPARE(header.vergence, std::string("0.4.1"));
        QVERIFY(header.issues.empty());
        const auto broken = readConfigHeader("plugin = 'lab'\npreset = 3\nx = \n", "lab.toml");
        QCOMPARE(broken.plugin, std::string("lab"));
        QCOMPARE(broken.issues.size(), std::size_t{2});
        QVERIFY(readConfigHeader("", "empty").plugin.empty());
    }

    void issuesSurviveJson()
    {
        ConfigIssue issue;
        issue.severity = IssueSeverity::Warning;
        issue.rule = "rule";
        issue.key = "key";
        issue.sentence = "Sentence.";
        issue.place = {"a.toml", 3, 4};
        issue.nearest = "near";
        const ConfigIssue back = issueFromJson(nlohmann::json::parse(toJson(issue).dump()));
        QCOMPARE(back.text(), issue.text());
        QVERIFY(back.severity == issue.severity && back.rule == issue.rule &&
                back.key == issue.key);
        QVERIFY(back.place.column == 4 && back.nearest == "near");
        QVERIFY(!hasErrors({issue}));
        QVERIFY_EXCEPTION_THROWN(issueFromJson(nlohmann::json::object()), ContractError);
        QVERIFY_EXCEPTION_THROWN(issueFromJson(nlohmann::json(3)), ContractError);
    }

    void garbageGivesIssuesAndNeverCrashes()
    {
        const std::string alphabet = "[]{}=\"'.,#\n\t abt01-_+:\\\xc3\xa9\x00\xff";
        std::mt19937 random(3);
        for (int round = 0; round < 3000; ++round) {
            std::string text(random() % 200, ' ');
            for (char& c : text)
                c = alphabet[random() % alphabet.size()];
            const auto result = readLab(text);
            QVERIFY(result.config.has_value() != hasErrors(result.issues));
        }
    }

    void damagedFilesGiveIssuesAndNeverCrash()
    {
        const std::string whole = emitToml(*ConfigBuilder(labSchema()).build().config, "demo");
        std::mt19937 random(5);
        for (int round = 0; round < 1500; ++round) {
            std::string text = whole.substr(0, random() % whole.size());
            for (int i = 0; i < 3 && !text.empty(); ++i)
                text[random() % text.size()] = static_cast<char>(random());
            const auto result = readLab(text);
            QVERIFY(result.config.has_value() != hasErrors(result.issues));
        }
    }

    void deepNestingIsRefused_data()
    {
        QTest::addColumn<QString>("begin");
        QTest::addColumn<QString>("unit");
        QTest::newRow("lists") << "planes = "
                               << "[";
        QTest::newRow("inline tables") << "planes = "
                                       << "{a=";
        QTest::newRow("dotted key") << "a"
                                    << ".a";
        QTest::newRow("spaced dotted key") << "a"
                                           << " . a";
        QTest::newRow("table name") << "[a"
                                    << ".a";
        QTest::newRow("key of an inline table") << "planes = {a"
                                                << ".a";
    }
    void deepNestingIsRefused()
    {
        QFETCH(QString, begin);
        QFETCH(QString, unit);
        const std::string text =
            begin.toStdString() + unit.repeated(200'000).toStdString() + " = 1\n";
        const auto result = readLab(text);
        QVERIFY(!result.config);
        QVERIFY(!result.issues.empty() && result.issues.size() <= 32);
    }
};

VERGENCE_TEST(TestConfigRead)
#include "tst_config_read.moc"
