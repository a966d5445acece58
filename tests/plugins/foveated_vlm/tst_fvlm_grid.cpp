#include <array>
#include <map>
#include <set>

#include <QtTest>

#include "core/base/error.h"
#include "plugins/foveated_vlm/clips/grid_clips.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::fvlm;

namespace {

using Colour = std::array<std::uint8_t, 3>;

GridSettings settingsOf(GridContent content, int side, int size, int frames = 1)
{
    GridSettings settings;
    settings.content = content;
    settings.side = side;
    settings.size = size;
    settings.frames = frames;
    settings.count = 400;
    return settings;
}

Colour pixelOf(const GridClips& clips, const std::vector<std::uint8_t>& frames, int frame, int x,
               int y)
{
    const auto size = static_cast<std::size_t>(clips.width());
    Colour colour{};
    for (std::size_t c = 0; c < 3; ++c)
        colour[c] = frames[((static_cast<std::size_t>(frame) * 3 + c) * size +
                            static_cast<std::size_t>(y)) *
                               size +
                           static_cast<std::size_t>(x)];
    return colour;
}

/// All pixels of a box, as a pattern.
std::vector<Colour> patternOf(const GridClips& clips, const std::vector<std::uint8_t>& frames,
                              const CellBox& box)
{
    std::vector<Colour> pattern;
    for (int y = box.top; y < box.bottom; ++y)
        for (int x = box.left; x < box.right; ++x)
            pattern.push_back(pixelOf(clips, frames, 0, x, y));
    return pattern;
}

} // namespace

