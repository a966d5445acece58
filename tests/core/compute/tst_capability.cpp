#include <QTest>

#include "core/compute/capability.h"
#include "tests/support/test_program.h"

using namespace vergence;

class TestCapability : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void cardsMultiplyWhatTheirCapabilityAllows_data()
    {
        QTest::addColumn<QString>("capability");
        QTest::addColumn<bool>("half");
        QTest::addColumn<bool>("brain");
        QTest::newRow("Volta") << "7.0" << false << false;
        QTest::newRow("T4") << "7.5" << true << false;
        QTest::newRow("A100") << "8.0" << true << true;
        QTest::newRow("4090") << "8.9" << true << true;
        QTest::newRow("H100") << "9.0" << true << true;
        QTest::newRow("two digits") << "10.0" << true << true;
        QTest::newRow("unknown") << "" << false << false;
    }
    void cardsMultiplyWhatTheirCapabilityAllows()
    {
        QFETCH(QString, capability);
        QFETCH(bool, half);
        QFETCH(bool, brain);
        DeviceInfo card;
        card.kind = DeviceKind::Cuda;
        card.computeCapability = capability.toStdString();
        QCOMPARE(multiplies(card, DType::F16), half);
        QCOMPARE(multiplies(card, DType::BF16), brain);
        QVERIFY(multiplies(card, DType::F32) && multiplies(card, DType::F64));
    }

    void processorsMultiplyEverything()
    {
        for (const DType type : {DType::F16, DType::BF16, DType::F32, DType::F64})
            QVERIFY(multiplies(DeviceInfo{}, type));
    }
};

VERGENCE_TEST(TestCapability)
#include "tst_capability.moc"
