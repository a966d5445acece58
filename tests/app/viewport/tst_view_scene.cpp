#include <algorithm>

#include <QSignalSpy>
#include <QtTest>

#include "app/viewport/view_scene.h"
#include "tests/app/viewport/synthetic_frames.h"
#include "tests/support/test_program.h"

using namespace vergence;

class ViewSceneTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void modesFollowTheStreams()
    {
        ViewScene scene;
        QVERIFY(scene.modes().empty());
        scene.setStreams(test::labStreams());
        const std::vector<ViewMode> all{ViewMode::Image, ViewMode::Compare, ViewMode::StackGrid,
                                        ViewMode::Stack3d, ViewMode::Diagram};
        QVERIFY(scene.modes() == all);
        scene.setStreams({{"mesh", "Mesh", StreamKind::Mesh, "", ""}});
        QVERIFY(scene.modes() == std::vector<ViewMode>{ViewMode::Mesh});
        QVERIFY(scene.visibleStreams().empty());
    }

    void aLabThatBeginsWithADrawingShowsIt()
    {
        ViewScene scene;
        scene.setStreams({{"gates", "Reliability", StreamKind::Diagram, "", ""},
                          {"cloud", "Cloud", StreamKind::Scatter, "", ""},
                          {"gallery", "Gallery", StreamKind::Gallery, "", ""}});
        QVERIFY(scene.settings().mode == ViewMode::Diagram);
        QCOMPARE(scene.settings().stream, std::string("gates"));
        QCOMPARE(scene.streamsFor(ViewMode::Diagram).size(), std::size_t{2});
        QCOMPARE(scene.streamsFor(ViewMode::StackGrid).front().id, std::string("gallery"));
    }

    void aLabThatBeginsWithASceneShowsItUnzoomed()
    {
        ViewScene scene;
        auto streams = test::labStreams();
        streams.insert(streams.begin(), {"cloud", "Cloud", StreamKind::Splats, "", "eye"});
        scene.setStreams(streams);
        QVERIFY(scene.settings().mode == ViewMode::Splats);
        QCOMPARE(scene.settings().stream, std::string("cloud"));
        QVERIFY(scene.isSmooth());
        const auto partners = scene.comparable("target");
        QVERIFY(std::ranges::find(partners, "cloud", &StreamDecl::id) != partners.end());
        scene.edit([](ViewSettings& s) { s.transform.zoom = 3; });
        QCOMPARE(scene.settings().transform.zoom, 1.0);
        QCOMPARE(scene.panes({300, 200}).size(), std::size_t{1});
        scene.edit([](ViewSettings& s) { s.mode = ViewMode::Image; });
        QVERIFY(!scene.isSmooth());
        QCOMPARE(scene.settings().stream, std::string("eye_view"));
    }

    void firstImageIsShownUntilTheUserChooses()
    {
        ViewScene scene;
        auto streams = test::labStreams();
        std::ranges::rotate(streams, streams.begin() + 3); // planes, optics, eye_view, …
        scene.setStreams({streams.front()});
        QVERIFY(scene.settings().mode == ViewMode::Image);
        QCOMPARE(scene.settings().stream, std::string("planes"));
        scene.setStreams(streams);
        QVERIFY(scene.settings().mode == ViewMode::Image);
        QCOMPARE(scene.settings().stream, std::string("eye_view"));
        scene.edit([](ViewSettings& s) { s.stream = "error"; });
        scene.setStreams(test::labStreams());
        QCOMPARE(scene.settings().stream, std::string("error"));
    }

    /// A worker that is attached to anew declares its own streams a moment after the plugin's.
    void choiceComesBackWithItsStreams()
    {
        ViewScene scene;
        const auto few = test::labStreams();
        auto all = few;
        all.push_back({"cloud", "Cloud", StreamKind::Splats, "", ""});
        scene.setStreams(all);
        scene.edit([](ViewSettings& s) { s.mode = ViewMode::Splats; });
        QCOMPARE(scene.settings().stream, std::string("cloud"));
        scene.setStreams(few);
        QVERIFY(scene.settings().mode != ViewMode::Splats);
        scene.setStreams(all);
        QVERIFY(scene.settings().mode == ViewMode::Splats);
        QCOMPARE(scene.settings().stream, std::string("cloud"));
    }

    void compareOffersOneGroupOnly()
    {
        ViewScene scene;
        auto streams = test::labStreams();
        streams.push_back({"alone", "Alone", StreamKind::Image, "", "other"});
        scene.setStreams(streams);
        QCOMPARE(scene.streamsFor(ViewMode::Compare).size(), std::size_t(3));
        QCOMPARE(scene.settings().compare.a, std::string("eye_view"));
        QCOMPARE(scene.settings().compare.b, std::string("target"));
        scene.edit([](ViewSettings& s) { s.compare.b = "alone"; });
        QCOMPARE(scene.settings().compare.b, std::string("target"));
    }

    void visibleStreamsFollowTheMode()
    {
        ViewScene scene;
        scene.setStreams(test::labStreams());
        QSignalSpy spy(&scene, &ViewScene::visibleStreamsChanged);
        QVERIFY(scene.visibleStreams() == std::vector<std::string>{"eye_view"});
        scene.edit([](ViewSettings& s) { s.mode = ViewMode::Compare; });
        QVERIFY((scene.visibleStreams() == std::vector<std::string>{"eye_view", "target"}));
        QCOMPARE(spy.count(), 1);
        scene.edit([](ViewSettings& s) { s.compare.gain = 4; });
        QCOMPARE(spy.count(), 1);
    }

    void layerStaysInTheStack()
    {
        ViewScene scene;
        scene.setStreams(test::labStreams());
        scene.setFrame(test::makePlanes("planes", 16, 8));
        scene.edit([](ViewSettings& s) {
            s.mode = ViewMode::StackGrid;
            s.layer = 70;
        });
        QCOMPARE(scene.settings().layer, 7);
        scene.edit([](ViewSettings& s) { s.layer = -3; });
        QCOMPARE(scene.settings().layer, 0);
    }

    void planesAreSortedBackToFront_data()
    {
        QTest::addColumn<double>("yaw");
        for (const double yaw : {0.0, 40.0, 180.0, -140.0})
            QTest::addRow("yaw %g", yaw) << yaw;
    }

    void planesAreSortedBackToFront()
    {
        QFETCH(double, yaw);
        ViewScene scene;
        scene.setStreams(test::labStreams());
        scene.setFrame(test::makePlanes("planes", 16, 5));
        scene.edit([&](ViewSettings& s) {
            s.mode = ViewMode::Stack3d;
            s.camera.lookFrom(yaw, 10);
        });
        const auto planes = scene.planes();
        QCOMPARE(planes.size(), std::size_t(5));
        const QMatrix4x4 toView = scene.settings().camera.worldToView();
        for (std::size_t i = 1; i < planes.size(); ++i)
            QVERIFY(toView.map(planes[i].centre).length() <=
                    toView.map(planes[i - 1].centre).length());
        // From the front the first plane (smallest depth) is the nearest, so it comes last.
        if (yaw == 0.0)
            QCOMPARE(planes.back().layer, 0);
    }

    void captionOfAFrameIsItsLabel()
    {
        ViewScene scene;
        scene.setStreams(test::labStreams());
        Frame frame = test::makePlain("eye_view", 4, 4, {});
        frame.info.meta = R"({"caption":"board 26, 1.5 D"})";
        scene.setFrame(frame);
        QCOMPARE(scene.panes({100, 100}).front().label, QStringLiteral("board 26, 1.5 D"));
    }

    void widthsScaleThePlanes()
    {
        ViewScene scene;
        scene.setStreams(test::labStreams());
        Frame frame = test::makeRgba("planes", 4, 2, 2);
        frame.info.meta = R"({"depth":[0,1],"width":[10,5]})";
        scene.setFrame(frame);
        scene.edit([](ViewSettings& s) { s.mode = ViewMode::Stack3d; });
        for (const StackPlane& plane : scene.planes())
            QCOMPARE(plane.halfSize, plane.layer == 0 ? QSizeF(0.5, 0.25) : QSizeF(0.25, 0.125));
    }
};

VERGENCE_TEST(ViewSceneTest)
#include "tst_view_scene.moc"
