#include <QTest>

#include "core/base/error.h"
#include "core/compute/graph/step_graph.h"
#include "tests/support/device_table.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;

namespace {
/// A stream that records: work handed to it while recording is counted when it is replayed.
class RecordingStream final : public Stream {
public:
    explicit RecordingStream(Device& device) : Stream(device) {}

    int launches = 0, replays = 0;
    bool endFails = false, beginFails = false, refuses = false;

    void copy(void*, const void*, std::size_t) override { launches += m_isRecording ? 0 : 1; }
    void fillBytes(void*, int, std::size_t) override {}
    void synchronize() override
    {
        if (m_isRecording && refuses) // as the CUDA stream does
            throw ContractError("synchronize: nothing runs while a launch graph is recorded");
        if (m_isRecording)
            throw DeviceError("a recording stream cannot be waited for");
    }
    void parallelFor(Index, Index, RangeBody, const void*) override {}
    void* scratch(std::size_t) override { return nullptr; }
    bool beginCapture() override
    {
        if (beginFails)
            throw ContractError("another stream of this device records a launch graph");
        return m_isRecording = true;
    }
    std::unique_ptr<LaunchGraph> endCapture() override
    {
        m_isRecording = false;
        if (endFails)
            throw DeviceError("the recording is invalid");
        struct Replay final : LaunchGraph {
            void replay(Stream& stream) override
            {
                ++static_cast<RecordingStream&>(stream).replays;
            }
        };
        return std::make_unique<Replay>();
    }

private:
    bool m_isRecording = false;
};
} // namespace

class TestStepGraph : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void recordsAfterThreeEagerRuns();
    void invalidatedStepIsRecordedAnew();
    void runsEagerlyWhereNothingRecords();
    void runsEagerlyWhereRecordingFails_data();
    void runsEagerlyWhereRecordingFails();
    void aBrokenContractOfTheStepIsThrown();
    void otherErrorsLeaveTheStream();
};

void TestStepGraph::recordsAfterThreeEagerRuns()
{
    RecordingStream stream(*devices().devices.front());
    StepGraph step([](Stream& on) { on.copy(nullptr, nullptr, 0); });
    for (int i = 0; i < 3; ++i) {
        step.run(stream);
        QVERIFY(!step.isReplayed());
    }
    step.run(stream);
    QVERIFY(step.isReplayed());
    step.run(stream);
    QCOMPARE(stream.launches, 3);
    QCOMPARE(stream.replays, 2);
    QCOMPARE(step.runs(), std::uint64_t{5});
}

void TestStepGraph::invalidatedStepIsRecordedAnew()
{
    RecordingStream stream(*devices().devices.front());
    StepGraph step([](Stream& on) { on.copy(nullptr, nullptr, 0); }, 1);
    step.run(stream);
    step.run(stream);
    QVERIFY(step.isReplayed());
    step.invalidate();
    QVERIFY(!step.isReplayed());
    step.run(stream);
    QCOMPARE(stream.launches, 2);
    step.run(stream);
    QVERIFY(step.isReplayed());
}

void TestStepGraph::runsEagerlyWhereNothingRecords()
{
    const auto stream = devices().devices.front()->createStream();
    int runs = 0;
    StepGraph step([&runs](Stream&) { ++runs; });
    for (int i = 0; i < 6; ++i)
        step.run(*stream);
    QCOMPARE(runs, 6);
    QVERIFY(!step.isReplayed());
}

void TestStepGraph::runsEagerlyWhereRecordingFails_data()
{
    QTest::addColumn<QString>("failure");
    for (const char* failure : {"the step waits", "the step is refused", "the recording is invalid",
                                "the recording does not begin"})
        QTest::newRow(failure) << failure;
}

void TestStepGraph::runsEagerlyWhereRecordingFails()
{
    QFETCH(QString, failure);
    RecordingStream stream(*devices().devices.front());
    stream.endFails = failure == "the recording is invalid";
    stream.beginFails = failure == "the recording does not begin";
    stream.refuses = failure == "the step is refused";
    const bool waits = failure.startsWith("the step");
    StepGraph step(
        [waits](Stream& on) {
            on.copy(nullptr, nullptr, 0);
            if (waits)
                on.synchronize();
        },
        1);
    for (int i = 0; i < 4; ++i)
        step.run(stream);
    QCOMPARE(stream.launches, 4);
    QVERIFY(!step.isReplayed());
}

/// Not a refusal of the stream: it shows when the step runs eagerly instead.
void TestStepGraph::aBrokenContractOfTheStepIsThrown()
{
    RecordingStream stream(*devices().devices.front());
    bool fails = false;
    StepGraph step([&fails](Stream&) { expects(!fails, "shapes differ"); }, 1);
    step.run(stream);
    fails = true;
    VERGENCE_THROWS(ContractError, "shapes differ", step.run(stream));
}

void TestStepGraph::otherErrorsLeaveTheStream()
{
    RecordingStream stream(*devices().devices.front());
    bool fails = false;
    StepGraph step(
        [&fails](Stream&) {
            if (fails)
                throw NumericsError("loss");
        },
        1);
    step.run(stream);
    fails = true;
    VERGENCE_THROWS(NumericsError, "loss", step.run(stream));
    fails = false;
    step.run(stream);
    QVERIFY(step.isReplayed());
    VERGENCE_THROWS(ContractError, "no step", StepGraph(nullptr));
}

VERGENCE_TEST(TestStepGraph)
#include "tst_step_graph.moc"
