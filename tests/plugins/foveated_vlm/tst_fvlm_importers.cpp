#include <QTest>

#include <zip.h>

#include "core/artifact/image.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "plugins/foveated_vlm/shards/open_clips.h"
#include "plugins/foveated_vlm/shards/shard_clips.h"
#include "tests/plugins/foveated_vlm/made_clips.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

namespace fs = std::filesystem;
using namespace vergence;
using namespace vergence::fvlm;
using vergence::test::MadeClips;
using vergence::test::Scratch;

namespace {

/// A ZIP archive as tensors are saved: members stored, or compressed where wanted.
void writeZip(const fs::path& path, const std::vector<std::pair<std::string, std::string>>& members,
              bool isCompressed = false)
{
    int error = 0;
    zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &error);
    QVERIFY(archive);
    for (const auto& [name, bytes] : members) {
        zip_source_t* source = zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
        const zip_int64_t index = zip_file_add(archive, name.c_str(), source, 0);
        QVERIFY(index >= 0);
        zip_set_file_compression(archive, static_cast<zip_uint64_t>(index),
                                 isCompressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
    }
    QCOMPARE(zip_close(archive), 0);
}

std::string payload(Index clip, std::size_t bytes)
{
    std::string text(bytes, '\0');
    for (std::size_t i = 0; i < bytes; ++i)
        text[i] = static_cast<char>(MadeClips::byteAt(clip, i));
    return text;
}

/// One entry of a tar file, POSIX form.
std::string tarEntry(const std::string& name, const std::string& bytes, char type = '0')
{
    std::string block(512, '\0');
    name.copy(block.data(), 100);
    std::snprintf(block.data() + 100, 8, "%07o", 0644u);
    std::snprintf(block.data() + 124, 12, "%011zo", bytes.size());
    block[156] = type;
    std::string("ustar").copy(block.data() + 257, 5);
    block[263] = block[264] = '0';
    std::fill_n(block.begin() + 148, 8, ' ');
    unsigned sum = 0;
    for (const char c : block)
        sum += static_cast<unsigned char>(c);
    std::snprintf(block.data() + 148, 8, "%06o", sum);
    block[155] = ' ';
    return block + bytes + std::string((512 - bytes.size() % 512) % 512, '\0');
}

Image levelImage(int level, int width = 20, int height = 20)
{
    Image image = makeImage(width, height, 3);
    std::fill(image.pixels.begin(), image.pixels.end(), static_cast<std::uint8_t>(level));
    return image;
}

OpenSettings settingsFor(const Scratch& scratch, int frames, int size)
{
    OpenSettings settings;
    settings.predecode.decode.frames = frames;
    settings.predecode.decode.size = size;
    settings.predecode.decode.sampling = Sampling::Linspace;
    settings.predecode.workers = 2;
    settings.cache = scratch / "cache";
    return settings;
}

/// The level of each frame, in its middle.
std::vector<int> levels(const ClipSource& clips, Index clip)
{
    std::vector<int> result;
    const auto frames = framesOf(clips, clip);
    const auto side = static_cast<std::size_t>(clips.height());
    for (int i = 0; i < clips.info(clip).frames; ++i)
        result.push_back(
            frames[static_cast<std::size_t>(i) * frameSize(clips) + side * side / 2 + side / 2]);
    return result;
}

bool areNear(const std::vector<int>& got, const std::vector<int>& want)
{
    return got.size() == want.size() &&
           std::equal(got.begin(), got.end(), want.begin(),
                      [](int a, int b) { return std::abs(a - b) <= 2; });
}

} // namespace

