#include <QTest>

#include "core/run/preview_pacer.h"
#include "tests/support/test_program.h"

using namespace vergence;

namespace {

/// Steps of a run whose previews cost `cost` seconds on top of `plain`, on a clock of its own.
class PacedRun {
public:
    PacedRun(double interval, double plain, double cost)
        : m_pacer(interval),
          m_plain(plain),
          m_cost(cost)
    {
    }

    /// True where previews were made.
    bool step(bool isWatched = true, bool asks = true)
    {
        m_pacer.beginStep(m_now, isWatched);
        const bool draws = asks && m_pacer.framesDue();
        m_now += m_plain + (draws ? m_cost : 0);
        m_pacer.endStep(m_now);
        return draws;
    }
    void stepUntil(double time)
    {
        while (m_now < time)
            m_drawn += step() ? 1 : 0;
    }

    double now() const { return m_now; }
    int drawn() const { return m_drawn; }

private:
    PreviewPacer m_pacer;
    double m_plain, m_cost;
    double m_now = 100;
    int m_drawn = 0;
};

} // namespace

class TestPreviewPacer : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void nothingIsDrawnUnwatched()
    {
        PacedRun run(0, 0.01, 0.01);
        for (int i = 0; i < 100; ++i)
            QVERIFY(!run.step(false));
        QVERIFY(run.step(true));
    }
    void theAnswerHoldsThroughoutAStep()
    {
        PreviewPacer pacer(10);
        pacer.beginStep(0, true);
        QVERIFY(pacer.framesDue());
        QVERIFY(pacer.framesDue());
        pacer.endStep(1);
        pacer.beginStep(1, true);
        QVERIFY(!pacer.framesDue());
        QVERIFY(!pacer.framesDue());
    }
    void theIntervalIsTheLeastBetweenTwo()
    {
        PacedRun run(0.5, 0.01, 0); // free previews
        run.stepUntil(110);
        QVERIFY2(run.drawn() >= 19 && run.drawn() <= 20, qPrintable(QString::number(run.drawn())));
    }
    void costStaysNearFivePercent()
    {
        PacedRun run(0, 0.001, 0.01);
        run.step();
        for (int i = 0; i < 50; ++i)
            run.step(false); // what a plain step costs is known from here on
        const double start = run.now();
        run.stepUntil(start + 100);
        const double share = 0.01 * run.drawn() / (run.now() - start);
        QVERIFY2(share > 0.03 && share < 0.06, qPrintable(QString::number(share)));
    }
    void dearPreviewsStillComeEverySecond()
    {
        PacedRun run(0.1, 0.01, 0.5);
        run.stepUntil(200);
        // One second between two previews, which take half a second themselves.
        QVERIFY2(run.drawn() >= 60, qPrintable(QString::number(run.drawn())));
    }
    void aStepThatDidNotAskHasNotDrawn()
    {
        PacedRun run(1000, 0.01, 0.01);
        QVERIFY(!run.step(true, false)); // was due, was not asked for
        QVERIFY(run.step());             // so it still is
        QVERIFY(!run.step());
    }
    void theFirstWatchedStepDrawsAtOnce()
    {
        PacedRun run(0.5, 0.01, 0.001);
        QVERIFY(run.step());
    }
};

VERGENCE_TEST(TestPreviewPacer)
#include "tst_preview_pacer.moc"
