#include <QTest>

#include "cuda/backend/copy_source.h"
#include "tests/support/test_program.h"

using namespace vergence;

/// After which copies a stream must be waited for, so that host memory may be reused.
class TestCopySource : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void hostMemoryIsReadLater_data()
    {
        QTest::addColumn<int>("source");
        QTest::addColumn<bool>("deviceReadsPageable");
        QTest::addColumn<bool>("isLater");
        const auto add = [](const char* name, CopySource source, bool without, bool with) {
            const int number = static_cast<int>(source);
            QTest::addRow("%s", name) << number << false << without;
            QTest::addRow("%s, read by the device", name) << number << true << with;
        };
        add("device", CopySource::Device, false, false);
        add("pinned", CopySource::PinnedHost, true, true);
        add("pageable", CopySource::PageableHost, false, true);
    }
    void hostMemoryIsReadLater()
    {
        QFETCH(int, source);
        QFETCH(bool, deviceReadsPageable);
        QFETCH(bool, isLater);
        QCOMPARE(isReadLater(static_cast<CopySource>(source), deviceReadsPageable), isLater);
    }
};

VERGENCE_TEST(TestCopySource)
#include "tst_copy_source.moc"
