#include <QtTest>

#include "app/viewport/pane_layout.h"
#include "tests/support/test_program.h"

using namespace vergence;

class PaneLayoutTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void fittedPictureIsCentred()
    {
        const QRectF rect = pictureRect(QRectF(0, 0, 400, 200), QSizeF(100, 100), {});
        QCOMPARE(rect, QRectF(100, 0, 200, 200));
    }

    void zoomKeepsThePointUnderTheCursor_data()
    {
        QTest::addColumn<QPointF>("cursor");
        QTest::addColumn<double>("factor");
        QTest::newRow("centre") << QPointF(200, 100) << 2.0;
        QTest::newRow("corner") << QPointF(110, 20) << 8.0;
        QTest::newRow("out") << QPointF(290, 180) << 0.5;
        QTest::newRow("outside the picture") << QPointF(5, 5) << 3.0;
    }

    void zoomKeepsThePointUnderTheCursor()
    {
        QFETCH(QPointF, cursor);
        QFETCH(double, factor);
        const QRectF area(0, 0, 400, 200);
        const QSizeF picture(100, 100);
        const ImageTransform start{.zoom = 1.5, .centre = {0.4, 0.6}};
        const QPointF before = toPicture(cursor, area, picture, start);
        const ImageTransform zoomed = zoomedAt(start, cursor, area, picture, factor);
        QCOMPARE(zoomed.zoom, 1.5 * factor);
        const QPointF after = toPicture(cursor, area, picture, zoomed);
        // Rectangles start on whole pixels: at most one picture pixel at these zooms.
        QVERIFY(std::abs(after.x() - before.x()) < 0.7);
        QVERIFY(std::abs(after.y() - before.y()) < 0.7);
    }

    void panMovesThePictureWithThePointer()
    {
        const QRectF area(0, 0, 200, 200);
        const QSizeF picture(100, 100);
        const ImageTransform start{.zoom = 4, .centre = {0.5, 0.5}};
        const ImageTransform moved = panned(start, {20, -10}, area, picture);
        const QRectF before = pictureRect(area, picture, start);
        QCOMPARE(pictureRect(area, picture, moved).topLeft() - before.topLeft(), QPointF(20, -10));
    }

    void panStopsAtThePicturesEdge()
    {
        const ImageTransform moved =
            panned({.zoom = 4, .centre = {0.5, 0.5}}, {1e6, 0}, QRectF(0, 0, 200, 200), {100, 100});
        QCOMPARE(moved.centre.x(), 0.0);
    }

    void gridHoldsEveryPictureApart_data()
    {
        QTest::addColumn<int>("count");
        for (const int count : {0, 1, 2, 8, 26})
            QTest::addRow("%d", count) << count;
    }

    void gridHoldsEveryPictureApart()
    {
        QFETCH(int, count);
        const auto cells = gridCells({640, 400}, count, {100, 100});
        QCOMPARE(static_cast<int>(cells.size()), count);
        for (std::size_t i = 0; i < cells.size(); ++i) {
            QVERIFY(QRectF(0, 0, 640, 400).contains(cells[i]));
            for (std::size_t j = 0; j < i; ++j)
                QVERIFY(!cells[i].intersects(cells[j]));
        }
    }
};

VERGENCE_TEST(PaneLayoutTest)
#include "tst_pane_layout.moc"
