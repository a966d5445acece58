#include <cstring>
#include <fstream>
#include <numeric>

#include <QTest>

#include "core/base/error.h"
#include "core/base/file.h"
#include "plugins/foveated_vlm/shards/shard_clips.h"
#include "tests/plugins/foveated_vlm/made_clips.h"
#include "tests/support/full_disk.h"
#include "tests/support/scratch.h"
#include "tests/support/thrown.h"

namespace fs = std::filesystem;
using namespace vergence;
using namespace vergence::fvlm;
using vergence::test::contentOf;
using vergence::test::MadeClips;
using vergence::test::Scratch;

namespace {

/// A shard of three clips, [2, 3, 32, 64] each.
std::string goodShard(const fs::path& path)
{
    MadeClips source({2, 2, 2}, 32, 64);
    ShardWriter writer(path, {2, 3, 32, 64, ShardType::U8});
    for (Index i = 0; i < 3; ++i) {
        ShardClip clip;
        clip.frames = 2;
        writer.add(clip, test::frameBytes(source, i), R"({"answer":"x"})");
    }
    writer.commit("{}");
    return readFile(path);
}

template <class T>
std::string with(std::string bytes, std::size_t offset, T value)
{
    std::memcpy(bytes.data() + offset, &value, sizeof(T));
    return bytes;
}

std::uint64_t indexOf(const std::string& bytes)
{
    std::uint64_t offset;
    std::memcpy(&offset, bytes.data() + 24, sizeof(offset));
    return offset;
}

} // namespace