/// Grids whose cells are asked for: the pixels of the named cell show the answer.
class TestFvlmGrid : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void cellsShowTheAnswer_data()
    {
        QTest::addColumn<int>("side");
        QTest::addColumn<int>("size");
        QTest::newRow("cells as large as patches") << 4 << 32;
        QTest::newRow("uneven") << 5 << 32;
        QTest::newRow("as many as there are letters") << 26 << 64;
    }
    void cellsShowTheAnswer()
    {
        QFETCH(int, side);
        QFETCH(int, size);
        const GridClips clips(settingsOf(GridContent::Colour, side, size));
        std::map<std::string, Colour> shown;
        std::set<std::string> prompts;
        for (Index clip = 0; clip < clips.count(); ++clip) {
            const ClipInfo info = clips.info(clip);
            const GridRequest asked = readGridQuestion(info.text.prompt, side);
            QVERIFY2(asked.place, asked.complaint.c_str());
            const CellBox box = clips.boxOf(*asked.place);
            QVERIFY(box.right <= size && box.bottom <= size && box.right - box.left >= 2);
            const Colour seen = pixelOf(clips, framesOf(clips, clip), 0, box.left, box.top);
            const auto [known, isNew] = shown.emplace(info.text.answer, seen);
            QVERIFY2(isNew || known->second == seen, info.text.answer.c_str());
            QVERIFY(info.text.rejected != info.text.answer && info.isImage);
            prompts.insert(info.text.prompt);
        }
        QCOMPARE(shown.size(), std::size_t(kGridAnswers));
        std::set<Colour> different;
        for (const auto& [name, colour] : shown)
            different.insert(colour);
        QCOMPARE(different.size(), shown.size());
        QCOMPARE(prompts.size() == std::size_t(side * side), side < 9);
    }

    void lettersSayTheAnswerWhateverTheirColour()
    {
        const GridClips clips(settingsOf(GridContent::Letter, 4, 64));
        std::map<std::string, std::set<std::vector<bool>>> forms;
        std::map<std::string, std::set<Colour>> tints;
        for (Index clip = 0; clip < clips.count(); ++clip) {
            const ClipText text = clips.info(clip).text;
            const CellBox box = clips.boxOf(*readGridQuestion(text.prompt, 4).place);
            const auto pattern = patternOf(clips, framesOf(clips, clip), box);
            std::vector<bool> form;
            for (const Colour& colour : pattern) {
                const bool isInk = colour != pattern.front() && colour != pattern.back();
                form.push_back(isInk);
                if (isInk)
                    tints[text.answer].insert(colour);
            }
            forms[text.answer].insert(form);
        }
        QCOMPARE(forms.size(), std::size_t(kGridAnswers));
        std::set<std::vector<bool>> different;
        for (const auto& [letter, seen] : forms) {
            QVERIFY2(seen.size() == 1, letter.c_str());
            different.insert(*seen.begin());
            QVERIFY2(tints[letter].size() >= 7, letter.c_str());
        }
        QCOMPARE(different.size(), forms.size());
    }

    void signsAreThereInOneFrame()
    {
        const GridClips clips(settingsOf(GridContent::Sign, 4, 64, 6));
        std::map<std::string, Colour> shown;
        std::set<int> frames;
        for (Index clip = 0; clip < 60; ++clip) {
            const ClipInfo info = clips.info(clip);
            QVERIFY(!info.isImage && info.frames == 6 && info.timestamps.size() == 6);
            const GridScene scene = clips.scene(clip);
            const CellBox box = clips.boxOf(scene.asked);
            const auto pixels = framesOf(clips, clip);
            const int x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
            const int when = scene.frames[std::size_t(scene.asked.row * 4 + scene.asked.column)];
            frames.insert(when);
            const Colour seen = pixelOf(clips, pixels, when, x, y);
            const auto [known, isNew] = shown.emplace(info.text.answer, seen);
            QVERIFY2(isNew || known->second == seen, info.text.answer.c_str());
            for (int frame = 0; frame < 6; ++frame)
                QCOMPARE(pixelOf(clips, pixels, frame, x, y) == seen, frame == when);
        }
        QCOMPARE(frames.size(), std::size_t(6));
    }

    void everyCellCanBeAskedFor()
    {
        const GridClips clips(settingsOf(GridContent::Colour, 4, 32));
        const GridScene scene = clips.scene(7);
        for (int row = 0; row < 4; ++row)
            for (int column = 0; column < 4; ++column) {
                const ClipText text = clips.textFor(7, {row, column});
                QCOMPARE(text.answer, gridAnswers(GridContent::Colour)[std::size_t(
                                          scene.contents[std::size_t(4 * row + column)])]);
                QVERIFY(readGridQuestion(text.prompt, 4).place == (GridPlace{row, column}));
            }
        QVERIFY_EXCEPTION_THROWN(clips.textFor(7, {4, 0}), ContractError);
        QVERIFY_EXCEPTION_THROWN(clips.textFor(7, {0, -1}), ContractError);
    }

    void questionsAreReadAsPeopleWriteThem_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<int>("row"); // from 1; 0: the question is refused
        QTest::addColumn<int>("column");
        QTest::addColumn<QString>("complaint");
        const auto reads = [](const char* text, int row, int column) {
            QTest::newRow(text) << text << row << column << "";
        };
        reads("b3", 2, 3);
        reads("Row B, column 3?", 2, 3);
        reads(" z 26 ", 26, 26);
        reads("a01", 1, 1);
        const auto refuses = [](const char* name, const char* text, const char* complaint) {
            QTest::newRow(name) << text << 0 << 0 << complaint;
        };
        refuses("nothing", "", "Ask for a cell as \"b3\", with rows a to z and columns 1 to 26.");
        refuses("half", "row b", "Ask for a cell");
        refuses("turned round", "3b", "\"3\" is no word that the task has there");
        refuses("another word", "b red", "\"red\" is no word");
        refuses("more words", "b3 please", "\"please\" is no word");
        refuses("column 0", "b0", "\"0\" is no word");
        refuses("beyond the columns", "b27", "\"27\" is no word");
        refuses("beyond all numbers", "b99999999999999", "\"99999999999999\" is no word");
        refuses("two letters", "bb3", "\"bb\" is no word");
        refuses("foreign", "Zürich", "\"zürich\" is no word");
    }
    void questionsAreReadAsPeopleWriteThem()
    {
        QFETCH(QString, text);
        QFETCH(int, row);
        QFETCH(int, column);
        QFETCH(QString, complaint);
        const GridRequest request = readGridQuestion(text.toStdString(), 26);
        QCOMPARE(request.place.has_value(), row > 0);
        if (row > 0)
            QVERIFY(*request.place == (GridPlace{row - 1, column - 1}));
        QVERIFY2(QString::fromStdString(request.complaint).startsWith(complaint),
                 request.complaint.c_str());
        QCOMPARE(request.complaint.empty(), row > 0);
    }

    void cellsBeyondTheGridAreRefused()
    {
        QVERIFY(readGridQuestion("d4", 4).place);
        for (const char* beyond : {"e1", "a5"}) {
            const GridRequest request = readGridQuestion(beyond, 4);
            QVERIFY(!request.place);
            QVERIFY(request.complaint.ends_with("with rows a to d and columns 1 to 4."));
        }
        QVERIFY(readGridQuestion("", 1).complaint.starts_with("Ask for a cell as \"a1\""));
    }

    void clipsFollowFromSeedAndId()
    {
        GridSettings settings = settingsOf(GridContent::Sign, 4, 64, 3);
        const GridClips clips(settings);
        GridSettings shifted = settings;
        shifted.firstId = 9;
        const GridClips moved(shifted);
        QCOMPARE(framesOf(moved, 0), framesOf(clips, 9));
        QCOMPARE(moved.info(0).text.prompt, clips.info(9).text.prompt);
        QVERIFY(moved.digest() != clips.digest());
        settings.seed = 43;
        QVERIFY(framesOf(GridClips(settings), 9) != framesOf(clips, 9));
        QVERIFY(GridClips(settings).digest() != clips.digest());
    }

    void settingsOutOfRangeAreRefused()
    {
        QVERIFY_EXCEPTION_THROWN(GridClips(settingsOf(GridContent::Colour, 17, 32)), ContractError);
        QVERIFY_EXCEPTION_THROWN(GridClips(settingsOf(GridContent::Letter, 5, 32)), ContractError);
        QVERIFY_EXCEPTION_THROWN(GridClips(settingsOf(GridContent::Colour, 0, 32)), ContractError);
        const GridClips clips(settingsOf(GridContent::Colour, 4, 32));
        QVERIFY_EXCEPTION_THROWN(clips.info(400), ContractError);
    }
};

VERGENCE_TEST(TestFvlmGrid)
#include "tst_fvlm_grid.moc"
