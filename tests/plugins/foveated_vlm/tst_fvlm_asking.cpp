#include <cmath>

#include <QtTest>

#include "plugins/foveated_vlm/session/grid_asking.h"
#include "tests/plugins/foveated_vlm/gaze_scenes.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::fvlm;

namespace {

GridSettings settingsOf(int frames = 1)
{
    GridSettings settings;
    settings.content = frames > 1 ? GridContent::Sign : GridContent::Colour;
    settings.frames = frames;
    settings.count = 4;
    return settings;
}

/// What a look at the clip gave, made up: all of the gaze on the top left patch.
ClipLook lookAt(const GridClips& clips, const ClipText& text, Index clip)
{
    ClipLook look;
    look.clip = clip;
    look.info = clips.info(clip);
    look.info.text = text;
    look.coarseAnswer = {"blue", std::log(4.0)};
    look.sequentialAnswer = {text.answer, 0};
    return look;
}

GazeScene gazeOf(const GridClips& clips, Index clip)
{
    GazeScene scene;
    scene.height = scene.width = clips.width();
    scene.frames = framesOf(clips, clip);
    scene.patch = 8;
    const int frames = clips.settings().frames;
    GazeMaps even{frames, 4, 4, std::vector<float>(std::size_t(16) * frames, 1 / 16.0F),
                  std::vector<float>(std::size_t(frames), 0)};
    scene.coarse = scene.fine = even;
    for (std::size_t i = 0; i < scene.fine.values.size(); ++i)
        scene.fine.values[i] = i % 16 == 0 ? 1 : 0;
    scene.title = "clip v1";
    scene.note = "all blocks, all heads";
    return scene;
}

ViewInput click(double x, double y, double number)
{
    ViewInput input;
    input.values["pick"] = {x, y, 0, number};
    input.texts["pick_stream"] = "gaze";
    return input;
}

ViewInput line(const char* text, double number)
{
    ViewInput input;
    input.values["question"] = {number};
    input.texts["question"] = text;
    return input;
}

} // namespace

/// Questions that people ask of a grid, typed and clicked, and the picture that answers.
class TestFvlmAsking : public QObject {
    Q_OBJECT

    const GridClips m_clips{settingsOf()};
    GridAsking m_asking{m_clips};

    AskScene shown(GridAsking& asking, const GridClips& clips)
    {
        return asking.scene(lookAt(clips, asking.text(), 1), gazeOf(clips, 1), {});
    }

private Q_SLOTS:
    void init() { m_asking.show(1); }

    void theClipsOwnQuestionStandsFirst()
    {
        QCOMPARE(m_asking.typed(), m_clips.info(1).text.prompt);
        QCOMPARE(m_asking.text().answer, m_clips.info(1).text.answer);
    }

    void typedQuestionsAreAsked()
    {
        QVERIFY(m_asking.apply(line("Row D, column 1?", 1)));
        QCOMPARE(m_asking.text().prompt, std::string("d1"));
        QCOMPARE(m_asking.text().answer, m_clips.textFor(1, {3, 0}).answer);
        QVERIFY(!m_asking.apply(line("Row D, column 1?", 1))); // the same message once more
        QVERIFY(!m_asking.takeClicked());
    }

    void foreignWordsAreAnsweredInWords()
    {
        const std::string before = m_asking.text().prompt;
        QVERIFY(m_asking.apply(line("where is the cat", 2)));
        QCOMPARE(m_asking.text().prompt, before);
        const AskScene scene = shown(m_asking, m_clips);
        QVERIFY(scene.complaint.starts_with("\"where\" is no word that the task has there."));
        QVERIFY(m_asking.apply(line("a1", 3)));
        QVERIFY(shown(m_asking, m_clips).complaint.empty());
    }

