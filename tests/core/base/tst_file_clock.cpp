#include <QTest>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/file_clock.h"
#include "tests/support/scratch.h"
#include "tests/support/silent_run.h"
#include "tests/support/test_program.h"

using namespace vergence;
using vergence::test::age;
using vergence::test::Scratch;

class TestFileClock : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void ageIsThatOfTheFile()
    {
        const Scratch scratch;
        writeFileAtomic(scratch / "file", std::string_view("x"));
        const double before = *secondsSinceWritten(scratch / "file");
        age(scratch / "file", 100);
        const double after = *secondsSinceWritten(scratch / "file");
        QVERIFY(before >= 0);
        // The kernel stamps files with the time of its last tick.
        QVERIFY2(after >= before + 99.9, qPrintable(QString::number(after)));
    }

    void whatWasWrittenInTheFutureIsNew()
    {
        const Scratch scratch;
        writeFileAtomic(scratch / "file", std::string_view("x"));
        age(scratch / "file", -3600);
        QCOMPARE(*secondsSinceWritten(scratch / "file"), 0.0);
    }

    void whatIsNotThereHasNoAge()
    {
        const Scratch scratch;
        QVERIFY(!secondsSinceWritten(scratch / "file"));
    }

    void aFolderWithoutRightsHasTheComputersClock()
    {
        const double before = epochSeconds();
        const double here = fileSystemSeconds("/proc");
        QVERIFY(before <= here && here <= epochSeconds());
    }

    void nothingIsLeftBehind()
    {
        const Scratch scratch;
        fileSystemSeconds(scratch.path());
        QVERIFY(vergence::test::contentOf(scratch.path()).empty());
    }
};

VERGENCE_TEST(TestFileClock)
#include "tst_file_clock.moc"
