#include <new>
#include <stdexcept>

#include <QTest>

#include "core/artifact/checkpoint.h"
#include "core/artifact/manifest.h"
#include "tests/core/run/controller_bench.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::testing;
using nlohmann::json;

/// Runs that fail or run out of time: codes, cards, files.
class TestRunFailure : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void failuresHaveCodesAndCards_data();
    void failuresHaveCodesAndCards();
    void timeLimitSavesAndEndsWith124();
};

void TestRunFailure::failuresHaveCodesAndCards_data()
{
    QTest::addColumn<int>("kind");
    QTest::addColumn<int>("code");
    QTest::addColumn<QString>("id");
    QTest::addColumn<QString>("words");
    QTest::newRow("bad_alloc") << 0 << 5 << "E-OOM"
                               << "ran out of memory at step 4";
    QTest::newRow("standard") << 1 << 1 << "E-RUN"
                              << "boom";
    QTest::newRow("unknown") << 2 << 1 << "E-RUN"
                             << "unknown type";
    QTest::newRow("input") << 3 << 6 << "E-DATA"
                           << "line 259";
    QTest::newRow("device memory") << 4 << 5 << "E-OOM"
                                   << "7.9 of 8.0";
    QTest::newRow("no device") << 5 << 7 << "E-NOGPU"
                               << "CUDA";
    QTest::newRow("numerics") << 6 << 1 << "E-NUMERICS"
                              << "train/loss";
    QTest::newRow("output") << 7 << 8 << "E-OUTPUT"
                            << "read-only";
    QTest::newRow("contract") << 8 << 1 << "E-RUN"
                              << "shape";
}

void TestRunFailure::failuresHaveCodesAndCards()
{
    QFETCH(int, kind);
    QFETCH(int, code);
    QFETCH(QString, id);
    QFETCH(QString, words);
    ControllerBench bench;
    bench.script.inStep = [kind](RunContext& context) {
        if (context.step() < 4)
            return;
        switch (kind) {
        case 0:
            throw std::bad_alloc();
        case 1:
            throw std::runtime_error("boom");
        case 2:
            throw 42;
        case 3:
            throw InputError("images.txt line 259: expected 10 values, found 7.");
        case 4:
            throw DeviceError("The GPU ran out of memory (needed 7.9 of 8.0 GiB).",
                              ExitCode::OutOfMemory);
        case 5:
            throw DeviceError("This plugin needs CUDA 12.", ExitCode::NoDevice);
        case 6:
            throw NumericsError("train/loss is not finite at step 4.");
        case 7:
            throw OutputError("Cannot write x: read-only file system.");
        default:
            throw ContractError("shape differs");
        }
    };
    bench.start(10);
    QVERIFY(bench.ends());
    QCOMPARE(nameOf(bench.controller().state()), std::string("Failed"));
    QCOMPARE(static_cast<int>(bench.controller().exitCode()), code);
    const RunStatus status = readStatus(bench.folder());
    QCOMPARE(status.state, std::string("Failed"));
    QCOMPARE(status.exitCode, std::optional(code));
    QCOMPARE(QString::fromStdString(status.problemId), id);
    QVERIFY2(QString::fromStdString(status.problem).contains(words), status.problem.c_str());
    QVERIFY(bench.hasMessage("problem", "id", id.toStdString()));
    QVERIFY(bench.hasMessage("done", "exit_code", code));
    QCOMPARE(bench.curve().size(), std::size_t{4});
    QVERIFY(readManifest(bench.folder()).at("run").at("exit") == code);
}

void TestRunFailure::timeLimitSavesAndEndsWith124()
{
    ControllerBench bench;
    bench.settings.timeLimitSeconds = 0.5;
    bench.start(1'000'000);
    QVERIFY(bench.ends());
    QCOMPARE(bench.controller().exitCode(), ExitCode::TimeLimit);
    QCOMPARE(nameOf(bench.controller().state()), std::string("Stopped"));
    QCOMPARE(loadNewestCheckpoint(bench.folder())->step, bench.controller().step());
    QVERIFY(bench.hasMessage("problem", "id", "E-TIME"));
    QCOMPARE(readStatus(bench.folder()).exitCode, std::optional(124));
}

VERGENCE_TEST(TestRunFailure)
#include "tst_run_failure.moc"
