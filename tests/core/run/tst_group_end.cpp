#include "core/run/group_end.h"

#include "tests/support/test_program.h"

using namespace vergence;

class GroupEndTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void endedRunsSayHowLongOneTakes();
    void paceOfThoseThatWorkCountsWhereNoneHasEnded();
    void lanesTakeTheNextRunAsTheyBecomeFree();
    void runThatTakesLongerThanOthersIsNotOverYet();
    void nothingIsKnownBeforeTheFirstStep();
    void nothingIsLeftWhereNobodyWorks();
};

/// Ended ones took 100 s; two work, 40 s and 10 s into theirs; three wait: lanes are free after 60
/// and 90 s, again after 160 and 190 s, and the last ends at 260 s.
void GroupEndTest::endedRunsSayHowLongOneTakes()
{
    const RunCourse waits{RunState::Queued, 0, 0, 0};
    const auto left = secondsLeft({{RunState::Completed, 10, 10, 90},
                                   {RunState::Completed, 10, 10, 110},
                                   {RunState::Running, 4, 10, 40},
                                   {RunState::Running, 1, 10, 10},
                                   waits,
                                   waits,
                                   waits});
    QCOMPARE(left.value_or(-1), 260.0);
}

void GroupEndTest::paceOfThoseThatWorkCountsWhereNoneHasEnded()
{
    const auto left = secondsLeft({{RunState::Running, 5, 20, 10}, {RunState::Queued, 0, 0, 0}});
    QCOMPARE(left.value_or(-1), 70.0); // 30 s of its own, 40 s of the next
}

void GroupEndTest::lanesTakeTheNextRunAsTheyBecomeFree()
{
    const auto left = secondsLeft({{RunState::Completed, 1, 1, 100},
                                   {RunState::Running, 90, 100, 90},
                                   {RunState::Running, 10, 100, 10},
                                   {RunState::Queued, 0, 0, 0}});
    QCOMPARE(left.value_or(-1), 110.0);
}

void GroupEndTest::runThatTakesLongerThanOthersIsNotOverYet()
{
    const auto left =
        secondsLeft({{RunState::Completed, 10, 10, 100}, {RunState::Running, 5, 10, 150}});
    QCOMPARE(left.value_or(-1), 150.0);
}

void GroupEndTest::nothingIsKnownBeforeTheFirstStep()
{
    QVERIFY(!secondsLeft({{RunState::Running, 0, 10, 5}, {RunState::Queued, 0, 0, 0}}));
}

void GroupEndTest::nothingIsLeftWhereNobodyWorks()
{
    QVERIFY(!secondsLeft({{RunState::Completed, 10, 10, 100}, {RunState::Queued, 0, 0, 0}}));
    QVERIFY(!secondsLeft({}));
}

VERGENCE_TEST(GroupEndTest)
#include "tst_group_end.moc"