    void clickedCellsAreAsked_data()
    {
        QTest::addColumn<int>("kind"); // original, one look, gaze
        QTest::newRow("picture") << 0;
        QTest::newRow("one look") << 1;
        QTest::newRow("gaze") << 2;
    }
    void clickedCellsAreAsked()
    {
        QFETCH(int, kind);
        static double number = 0;
        shown(m_asking, m_clips);
        // Three frames of 240 px from (24, 74), 12 px apart; a cell has 60 px.
        const double left = 24 + kind * 252.0;
        QVERIFY(m_asking.apply(click(left + 60 * 2 + 30, 74 + 60 * 3 + 30, ++number)));
        QCOMPARE(m_asking.typed(), std::string("d3"));
        QVERIFY(m_asking.takeClicked());
        QVERIFY(!m_asking.takeClicked());
        QVERIFY(m_asking.apply(click(left, 74, ++number)));
        QCOMPARE(m_asking.typed(), std::string("a1"));
        QVERIFY(m_asking.apply(click(left + 239, 74 + 239, ++number)));
        QCOMPARE(m_asking.typed(), std::string("d4"));
        for (const auto& [x, y] : {std::pair{left + 245, 100.0}, std::pair{left + 20, 73.0}})
            QVERIFY(!m_asking.apply(click(x, y, ++number))); // beside the frames
        ViewInput elsewhere = click(left + 20, 86, ++number);
        elsewhere.texts["pick_stream"] = "strip";
        QVERIFY(!m_asking.apply(elsewhere));
    }

    void anotherClipHasItsOwnQuestion()
    {
        m_asking.apply(line("a1", 4));
        m_asking.show(2);
        QCOMPARE(m_asking.typed(), m_clips.info(2).text.prompt);
    }

    void theAskedCellIsOutlined()
    {
        m_asking.apply(line("b3", 5));
        const AskScene scene = shown(m_asking, m_clips);
        const Image picture = askPicture(scene);
        const auto grey = [&](int x, int y) { return int(picture.row(y)[4 * x]); };
        for (const int left : {24, 276, 528}) {
            const int x = left + 120, y = 74 + 60;
            QCOMPARE(grey(x, y + 30), 0);       // its rim
            QCOMPARE(grey(x + 2, y + 30), 255); // and a light line within
            QCOMPARE(grey(x + 59, y + 30), 0);
            QCOMPARE(grey(x + 30, y), 0);
            QVERIFY(grey(x - 10, y + 30) != 0); // not that of its neighbour
        }
    }

    void picturesHoldEverything_data()
    {
        QTest::addColumn<int>("frames");
        QTest::addColumn<bool>("isDark");
        QTest::newRow("one") << 1 << true;
        QTest::newRow("one, light") << 1 << false;
        QTest::newRow("clip") << 6 << true;
    }
    void picturesHoldEverything()
    {
        QFETCH(int, frames);
        QFETCH(bool, isDark);
        const GridClips clips(settingsOf(frames));
        GridAsking asking(clips);
        asking.show(1);
        AskScene scene = shown(asking, clips);
        GazeLook look;
        look.isDark = isDark;
        const Image picture = askPicture(scene, look);
        testing::keepPicture((std::string("ask_") + QTest::currentDataTag()).c_str(), picture);
        QVERIFY(picture.width >= (frames > 1 ? 24 + 6 * 140 : 24 + 3 * 252));
        scene.complaint = "\"cat\" is no word that the task has there. Ask for a cell as \"b3\", "
                          "with rows a to d and columns 1 to 4.";
        QCOMPARE(askPicture(scene, look).width, picture.width);
        const auto place = askPlace(scene, look, picture.width - 25, picture.height / 2.0);
        QVERIFY(frames == 1 || (place && place->frame == 5));
    }

    void weightsWithinABoxAreAddedUp()
    {
        const GazeMaps maps{1, 2, 2, {0.1F, 0.2F, 0.3F, 0.4F}, {0}};
        QVERIFY(std::abs(massWithin(maps, 0, 8, {0, 0, 16, 16}) - 1) < 1e-6);
        QVERIFY(std::abs(massWithin(maps, 0, 8, {8, 8, 16, 16}) - 0.4) < 1e-6);
        QVERIFY(std::abs(massWithin(maps, 0, 8, {4, 0, 12, 8}) - 0.15) < 1e-6);
    }
};

VERGENCE_TEST(TestFvlmAsking)
#include "tst_fvlm_asking.moc"
