#include <QFrame>
#include <QLabel>
#include <QSet>
#include <QTest>

#include "app/style/icons.h"
#include "app/shell/run_stages.h"
#include "app/style/theme.h"
#include "tests/support/test_program.h"

using namespace vergence;
using nlohmann::json;

namespace {

/// As a run reports it, among others.
std::vector<json> tables()
{
    return {json::parse(R"({"id": "gates", "columns": ["a"], "rows": [[1]]})"),
            json::parse(R"({"id": "stages", "title": "Stages",
                "columns": ["stage", "state", "seconds", "note"],
                "rows": [["S0 Import", "reused", 0.4, "same photographs"],
                         ["S3 Gaussians", "done", "161.0", ""],
                         ["S4 Alignment", "running", 12.5, "step 400 of 8000"],
                         ["S5 Points", "waiting", "", ""],
                         ["S8 Texture", "skipped", null, "not asked for"]]})")};
}

std::vector<QFrame*> chipsOf(const RunStages& strip)
{
    std::vector<QFrame*> chips;
    for (QFrame* chip : strip.findChildren<QFrame*>("runStage"))
        if (!chip->isHidden())
            chips.push_back(chip);
    return chips;
}

} // namespace

class TestRunStages : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void rowsOfTheTableBecomeStages()
    {
        const auto stages = stagesOf(tables(), true);
        QCOMPARE(stages.size(), std::size_t{5});
        QCOMPARE(stages[0].name, QString("S0 Import"));
        QCOMPARE(stages[0].note, QString("same photographs"));
        QCOMPARE(stages[1].seconds.value_or(0), 161.0);
        QCOMPARE(stages[2].state, QString("running"));
        QVERIFY(!stages[3].seconds);
    }
    void whatAnEndedRunLeftRunningHasStopped()
    {
        QCOMPARE(stagesOf(tables(), false)[2].state, QString("stopped"));
        QCOMPARE(stagesOf(tables(), false)[1].state, QString("done"));
    }
    void otherTablesAndOddRowsGiveNoStage()
    {
        QVERIFY(stagesOf({}, true).empty());
        QVERIFY(stagesOf({json::parse(R"({"id": "gates", "rows": [["a"]]})")}, true).empty());
        QVERIFY(stagesOf({json::parse(R"({"id": "stages"})")}, true).empty());
        QVERIFY(stagesOf({json::parse(R"({"id": "stages", "columns": ["state"],
                                          "rows": [["done"]]})")},
                         true)
                    .empty());
        const auto odd = stagesOf({json::parse(R"({"id": "stages",
            "columns": ["seconds", "stage", "state"], "rows": [[], [1], ["x", 3], [2, "S1", 7]]})")},
                                  true);
        QCOMPARE(odd.size(), std::size_t{1});
        QCOMPARE(odd[0].name, QString("S1"));
        QVERIFY(odd[0].state.isEmpty()); // shown as waiting
    }
    void labsWithoutStagesHaveNoStrip()
    {
        RunStages strip;
        QVERIFY(strip.isHidden());
        strip.showStages(stagesOf(tables(), true));
        QVERIFY(!strip.isHidden());
        strip.showStages({});
        QVERIFY(strip.isHidden());
    }
    void aChipSaysNameStateTimeAndNote()
    {
        RunStages strip;
        strip.showStages(stagesOf(tables(), true));
        const auto chips = chipsOf(strip);
        QCOMPARE(chips.size(), std::size_t{5});
        QCOMPARE(chips[0]->toolTip(),
                 QString("S0 Import: reused from an earlier run, 0 s. same photographs"));
        QCOMPARE(chips[1]->toolTip(), QString("S3 Gaussians: done, 2:41"));
        QCOMPARE(chips[3]->toolTip(), QString("S5 Points: waiting"));
        for (const QFrame* chip : chips)
            QCOMPARE(chip->accessibleName(), chip->toolTip());
    }
    /// Colours are not alone: every state has an icon of its own.
    void statesDifferByTheirIcons()
    {
        std::vector<RunStage> stages;
        for (const char* state :
             {"waiting", "running", "done", "reused", "skipped", "stopped", "failed"})
            stages.push_back({QString(state), QString(state), std::nullopt, {}});
        QSet<QString> shapes;
        for (const char* icon : {"clock", "start", "tick", "reuse", "skip", "stop", "cross"})
            QVERIFY2(!tintedIcon(icon, QColor(Qt::black)).isNull(), icon);
        RunStages strip;
        strip.showStages(stages);
        for (const QFrame* chip : chipsOf(strip)) {
            const QImage image =
                chip->findChildren<QLabel*>().front()->pixmap().toImage().convertToFormat(
                    QImage::Format_Alpha8);
            shapes.insert(QString::fromLatin1(
                QByteArray(reinterpret_cast<const char*>(image.constBits()), image.sizeInBytes())
                    .toHex()));
        }
        QCOMPARE(shapes.size(), qsizetype(stages.size()));
    }
    void newRowsReplaceTheOld()
    {
        RunStages strip;
        strip.showStages(stagesOf(tables(), true));
        strip.showStages({{"S0", "done", 3.0, {}}});
        QCOMPARE(chipsOf(strip).size(), std::size_t{1});
        QCOMPARE(chipsOf(strip)[0]->toolTip(), QString("S0: done, 3 s"));
    }
};

VERGENCE_WINDOW_TEST(TestRunStages)
#include "tst_run_stages.moc"
