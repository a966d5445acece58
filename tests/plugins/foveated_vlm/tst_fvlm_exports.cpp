#include <cmath>
#include <cstring>

#include <QXmlStreamReader>
#include <QtTest>

#include <nlohmann/json.hpp>

#include "core/artifact/gif.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/compute/half.h"
#include "plugins/foveated_vlm/view/exports.h"
#include "tests/plugins/foveated_vlm/gaze_scenes.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::fvlm;

namespace {

GazeWeights weights(Index frames)
{
    GazeWeights weights{frames, 3, 4, 65, {}};
    for (Index i = 0; i < frames * 3 * 4 * 65; ++i)
        weights.values.push_back(static_cast<float>((i * 37 % 101) / 1'000.0));
    return weights;
}

std::vector<GazeExport> clips()
{
    std::vector<GazeExport> clips(2);
    for (std::size_t i = 0; i < 2; ++i) {
        const int frames = i == 0 ? 6 : 4;
        clips[i].scene = testing::gazeScene(64, frames, 8, static_cast<Index>(3 + i));
        clips[i].id = 3 + i;
        clips[i].coarse = clips[i].fine = weights(frames);
    }
    return clips;
}

bool isListed(const ArtifactStore& store, const std::string& name)
{
    for (const Artifact& artifact : store.list())
        if (artifact.path == "artifacts/" + name)
            return artifact.bytes > 0;
    return false;
}

nlohmann::json jsonOf(const ArtifactStore& store, const char* name)
{
    return nlohmann::json::parse(readFile(store.pathFor(name)));
}

} // namespace

/// What a run leaves behind.
class TestFvlmExports : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void attentionIsAnArrayOfHalves()
    {
        const test::Scratch scratch;
        writeAttentionNpy(scratch / "a.npy", {weights(6), weights(4)});
        const std::string bytes = readFile(scratch / "a.npy");
        QVERIFY(bytes.starts_with("\x93NUMPY"));
        QVERIFY(bytes.find("'<f2'") != std::string::npos);
        QVERIFY(bytes.find("(2, 6, 3, 4, 65)") != std::string::npos);
        const std::size_t count = std::size_t(2) * 6 * 3 * 4 * 65;
        const std::size_t start = bytes.size() - 2 * count;
        QCOMPARE(start % 64, std::size_t(0));
        const auto value = [&](std::size_t i) {
            Float16 half;
            std::memcpy(&half, bytes.data() + start + 2 * i, 2);
            return float(half);
        };
        const GazeWeights original = weights(6);
        for (std::size_t i = 0; i < original.values.size(); i += 17)
            QVERIFY(std::abs(value(i) - original.values[i]) < 1e-4);
        const std::size_t second = count / 2, shorter = std::size_t(4) * 3 * 4 * 65;
        QVERIFY(std::abs(value(second + 5) - original.values[5]) < 1e-4);
        for (std::size_t i = second + shorter; i < count; i += 11)
            QCOMPARE(value(i), 0.0F); // frames that this clip does not have
        GazeWeights other = weights(4);
        other.heads = 2;
        other.values.resize(other.values.size() / 2);
        QVERIFY_EXCEPTION_THROWN(writeAttentionNpy(scratch / "b.npy", {weights(6), other}),
                                 ContractError);
        QVERIFY(!std::filesystem::exists(scratch / "b.npy"));
    }

    void gazeIsAnAnimationAndPictures()
    {
        const test::Scratch scratch;
        ArtifactStore store(RunFolder{scratch.path()});
        exportGaze(store, clips());
        for (const char* name : {"gaze.gif", "gaze_3.png", "gaze_4.png", "attention_coarse.npy",
                                 "attention_fine.npy", "attention.json"})
            QVERIFY2(isListed(store, name), name);
        const GifContent gif = readGif(store.pathFor("gaze.gif"));
        QCOMPARE(gif.frames.size(), std::size_t(6));
        QCOMPARE(gif.delaysCentiseconds[0], 17);
        QVERIFY(gif.loops);
        testing::keepPicture("export_gif_frame", gif.frames[3]);
        const nlohmann::json axes = jsonOf(store, "attention.json");
        QCOMPARE(axes["leading_tokens"].get<int>(), 1);
        QCOMPARE(axes["clips"].size(), std::size_t(2));
        ArtifactStore empty(RunFolder{scratch / "none"});
        exportGaze(empty, {});
        QVERIFY(empty.list().empty());
    }

    void chartsAreWellFormed()
    {
        const test::Scratch scratch;
        ArtifactStore store(RunFolder{scratch.path()});
        MetricStore metrics;
        for (int step = 0; step < 50; ++step)
            metrics.append({{step, 0, "loss_fine", 2.0 / (1 + step)},
                            {step, 0, "loss_coarse", 2.2 / (1 + step)},
                            {step, 0, "ratio", 1.1},
                            {step, 0, "loss_frame_1", 1.0}});
        exportCharts(store, metrics);
        for (const char* name : {"loss.svg", "charts.svg", "frame_losses.svg"}) {
            QXmlStreamReader xml(QByteArray::fromStdString(readFile(store.pathFor(name))));
            int paths = 0;
            while (!xml.atEnd())
                paths += xml.readNext() == QXmlStreamReader::StartElement && xml.name() == u"path";
            QVERIFY2(!xml.hasError(), qPrintable(xml.errorString()));
            QVERIFY(paths > 5);
        }
        for (const char* name : {"loss.png", "charts.png", "frame_losses.png"})
            QVERIFY(readPng(store.pathFor(name)).width > 500);
    }

    void metricsAreOneFile()
    {
        const test::Scratch scratch;
        ArtifactStore store(RunFolder{scratch.path()});
        MetricStore metrics;
        metrics.append({{0, 0, "val_fine", 1.5}, {8, 0, "val_fine", NAN}, {0, 0, "own", 3.0}});
        exportMetrics(store, metrics, {{"device", "cpu"}});
        const nlohmann::json json = jsonOf(store, "metrics.json");
        QCOMPARE(json["run"]["device"].get<std::string>(), std::string("cpu"));
        QCOMPARE(json["series"].size(), std::size_t(2));
        for (const nlohmann::json& series : json["series"]) {
            const bool isOwn = series["name"] == "own";
            QCOMPARE(series["title"].get<std::string>(),
                     std::string(isOwn ? "own" : "Held out, fine"));
            QCOMPARE(series["better"].get<std::string>(), std::string(isOwn ? "neither" : "lower"));
            if (!isOwn) {
                QCOMPARE(series["steps"].dump(), std::string("[0,8]"));
                QCOMPARE(series["values"].dump(), std::string("[1.5,null]"));
            }
        }
    }

    void verdictsAndTextsAreKept()
    {
        const test::Scratch scratch;
        ArtifactStore store(RunFolder{scratch.path()});
        EvaluationRecord record;
        record.variant = "B";
        record.trainsCoarse = true;
        for (std::uint64_t i = 0; i < 20; ++i)
            record.scores.push_back({i, 5, 12.0 + double(i), 10.0 + double(i), 10.1 + double(i)});
        exportVerdict(store, judge(record, {}), record);
        QCOMPARE(jsonOf(store, "verdict.json")["outcome"].get<std::string>(), std::string("helps"));
        QCOMPARE(readEvaluation(scratch.path()).scores.size(), std::size_t(20));
        QVERIFY(isListed(store, "verdict.png") && isListed(store, "verdict.svg"));

        CaptionHistory history;
        exportCaptions(store, history);
        QVERIFY(isListed(store, "captions.json") && !isListed(store, "captions.png"));
        history.add({5, {{7, "What moves?", "red disc", {"a", 1}, {"b", 2}, {"c", 3}}}});
        exportCaptions(store, history);
        QVERIFY(isListed(store, "captions.png"));
        QCOMPARE(
            CaptionHistory::fromJson(jsonOf(store, "captions.json"), "captions").pages().size(),
            std::size_t(1));
    }
};

VERGENCE_TEST(TestFvlmExports)
#include "tst_fvlm_exports.moc"
