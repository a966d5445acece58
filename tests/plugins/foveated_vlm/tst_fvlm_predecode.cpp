#include <QTest>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/artifact/image.h"
#include "core/artifact/json_text.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "plugins/foveated_vlm/shards/predecode.h"
#include "plugins/foveated_vlm/shards/shard_clips.h"
#include "tests/plugins/foveated_vlm/made_video.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

namespace fs = std::filesystem;
using namespace vergence;
using namespace vergence::fvlm;
using vergence::test::contentOf;
using vergence::test::Scratch;

namespace {

PredecodeSettings settingsFor(int workers)
{
    PredecodeSettings settings;
    settings.decode.frames = 3;
    settings.decode.size = 16;
    settings.workers = workers;
    return settings;
}

void writeGrey(const fs::path& path, int level, int frames = 6)
{
    test::VideoPlan plan;
    plan.width = plan.height = 32;
    plan.times = test::evenTimes(frames, 10);
    plan.lastSeconds = 0.1;
    plan.frame = [=](std::size_t i) {
        const int grey = level + 10 * static_cast<int>(i);
        return test::flatImage(32, 32, grey, grey, grey);
    };
    test::writeVideo(path, plan);
}

/// Eight videos, a picture, and four files that are none.
void writeFolder(const fs::path& folder)
{
    fs::create_directories(folder / "deep");
    for (int i = 0; i < 6; ++i)
        writeGrey(folder / ("v" + std::to_string(i) + ".mp4"), 20 * i);
    writeGrey(folder / "deep/w.mkv", 30, 2); // short
    writeGrey(folder / "deep/x.avi", 60);
    writePng(folder / "p.png", test::flatImage(20, 40, 200, 100, 50));
    writeFileAtomic(folder / "a_empty.mp4", std::string_view());
    writeFileAtomic(folder / "v2_broken.webm", std::string_view("no video"));
    writeFileAtomic(folder / "z.jpg", std::string_view("no picture"));
    writeFileAtomic(folder / "readme.md", std::string_view("not looked at"));
    writeFileAtomic(
        folder / "captions.jsonl",
        std::string_view("{\"file\":\"v0.mp4\",\"answer\":\"zero\"}\n"
                         "{\"file\":\"deep/x.avi\",\"prompt\":\"q\",\"answer\":\"x\"}"));
    writeFileAtomic(folder / "v1.txt", std::string_view("one"));
}

constexpr std::size_t kSources = 12, kClips = 9;

} // namespace

