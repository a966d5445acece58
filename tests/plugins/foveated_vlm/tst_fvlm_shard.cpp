#include <cstring>

#include <QTest>

#include "core/artifact/artifact_store.h"
#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "plugins/foveated_vlm/shards/shard_clips.h"
#include "tests/plugins/foveated_vlm/made_clips.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

namespace fs = std::filesystem;
using namespace vergence;
using namespace vergence::fvlm;
using vergence::test::contentOf;
using vergence::test::MadeClips;
using vergence::test::Scratch;

namespace {

/// Writes all clips of a source; returns the digest of the data.
std::string written(const ClipSource& source, const fs::path& path, std::uint32_t frames)
{
    ShardWriter writer(path, {frames, 3, std::uint32_t(source.height()),
                              std::uint32_t(source.width()), ShardType::U8});
    for (Index i = 0; i < source.count(); ++i) {
        const ClipInfo info = source.info(i);
        ShardClip clip;
        clip.id = info.id;
        clip.frames = static_cast<std::uint32_t>(info.frames);
        clip.flags = i % 2 ? kShardShort : 0u;
        clip.seconds = info.seconds;
        clip.fps = info.fps;
        const std::vector<float> times(static_cast<std::size_t>(info.frames), 0.25f);
        writer.add(clip, test::frameBytes(source, i), toJson(info.text, times));
    }
    return writer.commit(R"({"fit":"crop"})");
}

template <class T>
T numberAt(const std::string& bytes, std::size_t offset)
{
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

} // namespace

class TestFvlmShard : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void clipsComeBack_data()
    {
        QTest::addColumn<bool>("isFixed");
        QTest::addRow("all of three frames") << true;
        QTest::addRow("each of its own") << false;
    }
    void clipsComeBack()
    {
        QFETCH(bool, isFixed);
        const Scratch scratch;
        MadeClips source(isFixed ? std::vector<int>{3, 3, 3, 3} : std::vector<int>{1, 4, 0, 2}, 20,
                         28);
        const std::string digest = written(source, scratch / "a.fvshard", isFixed ? 3 : 0);
        QCOMPARE(contentOf(scratch.path()), std::set<std::string>{"a.fvshard"});
        const Shard shard(scratch / "a.fvshard");
        QCOMPARE(shard.digest(), digest);
        QCOMPARE(shard.facts(), std::string(R"({"fit":"crop"})"));
        QVERIFY(shard.verify().empty());
        const ShardClips clips(scratch / "a.fvshard");
        QCOMPARE(clips.count(), Index(4));
        QCOMPARE(clips.height(), 20);
        QCOMPARE(clips.width(), 28);
        for (Index i = 0; i < 4; ++i) {
            const ClipInfo info = clips.info(i), want = source.info(i);
            QCOMPARE(info.id, want.id);
            QCOMPARE(info.frames, want.frames);
            QCOMPARE(info.seconds, 2.5f);
            QCOMPARE(info.fps, 24.f);
            QCOMPARE(info.isShort, i % 2 == 1);
            QVERIFY(!info.isImage);
            QCOMPARE(info.text.answer, want.text.answer);
            QCOMPARE(info.timestamps.size(), static_cast<std::size_t>(want.frames));
            QVERIFY(framesOf(clips, i) == framesOf(source, i));
        }
        QVERIFY(clips.mapped().empty()); // 5,040 bytes do not fill pages
        VERGENCE_THROWS(ContractError, "clip", clips.info(4));
    }

