#include <algorithm>
#include <functional>

#include <QTest>
#include <nlohmann/json.hpp>

#include "core/artifact/tokenizer/byte_alphabet.h"
#include "core/artifact/tokenizer/tokenizer.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;
using Json = nlohmann::json;

namespace {

using Merges = std::vector<std::pair<std::string, std::string>>;

const Merges kMerges{{"▁", "a"},  {"t", "h"},   {"th", "e"},    {"▁", "the"},  {"c", "a"},
                     {"ca", "t"}, {"▁", "cat"}, {"▁a", "▁cat"}, {"o", "f"},    {"▁", "of"},
                     {"t", "o"},  {"h", "o"},   {"p", "ho"},    {"pho", "to"}, {"▁", "photo"},
                     {"s", "s"},  {"▁", "▁"}};

/// Gemma in miniature: specials 0 … 3, bytes 4 … 259, "▁" 260, letters 261 … 286, digits 287 … 296,
/// "é" 297, results of the merges 298 … 314, one added word 315.
Json gemma(bool lowers, bool mergesAsPairs = true)
{
    Json vocabulary{{"<pad>", 0}, {"<eos>", 1}, {"<bos>", 2}, {"<unk>", 3}}, merges = Json::array();
    int next = 4;
    for (int byte = 0; byte < 256; ++byte)
        vocabulary[namedByte(byte)] = next++;
    vocabulary["▁"] = next++;
    for (const char c : std::string("abcdefghijklmnopqrstuvwxyz0123456789"))
        vocabulary[std::string(1, c)] = next++;
    vocabulary["é"] = next++;
    for (const auto& [left, right] : kMerges) {
        vocabulary[left + right] = next++;
        merges.push_back(mergesAsPairs ? Json{left, right} : Json(left + " " + right));
    }
    Json added = Json::array();
    for (const char* special : {"<pad>", "<eos>", "<bos>", "<unk>"})
        added.push_back({{"id", vocabulary[special]}, {"content", special}, {"normalized", false}});
    added.push_back({{"id", next}, {"content", "big cat"}, {"normalized", true}});
    const Json replace{{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}};
    const Json sequence{{"type", "Sequence"},
                        {"normalizers", Json::array({{{"type", "Lowercase"}}, replace})}};
    return {
        {"added_tokens", added},
        {"normalizer", lowers ? sequence : replace},
        {"pre_tokenizer",
         {{"type", "Split"}, {"pattern", {{"String", " "}}}, {"behavior", "MergedWithPrevious"}}},
        {"model",
         {{"type", "BPE"},
          {"unk_token", "<unk>"},
          {"byte_fallback", true},
          {"ignore_merges", false},
          {"vocab", vocabulary},
          {"merges", merges}}}};
}

std::unique_ptr<Tokenizer> smallSiglip(bool lowers = false)
{
    return parseTokenizerJson(gemma(lowers).dump(), "gemma.json");
}

/// CLIP in miniature: bytes, the same at ends of words, merges, specials.
struct SmallClip {
    Json vocabulary;
    Merges merges{{"c", "a"}, {"ca", "t</w>"}, {"p", "h"}, {"ph", "o"}};

    SmallClip()
    {
        int next = 0;
        for (const char* end : {"", "</w>"}) {
            for (int byte = 0; byte < 256; ++byte)
                vocabulary[spelledByte(static_cast<unsigned char>(byte)) + end] = next++;
        }
        for (const auto& [left, right] : merges)
            vocabulary[left + right] = next++;
        vocabulary["<|startoftext|>"] = next++;
        vocabulary["<|endoftext|>"] = next++;
    }
    void write(const std::filesystem::path& folder) const
    {
        std::string list = "#version: 0.2\n";
        for (const auto& [left, right] : merges)
            list.append(left).append(" ").append(right).append("\n");
        writeFileAtomic(folder / "vocab.json", vocabulary.dump());
        writeFileAtomic(folder / "merges.txt", list);
    }
};

} // namespace

