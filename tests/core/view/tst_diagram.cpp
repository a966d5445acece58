#include <cmath>
#include <limits>

#include <QtTest>

#include "core/base/error.h"
#include "core/view/diagram.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;

class TestDiagram : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyFieldComesBack()
    {
        Diagram drawing;
        drawing.left = -10;
        drawing.right = 250.25;
        drawing.bottom = -1e-9;
        drawing.top = 3;
        drawing.keepsAspect = true;
        drawing.xTitle = "distance é (mm)";
        drawing.lines.push_back(
            {{0, 1, 2}, {0.1, -0.2, 1e300}, "series 3", 2.5, true, "ray \"a\""});
        drawing.lines.push_back({});
        drawing.shapes.push_back({"lens", 20, 0, 1, 24, "#12ab34", "eyepiece", true, "lens_mm"});
        drawing.texts.push_back({5, 6, "plane 1", "muted", "left", 11.5, true, true});
        drawing.polygons.push_back({{0, 1, 1}, {0, 0, 1}, "#102030", "cell", 0.25});
        drawing.points.push_back({{1, 2}, {3, 4}, "series 1", "passes", "diamond", 4.5, 0.5});
        drawing.hasRuler = false;
        const Diagram read = Diagram::fromJson(drawing.toJson());
        QCOMPARE(read.toJson(), drawing.toJson());
        QCOMPARE(read.left, -10.0);
        QCOMPARE(read.right, 250.25);
        QVERIFY(read.keepsAspect);
        QVERIFY(read.lines[0].x == drawing.lines[0].x && read.lines[0].y == drawing.lines[0].y);
        QVERIFY(read.lines[0].isDashed && read.lines[0].width == 2.5 &&
                read.lines[0].label == "ray \"a\"");
        QVERIFY(read.shapes[0].isFilled && read.shapes[0].editsKey == "lens_mm" &&
                read.shapes[0].height == 24);
        QVERIFY(read.texts[0].anchor == "left" && read.xTitle == drawing.xTitle);
        QVERIFY(read.texts[0].size == 11.5 && read.texts[0].isBold && read.texts[0].isUpright);
        QVERIFY(read.polygons[0].y == drawing.polygons[0].y && read.polygons[0].opacity == 0.25 &&
                read.polygons[0].label == "cell");
        QVERIFY(read.points[0].x == drawing.points[0].x && read.points[0].mark == "diamond" &&
                read.points[0].radius == 4.5 && read.points[0].opacity == 0.5);
        QVERIFY(!read.hasRuler);
    }

    void missingFieldsKeepTheirDefaults()
    {
        const Diagram read = Diagram::fromJson(R"({"lines": [{"x": [1], "y": [2]}]})");
        QCOMPARE(read.right, 1.0);
        QCOMPARE(QString::fromStdString(read.lines[0].colour), QString("text"));
        QVERIFY(read.hasRuler && read.polygons.empty() && read.points.empty());
    }

    void notANumberIsAGap()
    {
        Diagram drawing;
        drawing.lines.push_back(
            {{0, std::numeric_limits<double>::quiet_NaN(), 2}, {0, 0, 0}, "text", 1, false, ""});
        const Diagram read = Diagram::fromJson(drawing.toJson());
        QVERIFY(std::isnan(read.lines[0].x[1]));
        QCOMPARE(read.lines[0].x[2], 2.0);
    }

    void damageNamesTheField_data()
    {
        QTest::addColumn<QString>("json");
        QTest::addColumn<QString>("part");
        QTest::newRow("no JSON") << "{"
                                 << "not valid JSON";
        QTest::newRow("no object") << "[]"
                                   << "the drawing must be an object";
        QTest::newRow("text for number") << R"({"left": "a"})"
                                         << "`left` must hold numbers";
        QTest::newRow("empty box") << R"({"left": 2, "right": 2})"
                                   << "`right` must be above `left`";
        QTest::newRow("no array") << R"({"lines": {}})"
                                  << "`lines` must be an array";
        QTest::newRow("no line") << R"({"lines": [1]})"
                                 << "`lines[0]` must be an object";
        QTest::newRow("lengths") << R"({"lines": [{}, {"x": [1], "y": []}]})"
                                 << "`lines[1].y` must have as many";
        QTest::newRow("kind") << R"({"shapes": [{"kind": "star"}]})"
                              << "`shapes[0].kind` does not know `star`";
        QTest::newRow("no kind") << R"({"shapes": [{}]})"
                                 << "`shapes[0].kind` does not know";
        QTest::newRow("flag") << R"({"keeps_aspect": 1})"
                              << "`keeps_aspect` must be true or false";
        QTest::newRow("anchor") << R"({"texts": [{"anchor": "top"}]})"
                                << "`texts[0].anchor`";
        QTest::newRow("colour") << R"({"texts": [{"colour": 3}]})"
                                << "`texts[0].colour` must be a text";
    }
    void damageNamesTheField()
    {
        QFETCH(QString, json);
        QFETCH(QString, part);
        VERGENCE_THROWS(ContractError, part.toUtf8().constData(),
                        Diagram::fromJson(json.toStdString()));
    }
};

VERGENCE_TEST(TestDiagram)
#include "tst_diagram.moc"
