#include <QLabel>
#include <QPushButton>
#include <QtTest>

#include "app/shell/success_bar.h"
#include "tests/support/test_program.h"

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
    void theFirstHeadlineIsTold()
    {
        MetricStore metrics;
        metrics.append({{1, 1.0, "train/loss", 0.003256},
                        {2, 2.0, "train/loss", 0.00477},
                        {2, 2.0, "ab/speedup", 1.75},
                        {1, 1.0, "psnr", 28.3},
                        {2, 2.0, "psnr", 25.07}});
        using Better = MetricDecl::Better;
        const MetricDecl loss{"train/loss", "Loss", "", Better::Lower, false};
        const MetricDecl psnr{"psnr", "Held-out PSNR", "dB", Better::Higher, true};
        const MetricDecl speedup{"ab/speedup", "Speed-up", "", Better::Higher, true};
        RunEntry run;
        run.state = RunState::Completed;
        run.seconds = 12;
        QCOMPARE(successSentence(run, metrics, {loss, psnr, speedup}),
                 QString::fromUtf8("Done in 12 s. Held-out PSNR 28.3 → 25.07 dB."));
        QCOMPARE(successSentence(run, metrics, {loss, speedup, psnr}),
                 QStringLiteral("Done in 12 s. Speed-up 1.75."));
        QCOMPARE(successSentence(run, metrics, {loss}), QStringLiteral("Done in 12 s."));
    }
};

VERGENCE_WINDOW_TEST(TestSuccessBar)
#include "tst_success_bar.moc"