class TestSiglipTokenizer : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void knownTextsHaveKnownIds_data()
    {
        // Worked by hand from the list of merges; equal to the public library `tokenizers` 0.23 on
        // the same file.
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QList<int>>("ids");
        QTest::addColumn<QList<int>>("lowered");
        const auto row = [](const char* text, const QList<int>& ids, QList<int> lowered = {}) {
            QTest::newRow(*text ? text : "empty")
                << QByteArray(text) << ids << (lowered.isEmpty() ? ids : lowered);
        };
        row("a photo of a cat", {261, 312, 307, 305}); // a ▁photo ▁of ▁a▁cat: across a blank
        row("cat", {303});                             // no "▁" is put in front
        row("the café", {300, 260, 302, 266, 297});
        row("naïve", {274, 261, 199, 179, 282, 265}); // ï has no piece: its two bytes
        row("2 cats", {289, 304, 279});
        row(" a", {298});
        row("a  cat", {261, 260, 304}); // (▁, cat) comes before (▁, ▁)
        row("<eos>a", {1, 261});
        row("x\ny", {284, 14, 285});
        row("日", {234, 155, 169});
        row("", {});
        row("A Cat", {69, 260, 71, 261, 280}, {261, 304});
        row("sssss", {313, 313, 279}); // leftmost first
        row("a big cat", {261, 260, 315});
        row("big catthe", {315, 300});
    }
    void knownTextsHaveKnownIds()
    {
        QFETCH(QByteArray, text);
        QFETCH(QList<int>, ids);
        QFETCH(QList<int>, lowered);
        const auto encoded = [&](bool lowers) {
            const auto got = smallSiglip(lowers)->encode(text.toStdString());
            return QList<int>(got.begin(), got.end());
        };
        QCOMPARE(encoded(false), ids);
        QCOMPARE(encoded(true), lowered);
        QCOMPARE(smallSiglip()->decodeBytes(smallSiglip()->encode(text.toStdString())),
                 text.toStdString());
    }

    void mergesAsTextGiveTheSame()
    {
        const auto pairs = smallSiglip();
        const auto lines = parseTokenizerJson(gemma(false, false).dump(), "gemma.json");
        QCOMPARE(lines->encode("a photo of the cat"), pairs->encode("a photo of the cat"));
    }

    void brokenTextIsItsBytes()
    {
        const std::string text("a\xFF\xC3z\x80", 5);
        QCOMPARE(smallSiglip()->encode(text), (std::vector<int>{261, 259, 199, 286, 132}));
        QCOMPARE(smallSiglip()->decodeBytes(smallSiglip()->encode(text)), text);
        const std::string nulls("a\0b", 3);
        QCOMPARE(smallSiglip()->encode(nulls), (std::vector<int>{261, 4, 262}));
    }

    void textIsCleaned()
    {
        const auto canonical = [](const char* text) {
            return siglipText(text, SiglipCleaning::Canonicalize);
        };
        QCOMPARE(canonical("  A_photo, of\ta \"Cat\"!  "), std::string("a photo of a cat"));
        QCOMPARE(canonical("Jack-o'-lantern (2nd)"), std::string("jackolantern 2nd"));
        QCOMPARE(canonical("CAFÉ № 5"), std::string("café № 5")); // only ASCII punctuation goes
        QCOMPARE(canonical("__"), std::string());
        QCOMPARE(siglipText(" A_photo, of\ta ", SiglipCleaning::Lower),
                 std::string(" a_photo, of\ta "));
    }

    void contextIsPaddedToItsLengthWithTheEndBefore()
    {
        const auto tokenizer = smallSiglip();
        const auto ids = siglipContext(*tokenizer, "cat");
        QCOMPARE(ids.size(), std::size_t{64});
        QCOMPARE(ids[0], 303); // no start id
        QCOMPARE(ids[1], 1);
        QVERIFY(std::all_of(ids.begin() + 2, ids.end(), [](int id) { return id == 0; }));
        const auto empty = siglipContext(*tokenizer, "");
        QCOMPARE(empty[0], 1);
        QCOMPARE(empty.size(), std::size_t{64});
        const auto cut = siglipContext(*tokenizer, std::string(100, 'z'));
        QCOMPARE(cut.size(), std::size_t{64});
        QCOMPARE(cut[62], 286);
        QCOMPARE(cut[63], 1);
        const auto exact = siglipContext(*tokenizer, std::string(63, 'z'));
        QCOMPARE(exact, cut);
    }

    void vocabulariesWithoutAnEndAreRefused()
    {
        SmallClip clip;
        const Scratch folder;
        clip.write(folder.path());
        const auto tokenizer = readTokenizerFolder(folder.path());
        VERGENCE_THROWS(InputError, "<eos>", siglipContext(*tokenizer, "cat"));
    }

    void otherFilesAreRefusedWithTheirMember_data()
    {
        QTest::addColumn<QByteArray>("json");
        QTest::addColumn<QByteArray>("expected");
        const auto row = [](const char* name, const std::function<void(Json&)>& change,
                            const char* expected) {
            Json file = gemma(false);
            change(file);
            QTest::newRow(name) << QByteArray::fromStdString(file.dump()) << QByteArray(expected);
        };
        row(
            "missing byte", [](Json& f) { f["model"]["vocab"].erase("<0x0A>"); }, "byte 10");
        row(
            "other normalizer",
            [](Json& f) {
                f["normalizer"] = {{"type", "NFKC"}};
            },
            "NFKC");
        row(
            "nothing replaced", [](Json& f) { f["normalizer"]["pattern"]["String"] = ""; },
            "replaces nothing");
        row(
            "pattern",
            [](Json& f) {
                f["normalizer"]["pattern"] = {{"Regex", " +"}};
            },
            "\"String\"");
        row(
            "splits at words",
            [](Json& f) {
                f["pre_tokenizer"] = {{"type", "Whitespace"}};
            },
            "pre-tokenizer");
        row(
            "blanks stay", [](Json& f) { f["normalizer"] = nullptr; }, "pre-tokenizer");
        row(
            "whole words", [](Json& f) { f["model"]["ignore_merges"] = true; }, "ignore_merges");
        row(
            "unknown merge",
            [](Json& f) {
                f["model"]["merges"][2] = {"q", "qq"};
            },
            "merge 2");
    }
    void otherFilesAreRefusedWithTheirMember()
    {
        QFETCH(QByteArray, json);
        QFETCH(QByteArray, expected);
        VERGENCE_THROWS(InputError, expected,
                        parseTokenizerJson(json.toStdString(), "broken.json"));
    }

    void vocabularyAndMergesAreReadAsTheOneFileIs()
    {
        SmallClip clip;
        const Scratch folder;
        clip.write(folder.path());
        const auto pair = readTokenizerFolder(folder.path());
        QCOMPARE(tokenizerFiles(folder.path()).size(), std::size_t{2});
        Json merges = Json::array();
        for (const auto& [left, right] : clip.merges)
            merges.push_back({left, right});
        const Json whole{
            {"model",
             {{"type", "BPE"},
              {"end_of_word_suffix", "</w>"},
              {"vocab", clip.vocabulary},
              {"merges", merges}}},
            {"added_tokens",
             {{{"id", clip.vocabulary["<|startoftext|>"]}, {"content", "<|startoftext|>"}},
              {{"id", clip.vocabulary["<|endoftext|>"]}, {"content", "<|endoftext|>"}}}}};
        const auto single = parseTokenizerJson(whole.dump(), "whole.json");
        for (const char* text : {"a cat", "CATS & phones", "", "don't 42 naïve", "<|endoftext|>"})
            QCOMPARE(pair->encode(text), single->encode(text));
        QCOMPARE(pair->encode("cat").size(), std::size_t{1});
        QCOMPARE(clipContext(*pair, "cat", 5),
                 (std::vector<int>{516, pair->find("cat</w>"), 517, 0, 0}));
        // tokenizer.json is preferred
        writeFileAtomic(folder / "tokenizer.json", gemma(false).dump());
        QCOMPARE(readTokenizerFolder(folder.path())->find("<eos>"), 1);
    }

    void foldersWithoutAReadableTokenizerSayWhatIsNeeded()
    {
        const Scratch folder;
        VERGENCE_THROWS(InputError, "tokenizer.json", readTokenizerFolder(folder.path()));
        writeFileAtomic(folder / "tokenizer.model", std::string_view("\n\x05<unk>"));
        VERGENCE_THROWS(InputError, "SentencePiece", readTokenizerFolder(folder.path()));
        QVERIFY(tokenizerFiles(folder.path()).empty());
        writeFileAtomic(folder / "vocab.json", std::string_view("[]"));
        writeFileAtomic(folder / "merges.txt", std::string_view("#\na b\n"));
        VERGENCE_THROWS(InputError, "not a JSON object", readTokenizerFolder(folder.path()));
        SmallClip().write(folder.path());
        writeFileAtomic(folder / "merges.txt", std::string_view("#\nab\n"));
        VERGENCE_THROWS(InputError, "line 2", readTokenizerFolder(folder.path()));
    }
};

VERGENCE_TEST(TestSiglipTokenizer)
#include "tst_siglip_tokenizer.moc"
