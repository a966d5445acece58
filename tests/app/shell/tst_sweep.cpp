#include <QTest>

#include "app/shell/sweep.h"
#include "app/shell/worker_commands.h"
#include "tests/support/test_program.h"

using namespace vergence;

namespace {

Field numberField(FieldType type, double minimum, double maximum)
{
    Field field;
    field.key = "rate";
    field.type = type;
    field.minimum = minimum;
    field.maximum = maximum;
    return field;
}

Field choiceField()
{
    Field field;
    field.key = "solver";
    field.type = FieldType::Enum;
    field.choices = {"adam", "nesterov", "landweber"};
    return field;
}

} // namespace

class TestSweep : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void listsAreRead_data()
    {
        QTest::addColumn<int>("type");
        QTest::addColumn<QString>("text");
        QTest::addColumn<QStringList>("values");
        const int real = static_cast<int>(FieldType::Float),
                  whole = static_cast<int>(FieldType::Int);
        QTest::newRow("numbers") << real << "1e-3, 1/4 ,10k"
                                 << QStringList{"0.001", "0.25", "10000"};
        QTest::newRow("whole numbers") << whole << "1,2^10,3k" << QStringList{"1", "1024", "3000"};
        QTest::newRow("no number") << real << "1, two" << QStringList{};
        QTest::newRow("fraction of a whole number") << whole << "1, 2.5" << QStringList{};
        QTest::newRow("below") << real << "-1, 2" << QStringList{};
        QTest::newRow("above") << real << "1, 20001" << QStringList{};
        QTest::newRow("twice") << real << "1, 1.0" << QStringList{};
        QTest::newRow("one") << real << "1" << QStringList{};
        QTest::newRow("none") << real << " , ," << QStringList{};
    }
    void listsAreRead()
    {
        QFETCH(int, type);
        QFETCH(QString, text);
        QFETCH(QStringList, values);
        const SweepValues read =
            sweepList(numberField(static_cast<FieldType>(type), 0, 20000), text);
        QCOMPARE(read.values, values);
        QCOMPARE(read.reason.isEmpty(), !values.isEmpty());
    }
    void choicesAreRead()
    {
        QCOMPARE(sweepList(choiceField(), "adam, landweber").values,
                 QStringList({"adam", "landweber"}));
        QVERIFY(sweepList(choiceField(), "adam, sgd").reason.contains("nesterov"));
        Field flag;
        flag.type = FieldType::Bool;
        QCOMPARE(sweepList(flag, "true,false").values, QStringList({"true", "false"}));
        QVERIFY(!sweepList(flag, "true, 1").reason.isEmpty());
        Field path;
        path.type = FieldType::Path;
        QVERIFY(!canSweep(path) && canSweep(flag) && canSweep(choiceField()));
    }
    void rangesReachBothEnds()
    {
        const Field real = numberField(FieldType::Float, 0, 100);
        QCOMPARE(sweepRange(real, {"0", "1", 5, false}).values,
                 QStringList({"0", "0.25", "0.5", "0.75", "1"}));
        QCOMPARE(sweepRange(real, {"1e-3", "0.1", 3, true}).values,
                 QStringList({"0.001", "0.01", "0.1"}));
        QCOMPARE(sweepRange(real, {"1/3", "1", 2, false}).values.front().toDouble(), 1.0 / 3);
        QCOMPARE(sweepRange(real, {"4", "1", 4, false}).values, QStringList({"4", "3", "2", "1"}));
        QCOMPARE(sweepRange(numberField(FieldType::Int, 0, 100), {"1", "4", 10, false}).values,
                 QStringList({"1", "2", "3", "4"}));
        for (const SweepRange& bad :
             {SweepRange{"0", "1", 3, true}, SweepRange{"0", "inf", 3, false},
              SweepRange{"", "1", 3, false}, SweepRange{"1", "1", 3, false},
              SweepRange{"1", "101", 3, false}}) {
            const SweepValues values = sweepRange(real, bad);
            QVERIFY(values.values.isEmpty() && !values.reason.isEmpty());
        }
    }
    void draftsDifferInTheSettingAlone()
    {
        const RunDraft draft{"lab", "demo", {"rate=9", "rated=3"}, {}};
        const auto drafts =
            sweepDrafts(draft, numberField(FieldType::Float, 0, 100), {"1", "2", "4"});
        QCOMPARE(drafts.size(), std::size_t{3});
        QCOMPARE(drafts[1].flags, QStringList({"rated=3", "rate=2"}));
        QCOMPARE(drafts[1].preset, QString("demo"));
        QCOMPARE(drafts[1].sweep->share, 0.5);
        QCOMPARE(drafts[2].sweep->value, QString("4"));
        QVERIFY(!drafts[0].sweep->group.isEmpty());
        QCOMPARE(drafts[0].sweep->group, drafts[2].sweep->group);
        QVERIFY(sweepDrafts(draft, choiceField(), {"adam"}).front().sweep->group !=
                drafts[0].sweep->group);
        QCOMPARE(sweepDrafts(draft, choiceField(), {"adam"}).front().flags.last(),
                 QString("solver=\"adam\""));
    }
    void coloursGrowLighter()
    {
        int before = -1;
        for (int i = 0; i <= 20; ++i) {
            const int lightness = qGray(sweepColour(i / 20.0).rgb());
            QVERIFY2(lightness > before, qPrintable(QString::number(i)));
            before = lightness;
        }
        QCOMPARE(sweepColour(-1), sweepColour(0));
        QCOMPARE(sweepColour(2), sweepColour(1));
    }
};

VERGENCE_TEST(TestSweep)
#include "tst_sweep.moc"
