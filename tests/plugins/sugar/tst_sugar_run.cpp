#include <limits>

#include <QTemporaryDir>
#include <QTest>

#include "core/artifact/gif.h"
#include "core/artifact/manifest.h"
#include "plugins/sugar/io/gaussian_files.h"
#include "plugins/sugar/io/synthetic_scene.h"
#include "plugins/sugar/pipeline/settings.h"
#include "plugins/sugar/sugar_run.h"
#include "plugins/sugar/train/schedule.h"
#include "tests/support/run_bench.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::sugar;
using vergence::test::RunOutcome;
using vergence::test::timelessNumbers;

namespace {

const std::vector<std::string> kTinyRun{
    "goal=gaussians",   "built_in_width=64",  "built_in_height=48",  "iterations=60",
    "sh_degree=1",      "sh_every=20",        "densify=\"classic\"", "densify_from=10",
    "densify_until=50", "densify_every=10",   "reset_every=0",       "eval_every=20",
    "cap=4000",         "turntable_frames=4", "turntable_size=64",   "milestones=[20]"};

std::string bytesOf(const RunFolder& folder, const std::string& artifact)
{
    return readFile(folder.artifacts() / artifact);
}

} // namespace

/// Whole runs of the SuGaR lab on the built-in scene.
class TestSugarRun : public QObject {
    Q_OBJECT

    QTemporaryDir m_temporary;
    test::RunBench m_bench{
        m_temporary.path().toStdString(), sugarSchema(),
        [](const Config& config) { return std::make_unique<SugarRun>(readSugarConfig(config)); },
        kTinyRun};

    Config configOf(const std::vector<std::string>& more = {}) { return m_bench.configOf(more); }

    /// A scene of `views` photographs, eight of them held out, as JPEG files.
    std::filesystem::path jpegScene(const std::string& name, std::size_t views = 28) const
    {
        Scene scene = syntheticScene({64, 48, false, 1});
        scene.views.resize(views);
        writeScene(folderPath(name), scene, SceneFormat::ColmapBinary);
        for (const auto& entry : std::filesystem::directory_iterator(folderPath(name) / "images"))
            writeFileAtomic(entry.path(), encodeJpeg(readPng(entry.path())));
        return folderPath(name);
    }

    /// The built-in scene in other units, then moved along x; in a file that keeps its split.
    std::filesystem::path placedScene(const std::string& name, double scale, double shift) const
    {
        Scene scene = syntheticScene({64, 48, false, 1});
        writeScene(folderPath(name), scene, SceneFormat::TransformsJson);
        for (SourceView& view : scene.views) {
            for (std::size_t row = 0; row < 3; ++row)
                view.translation[row] =
                    scale * view.translation[row] - shift * view.rotation[3 * row];
        }
        for (ScenePoint& point : scene.points) {
            for (double& value : point.position)
                value *= scale;
            point.position[0] += shift;
        }
        writeSceneDescription(folderPath(name), scene, SceneFormat::TransformsJson);
        return folderPath(name);
    }

    /// Cuts a photograph off behind its header.
    static void truncate(const std::filesystem::path& scene, const std::string& name)
    {
        const auto file = scene / "images" / name;
        std::filesystem::resize_file(file, std::filesystem::file_size(file) * 2 / 3);
    }

    std::filesystem::path folderPath(const std::string& name) const
    {
        return std::filesystem::path(m_temporary.path().toStdString()) / name;
    }

private Q_SLOTS:
    void finishedRunHasAllOutputs()
    {
        const RunFolder folder = m_bench.newFolder();
        const RunOutcome outcome =
            m_bench.run(folder, configOf({"formats=[\"ply\", \"splat\", \"spz\"]"}));
        QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
        for (const char* file :
             {"gaussians.ply", "gaussians.splat", "gaussians.spz", "cameras.json",
              "evaluation.json", "evaluation.csv", "turntable.gif", "turntable/frame-003.png",
              "milestones/step-000020/gaussians.ply", "test/test_00/render.png",
              "test/test_03/difference.png"})
            QVERIFY2(std::filesystem::exists(folder.artifacts() / file), file);
        const auto numbers = timelessNumbers(folder);
        QCOMPARE(numbers.at("train/loss").size(), std::size_t(60));
        QCOMPARE(numbers.at("test/psnr").size(), std::size_t(3));
        QVERIFY2(numbers.at("test/psnr").back() > numbers.at("test/psnr").front(),
                 "training must help");
        QVERIFY(numbers.at("train/loss").back() < 0.8 * numbers.at("train/loss").front());
        QCOMPARE(readGif(folder.artifacts() / "turntable.gif").frames.size(), std::size_t(4));
        QCOMPARE(static_cast<double>(readGaussianPly(folder.artifacts() / "gaussians.ply").count()),
                 numbers.at("gaussians/count").back());
    }

