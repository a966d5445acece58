#include <regex>
#include <thread>

#include <QtTest>

#include "core/base/clock.h"
#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/shell_word.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;

class TestBase : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyErrorHasItsExitCode()
    {
        QCOMPARE(Error("x").exitCode(), ExitCode::RunFailed);
        QCOMPARE(InputError("x").exitCode(), ExitCode::InputUnreadable);
        QCOMPARE(OutputError("x").exitCode(), ExitCode::OutputUnwritable);
        QCOMPARE(DeviceError("x", ExitCode::OutOfMemory).exitCode(), ExitCode::OutOfMemory);
        QCOMPARE(NumericsError("x").exitCode(), ExitCode::RunFailed);
        QCOMPARE(ContractError("x").exitCode(), ExitCode::RunFailed);
        QCOMPARE(static_cast<int>(ExitCode::OutOfMemory), 5);
        QCOMPARE(static_cast<int>(ExitCode::TimeLimit), 124);
        QVERIFY(!OutputError("x").diskIsFull());
        QVERIFY(OutputError("x", true).diskIsFull());
    }

    void errorsAreCaughtByTheirRoot()
    {
        VERGENCE_THROWS(IoError, "what", throw InputError("what"));
        VERGENCE_THROWS(Error, "what", throw OutputError("what"));
        VERGENCE_THROWS(std::runtime_error, "what", throw ContractError("what"));
    }

    void expectationsThrowOnlyWhenBroken()
    {
        expects(true, "not thrown");
        VERGENCE_THROWS(ContractError, "two is not three", expects(2 + 2 == 3, "two is not three"));
    }

    void timesAreSpelledAsTheyShould()
    {
        QVERIFY(std::regex_match(
            utcNow(), std::regex("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z")));
        QVERIFY(std::regex_match(utcNowForPath(),
                                 std::regex("\\d{4}-\\d\\d-\\d\\dT\\d\\d-\\d\\d-\\d\\dZ")));
        const double before = steadySeconds();
        QVERIFY(steadySeconds() >= before);
        QVERIFY(epochSeconds() > 1.7e9);
    }

    void wordsAreQuotedForAShell()
    {
        QCOMPARE(shellWord("lr=1e-4"), std::string("lr=1e-4"));
        QCOMPARE(shellWord("it's here"), std::string("'it'\\''s here'"));
        QCOMPARE(shellWord(""), std::string("''"));
    }

    void listenersHearAreaAndLevel()
    {
        setLogToStderr(false);
        std::vector<LogLine> lines;
        const int handle = addLogListener([&](const LogLine& line) { lines.push_back(line); });
        log("test").info("one {}", 1);
        log("test").debug("kept back");
        setLogLevel("debug");
        log("other").debug("two");
        setLogLevel("error");
        log("test").warn("kept back");
        setLogLevel("info");
        removeLogListener(handle);
        log("test").error("nobody listens");
        setLogToStderr(true);
        QCOMPARE(lines.size(), std::size_t{2});
        QCOMPARE(lines[0].area, std::string("test"));
        QCOMPARE(lines[0].level, std::string("info"));
        QCOMPARE(lines[0].text, std::string("one 1"));
        QCOMPARE(lines[1].area, std::string("other"));
        QCOMPARE(lines[1].level, std::string("debug"));
        QVERIFY(!lines[0].time.empty());
    }

    void threadsMayLogAtOnce()
    {
        setLogToStderr(false);
        int count = 0;
        const int handle = addLogListener([&](const LogLine&) { ++count; });
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([t] {
                for (int i = 0; i < 250; ++i)
                    log("area " + std::string(1, static_cast<char>('a' + t))).info("{}", i);
            });
        }
        for (std::thread& thread : threads)
            thread.join();
        removeLogListener(handle);
        setLogToStderr(true);
        QCOMPARE(count, 1000);
    }

    void checkSumsAreThoseOfCastagnoli()
    {
        const std::string text = "123456789";
        QCOMPARE(crc32c(std::as_bytes(std::span(text))), 0xE3069283u);
        std::vector<std::byte> bytes(300);
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            bytes[i] = static_cast<std::byte>(i * 89);
            const auto front = std::span(bytes).first(i);
            QCOMPARE(crc32c(front), crc32cPlain(front));
            const auto pieces = crc32c(front.subspan(i / 3), crc32c(front.first(i / 3)));
            QCOMPARE(pieces, crc32c(front));
        }
        QCOMPARE(crc32c({}), 0u);
    }
};

VERGENCE_TEST(TestBase)
#include "tst_base.moc"