class TestFvlmShardDamage : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyDamageHasASentence_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("message");
        const Scratch scratch;
        const std::string good = goodShard(scratch / "good");
        const auto row = [](const char* name, const std::string& bytes, const char* message) {
            QTest::newRow(name) << QByteArray::fromStdString(bytes) << QString(message);
        };
        const std::uint64_t huge = ~std::uint64_t{0} - 63;
        const std::size_t index = indexOf(good);
        row("nothing", "", "does not begin with FVSHARD1");
        row("foreign", "PK\3\4 something else altogether", "does not begin with FVSHARD1");
        row("magic alone", good.substr(0, 8), "is truncated: it has 8 bytes");
        row("half a header", good.substr(0, 300), "its header should end at byte 16384");
        row("no index", good.substr(0, index), "is truncated: its index");
        row("half of the data", good.substr(0, 20000), "is truncated: its data");
        row("no last byte", good.substr(0, good.size() - 1), "is truncated: its text");
        row("version", with(good, 8, 2u), "is of version 2; this program reads version 1");
        row("header size", with(good, 12, 4095u), "damaged header of 4095 bytes");
        row("facts", with(good, 136, 0xffffffffu), "damaged header");
        row("clips", with(good, 16, std::uint64_t{4}), "index of 192 bytes for 4 clips");
        row("very many clips", with(good, 16, huge), "an index of 192 bytes");
        row("data size", with(good, 48, huge), "is truncated: its data");
        row("data offset", with(good, 40, huge / 4096 * 4096), "is truncated: its data");
        row("data within the header", with(good, 40, std::uint64_t{4096}), "at places where none");
        row("text offset", with(good, 56, huge), "is truncated: its text");
        row("index offset", with(good, 24, huge), "is truncated: its index");
        row("index between numbers", with(good, 24, std::uint64_t{index - 1}),
            "at places where none");
        row("no height", with(good, 80, 0u), "which cannot be");
        row("very wide", with(good, 84, 0x80000000u), "which cannot be");
        row("very long", with(good, 72, 0x80000000u), "which cannot be");
        row("more frames", with(good, 72, 4u), "has 3 clips at every 12288 bytes");
        row("element type", with(good, 88, 9u), "elements of the unknown type 9");
        row("layout", with(good, 92, 1u), "unknown layout 1");
        row("colours", with(good, 96, 1u), "unknown colours 1");
        row("stride", with(good, 100, 1u << 20), "has 3 clips at every 1048576 bytes");
        row("frames of a clip", with(good, index + 64 + 16, 3u), "has 3 frames in clip 1");
        row("offset of a clip", with(good, index + 8, std::uint64_t{4096}), "has clip 0 outside");
        row("end of a clip", with(good, index + 128 + 8, huge / 4096 * 4096), "has clip 2 outside");
        row("text of a clip", with(good, index + 32, huge), "has the text of clip 0 outside");
        row("length of a text", with(good, index + 40, 0xffffffffu),
            "has the text of clip 0 outside");
        row("latents", with(with(good, 88, 1u), 84, 32u), "holds no frames of RGB bytes");
        row("four channels", with(with(good, 76, 4u), 84, 48u), "holds no frames of RGB bytes");
    }
    void everyDamageHasASentence()
    {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, message);
        const Scratch scratch;
        writeFileAtomic(scratch / "bad.fvshard", bytes.toStdString());
        const QString said = test::thrown<InputError>([&] { ShardClips(scratch / "bad.fvshard"); });
        QVERIFY2(said.contains(message), qPrintable(said));
        QVERIFY2(said.contains("bad.fvshard"), qPrintable(said));
    }

    /// Every byte of header and index with several values: an InputError, or clips that can be
    /// read.
    void anyByteMayBeWrong()
    {
        const Scratch scratch;
        const fs::path path = scratch / "a.fvshard";
        const std::string good = goodShard(path);
        std::vector<std::size_t> places(160);
        std::iota(places.begin(), places.end(), std::size_t{0});
        for (std::size_t i = 0; i < 3 * 64; ++i)
            places.push_back(indexOf(good) + i);
        int refused = 0, read = 0;
        std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
        const auto put = [&](std::size_t place, char byte) {
            file.seekp(static_cast<std::streamoff>(place));
            file.put(byte);
            file.flush();
        };
        for (const std::size_t place : places) {
            for (const int flip : {1, 0x7f, 0x80, 0xff}) {
                put(place, static_cast<char>(good[place] ^ flip));
                try {
                    const ShardClips clips(path);
                    for (Index clip = 0; clip < clips.count(); ++clip) {
                        clips.info(clip);
                        framesOf(clips, clip);
                    }
                    ++read; // what is not looked at: ids, seconds, the digest
                } catch (const InputError&) {
                    ++refused;
                }
            }
            put(place, good[place]);
        }
        QVERIFY(file.good());
        QVERIFY(refused > 600);
        QCOMPARE(refused + read, static_cast<int>(4 * places.size()));
    }

    void aMissingFileIsNamed()
    {
        VERGENCE_THROWS(InputError, "/nowhere/a.fvshard", ShardClips("/nowhere/a.fvshard"));
    }

    /// Bytes changed in place leave all sizes right.
    void changedFramesAreFoundWhenTheyAreRead()
    {
        const Scratch scratch;
        std::string bytes = goodShard(scratch / "a.fvshard");
        bytes[16384 + 12288 + 77] ^= 1; // of clip 1
        writeFileAtomic(scratch / "a.fvshard", bytes);
        const ShardClips clips(scratch / "a.fvshard");
        framesOf(clips, 0);
        VERGENCE_THROWS(InputError, "clip 1 has another check sum", framesOf(clips, 1));
        VERGENCE_THROWS(InputError, "clip 1 has another check sum", framesOf(clips, 1));
        framesOf(clips, 2);
        const auto said = clips.set().shards().front().verify();
        QCOMPARE(said.size(), std::size_t(2));
        QVERIFY(said[0].find("another digest") != std::string::npos);
        QVERIFY(said[1].find("Clip 1") != std::string::npos);
    }

    void aWrongDigestIsFound()
    {
        const Scratch scratch;
        std::string bytes = goodShard(scratch / "a.fvshard");
        bytes[104] ^= 1;
        writeFileAtomic(scratch / "a.fvshard", bytes);
        const auto said = Shard(scratch / "a.fvshard").verify();
        QCOMPARE(said.size(), std::size_t(1));
        QVERIFY(said[0].find("another digest") != std::string::npos);
    }

    void aDamagedTextNamesItsClip()
    {
        const Scratch scratch;
        std::string bytes = goodShard(scratch / "a.fvshard");
        const std::size_t at = bytes.rfind(R"({"answer")");
        bytes[at] = '[';
        writeFileAtomic(scratch / "a.fvshard", bytes);
        const ShardClips clips(scratch / "a.fvshard");
        QCOMPARE(clips.info(0).text.answer, std::string("x"));
        VERGENCE_THROWS(InputError, "clip 2", clips.info(2));
    }

    void whatIsNotCommittedDoesNotAppear()
    {
        const Scratch scratch;
        {
            ShardWriter writer(scratch / "a.fvshard", {1, 3, 8, 8, ShardType::U8});
            std::vector<std::byte> frames(192);
            writer.add({0, 1, 0, 0, 0, 0, 0, 0, 0}, frames);
            VERGENCE_THROWS(ContractError, "as many bytes",
                            writer.add({0, 1, 0, 0, 0, 0, 0, 0, 0}, std::span(frames).first(191)));
            VERGENCE_THROWS(ContractError, "as many frames",
                            writer.add({0, 2, 0, 0, 0, 0, 0, 0, 0}, frames));
        }
        QVERIFY(contentOf(scratch.path()).empty());
        VERGENCE_THROWS(OutputError, "/nowhere", ShardWriter("/nowhere/a", {1, 3, 8, 8, {}}));
        VERGENCE_THROWS(ContractError, "pixels", ShardWriter(scratch / "b", {1, 3, 0, 8, {}}));
    }

    void aFullDiskLosesNothingThatWasWritten()
    {
        const Scratch scratch;
        const ShardShape shape{1, 3, 8, 8, ShardType::U8};
        const std::vector<std::byte> frames(192, std::byte{7});
        {
            ShardWriter writer(scratch / "a.fvshard", shape, "f");
            writer.add({0, 1, 0, 0, 0, 0, 0, 0, 0}, frames, "{}", "first");
            const testing::FullDisk full(scratch.path());
            VERGENCE_THROWS(OutputError, "Free some space",
                            writer.add({1, 1, 0, 0, 0, 0, 0, 0, 0}, frames, "{}", "second"));
            QCOMPARE(writer.count(), std::size_t(1));
        }
        ShardWriter writer(scratch / "a.fvshard", shape, "f");
        QVERIFY(writer.notes() == std::vector<std::string>{"first"});
        writer.commit("");
        QVERIFY(Shard(scratch / "a.fvshard").verify().empty());
    }
};

QTEST_APPLESS_MAIN(TestFvlmShardDamage)
#include "tst_fvlm_shard_damage.moc"