class TestFvlmPredecode : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { writeFolder(m_scratch / "videos"); }

    void aFolderBecomesAShard()
    {
        const Scratch scratch;
        std::vector<PredecodeProgress> steps;
        const PredecodeReport report =
            predecode(m_scratch / "videos", scratch / "a.fvshard", settingsFor(2),
                      [&](const PredecodeProgress& step) { steps.push_back(step); });
        QVERIFY(report.isComplete);
        QCOMPARE(report.videos, kSources);
        QCOMPARE(report.clips, kClips);
        QCOMPARE(report.decoded, kSources);
        QCOMPARE(report.shortClips, std::size_t(1));
        QCOMPARE(report.images, std::size_t(1));
        QCOMPARE(steps.size(), kSources);
        QCOMPARE(steps.back().skipped, std::size_t(3));
        QCOMPARE(steps.back().done, steps.back().total);
        QCOMPARE(report.skipped.size(), std::size_t(3));
        QCOMPARE(report.skipped[0].file, std::string("a_empty.mp4"));
        QVERIFY(report.skipped[0].reason.find("it is empty") != std::string::npos);
        QCOMPARE(report.skipped[1].file, std::string("v2_broken.webm"));
        QCOMPARE(report.skipped[2].file, std::string("z.jpg"));
        QVERIFY(report.withoutCaption == (std::vector<std::string>{"deep/w.mkv", "p.png", "v2.mp4",
                                                                   "v3.mp4", "v4.mp4", "v5.mp4"}));

        const ShardClips clips(scratch / "a.fvshard");
        QCOMPARE(clips.count(), Index(kClips));
        QVERIFY(clips.info(0).isShort);
        QVERIFY(clips.info(2).isImage);
        QCOMPARE(clips.info(1).text.prompt, std::string("q"));
        QCOMPARE(clips.info(3).text.answer, std::string("zero"));
        QCOMPARE(clips.info(4).text.answer, std::string("one"));
        for (Index i = 0; i < 6; ++i) { // v0 to v5; frames 1, 3 and 5 of 6
            const auto frames = framesOf(clips, 3 + i);
            for (int k = 0; k < 3; ++k) {
                const int level = frames[static_cast<std::size_t>(k) * 768 + 100];
                QVERIFY(std::abs(level - static_cast<int>(20 * i + 10 * (2 * k + 1))) <= 3);
            }
        }
        const Shard shard(scratch / "a.fvshard");
        QVERIFY(shard.verify().empty());
        const auto facts = parseJson(shard.facts(), "facts");
        QCOMPARE(facts.at("sampling").get<std::string>(), std::string("uniform_n"));
        QCOMPARE(facts.at("statistics").at("mean").size(), std::size_t(3));
        const double mean = facts.at("statistics").at("mean").at(1);
        QVERIFY(mean > 0.2 && mean < 0.5);
        const auto manifest = parseJson(readFile(scratch / "a.fvshard.json"), "manifest");
        QCOMPARE(manifest.at("digest").get<std::string>(), report.digest);
        QCOMPARE(manifest.at("skipped").at(0).at("file").get<std::string>(),
                 std::string("a_empty.mp4"));
        QCOMPARE(contentOf(scratch.path()), (std::set<std::string>{"a.fvshard", "a.fvshard.json"}));
    }

    void workersDoNotChangeTheResult()
    {
        const Scratch scratch;
        for (const int workers : {1, 3})
            predecode(m_scratch / "videos", scratch / std::to_string(workers),
                      settingsFor(workers));
        QVERIFY(readFile(scratch / "1") == readFile(scratch / "3"));
        QVERIFY(readFile(scratch / "1.json") == readFile(scratch / "3.json"));
    }

    void aStoppedCallGoesOn()
    {
        const Scratch scratch;
        predecode(m_scratch / "videos", scratch / "whole", settingsFor(2));
        std::stop_source stop;
        const PredecodeReport first = predecode(
            m_scratch / "videos", scratch / "a", settingsFor(2),
            [&](const PredecodeProgress& step) {
                if (step.done == 4)
                    stop.request_stop();
            },
            stop.get_token());
        QVERIFY(!first.isComplete);
        QCOMPARE(first.decoded, std::size_t(4));
        const PredecodeReport second =
            predecode(m_scratch / "videos", scratch / "a", settingsFor(2));
        QVERIFY(second.isComplete);
        QCOMPARE(second.decoded, kSources - 4);
        QCOMPARE(second.clips, kClips);
        QVERIFY(readFile(scratch / "a") == readFile(scratch / "whole"));
        const PredecodeReport third =
            predecode(m_scratch / "videos", scratch / "a", settingsFor(2));
        QCOMPARE(third.decoded, std::size_t(0));
        QVERIFY(third.isComplete);
        QCOMPARE(third.skipped.size(), std::size_t(3));
        QCOMPARE(third.withoutCaption.size(), second.withoutCaption.size());
    }

    /// Another process is killed in the midst of it, without warning.
    void aKilledProcessLosesNothingThatWasCommitted()
    {
        const Scratch scratch;
        predecode(m_scratch / "videos", scratch / "whole", settingsFor(1));
        for (const std::size_t limit : {1, 5, 11}) {
            const fs::path target = scratch / ("a" + std::to_string(limit));
            const pid_t child = ::fork();
            if (child == 0) {
                try {
                    predecode(m_scratch / "videos", target, settingsFor(2),
                              [&](const PredecodeProgress& step) {
                                  if (step.done == limit)
                                      ::kill(::getpid(), SIGKILL);
                              });
                } catch (...) {
                }
                ::_exit(1);
            }
            int status = 0;
            QCOMPARE(::waitpid(child, &status, 0), child);
            QVERIFY(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
            const PredecodeReport report = predecode(m_scratch / "videos", target, settingsFor(2));
            QVERIFY(report.isComplete);
            QCOMPARE(report.decoded, kSources - limit);
            QVERIFY(readFile(target) == readFile(scratch / "whole"));
        }
    }

    void otherSettingsBeginAnew()
    {
        const Scratch scratch;
        predecode(m_scratch / "videos", scratch / "a", settingsFor(2));
        PredecodeSettings other = settingsFor(2);
        other.decode.size = 24;
        const PredecodeReport report = predecode(m_scratch / "videos", scratch / "a", other);
        QCOMPARE(report.decoded, kSources);
        QCOMPARE(ShardClips(scratch / "a").height(), 24);
    }

    void oneASecondGivesEachItsOwnNumber()
    {
        const Scratch scratch;
        fs::create_directories(scratch / "v");
        writeGrey(scratch / "v/long.mp4", 10, 25); // 2.5 s
        writeGrey(scratch / "v/short.mp4", 50, 4);
        PredecodeSettings settings = settingsFor(1);
        settings.decode.sampling = Sampling::Fps1;
        settings.decode.frames = 64;
        predecode(scratch / "v", scratch / "a", settings);
        const ShardClips clips(scratch / "a");
        QCOMPARE(clips.info(0).frames, 3);
        QCOMPARE(clips.info(1).frames, 1);
        QVERIFY(clips.mapped().empty());
    }

    void foldersWithoutClipsAreNamed()
    {
        const Scratch scratch;
        fs::create_directories(scratch / "v");
        VERGENCE_THROWS(InputError, "There are no videos in",
                        predecode(scratch / "v", scratch / "a", settingsFor(1)));
        writeFileAtomic(scratch / "v/a.mp4", std::string_view());
        VERGENCE_THROWS(InputError, "No clip is left of 1 sources",
                        predecode(scratch / "v", scratch / "a", settingsFor(1)));
        writeFileAtomic(scratch / "v/captions.jsonl", std::string_view("x"));
        VERGENCE_THROWS(InputError, "captions.jsonl, line 1",
                        predecode(scratch / "v", scratch / "a", settingsFor(1)));
        PredecodeSettings settings = settingsFor(1);
        settings.captions = scratch / "missing.jsonl";
        VERGENCE_THROWS(InputError, "missing.jsonl",
                        predecode(scratch / "v", scratch / "a", settings));
    }

private:
    Scratch m_scratch;
};

VERGENCE_TEST(TestFvlmPredecode)
#include "tst_fvlm_predecode.moc"