    /// 17.20: a run that was stopped goes on as if nothing had been.
    void resumedRunIsTheSame_data()
    {
        QTest::addColumn<QString>("densify");
        QTest::addColumn<bool>("mip");
        QTest::addColumn<QString>("moments");
        QTest::addColumn<int>("stopAt");
        QTest::newRow("classic, stop between rounds") << "classic" << true << "fp32" << 25;
        QTest::newRow("classic, stop at a round and test") << "classic" << false << "fp32" << 40;
        QTest::newRow("absolute") << "absolute" << true << "fp32" << 33;
        QTest::newRow("combined") << "combined" << true << "fp32" << 27;
        QTest::newRow("mcmc") << "mcmc" << true << "fp32" << 31;
        QTest::newRow("classic, compact moments") << "classic" << true << "compact" << 25;
        QTest::newRow("mcmc, compact moments") << "mcmc" << true << "compact" << 31;
    }
    void resumedRunIsTheSame()
    {
        QFETCH(QString, densify);
        QFETCH(bool, mip);
        QFETCH(QString, moments);
        QFETCH(int, stopAt);
        const Config config = configOf({"densify=\"" + densify.toStdString() + "\"",
                                        "adam_moments=\"" + moments.toStdString() + "\"",
                                        mip ? "mip=true" : "mip=false", "progressive=true"});
        const RunFolder whole = m_bench.newFolder(), parts = m_bench.newFolder();
        QCOMPARE(m_bench.run(whole, config).code, ExitCode::Success);
        bool stopped = false;
        const RunOutcome first = m_bench.run(parts, config, false, [&](RunController& controller) {
            if (!stopped && controller.step() >= stopAt) {
                controller.requestStop();
                stopped = true;
            }
        });
        QCOMPARE(first.state, RunState::Stopped);
        const RunOutcome second = m_bench.run(parts, config, true);
        QVERIFY2(second.code == ExitCode::Success, second.problems().c_str());
        QCOMPARE(timelessNumbers(parts), timelessNumbers(whole));
        QVERIFY(bytesOf(parts, "gaussians.ply") == bytesOf(whole, "gaussians.ply"));
    }

    /// 17.21
    void threadsDoNotChangeABit_data()
    {
        QTest::addColumn<QString>("moments");
        QTest::newRow("fp32") << "fp32";
        QTest::newRow("compact") << "compact";
    }
    void threadsDoNotChangeABit()
    {
        QFETCH(QString, moments);
        const Config config =
            configOf({"iterations=30", "adam_moments=\"" + moments.toStdString() + "\""});
        const RunFolder one = m_bench.newFolder(), two = m_bench.newFolder();
        m_bench.threads = 1;
        QCOMPARE(m_bench.run(one, config).code, ExitCode::Success);
        m_bench.threads = 2;
        QCOMPARE(m_bench.run(two, config).code, ExitCode::Success);
        m_bench.threads = 0;
        QVERIFY(bytesOf(one, "gaussians.ply") == bytesOf(two, "gaussians.ply"));
    }

    void bandsDoNotChangeABit_data()
    {
        QTest::addColumn<QString>("densify");
        QTest::newRow("classic") << "classic";
        QTest::newRow("absolute") << "absolute";
        QTest::newRow("mcmc") << "mcmc";
    }
    void bandsDoNotChangeABit()
    {
        QFETCH(QString, densify);
        const RunFolder whole = m_bench.newFolder(), bands = m_bench.newFolder();
        const std::string how = "densify=\"" + densify.toStdString() + "\"";
        QCOMPARE(m_bench.run(whole, configOf({how, "iterations=40"})).code, ExitCode::Success);
        const RunOutcome outcome =
            m_bench.run(bands, configOf({how, "iterations=40", "band_rows=16"}));
        QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
        QVERIFY(bytesOf(bands, "gaussians.ply") == bytesOf(whole, "gaussians.ply"));
        const double gap = timelessNumbers(bands).at("train/loss").back() -
                           timelessNumbers(whole).at("train/loss").back();
        QVERIFY2(std::abs(gap) < 1e-12, "the parts of bands add up");
    }

