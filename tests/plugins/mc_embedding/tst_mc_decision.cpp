#include <QTest>

#include "plugins/mc_embedding/statistics/decision.h"
#include "statistics_support.h"
#include "tests/support/test_program.h"

using namespace vergence::mc_embedding;
using fixtures::isNear;
using Kind = GateDecision::Kind;

class TestMcDecision : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void oneUsableCellIsEnough();
    void theBestMarginalCellTellsThePasses();
    void failureIsFinalWithManyPassesOnly();
    void lowRepeatabilityEverywhereIsANegativeResult();
    void withoutTrialsNothingIsDecided();
};

namespace {

GateCell cell(const char* model, int passes, const char* status, double icc, bool isPost = false)
{
    GateCell c{model, passes, isPost, {}};
    c.reliability.status = status;
    c.reliability.icc = icc;
    c.reliability.betweenVariance = icc;
    c.reliability.noisePerPass = passes * (1 - icc);
    return c;
}

} // namespace

void TestMcDecision::oneUsableCellIsEnough()
{
    const GateDecision d =
        gateDecision({cell("a", 64, "failed", 0.4), cell("b", 16, "usable", 0.87, true),
                      cell("b", 4, "failed", .6)});
    QCOMPARE(d.kind, Kind::Go);
    QCOMPARE(d.sentence, std::string("Scores repeat (b, T = 16, post)."));
    QVERIFY(!d.passesWanted.exists());
}

void TestMcDecision::theBestMarginalCellTellsThePasses()
{
    const GateDecision d =
        gateDecision({cell("a", 16, "marginal", 0.5), cell("b", 64, "marginal", 0.6),
                      cell("c", 64, "failed", 0.7)});
    QCOMPARE(d.kind, Kind::Extend);
    QVERIFY(isNear(d.passesWanted.value, 128, 1e-10)); // 3 · 64 · 0.4/0.6
    QVERIFY(d.sentence.find("T = 128") != std::string::npos);
    QVERIFY(isNear(predictedIcc(0.6, 64, d.passesWanted.value), kIccGate, 1e-12));
}

void TestMcDecision::failureIsFinalWithManyPassesOnly()
{
    const GateDecision early = gateDecision({cell("a", 64, "failed", 0.3)});
    QCOMPARE(early.kind, Kind::Extend);
    QVERIFY(isNear(early.passesWanted.value, 448, 1e-10));
    const GateDecision late =
        gateDecision({cell("a", 64, "failed", 0.3), cell("a", 256, "failed", 0.55)});
    QCOMPARE(late.kind, Kind::Stop);
    const GateCell other = cell("b", 16, "failed", 0.2), later = cell("b", 300, "failed", 0.2);
    QCOMPARE(gateDecision({cell("a", 256, "failed", 0.55), other}).kind, Kind::Extend);
    QCOMPARE(gateDecision({cell("a", 256, "failed", 0.55), other, later}).kind, Kind::Stop);
    const GateDecision hopeless = gateDecision({cell("a", 64, "failed", -0.02)});
    QCOMPARE(hopeless.kind, Kind::Extend);
    QVERIFY(!hopeless.passesWanted.exists());
    QVERIFY(hopeless.sentence.find("do not differ beyond the noise") != std::string::npos);
}

void TestMcDecision::lowRepeatabilityEverywhereIsANegativeResult()
{
    QVERIFY(gateDecision({cell("a", 64, "failed", 0.3), cell("b", 64, "failed", 0.49),
                          cell("b", 64, "usable", 0.9, true), cell("b", 128, "marginal", 0.7)})
                .isNegative);
    QVERIFY(!gateDecision({cell("a", 64, "failed", 0.3), cell("b", 64, "failed", 0.5)}).isNegative);
    QVERIFY(!gateDecision({cell("a", 16, "failed", 0.3)}).isNegative);
}

void TestMcDecision::withoutTrialsNothingIsDecided()
{
    GateCell one = cell("a", 64, "insufficient_trials", 0);
    one.reliability.icc = Figure::none("needs two trials");
    const GateDecision d = gateDecision({one});
    QCOMPARE(d.kind, Kind::Undecided);
    QVERIFY(!d.isNegative);
    QCOMPARE(gateDecision({}).kind, Kind::Undecided);
}

VERGENCE_TEST(TestMcDecision)
#include "tst_mc_decision.moc"
