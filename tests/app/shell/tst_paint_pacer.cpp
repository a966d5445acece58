#include <QPaintEvent>
#include <QtTest>

#include "app/shell/paint_pacer.h"
#include "tests/support/test_program.h"

using namespace vergence;

namespace {

/// Takes its time to paint.
class SlowWidget : public QWidget {
public:
    int paints = 0;
    int milliseconds = 0;

protected:
    void paintEvent(QPaintEvent*) override
    {
        ++paints;
        QTest::qSleep(milliseconds);
    }
};

} // namespace

class PaintPacerTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void slowPaintingGetsPauses();
    void theLastChangeIsPainted();
};

/// Asked all the time, a window that paints for 20 ms does so half of the time at most.
void PaintPacerTest::slowPaintingGetsPauses()
{
    SlowWidget window;
    new PaintPacer(window);
    window.resize(100, 80);
    window.show();
    QVERIFY(QTest::qWaitForWindowExposed(&window));
    window.milliseconds = 20;
    window.paints = 0;
    QElapsedTimer clock;
    clock.start();
    while (clock.elapsed() < 400) {
        window.update();
        QCoreApplication::processEvents();
    }
    QVERIFY(window.paints >= 2);
    QVERIFY2(window.paints <= clock.elapsed() / 40 + 2, qPrintable(QString::number(window.paints)));
}

void PaintPacerTest::theLastChangeIsPainted()
{
    SlowWidget window;
    new PaintPacer(window);
    window.resize(100, 80);
    window.show();
    QVERIFY(QTest::qWaitForWindowExposed(&window));
    window.milliseconds = 20;
    for (int i = 0; i < 3; ++i) {
        window.update();
        QCoreApplication::processEvents();
    }
    const int before = window.paints;
    window.update(); // in the pause
    QTRY_VERIFY(window.paints > before);
    const int after = window.paints;
    QTest::qWait(200); // nobody asks
    QCOMPARE(window.paints, after);
}

VERGENCE_WINDOW_TEST(PaintPacerTest)
#include "tst_paint_pacer.moc"