    /// 17.12: the description does not matter, the scene does.
    void descriptionsOfOneSceneLearnTheSame()
    {
        const Scene scene = syntheticScene({64, 48, false, 1});
        writeScene(folderPath("colmap"), scene, SceneFormat::ColmapBinary);
        writeScene(folderPath("transforms"), scene, SceneFormat::TransformsJson);
        std::vector<std::vector<double>> losses;
        for (const char* name : {"colmap", "transforms"}) {
            const RunFolder folder = m_bench.newFolder();
            const RunOutcome outcome =
                m_bench.run(folder, configOf({"scene=" + folderPath(name).string(), "iterations=20",
                                              "eval_split=false", "densify=\"none\""}));
            QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
            losses.push_back(timelessNumbers(folder).at("train/loss"));
        }
        for (std::size_t i = 0; i < losses[0].size(); ++i)
            QVERIFY2(std::abs(losses[0][i] - losses[1][i]) < 2e-3, "the pictures are the same");
    }

    void trainedFileIsShownWithoutTraining()
    {
        const RunFolder trained = m_bench.newFolder(), shown = m_bench.newFolder();
        QCOMPARE(m_bench.run(trained, configOf({"iterations=10"})).code, ExitCode::Success);
        const std::string file = (trained.artifacts() / "gaussians.ply").string();
        const RunOutcome outcome =
            m_bench.run(shown, configOf({"gaussians=" + file, "iterations=0"}));
        QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
        QVERIFY(bytesOf(shown, "gaussians.ply") == bytesOf(trained, "gaussians.ply"));
    }

    /// What a run wrote is what the next one starts from, also of a scene that is moved inside.
    void trainedFileGoesOnWhereItWas_data()
    {
        QTest::addColumn<double>("shift");
        QTest::newRow("at the origin") << 0.0;
        QTest::newRow("far from it") << 2000.0;
    }
    void trainedFileGoesOnWhereItWas()
    {
        QFETCH(double, shift);
        const std::string row = QTest::currentDataTag();
        const std::string scene = "scene=" + placedScene(row, 1, shift).string();
        const RunFolder trained = m_bench.newFolder();
        QCOMPARE(m_bench.run(trained, configOf({scene})).code, ExitCode::Success);
        const auto file = trained.artifacts() / "gaussians.ply";
        const GaussianCloud cloud = readGaussianPly(file);
        QVERIFY(std::abs(cloud.position[0] - shift) < 20);
        const double psnr = timelessNumbers(trained).at("test/psnr").back();
        for (const int steps : {0, 1}) {
            const RunFolder folder = m_bench.newFolder();
            const RunOutcome outcome = m_bench.run(
                folder, configOf({scene, "gaussians=" + file.string(), "densify=\"none\"",
                                  "iterations=" + std::to_string(steps)}));
            QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
            // Single precision has 1e-4 at 2,000, and a step moves by less than a hundredth.
            const GaussianCloud next = readGaussianPly(folder.artifacts() / "gaussians.ply");
            QCOMPARE(next.count(), cloud.count());
            for (std::size_t i = 0; i < cloud.position.size(); ++i)
                QVERIFY(std::abs(next.position[i] - cloud.position[i]) < 0.01);
            if (steps == 0)
                continue; // nothing is tested
            const double change = timelessNumbers(folder).at("test/psnr").back() - psnr;
            QVERIFY2(std::abs(change) < 0.5, qPrintable(QString::number(change)));
        }
    }

