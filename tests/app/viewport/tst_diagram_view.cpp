#include <QSignalSpy>
#include <QtTest>

#include "app/viewport/diagram_view.h"
#include "tests/app/viewport/synthetic_frames.h"
#include "tests/support/test_program.h"

using namespace vergence;

class DiagramViewTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init()
    {
        m_view = std::make_unique<DiagramView>();
        m_view->resize(640, 360);
        m_view->setDiagram(Diagram::fromJson(test::makeOpticsDiagram("optics").info.meta));
        m_view->show();
    }

    void cleanup() { m_view.reset(); }

    void aspectIsKept()
    {
        const QPointF origin = m_view->toWidget({0, 0});
        const double x = m_view->toWidget({10, 0}).x() - origin.x();
        const double y = origin.y() - m_view->toWidget({0, 10}).y();
        QVERIFY(x > 0);
        QVERIFY(qAbs(x - y) < 1e-9);
    }

    void positionsGoThereAndBack()
    {
        const QPointF back = m_view->toDiagram(m_view->toWidget({12.5, -7}));
        QVERIFY((back - QPointF(12.5, -7)).manhattanLength() < 1e-9);
    }

    void textsKeepClearOfEachOther()
    {
        Diagram drawing;
        drawing.left = drawing.bottom = -10;
        drawing.right = drawing.top = 10;
        drawing.hasRuler = false;
        const auto inkedRows = [&](int texts) {
            drawing.texts.assign(texts, {.x = 0, .y = 0, .text = "HHHH", .colour = "text"});
            m_view->setDiagram(drawing);
            const QImage image = m_view->grab().toImage();
            const QRgb paper = image.pixel(2, 40);
            int rows = 0;
            for (int y = 4; y < image.height() - 4; ++y) // inside the frame of the focus
                for (int x = 4; x < image.width() - 4; ++x)
                    if (image.pixel(x, y) != paper) {
                        ++rows;
                        break;
                    }
            return rows;
        };
        const int one = inkedRows(1);
        QVERIFY(one > 4);
        QCOMPARE(inkedRows(2), 2 * one);
        QCOMPARE(inkedRows(3), 3 * one);
    }

    void draggingAShapeNamesItsParameter()
    {
        QSignalSpy spy(m_view.get(), &DiagramView::parameterDragged);
        const QPoint from = m_view->toWidget({40, 10}).toPoint();
        const QPoint to = m_view->toWidget({60, 10}).toPoint();
        QTest::mousePress(m_view.get(), Qt::LeftButton, {}, from);
        sendMove(to);
        QTest::mouseRelease(m_view.get(), Qt::LeftButton, {}, to);
        QCOMPARE(spy.count(), 1);
        QCOMPARE(spy.first().at(0).toString(), QStringLiteral("lens_distance"));
        QVERIFY(qAbs(spy.first().at(1).toDouble() - 60) < 1);
    }

    void aClickChangesNoParameter()
    {
        QSignalSpy spy(m_view.get(), &DiagramView::parameterDragged);
        QTest::mouseClick(m_view.get(), Qt::LeftButton, {}, m_view->toWidget({40, 0}).toPoint());
        QCOMPARE(spy.count(), 0);
    }

    void aClickTellsItsPlace()
    {
        QSignalSpy spy(m_view.get(), &DiagramView::clicked);
        QTest::mouseClick(m_view.get(), Qt::LeftButton, {}, m_view->toWidget({75, -27}).toPoint());
        QCOMPARE(spy.count(), 1);
        QVERIFY(qAbs(spy.first().at(0).toDouble() - 75) < 1);
        QVERIFY(qAbs(spy.first().at(1).toDouble() + 27) < 1);
    }

    void areasPointsAndTextsArePainted()
    {
        Diagram plot;
        plot.right = plot.top = 100;
        plot.keepsAspect = true;
        plot.hasRuler = false;
        plot.polygons.push_back({{0, 40, 40, 0}, {0, 0, 40, 40}, "#d02040", "", 1});
        plot.points.push_back({{70}, {70}, "#2040d0", "", "disc", 8, 1});
        Diagram::Text title;
        title.x = 20;
        title.y = 70;
        title.text = "█";
        title.size = 20;
        title.colour = "#20a040";
        plot.texts.push_back(title);
        m_view->setDiagram(plot);
        const QImage shown = m_view->grab().toImage();
        const auto at = [&](double x, double y) {
            return shown.pixelColor(m_view->toWidget({x, y}).toPoint() * shown.devicePixelRatio());
        };
        QCOMPARE(at(20, 20), QColor(0xd0, 0x20, 0x40));
        QCOMPARE(at(70, 70), QColor(0x20, 0x40, 0xd0));
        QCOMPARE(at(20, 70), QColor(0x20, 0xa0, 0x40));
        // Without a ruler the drawing may use the place below it.
        QVERIFY(m_view->toWidget({0, 0}).y() > m_view->height() - 20);
    }

    void dragBesideShapesPans()
    {
        QSignalSpy spy(m_view.get(), &DiagramView::parameterDragged);
        const QPoint from = m_view->toWidget({75, -27}).toPoint();
        const QPointF before = m_view->toWidget({0, 0});
        QTest::mousePress(m_view.get(), Qt::LeftButton, {}, from);
        sendMove(from + QPoint(30, 12));
        QTest::mouseRelease(m_view.get(), Qt::LeftButton, {}, from + QPoint(30, 12));
        QCOMPARE(m_view->toWidget({0, 0}) - before, QPointF(30, 12));
        QCOMPARE(spy.count(), 0);
        QTest::keyClick(m_view.get(), Qt::Key_F);
        QCOMPARE(m_view->toWidget({0, 0}), before);
    }

    void everyPartLeavesInk()
    {
        const QImage image = m_view->grab().toImage();
        const QRgb background = image.pixel(2, 2);
        const auto hasInk = [&](QPointF at) {
            const QPoint centre = m_view->toWidget(at).toPoint();
            for (int y = -4; y <= 4; ++y)
                for (int x = -4; x <= 4; ++x)
                    if (image.pixel(centre + QPoint(x, y)) != background)
                        return true;
            return false;
        };
        QVERIFY(hasInk({40, 0}));   // lens
        QVERIFY(hasInk({100, 20})); // panel
        QVERIFY(hasInk({0, 0}));    // eye and rays
    }

private:
    void sendMove(QPoint to)
    {
        QMouseEvent event(QEvent::MouseMove, to, m_view->mapToGlobal(to), Qt::NoButton,
                          Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(m_view.get(), &event);
    }

    std::unique_ptr<DiagramView> m_view;
};

VERGENCE_WINDOW_TEST(DiagramViewTest)
#include "tst_diagram_view.moc"
