#include <cmath>

#include <QtTest>

#include "core/artifact/plot/diagram_image.h"
#include "core/base/error.h"
#include "core/compute/rng.h"
#include "plugins/foveated_vlm/view/query_panel.h"
#include "tests/plugins/foveated_vlm/gaze_scenes.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::fvlm;

namespace {

QueryScene scene(std::size_t frames)
{
    QueryScene scene;
    scene.width = 16;
    scene.title = "clip 3";
    const Rng rng(5);
    for (std::size_t t = 0; t < frames; ++t)
        for (std::size_t i = 0; i < 16; ++i)
            scene.queries.push_back(rng.uniform(i) - 0.5F +
                                    0.15F * float(t) * (rng.uniform(100 + t * 16 + i) - 0.5F));
    scene.initial.assign(scene.queries.begin(), scene.queries.begin() + 16);
    for (std::size_t i = 0; i < 16; ++i)
        scene.fixed.push_back(rng.uniform(5000 + i) - 0.5F);
    return scene;
}

std::vector<std::string> cellTexts(const Diagram& diagram)
{
    std::vector<std::string> texts;
    for (const Diagram::Text& text : diagram.texts)
        if (text.text.size() >= 4 && text.text.find('.') < 3 && text.text.size() <= 5)
            texts.push_back(text.text);
    return texts;
}

} // namespace

/// The panel of queries.
class TestFvlmQueries : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void figuresAreMeans()
    {
        const std::vector<float> queries = {1, 0, 0, 1, 1, 0}; // three of width 2
        const auto figures = queryFigures(queries, 2);
        QVERIFY(figures.has_value());
        QVERIFY(std::abs(figures->similarity) < 1e-12);
        QVERIFY(std::abs(figures->deviation - std::sqrt(2.0) / 3) < 1e-9);
        const std::vector<float> equal = {3, 4, 3, 4};
        QVERIFY(std::abs(queryFigures(equal, 2)->similarity - 1) < 1e-9);
        QVERIFY(queryFigures(equal, 2)->deviation < 1e-9);
        QVERIFY(!queryFigures(equal, 4).has_value());
        QVERIFY_EXCEPTION_THROWN(queryFigures(queries, 4), ContractError);
    }

    void panelHoldsAllCosines()
    {
        QueryScene plain;
        plain.width = 2;
        plain.queries = {1, 0, 0, 2, -1, 0};
        plain.initial = {1, 0};
        plain.fixed = {0, -1};
        const std::vector<std::string> cells = cellTexts(queryPanel(plain));
        const std::vector<std::string> expected = {
            "1.00",  "0.00", "-1.00", "0.00",  "1.00", // frame 1: three frames, static, init
            "0.00",  "1.00", "0.00",  "-1.00", "0.00", //
            "-1.00", "0.00", "1.00",  "0.00",  "-1.00"};
        QVERIFY(std::ranges::search(cells, expected).size() == expected.size());
    }

    void panelsOfAllSizes_data()
    {
        QTest::addColumn<int>("frames");
        for (const int frames : {1, 6, 8, 16, 48})
            QTest::newRow(std::to_string(frames).c_str()) << frames;
    }
    void panelsOfAllSizes()
    {
        QFETCH(int, frames);
        const Diagram panel = queryPanel(scene(std::size_t(frames)));
        QCOMPARE(panel.polygons.size() >= std::size_t(frames) * std::size_t(frames + 2), true);
        for (const Diagram::Polygon& cell : panel.polygons)
            for (std::size_t i = 0; i < cell.x.size(); ++i)
                QVERIFY(cell.x[i] >= 0 && cell.x[i] <= panel.right && cell.y[i] >= 0 &&
                        cell.y[i] <= panel.top);
        testing::keepPicture(("queries_" + std::to_string(frames)).c_str(),
                             plot::toImage(panel, 1.5, frames == 6));
    }

    void badExtentsAreRefused()
    {
        QueryScene bad = scene(4);
        bad.fixed.pop_back();
        QVERIFY_EXCEPTION_THROWN(queryPanel(bad), ContractError);
        bad = scene(4);
        bad.queries.pop_back();
        QVERIFY_EXCEPTION_THROWN(queryPanel(bad), ContractError);
    }
};

VERGENCE_TEST(TestFvlmQueries)
#include "tst_fvlm_queries.moc"