    /// A file is rendered with the harmonics that it has, from the first step on.
    void harmonicsOfAFileAreUsed()
    {
        GaussianCloud cloud = initialCloud(syntheticScene({64, 48, false, 1}).points, 2.6);
        cloud.degree = 1;
        cloud.shRest.assign(static_cast<std::size_t>(9 * cloud.count()), 0.0F);
        const auto plain = folderPath("plain.ply"), bent = folderPath("bent.ply");
        const std::string scene = "scene=" + placedScene("harmonics", 1, 0).string();
        writeGaussianPly(plain, cloud);
        for (std::size_t i = 0; i < cloud.shRest.size(); ++i)
            cloud.shRest[i] = i % 9 < 3 ? 2.0F : 0;
        writeGaussianPly(bent, cloud);
        for (const int steps : {0, 1}) {
            std::vector<RunFolder> folders;
            for (const auto& file : {plain, bent}) {
                folders.push_back(m_bench.newFolder());
                const RunOutcome outcome =
                    m_bench.run(folders.back(), configOf({scene, "gaussians=" + file.string(),
                                                          "iterations=" + std::to_string(steps)}));
                QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
            }
            const std::string picture = "turntable/frame-000.png";
            QVERIFY(bytesOf(folders[0], picture) != bytesOf(folders[1], picture));
            if (steps > 0)
                QVERIFY2(timelessNumbers(folders[1]).at("test/psnr").back() <
                             timelessNumbers(folders[0]).at("test/psnr").back() - 1,
                         "the wrong colours show");
        }
    }

    /// 22.4: all thresholds follow the extent.
    void unitsDoNotMatter()
    {
        std::vector<std::vector<double>> losses, tests;
        for (const double scale : {1.0, 0.01}) {
            const auto scene = placedScene("units" + std::to_string(scale), scale, 0);
            const RunFolder folder = m_bench.newFolder();
            const RunOutcome outcome = m_bench.run(
                folder, configOf({"scene=" + scene.string(), "goal=aligned", "align_steps=10",
                                  "regularise_ramp=1", "samples=256", "regularise_from=5",
                                  "iterations=30", "densify_until=20", "turntable_frames=0"}));
            QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
            const auto numbers = timelessNumbers(folder);
            losses.push_back(numbers.at("train/loss"));
            tests.push_back(numbers.at("test/psnr"));
        }
        for (std::size_t i = 0; i < losses[0].size(); ++i)
            QVERIFY2(std::abs(losses[0][i] - losses[1][i]) < 0.01 * losses[0][i],
                     qPrintable(
                         QString("step %1: %2 %3").arg(i + 1).arg(losses[0][i]).arg(losses[1][i])));
        for (std::size_t i = 0; i < tests[0].size(); ++i)
            QVERIFY2(
                std::abs(tests[0][i] - tests[1][i]) < 0.1,
                qPrintable(QString("test %1: %2 %3").arg(i).arg(tests[0][i]).arg(tests[1][i])));
    }

    void brokenGaussiansAreCounted()
    {
        GaussianCloud cloud = initialCloud(syntheticScene({64, 48, false, 1}).points, 2.6);
        const auto count = static_cast<int>(cloud.count());
        cloud.opacity[7] = cloud.opacity[9] = std::numeric_limits<float>::quiet_NaN();
        const auto file = folderPath("broken.ply");
        writeGaussianPly(file, cloud);
        const RunFolder folder = m_bench.newFolder();
        const RunOutcome outcome =
            m_bench.run(folder, configOf({"gaussians=" + file.string(), "iterations=0"}));
        QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
        const std::string words =
            "2 of " + std::to_string(count) + " Gaussians of " + file.string();
        QVERIFY2(outcome.problems().find(words) != std::string::npos, outcome.problems().c_str());
        QCOMPARE(readGaussianPly(folder.artifacts() / "gaussians.ply").count(), Index(count - 2));
    }

    void gaussiansWithoutASceneCannotLearn()
    {
        QTemporaryDir folder;
        const std::string file = folder.filePath("a.ply").toStdString();
        writeFileAtomic(file, std::string_view("ply\n"));
        QVERIFY(!m_bench.build({"gaussians=" + file, "iterations=10"}).config);
        QVERIFY(m_bench.build({"gaussians=" + file, "iterations=0", "goal=gaussians"})
                    .config.has_value());
    }

    void unknownHeldOutPictureIsNamed()
    {
        const RunOutcome outcome =
            m_bench.run(m_bench.newFolder(), configOf({"test_images=[\"nowhere.png\"]"}));
        QCOMPARE(outcome.code, ExitCode::InputUnreadable);
        QVERIFY2(outcome.problems().find("nowhere.png") != std::string::npos,
                 outcome.problems().c_str());
    }

