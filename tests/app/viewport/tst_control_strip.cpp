#include <QComboBox>
#include <QLineEdit>
#include <QSignalSpy>
#include <QToolButton>
#include <QtTest>

#include "app/viewport/control_pad.h"
#include "app/viewport/control_slider.h"
#include "app/viewport/control_strip.h"
#include "app/viewport/view_panel.h"
#include "tests/app/viewport/synthetic_frames.h"
#include "tests/support/test_program.h"

using namespace vergence;

class ControlStripTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init()
    {
        m_panel = std::make_unique<ViewPanel>();
        m_panel->resize(700, 500);
        m_panel->setStreams(test::labStreams());
        m_panel->setControls(test::labControls());
        m_panel->setFrame(test::makeEyeView("eye_view", 32, 1));
        m_last.clear();
        m_texts.clear();
        m_sent = 0;
        connect(m_panel.get(), &ViewPanel::viewInputChanged, this, [this](const ViewInput& input) {
            m_last = input.values;
            m_texts = input.texts;
            ++m_sent;
        });
        m_panel->show();
    }

    void cleanup() { m_panel.reset(); }

    void sliderSendsRealNumbers()
    {
        auto* slider = find<ControlSlider>("controls/accommodation");
        QCOMPARE(slider->realValue(), 1.5);
        slider->setRealValue(3.0);
        QTRY_COMPARE(value("accommodation"), (std::vector<double>{3.0}));
    }

    void defaultBetweenTwoStepsIsKept()
    {
        ControlSlider slider({.id = "level",
                              .kind = ViewControl::Kind::Slider,
                              .minimum = {0.05},
                              .maximum = {0.9},
                              .value = {0.3}});
        QCOMPARE(slider.realValue(), 0.3);
        slider.setValue(slider.value() + 1);
        QVERIFY(slider.realValue() > 0.3);
        slider.reset();
        QCOMPARE(slider.realValue(), 0.3);
    }

    void controlsOfAStreamShowWithIt()
    {
        const auto choice = [](const char* id) {
            return ViewControl{
                .id = id, .kind = ViewControl::Kind::Choice, .labels = {"one", "two"}};
        };
        ControlStrip strip;
        strip.setControls({choice("model"), choice("cloud/axes"), choice("gallery/page")});
        const auto shows = [&](const char* id) {
            const auto* field = strip.findChild<QWidget*>(QLatin1String("controls/") + id);
            return field->isVisibleTo(&strip);
        };
        QVERIFY(shows("model") && !shows("cloud/axes") && !shows("gallery/page"));
        strip.showFor({"cloud_3d"});
        QVERIFY(shows("model") && shows("cloud/axes") && !shows("gallery/page"));
        strip.setControls({choice("cloud/axes"), choice("gallery/page")});
        QTRY_VERIFY(shows("cloud/axes") && !shows("gallery/page")); // declared again
        strip.showFor({"gallery"});
        QVERIFY(!shows("cloud/axes") && shows("gallery/page"));
    }

    void sliderMovesByKeysAndResetsByDoubleClick()
    {
        auto* slider = find<ControlSlider>("controls/accommodation");
        QTest::keyClick(slider, Qt::Key_Right);
        QVERIFY(slider->realValue() > 1.5);
        QTest::mouseDClick(slider, Qt::LeftButton, {}, slider->rect().center());
        QCOMPARE(slider->realValue(), 1.5);
    }

    void playMovesBackAndForthUntilStopped()
    {
        auto* slider = find<ControlSlider>("controls/accommodation");
        auto* play = find<QToolButton>("controls/accommodation/play");
        QSignalSpy moved(slider, &ControlSlider::realValueChanged);
        play->click();
        QTRY_VERIFY(moved.count() >= 3);
        play->click();
        QVERIFY(!slider->isPlaying());
    }

    void padSendsTwoNumbersWithinItsField()
    {
        auto* pad = find<ControlPad>("controls/eye");
        QTest::mouseClick(pad, Qt::LeftButton, {}, QPoint(pad->width() - 1, 1));
        QTRY_COMPARE(value("eye"), (std::vector<double>{3, 3}));
        QTest::keyClick(pad, Qt::Key_Left);
        QTRY_VERIFY(value("eye")[0] < 3);
        QTest::mouseDClick(pad, Qt::LeftButton, {}, QPoint(4, 4));
        QTRY_COMPARE(value("eye"), (std::vector<double>{0, 0}));
    }

    void digitsSoloTogglesAndZeroShowsAll()
    {
        auto* canvas = m_panel->findChild<QWidget*>(QStringLiteral("softwareView"));
        QVERIFY(canvas != nullptr);
        QTest::keyClick(canvas, Qt::Key_3);
        QTRY_COMPARE(value("planes"), (std::vector<double>{0, 0, 1, 0, 0, 0, 0, 0}));
        QVERIFY(!find<QToolButton>("controls/planes/0")->isChecked());
        QTest::keyClick(canvas, Qt::Key_0);
        QTRY_COMPARE(value("planes"), std::vector<double>(8, 1.0));
        find<QToolButton>("controls/planes/7")->click();
        QTRY_COMPARE(value("planes"), (std::vector<double>{1, 1, 1, 1, 1, 1, 1, 0}));
    }

    void choiceSendsItsIndex()
    {
        find<QComboBox>("controls/quantity")->setCurrentIndex(1);
        QTRY_COMPARE(value("quantity"), (std::vector<double>{1}));
    }

    /// With a running number, so that the same line once more is news.
    void lineIsSentWhenItIsEntered()
    {
        m_panel->setControls({{.id = "question",
                               .title = "Question",
                               .kind = ViewControl::Kind::Text,
                               .text = "row one"}});
        auto* line = find<QLineEdit>("controls/question");
        QCOMPARE(line->text(), QStringLiteral("row one"));
        line->selectAll();
        QTest::keyClicks(line, "row two");
        QVERIFY(m_texts.count("question") == 0);
        QTest::keyClick(line, Qt::Key_Return);
        QTRY_COMPARE(m_texts["question"], std::string("row two"));
        QCOMPARE(value("question"), (std::vector<double>{1}));
        QTest::keyClick(line, Qt::Key_Return);
        QTRY_COMPARE(value("question"), (std::vector<double>{2}));
    }

    void manyChangesAreSentTogether()
    {
        auto* slider = find<ControlSlider>("controls/accommodation");
        for (int i = 0; i <= 500; ++i)
            slider->setValue(i);
        QTRY_COMPARE(value("accommodation"), (std::vector<double>{2.0}));
        QVERIFY(m_sent < 100);
    }

    void controlsLeaveRoomForThePicture_data()
    {
        QTest::addColumn<QSize>("size");
        QTest::addColumn<int>("leastHeight");
        QTest::newRow("small") << QSize(640, 340) << 200;
        QTest::newRow("large") << QSize(900, 600) << 430;
    }

    void controlsLeaveRoomForThePicture()
    {
        QFETCH(QSize, size);
        QFETCH(int, leastHeight);
        m_panel->setControls(test::fullControls());
        m_panel->resize(size);
        auto* pad = find<ControlPad>("controls/eye");
        QTRY_VERIFY(pad->height() >= 72 && pad->height() <= 84);
        auto* canvas = m_panel->findChild<QWidget*>(QStringLiteral("softwareView"));
        QCOMPARE(m_panel->size(), size);
        QVERIFY2(canvas->height() >= leastHeight, qPrintable(QString::number(canvas->height())));
        const QWidget* strip = find<QWidget>("viewControls");
        for (const QWidget* child : strip->findChildren<QWidget*>())
            if (child->isVisible())
                QVERIFY2(child->parentWidget()->rect().contains(child->geometry()),
                         qPrintable(child->objectName()));
    }

    void arrowHidesTheControlsAndTheKeysStillWork()
    {
        auto* toggle = find<QToolButton>("viewControlsToggle");
        auto* canvas = m_panel->findChild<QWidget*>(QStringLiteral("softwareView"));
        QVERIFY(toggle->isVisible());
        const int before = canvas->height();
        toggle->click();
        QVERIFY(!find<QWidget>("viewControls")->isVisible());
        QTRY_VERIFY(canvas->height() > before);
        QTest::keyClick(canvas, Qt::Key_2);
        QTRY_COMPARE(value("planes"), (std::vector<double>{0, 1, 0, 0, 0, 0, 0, 0}));
        m_panel->setControls(test::labControls());
        QVERIFY(!find<QWidget>("viewControls")->isVisible());
        toggle->click();
        QVERIFY(find<QWidget>("viewControls")->isVisible());
        m_panel->setControls({});
        QVERIFY(!toggle->isVisible());
    }

    void pointerTellsStreamAndPixel()
    {
        auto* canvas = m_panel->findChild<QWidget*>(QStringLiteral("softwareView"));
        QSignalSpy spy(m_panel.get(), &ViewPanel::viewInputChanged);
        const QPoint centre = canvas->rect().center();
        QMouseEvent move(QEvent::MouseMove, centre, canvas->mapToGlobal(centre), Qt::NoButton,
                         Qt::NoButton, Qt::NoModifier);
        QCoreApplication::sendEvent(canvas, &move);
        QTRY_VERIFY(!spy.isEmpty());
        const auto input = spy.last().first().value<ViewInput>();
        QCOMPARE(input.texts.at("pointer_stream"), std::string("eye_view"));
        QVERIFY(qAbs(input.values.at("pointer")[0] - 16) < 1);
        QVERIFY(qAbs(input.values.at("pointer")[1] - 16) < 1);
    }

private:
    template <class Widget>
    Widget* find(const char* name)
    {
        auto* widget = m_panel->findChild<Widget*>(QLatin1String(name));
        if (widget == nullptr)
            qFatal("no widget %s", name);
        return widget;
    }

    /// Newest value sent for a control.
    std::vector<double> value(const std::string& id) { return m_last[id]; }

    std::unique_ptr<ViewPanel> m_panel;
    std::map<std::string, std::vector<double>> m_last;
    std::map<std::string, std::string> m_texts;
    int m_sent = 0;
};

VERGENCE_WINDOW_TEST(ControlStripTest)
#include "tst_control_strip.moc"
