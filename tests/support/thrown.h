#pragma once

#include <stdexcept>
#include <string>

#include <QString>

namespace vergence::test {

/// What `body` throws as an E, or a sentence that no message contains where it throws none.
template <class E, class Body>
QString thrown(const Body& body)
{
    try {
        body();
    } catch (const E& error) {
        return QString::fromUtf8(error.what());
    }
    return QStringLiteral("(nothing was thrown)");
}

} // namespace vergence::test

/// Fails unless `statement` throws an `exception` whose message contains `part`.
#define VERGENCE_THROWS(exception, part, statement)                                                \
    do {                                                                                           \
        const QString vergenceThrown = vergence::test::thrown<exception>([&] { statement; });      \
        QVERIFY2(vergenceThrown.contains(QString::fromUtf8(part)),                                 \
                 qPrintable("message: " + vergenceThrown));                                        \
    } while (false)