    void somePicturesAreLeftToLearnFrom()
    {
        std::string all;
        for (const SourceView& view : syntheticScene({64, 48, false, 1}).views)
            all += (all.empty() ? "\"" : ", \"") + view.name + "\"";
        const RunOutcome outcome =
            m_bench.run(m_bench.newFolder(), configOf({"test_images=[" + all + "]"}));
        QCOMPARE(outcome.code, ExitCode::InputUnreadable);
        QVERIFY2(outcome.problems().find("test_images") != std::string::npos,
                 outcome.problems().c_str());
        const SugarConfig config = readSugarConfig(configOf({"test_images=[\"a.png\"]"}));
        QVERIFY(heldOut(config, *noPictures()).empty());
    }

    void missingSceneIsAnIssue()
    {
        const auto result = m_bench.build({"scene=/nowhere/at/all", "formats=[\"obj\"]"});
        std::string text;
        for (const auto& issue : result.issues)
            text += issue.text() + "\n";
        QVERIFY2(text.find("/nowhere/at/all") != std::string::npos, text.c_str());
        QVERIFY2(text.find("obj") != std::string::npos, text.c_str());
        QVERIFY(!result.config);
    }

    /// A file that breaks only while it is decoded does not end the run, whenever that is.
    void truncatedPhotographsAreLeftOut_data()
    {
        QTest::addColumn<int>("step"); // that would learn from the picture; 0: it is held out
        QTest::addColumn<bool>("progressive");
        QTest::newRow("first step") << 1 << false;
        QTest::newRow("first step, small pictures") << 1 << true;
        QTest::newRow("in between") << 13 << false;
        QTest::newRow("held out") << 0 << false;
    }
    void truncatedPhotographsAreLeftOut()
    {
        QFETCH(int, step);
        QFETCH(bool, progressive);
        const std::string row = QTest::currentDataTag();
        const auto scene = jpegScene(row);
        const Config config = configOf({"scene=" + scene.string(), "iterations=30", "eval_every=10",
                                        "turntable_frames=0",
                                        progressive ? "progressive=true" : "progressive=false"});
        Photographs photographs(readScene(scene), {});
        std::vector<std::size_t> learnt;
        for (std::size_t i = 0; i < photographs.count(); ++i) {
            if (i % 8 != 0)
                learnt.push_back(i);
        }
        const std::string broken =
            photographs.name(step == 0 ? 8 : PictureOrder(learnt, 1).at(step));
        truncate(scene, broken);

        const RunFolder whole = m_bench.newFolder(), parts = m_bench.newFolder();
        const RunOutcome outcome = m_bench.run(whole, config);
        QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
        const std::string warning = broken + " is left out. ";
        const auto at = outcome.problems().find(warning);
        QVERIFY2(at != std::string::npos, outcome.problems().c_str());
        QVERIFY2(outcome.problems().find(warning, at + 1) == std::string::npos, "said once");
        bool isListed = false;
        for (const auto& message : outcome.messages)
            isListed = isListed || (message.at("type") == "table" &&
                                    message.dump().find(broken + ": ") != std::string::npos);
        QVERIFY2(isListed, "the table of the data names it");
        const auto report = nlohmann::json::parse(bytesOf(whole, "report.json"));
        QCOMPARE(report.at("scene").at("left_out").size(), std::size_t(1));
        const auto numbers = timelessNumbers(whole);
        QCOMPARE(numbers.at("train/loss").size(), std::size_t(30));
        const auto tests = nlohmann::json::parse(bytesOf(whole, "evaluation.json"));
        QCOMPARE(tests.back().at("pictures").size(), std::size_t(step == 0 ? 3 : 4));

        bool stopped = false;
        m_bench.run(parts, config, false, [&](RunController& controller) {
            if (!stopped && controller.step() >= 12) {
                controller.requestStop();
                stopped = true;
            }
        });
        const RunOutcome second = m_bench.run(parts, config, true);
        QVERIFY2(second.code == ExitCode::Success, second.problems().c_str());
        QCOMPARE(timelessNumbers(parts), numbers);
        QVERIFY(bytesOf(parts, "gaussians.ply") == bytesOf(whole, "gaussians.ply"));
    }