    /// The layout that other programs write and read, byte by byte.
    void bytesLieWhereTheFormatSays()
    {
        const Scratch scratch;
        MadeClips source({2, 2, 2}, 32, 64); // 12,288 bytes: three pages
        const std::string digest = written(source, scratch / "a.fvshard", 2);
        const std::string file = readFile(scratch / "a.fvshard");
        QCOMPARE(file.substr(0, 8), std::string("FVSHARD1"));
        QCOMPARE(numberAt<std::uint32_t>(file, 8), 1u);
        QCOMPARE(numberAt<std::uint32_t>(file, 12) % 4096, 0u);
        const auto index = numberAt<std::uint64_t>(file, 24);
        const auto data = numberAt<std::uint64_t>(file, 40);
        const auto dataBytes = numberAt<std::uint64_t>(file, 48);
        const auto text = numberAt<std::uint64_t>(file, 56);
        QCOMPARE(numberAt<std::uint64_t>(file, 16), 3ull);
        QCOMPARE(numberAt<std::uint64_t>(file, 32), 3 * 64ull);
        QCOMPARE(data % 4096, 0ull);
        QCOMPARE(dataBytes, 3 * 12288ull);
        QCOMPARE(text + numberAt<std::uint64_t>(file, 64), std::uint64_t(file.size()));
        const std::vector<std::uint32_t> shape = {2, 3, 32, 64, 0, 0, 0, 12288};
        for (std::size_t i = 0; i < shape.size(); ++i)
            QCOMPARE(numberAt<std::uint32_t>(file, 72 + 4 * i), shape[i]);
        QCOMPARE(sha256Hex(std::string_view(file).substr(data, dataBytes)), digest);
        for (std::size_t i = 0; i < 32; ++i)
            QCOMPARE(static_cast<unsigned>(static_cast<unsigned char>(file[104 + i])),
                     static_cast<unsigned>(std::stoul(digest.substr(2 * i, 2), nullptr, 16)));
        QCOMPARE(numberAt<std::uint32_t>(file, 136), 14u);
        QCOMPARE(file.substr(140, 14), std::string(R"({"fit":"crop"})"));
        for (std::size_t i = 0; i < 3; ++i) {
            const std::size_t at = index + 64 * i;
            const auto frames = framesOf(source, static_cast<Index>(i));
            QCOMPARE(numberAt<std::uint64_t>(file, at), 10ull * i + 3);
            QCOMPARE(numberAt<std::uint64_t>(file, at + 8), 12288ull * i);
            QCOMPARE(numberAt<std::uint32_t>(file, at + 16), 2u);
            QCOMPARE(numberAt<std::uint32_t>(file, at + 20), i % 2 ? 1u : 0u);
            QCOMPARE(numberAt<float>(file, at + 24), 2.5f);
            QCOMPARE(numberAt<float>(file, at + 28), 24.f);
            QCOMPARE(numberAt<std::uint32_t>(file, at + 44),
                     crc32c(std::as_bytes(std::span(frames))));
            const auto textAt = text + numberAt<std::uint64_t>(file, at + 32);
            QCOMPARE(file.substr(textAt, numberAt<std::uint32_t>(file, at + 40)),
                     toJson(source.info(static_cast<Index>(i)).text, std::vector{0.25f, 0.25f}));
        }
        QCOMPARE(ShardClips(scratch / "a.fvshard").mapped().size(), std::size_t(3 * 12288));
    }

