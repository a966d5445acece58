#include <algorithm>
#include <map>
#include <set>

#include <QTest>

#include "core/run/run_state.h"
#include "tests/support/test_program.h"

using namespace vergence;

class TestRunState : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyPairOfStateAndEventIsAsWritten_data();
    void everyPairOfStateAndEventIsAsWritten();
    void namesReadBack();
    void unknownNamesAreNothing();
    void liveAndFinalExcludeEachOther();
    void everyStateCanBeReachedFromDraft();
    void aLiveRunCanAlwaysCrashAndFail();
};

namespace {

using S = RunState;
using E = RunEvent;

/// The table once more, written by state as people read it (architecture.md §5.2).
const std::map<S, std::map<E, S>> kExpected{
    {S::Draft, {{E::Queue, S::Queued}, {E::Start, S::Starting}}},
    {S::Queued, {{E::Unqueue, S::Draft}, {E::Start, S::Starting}}},
    {S::Starting,
     {{E::Prepared, S::Running},
      {E::StopRequested, S::Stopping},
      {E::Failure, S::Failed},
      {E::Crash, S::Crashed},
      {E::HeartbeatLost, S::Lost}}},
    {S::Running,
     {{E::PauseRequested, S::Pausing},
      {E::PauseReached, S::Paused},
      {E::StopRequested, S::Stopping},
      {E::CheckpointRequested, S::Running},
      {E::Finished, S::Saving},
      {E::Failure, S::Failed},
      {E::Crash, S::Crashed},
      {E::HeartbeatLost, S::Lost}}},
    {S::Pausing,
     {{E::PauseReached, S::Paused},
      {E::ResumeRequested, S::Running},
      {E::StopRequested, S::Stopping},
      {E::Finished, S::Saving},
      {E::Failure, S::Failed},
      {E::Crash, S::Crashed},
      {E::HeartbeatLost, S::Lost}}},
    {S::Paused,
     {{E::ResumeRequested, S::Running},
      {E::StopRequested, S::Stopping},
      {E::CheckpointRequested, S::Paused},
      {E::Failure, S::Failed},
      {E::Crash, S::Crashed},
      {E::HeartbeatLost, S::Lost}}},
    {S::Stopping,
     {{E::PauseReached, S::Paused},
      {E::StopReached, S::Stopped},
      {E::Saved, S::Completed},
      {E::Failure, S::Failed},
      {E::Crash, S::Crashed},
      {E::HeartbeatLost, S::Lost}}},
    {S::Saving,
     {{E::PauseReached, S::Paused},
      {E::StopRequested, S::Stopping},
      {E::Saved, S::Completed},
      {E::Failure, S::Failed},
      {E::Crash, S::Crashed},
      {E::HeartbeatLost, S::Lost}}},
    {S::Completed, {{E::Extend, S::Starting}}},
    {S::Stopped, {{E::Extend, S::Starting}, {E::ResumeRequested, S::Starting}}},
    {S::Failed, {{E::ResumeRequested, S::Starting}}},
    {S::Crashed, {{E::ResumeRequested, S::Starting}, {E::MarkedStopped, S::Stopped}}},
    {S::Lost,
     {{E::Reattached, S::Running},
      {E::ResumeRequested, S::Starting},
      {E::MarkedStopped, S::Stopped}}},
};

} // namespace

void TestRunState::everyPairOfStateAndEventIsAsWritten_data()
{
    QTest::addColumn<int>("state");
    QTest::addColumn<int>("event");
    for (const S state : allRunStates()) {
        for (const E event : allRunEvents())
            QTest::newRow((nameOf(state) + " + " + nameOf(event)).c_str())
                << static_cast<int>(state) << static_cast<int>(event);
    }
}

void TestRunState::everyPairOfStateAndEventIsAsWritten()
{
    QFETCH(int, state);
    QFETCH(int, event);
    const auto from = static_cast<S>(state);
    const auto what = static_cast<E>(event);
    const auto& row = kExpected.at(from);
    const auto found = row.find(what);
    const std::optional<S> after = next(from, what);
    QCOMPARE(after.has_value(), found != row.end());
    if (after)
        QCOMPARE(nameOf(*after), nameOf(found->second));
    const auto allowed = allowedEvents(from);
    QCOMPARE(std::ranges::count(allowed, what), after ? 1 : 0);
}

void TestRunState::namesReadBack()
{
    QCOMPARE(allRunStates().size(), std::size_t{13});
    QCOMPARE(allRunEvents().size(), std::size_t{18});
    std::set<std::string> names;
    for (const S state : allRunStates()) {
        QCOMPARE(runStateFromName(nameOf(state)), std::optional(state));
        names.insert(nameOf(state));
    }
    QCOMPARE(names.size(), allRunStates().size());
}

void TestRunState::unknownNamesAreNothing()
{
    QVERIFY(!runStateFromName(""));
    QVERIFY(!runStateFromName("running"));
}

void TestRunState::liveAndFinalExcludeEachOther()
{
    for (const S state : allRunStates()) {
        QVERIFY(!(isLive(state) && isFinal(state)));
        QCOMPARE(isLive(state) || isFinal(state), state != S::Draft && state != S::Queued);
    }
}

void TestRunState::everyStateCanBeReachedFromDraft()
{
    std::set<S> reached{S::Draft};
    for (std::size_t before = 0; before != reached.size();) {
        before = reached.size();
        for (const S state : std::set<S>(reached)) {
            for (const E event : allowedEvents(state))
                reached.insert(*next(state, event));
        }
    }
    QCOMPARE(reached.size(), allRunStates().size());
}

void TestRunState::aLiveRunCanAlwaysCrashAndFail()
{
    for (const S state : allRunStates()) {
        for (const E event : {E::Crash, E::Failure, E::HeartbeatLost})
            QCOMPARE(next(state, event).has_value(), isLive(state));
    }
}

VERGENCE_TEST(TestRunState)
#include "tst_run_state.moc"
