#include <algorithm>
#include <cmath>

#include <QtTest>

#include <nlohmann/json.hpp>

#include "core/artifact/plot/diagram_image.h"
#include "core/artifact/plot/stroke_face.h"
#include "core/base/error.h"
#include "plugins/foveated_vlm/view/captions_view.h"
#include "tests/plugins/foveated_vlm/gaze_scenes.h"
#include "tests/support/diagrams.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::fvlm;
using test::hasText;

namespace {

CaptionPage page(std::int64_t update, std::size_t rows)
{
    static const char* const kTruths[] = {"red disc moving up left", "blue cross staying still",
                                          "white triangle moving right"};
    CaptionPage page{update, {}};
    for (std::size_t i = 0; i < rows; ++i) {
        CaptionRow row;
        row.id = (std::uint64_t(1) << 32) + i;
        row.prompt = "What does the disc do?";
        row.truth = kTruths[i % 3];
        row.coarse = {"green disc moving down", 3.5 + 0.1 * double(i)};
        row.fine = {row.truth + " ", 0.25};
        row.sequential = {"red disc moving up", NAN};
        page.rows.push_back(row);
    }
    return page;
}

/// Texts that leave the sheet, or lie over another one.
std::vector<std::string> crowded(const Diagram& diagram)
{
    struct Box {
        double left, right, bottom, top;
    };
    std::vector<std::string> bad;
    std::vector<Box> boxes;
    for (const Diagram::Text& text : diagram.texts) {
        const double length = plot::strokedText(text.text, text.size).width;
        const Box box{text.x, text.x + length, text.y - text.size / 2, text.y + text.size / 2};
        const bool isOutside =
            box.left < 0 || box.right > diagram.right || box.bottom < 0 || box.top > diagram.top;
        const bool isOver = std::ranges::any_of(boxes, [&](const Box& other) {
            return box.left < other.right && other.left < box.right && box.bottom < other.top &&
                   other.bottom < box.top;
        });
        if (isOutside || isOver)
            bad.push_back(text.text);
        boxes.push_back(box);
    }
    return bad;
}

} // namespace

/// What the model wrote, side by side.
class TestFvlmCaptionsView : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyTextIsThereWithItsNats()
    {
        const Diagram sheet = captionDiagram(page(400, 8));
        testing::keepPicture("captions", plot::toImage(sheet, 1.5));
        testing::keepPicture("captions_dark", plot::toImage(sheet, 1.5, true));
        QVERIFY(hasText(sheet, "Texts after 400 updates"));
        QVERIFY(hasText(sheet, "green disc moving down"));
        QVERIFY(hasText(sheet, "3.500 nats"));
        QVERIFY(hasText(sheet, "0.250 nats, exact"));
        QVERIFY(hasText(sheet, "not measured"));
        QVERIFY(hasText(sheet, "v7"));
        QVERIFY(crowded(sheet).empty());
        QVERIFY(hasText(captionDiagram({0, {}}), "Nothing is written yet."));
    }

    void longTextsAreCut()
    {
        CaptionPage long1 = page(1, 2);
        for (int i = 0; i < 60; ++i)
            long1.rows[0].fine.text += " and then something else happens";
        long1.rows[1].coarse.text = std::string(300, 'w');
        long1.rows[1].prompt = "line\nbreaks\nin a prompt";
        const Diagram sheet = captionDiagram(long1);
        testing::keepPicture("captions_long", plot::toImage(sheet, 1.5));
        QVERIFY(hasText(sheet, "…"));
        QVERIFY2(crowded(sheet).empty(), crowded(sheet).empty() ? "" : crowded(sheet)[0].c_str());
        QVERIFY(!hasText(sheet, "\n"));
    }

    void historiesAreSortedAndKeepOnePagePerUpdate()
    {
        CaptionHistory history;
        history.add(page(200, 1));
        history.add(page(100, 2));
        history.add(page(200, 3));
        QCOMPARE(history.pages().size(), std::size_t(2));
        QCOMPARE(history.pages()[0].update, std::int64_t(100));
        QCOMPARE(history.pages()[1].rows.size(), std::size_t(3));
    }

    void filesComeBack()
    {
        CaptionHistory history;
        history.add(page(100, 2));
        history.add(page(300, 2));
        const nlohmann::json json = history.toJson();
        const CaptionHistory again = CaptionHistory::fromJson(json, "here");
        QCOMPARE(again.toJson().dump(), json.dump());
        QCOMPARE(again.pages()[1].rows[1].fine.text, history.pages()[1].rows[1].fine.text);
        QVERIFY(std::isnan(again.pages()[0].rows[0].sequential.nll));
        nlohmann::json bad = json;
        bad["pages"][0]["rows"][0].erase("truth");
        QVERIFY_EXCEPTION_THROWN(CaptionHistory::fromJson(bad, "here"), InputError);
        bad = json;
        bad["format"] = "other";
        QVERIFY_EXCEPTION_THROWN(CaptionHistory::fromJson(bad, "here"), InputError);
        QVERIFY_EXCEPTION_THROWN(CaptionHistory::fromJson(nlohmann::json::array(), "here"),
                                 InputError);
    }

    void tablesHaveAColumnPerText()
    {
        const nlohmann::json table = captionTable(page(1, 3));
        QCOMPARE(table["columns"].size(), std::size_t(9));
        QCOMPARE(table["rows"].size(), std::size_t(3));
        for (const nlohmann::json& row : table["rows"])
            QCOMPARE(row.size(), std::size_t(9));
        QCOMPARE(table["rows"][0][8].get<std::string>(), std::string());
        QCOMPARE(table["rows"][2][6].get<double>(), 0.25);
    }
};

VERGENCE_TEST(TestFvlmCaptionsView)
#include "tst_fvlm_captions_view.moc"