    /// 813 clips of the first run are 1,278,738,432 bytes of frames; one is 384 pages.
    void aClipOfTheFirstRunFillsItsPages()
    {
        const ShardShape shape{8, 3, 256, 256, ShardType::U8};
        QCOMPARE(8 * shape.frameBytes(), std::size_t(1'572'864));
        QCOMPARE(8 * shape.frameBytes() % 4096, std::size_t(0));
        QCOMPARE(813 * 8 * shape.frameBytes(), std::size_t(1'278'738'432));
    }

    void noClipsAreAShardToo()
    {
        const Scratch scratch;
        ShardWriter(scratch / "none.fvshard", {8, 3, 16, 16, ShardType::U8}).commit("");
        const ShardClips clips(scratch / "none.fvshard");
        QCOMPARE(clips.count(), Index(0));
        QVERIFY(clips.mapped().empty());
        QVERIFY(clips.set().shards().front().verify().empty());
    }

    void textsComeBack()
    {
        ClipText text;
        text.prompt = "What \"is\" this?\n";
        text.answer = "ein grüner Würfel 立方";
        text.source = "made";
        text.chosen = "a";
        text.rejected = "b";
        std::vector<float> times;
        const ClipText back = clipTextFromJson(toJson(text, std::vector{0.5f, 1.25f}), "x", &times);
        QCOMPARE(back.prompt, text.prompt);
        QCOMPARE(back.answer, text.answer);
        QCOMPARE(back.source, text.source);
        QCOMPARE(back.chosen, text.chosen);
        QCOMPARE(back.rejected, text.rejected);
        QVERIFY(times == (std::vector{0.5f, 1.25f}));
        QVERIFY(toJson({}).empty());
        QVERIFY(clipTextFromJson("", "x").answer.empty());
        QCOMPARE(clipTextFromJson(R"({"answer":null,"more":1})", "x").answer, std::string());
        VERGENCE_THROWS(InputError, "`answer` is no text",
                        clipTextFromJson(R"({"answer":1})", "x"));
        VERGENCE_THROWS(InputError, "JSON object", clipTextFromJson("[]", "x"));
        VERGENCE_THROWS(InputError, "x", clipTextFromJson("{", "x"));
    }

    void aSetOfShardsIsOneList()
    {
        const Scratch scratch;
        MadeClips first({2, 2}, 8, 8), second({1, 3, 2}, 8, 8);
        written(first, scratch / "a.fvshard", 2);
        written(second, scratch / "b.fvshard", 0);
        writeShardList(scratch.path(), {"b.fvshard", "a.fvshard"});
        const ShardClips clips(scratch.path());
        QCOMPARE(clips.count(), Index(5));
        for (Index i = 0; i < 3; ++i)
            QVERIFY(framesOf(clips, i) == framesOf(second, i));
        QVERIFY(framesOf(clips, 3) == framesOf(first, 0));
        QVERIFY(framesOf(clips, 4) == framesOf(first, 1));
        QVERIFY(clips.mapped().empty());
        const std::string digest = clips.digest();
        writeShardList(scratch.path(), {"a.fvshard", "b.fvshard"});
        QVERIFY(ShardClips(scratch.path()).digest() != digest);

        MadeClips wide({2}, 8, 12);
        written(wide, scratch / "c.fvshard", 2);
        writeShardList(scratch.path(), {"a.fvshard", "c.fvshard"});
        VERGENCE_THROWS(InputError, "frames of different forms", ShardClips(scratch.path()));
        writeShardList(scratch.path(), {"a.fvshard", "missing.fvshard"});
        VERGENCE_THROWS(InputError, "missing.fvshard", ShardClips(scratch.path()));
        writeFileAtomic(scratch / kShardList, std::string_view("shards = ["));
        VERGENCE_THROWS(InputError, "line 1", ShardClips(scratch.path()));
        writeFileAtomic(scratch / kShardList, std::string_view("shards = []"));
        VERGENCE_THROWS(InputError, "lists no shards", ShardClips(scratch.path()));
    }

    void equalClipsHaveEqualDigests()
    {
        const Scratch scratch;
        MadeClips source({2, 2}, 8, 8);
        written(source, scratch / "a.fvshard", 2);
        written(source, scratch / "b.fvshard", 2);
        QVERIFY(readFile(scratch / "a.fvshard") == readFile(scratch / "b.fvshard"));
        QCOMPARE(ShardClips(scratch / "a.fvshard").digest(),
                 ShardClips(scratch / "b.fvshard").digest());
        ShardWriter writer(scratch / "c.fvshard", {2, 3, 8, 8, ShardType::U8});
        for (Index i = 0; i < 2; ++i) {
            ShardClip clip;
            clip.frames = 2;
            writer.add(clip, test::frameBytes(source, i), R"({"answer":"x"})");
        }
        writer.commit("");
        const ShardClips other(scratch / "c.fvshard"), first(scratch / "a.fvshard");
        QVERIFY(other.digest() != first.digest()); // other texts
        QCOMPARE(framesDigest(other), framesDigest(first));
    }

    void aDraftGoesOnWhereItWas()
    {
        const Scratch scratch;
        MadeClips source({2, 2, 2, 2}, 10, 10);
        const fs::path path = scratch / "a.fvshard";
        const ShardShape shape{2, 3, 10, 10, ShardType::U8};
        const auto add = [&](ShardWriter& writer, Index i) {
            ShardClip clip;
            clip.id = static_cast<std::uint64_t>(i);
            clip.frames = 2;
            clip.seconds = 0.1f * static_cast<float>(i);
            writer.add(clip, test::frameBytes(source, i), R"({"answer":"ä"})",
                       "note " + std::to_string(i));
        };
        {
            ShardWriter whole(scratch / "whole.fvshard", shape);
            for (Index i = 0; i < 4; ++i)
                add(whole, i);
            whole.commit("{}");
        }
        {
            ShardWriter writer(path, shape, "one");
            add(writer, 0);
            writer.addNote("skipped");
            add(writer, 1);
            VERGENCE_THROWS(InputError, "another process", ShardWriter(path, shape, "one"));
        }
        QVERIFY(!fs::exists(path));
        { // the draft ends in the middle of a clip, and in the middle of a line
            fs::resize_file(scratch / "a.fvshard.draft",
                            fs::file_size(scratch / "a.fvshard.draft") - 4000);
            ShardWriter writer(path, shape, "one");
            QCOMPARE(writer.count(), std::size_t(1));
            QVERIFY(writer.notes() == (std::vector<std::string>{"note 0", "skipped"}));
            add(writer, 1);
        }
        {
            std::string lines = readFile(scratch / "a.fvshard.draft.jsonl");
            writeFileAtomic(scratch / "a.fvshard.draft.jsonl", lines + R"({"clip":[5,)");
            ShardWriter writer(path, shape, "one");
            QCOMPARE(writer.count(), std::size_t(2));
            add(writer, 2);
            add(writer, 3);
            QCOMPARE(writer.notes().size(), std::size_t(5));
            writer.commit("{}");
        }
        QVERIFY(readFile(path) == readFile(scratch / "whole.fvshard"));
        QCOMPARE(contentOf(scratch.path()), (std::set<std::string>{"a.fvshard", "whole.fvshard"}));
        {
            ShardWriter writer(path, shape, "one");
            add(writer, 0);
        }
        ShardWriter other(path, shape, "two");
        QCOMPARE(other.count(), std::size_t(0));
    }
};

VERGENCE_TEST(TestFvlmShard)
#include "tst_fvlm_shard.moc"