class TestFvlmImporters : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// The form of the first run: [8, 3, 256, 256], 1,572,864 bytes a file.
    void tensorFilesOfTheFirstRun()
    {
        const Scratch scratch;
        constexpr std::size_t kBytes = 1'572'864;
        fs::create_directories(scratch / "data");
        for (Index i = 0; i < 2; ++i) {
            const std::string name = "clip" + std::to_string(i);
            writeZip(scratch / ("data/" + name + ".pt"),
                     {{name + "/data.pkl", "\x80\x02 never read"},
                      {name + "/data/0", payload(i, kBytes)},
                      {name + "/version", "3\n"}});
        }
        writeFileAtomic(scratch / "data/clip1.txt", std::string_view("a cat"));
        QCOMPARE(recogniseClips(scratch / "data"), ClipsKind::TensorFiles);
        PredecodeReport report;
        const auto clips =
            openClips(scratch / "data", settingsFor(scratch, 8, 256), {}, {}, &report);
        QCOMPARE(clips->count(), Index(2));
        QVERIFY(report.isComplete);
        QVERIFY(report.withoutCaption == std::vector<std::string>{"clip0.pt"});
        QCOMPARE(clips->mapped().size(), 2 * kBytes);
        for (Index i = 0; i < 2; ++i) {
            const auto frames = framesOf(*clips, i);
            QVERIFY(std::string(frames.begin(), frames.end()) == payload(i, kBytes));
        }
        QCOMPARE(clips->info(1).text.answer, std::string("a cat"));
        PredecodeReport again; // nothing is made twice
        openClips(scratch / "data", settingsFor(scratch, 8, 256), {}, {}, &again);
        QCOMPARE(again.decoded, std::size_t(0));
        QVERIFY(again.isComplete && again.withoutCaption == report.withoutCaption);
    }

    void badTensorFilesAreSkippedWithAReason()
    {
        const Scratch scratch;
        const std::size_t bytes = 2 * 3 * 16 * 16;
        fs::create_directories(scratch / "data");
        const auto at = [&](const char* name) { return scratch / (std::string("data/") + name); };
        writeZip(at("a_good.pt"), {{"x/data/0", payload(0, bytes)}, {"x/data/1", "more"}});
        writeZip(at("b_none.pt"), {{"x/data.pkl", "x"}});
        writeZip(at("c_two.pt"), {{"x/data/0", payload(0, bytes)}, {"y/data/0", "x"}});
        writeZip(at("d_size.pt"), {{"x/data/0", payload(0, bytes + 1)}});
        writeZip(at("e_deflated.pt"), {{"x/data/0", std::string(bytes, 'a')}}, true);
        writeFileAtomic(at("f_text.pt"), std::string_view("no archive"));
        std::string damaged = readFile(at("a_good.pt"));
        damaged[damaged.find("data/0") + 100] ^= 1;
        writeFileAtomic(at("g_damaged.pt"), damaged);
        PredecodeReport report;
        const auto clips =
            openClips(scratch / "data", settingsFor(scratch, 2, 16), {}, {}, &report);
        QCOMPARE(clips->count(), Index(1));
        QCOMPARE(report.skipped.size(), std::size_t(6));
        const std::vector<std::pair<const char*, const char*>> want = {
            {"b_none.pt", "has 0 members that end in /data/0"},
            {"c_two.pt", "has 2 members that end in /data/0"},
            {"d_size.pt", "its data have 1537 bytes; 2 frames of 3 × 16 × 16 have 1536"},
            {"e_deflated.pt", "its data are compressed"},
            {"f_text.pt", "f_text.pt"},
            {"g_damaged.pt", "another check sum"}};
        for (std::size_t i = 0; i < want.size(); ++i) {
            QCOMPARE(report.skipped[i].file, std::string(want[i].first));
            QVERIFY2(report.skipped[i].reason.find(want[i].second) != std::string::npos,
                     report.skipped[i].reason.c_str());
        }
        fs::remove(at("a_good.pt"));
        VERGENCE_THROWS(InputError, "No clip is left of 6 sources",
                        openClips(scratch / "data", settingsFor(scratch, 2, 16)));
    }

    /// A text beside a clip is a source like its frames.
    void editedCaptionsAreReadAnew()
    {
        const Scratch scratch;
        fs::create_directories(scratch / "frames/a");
        writePng(scratch / "frames/a/1.png", levelImage(20));
        fs::create_directories(scratch / "tensors");
        writeZip(scratch / "tensors/a.pt", {{"x/data/0", payload(0, 2 * 3 * 16 * 16)}});
        for (const char* name : {"frames", "tensors"}) {
            const fs::path folder = scratch / name;
            const auto settings = settingsFor(scratch, 2, 16);
            for (const std::string said : {"a cat", "a big dog"}) {
                writeFileAtomic(folder / "a.txt", said);
                QCOMPARE(openClips(folder, settings)->info(0).text.answer, said);
            }
        }
    }

    void foldersOfFramesAreClips()
    {
        const Scratch scratch;
        for (int i = 0; i < 7; ++i) {
            fs::create_directories(scratch / "data/b");
            writePng(scratch / ("data/b/00" + std::to_string(i) + ".png"), levelImage(20 + 30 * i));
        }
        fs::create_directories(scratch / "data/a");
        writeJpeg(scratch / "data/a/1.jpg", levelImage(100, 33, 21));
        writeJpeg(scratch / "data/a/2.JPEG", levelImage(150, 21, 33));
        fs::create_directories(scratch / "data/c");
        writeFileAtomic(scratch / "data/c/1.png", std::string_view("\x89PNG broken"));
        writeFileAtomic(scratch / "data/captions.jsonl",
                        std::string_view(R"({"file":"b","answer":"grows bright"})"));
        QCOMPARE(recogniseClips(scratch / "data"), ClipsKind::FrameFolders);
        PredecodeReport report;
        const auto clips =
            openClips(scratch / "data", settingsFor(scratch, 4, 16), {}, {}, &report);
        QCOMPARE(clips->count(), Index(2));
        QVERIFY(areNear(levels(*clips, 0), {100, 150, 150, 150}));
        QVERIFY(clips->info(0).isShort);
        QVERIFY(areNear(levels(*clips, 1), {20, 80, 140, 200}));
        QVERIFY(!clips->info(1).isShort);
        QCOMPARE(clips->info(1).text.answer, std::string("grows bright"));
        QVERIFY(report.withoutCaption == std::vector<std::string>{"a"});
        QCOMPARE(report.skipped.size(), std::size_t(1));
        QCOMPARE(report.skipped[0].file, std::string("c"));
        QCOMPARE(report.shortClips, std::size_t(1));
    }

    void archivesHoldSamplesByKey()
    {
        const Scratch scratch;
        fs::create_directories(scratch / "data");
        const auto jpeg = [](int level) { return encodeJpeg(levelImage(level)); };
        const std::string longKey = "a_folder/" + std::string(120, 'k');
        std::string tar = tarEntry("two.000.jpg", jpeg(10)) + tarEntry("two.010.jpg", jpeg(90)) +
                          tarEntry("two.002.jpg", jpeg(50)) +
                          tarEntry("two.json", R"({"prompt":"p","answer":"dark to bright"})") +
                          tarEntry("one.jpg", jpeg(200)) + tarEntry("notes.txt", "x") +
                          tarEntry("a_folder/", "", '5');
        tar += tarEntry("././@LongLink", longKey + ".001.jpg" + '\0', 'L') +
               tarEntry("short", jpeg(120));
        const std::string record = "path=none.json\n";
        tar += tarEntry("pax", std::to_string(record.size() + 3) + " " + record, 'x') +
               tarEntry("ignored", R"({"answer":"no pictures"})") + std::string(1024, '\0');
        writeFileAtomic(scratch / "data/x.tar", tar);
        QCOMPARE(recogniseClips(scratch / "data"), ClipsKind::Archives);
        PredecodeReport report;
        const auto clips =
            openClips(scratch / "data/x.tar", settingsFor(scratch, 3, 16), {}, {}, &report);
        QCOMPARE(clips->count(), Index(3)); // the long key, one, two
        QVERIFY(areNear(levels(*clips, 0), {120, 120, 120}));
        QVERIFY(clips->info(0).isImage && clips->info(1).isImage);
        QVERIFY(areNear(levels(*clips, 1), {200, 200, 200}));
        QVERIFY(areNear(levels(*clips, 2), {10, 50, 90}));
        QCOMPARE(clips->info(2).text.answer, std::string("dark to bright"));
        QCOMPARE(clips->info(2).text.prompt, std::string("p"));
        QCOMPARE(report.images, std::size_t(2));
        QCOMPARE(report.skipped.size(), std::size_t(1));
        QVERIFY(report.skipped[0].reason.find("has no pictures") != std::string::npos);

        writeFileAtomic(scratch / "cut.tar", tar.substr(0, 700));
        VERGENCE_THROWS(InputError, "it is truncated",
                        openClips(scratch / "cut.tar", settingsFor(scratch, 3, 16)));
        std::string damaged = tar;
        damaged[3] ^= 1;
        writeFileAtomic(scratch / "damaged.tar", damaged);
        VERGENCE_THROWS(InputError, "a header in it is damaged",
                        openClips(scratch / "damaged.tar", settingsFor(scratch, 3, 16)));
        writeFileAtomic(scratch / "json.tar",
                        tarEntry("a.json", "[]") + tarEntry("a.jpg", jpeg(1)));
        VERGENCE_THROWS(InputError, "a.json",
                        openClips(scratch / "json.tar", settingsFor(scratch, 3, 16)));
    }

    void shardsAreMapped()
    {
        const Scratch scratch;
        const MadeClips source({1, 1}, 16, 16);
        for (const char* name : {"a.fvshard", "b.fvshard"}) {
            ShardWriter writer(scratch / name, {1, 3, 16, 16, ShardType::U8});
            for (Index i = 0; i < 2; ++i) {
                ShardClip clip;
                clip.frames = 1;
                writer.add(clip, test::frameBytes(source, i));
            }
            writer.commit("{}");
            QCOMPARE(recogniseClips(scratch / name), ClipsKind::Shards);
            QCOMPARE(openClips(scratch / name, {})->count(), Index(2));
            if (name[0] == 'a')
                QCOMPARE(openClips(scratch.path(), {})->count(), Index(2)); // the only one
        }
        VERGENCE_THROWS(InputError, "several shards", openClips(scratch.path(), {}));
        writeShardList(scratch.path(), {"a.fvshard", "b.fvshard"});
        QCOMPARE(openClips(scratch.path(), {})->count(), Index(4));
        writeFileAtomic(scratch / "foreign.fvshard", std::string_view("something else"));
        VERGENCE_THROWS(InputError, "does not begin with FVSHARD1",
                        openClips(scratch / "foreign.fvshard", {}));
    }

    void whatIsNoClipsIsNamed()
    {
        const Scratch scratch;
        VERGENCE_THROWS(InputError, "There is nothing at /nowhere/x", recogniseClips("/nowhere/x"));
        fs::create_directories(scratch / "data/deep");
        VERGENCE_THROWS(InputError, "expected is a shard", recogniseClips(scratch / "data"));
        writeFileAtomic(scratch / "data/deep/a.txt", std::string_view("x"));
        VERGENCE_THROWS(InputError, "There are no clips", recogniseClips(scratch / "data"));
        VERGENCE_THROWS(InputError, "There are no clips",
                        recogniseClips(scratch / "data/deep/a.txt"));
        writeFileAtomic(scratch / "data/deep/a.webm", std::string_view("x"));
        QCOMPARE(recogniseClips(scratch / "data"), ClipsKind::Videos);
        writeFileAtomic(scratch / "data/deep/.hidden.pt", std::string_view("x"));
        QCOMPARE(recogniseClips(scratch / "data"), ClipsKind::Videos);
    }

    void aStoppedImportGivesNothing()
    {
        const Scratch scratch;
        fs::create_directories(scratch / "data/a");
        writePng(scratch / "data/a/1.png", levelImage(20));
        std::stop_source stop;
        stop.request_stop();
        PredecodeReport report;
        QVERIFY(!openClips(scratch / "data", settingsFor(scratch, 1, 16), {}, stop.get_token(),
                           &report));
        QVERIFY(!report.isComplete);
    }
};

VERGENCE_TEST(TestFvlmImporters)
#include "tst_fvlm_importers.moc"
