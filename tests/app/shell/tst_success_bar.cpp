#include <QLabel>
#include <QPushButton>
#include <QtTest>

#include "app/shell/success_bar.h"

using namespace vergence;

/// What a finished run offers.
class TestSuccessBar : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void comparesOnlyWhereThereArePictures_data()
    {
        QTest::addColumn<bool>("hasPictures");
        QTest::newRow("pictures") << true;
        QTest::newRow("diagrams alone") << false;
    }
    void comparesOnlyWhereThereArePictures()
    {
        QFETCH(bool, hasPictures);
        QWidget window;
        auto* bar = new SuccessBar(&window);
        window.show();
        bar->showResult("Done in 3 s.", hasPictures);
        QCOMPARE(bar->findChild<QLabel*>("successSentence")->text(),
                 QStringLiteral("Done in 3 s."));
        QCOMPARE(bar->findChild<QPushButton*>("successCompare")->isVisible(), hasPictures);
        for (const char* offer : {"successExport", "successAgain"})
            QVERIFY(bar->findChild<QPushButton*>(offer)->isVisible());
        QSignalSpy asked(bar, &SuccessBar::compareRequested);
        bar->findChild<QPushButton*>("successCompare")->click();
        QCOMPARE(asked.size(), 1);
    }
};

QTEST_MAIN(TestSuccessBar)
#include "tst_success_bar.moc"
