#pragma once

#include <QTest>

// Waits end with the event that they wait for. How long they bear with its absence says nothing
// about the product, so it is generous: five seconds, as QtTest has it, pass where other programs
// use the cores.

namespace vergence::test {

inline constexpr int kGuardMilliseconds = 60'000;

/// False where `isThere` was not true meanwhile.
template <class Predicate>
bool waitFor(Predicate isThere, int milliseconds = kGuardMilliseconds)
{
    return QTest::qWaitFor(isThere, milliseconds);
}

} // namespace vergence::test

#undef QTRY_VERIFY
#undef QTRY_VERIFY2
#undef QTRY_COMPARE
#define QTRY_VERIFY(expr) QTRY_VERIFY_WITH_TIMEOUT((expr), vergence::test::kGuardMilliseconds)
#define QTRY_VERIFY2(expr, message)                                                                \
    QTRY_VERIFY2_WITH_TIMEOUT((expr), (message), vergence::test::kGuardMilliseconds)
#define QTRY_COMPARE(expr, expected)                                                               \
    QTRY_COMPARE_WITH_TIMEOUT((expr), (expected), vergence::test::kGuardMilliseconds)