    /// What masks leave out is neither learnt nor tested, but also measured.
    void maskedPixelsDoNotCount()
    {
        const auto scene = jpegScene("masked");
        std::filesystem::create_directories(scene / "masks");
        Image below = makeImage(64, 48, 1, 0);
        std::fill_n(below.row(24), 64 * 24, std::uint8_t{255});
        for (const auto& entry : std::filesystem::directory_iterator(scene / "images")) {
            Image photo = readImage(entry.path()); // nonsense where the mask is 0
            std::fill_n(photo.row(0), 3 * 64 * 24, std::uint8_t{255});
            writeFileAtomic(entry.path(), encodeJpeg(photo));
            writePng(scene / "masks" / (entry.path().filename().string() + ".png"), below);
        }
        const RunFolder folder = m_bench.newFolder();
        const RunOutcome outcome = m_bench.run(folder, configOf({"scene=" + scene.string()}));
        QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
        bool isListed = false;
        for (const auto& message : outcome.messages)
            isListed = isListed || (message.at("type") == "table" &&
                                    message.dump().find("28 of 28 pictures") != std::string::npos);
        QVERIFY(isListed);
        const auto tests = nlohmann::json::parse(bytesOf(folder, "evaluation.json"));
        for (const auto& picture : tests.back().at("pictures"))
            QVERIFY(picture.at("psnr").get<double>() > picture.at("psnr_full").get<double>() + 3);
        // The same again without looking at the masks: the nonsense is learnt.
        const RunFolder plain = m_bench.newFolder();
        QCOMPARE(m_bench.run(plain, configOf({"scene=" + scene.string(), "masks=\"none\""})).code,
                 ExitCode::Success);
        for (const auto& picture :
             nlohmann::json::parse(bytesOf(plain, "evaluation.json")).back().at("pictures"))
            QCOMPARE(picture.at("psnr").get<double>(), picture.at("psnr_full").get<double>());
    }

    void evenlySpreadPicturesAreHeldOut()
    {
        const auto heldOutWith = [&](int count) {
            const SugarConfig config = readSugarConfig(
                configOf({"eval_rule=\"even\"", "eval_count=" + std::to_string(count)}));
            const auto pictures = picturesOf(config, sceneOf(config));
            std::vector<std::size_t> held;
            const std::vector<bool> isTest = heldOut(config, *pictures);
            for (std::size_t i = 0; i < isTest.size(); ++i) {
                if (isTest[i])
                    held.push_back(i);
            }
            return held;
        };
        QVERIFY(heldOutWith(4) == (std::vector<std::size_t>{4, 11, 18, 25})); // 3.5 and so on
        QVERIFY(heldOutWith(1) == std::vector<std::size_t>{14});
        QCOMPARE(heldOutWith(27).size(), std::size_t(27));
        QCOMPARE(heldOutWith(1000).size(), std::size_t(27)); // one is left to learn from
    }

    void tooFewPhotographsEndTheRun()
    {
        const auto scene = jpegScene("few", 5);
        const Config config =
            configOf({"scene=" + scene.string(), "iterations=20", "eval_split=false"});
        for (const char* name : {"test_01.png", "test_02.png"})
            truncate(scene, name);
        QCOMPARE(m_bench.run(m_bench.newFolder(), config).code, ExitCode::Success);
        truncate(scene, "test_03.png");
        const RunOutcome outcome = m_bench.run(m_bench.newFolder(), config);
        QCOMPARE(outcome.code, ExitCode::InputUnreadable);
        QVERIFY2(outcome.problems().find("Only 2 of the 5 pictures") != std::string::npos,
                 outcome.problems().c_str());
    }

    /// What cannot be read is not built upon: the run goes on from the one before and ends as it
    /// would have.
    void damagedCheckpointsAreLeftOut()
    {
        const Config config = configOf({"iterations=20"});
        const RunFolder folder = m_bench.newFolder(), whole = m_bench.newFolder();
        bool stopped = false;
        m_bench.checkpointSteps = 4;
        m_bench.run(folder, config, false, [&](RunController& controller) {
            if (!stopped && controller.step() >= 8) {
                controller.requestStop();
                stopped = true;
            }
        });
        m_bench.checkpointSteps = 0;
        const auto checkpoints = listCheckpoints(folder);
        QVERIFY(checkpoints.size() > 1);
        for (std::size_t i = 1; i < checkpoints.size(); ++i) {
            const auto file = checkpoints[i] / "tensors.safetensors";
            std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
        }
        QCOMPARE(m_bench.run(folder, config, true).code, ExitCode::Success);
        QCOMPARE(m_bench.run(whole, config).code, ExitCode::Success);
        QVERIFY(bytesOf(folder, "gaussians.ply") == bytesOf(whole, "gaussians.ply"));
    }
};

VERGENCE_TEST(TestSugarRun)
#include "tst_sugar_run.moc"
