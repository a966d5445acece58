#include <filesystem>
#include <random>

#include <QTest>
#include <nlohmann/json.hpp>

#include "core/artifact/tokenizer/byte_alphabet.h"
#include "core/artifact/tokenizer/clip_text.h"
#include "core/artifact/tokenizer/pattern.h"
#include "core/artifact/tokenizer/tokenizer.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/support/golden.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;
using Json = nlohmann::json;

namespace {

/// All bytes, then the pieces of "hello", two specials at ids 0 and 1.
Json smallTokenizer(bool mergesAsPairs)
{
    Json vocabulary;
    int next = 2;
    for (int byte = 0; byte < 256; ++byte)
        vocabulary[spelledByte(static_cast<unsigned char>(byte))] = next++;
    const std::vector<std::pair<std::string, std::string>> rules{
        {"h", "e"}, {"l", "l"}, {"he", "ll"}, {"hell", "o"}};
    Json merges = Json::array();
    for (const auto& [left, right] : rules) {
        vocabulary[left + right] = next++;
        merges.push_back(mergesAsPairs ? Json{left, right} : Json(left + " " + right));
    }
    return {{"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", merges}}},
            {"added_tokens",
             {{{"id", 0}, {"content", "<|endoftext|>"}, {"special", true}},
              {{"id", 1}, {"content", "<|im_start|>"}, {"special", true}, {"rstrip", true}}}},
            {"pre_tokenizer",
             {{"type", "Sequence"},
              {"pretokenizers",
               {{{"type", "Digits"}, {"individual_digits", true}},
                {{"type", "ByteLevel"}, {"add_prefix_space", false}}}}}}};
}

std::unique_ptr<Tokenizer> small(bool mergesAsPairs = true)
{
    return parseTokenizerJson(smallTokenizer(mergesAsPairs).dump(), "small.json");
}

std::vector<std::string> pieces(const Tokenizer& tokenizer, std::string_view text)
{
    std::vector<std::string> result;
    for (const int id : tokenizer.encode(text))
        result.push_back(tokenizer.decodeBytes(std::vector<int>{id}));
    return result;
}

std::string randomUtf8(std::size_t bytes)
{
    std::mt19937 random(7);
    std::string text;
    while (text.size() < bytes) {
        const std::uint32_t code = random() % 0x11000;
        if (code >= 0xD800 && code <= 0xDFFF)
            continue;
        text += QString::fromUcs4(reinterpret_cast<const char32_t*>(&code), 1).toStdString();
    }
    return text;
}

} // namespace

class TestTokenizer : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyByteIsSpelledAndRead()
    {
        QCOMPARE(spelledByte('A'), std::string("A"));
        QCOMPARE(spelledByte(' '), std::string("Ġ"));
        QCOMPARE(spelledByte('\n'), std::string("Ċ"));
        for (int byte = 0; byte < 256; ++byte) {
            const std::string raw(1, static_cast<char>(byte));
            QCOMPARE(unspelled(spelled(raw)).value(), raw);
        }
        QVERIFY(!unspelled("ń+").has_value()); // code point 324, one past the table
        QVERIFY(!unspelled("日").has_value());
    }

    void patternSplitsWithoutGaps()
    {
        const Pattern letters("\\p{L}+");
        std::string rebuilt;
        int matches = 0;
        letters.split("Äpfel, 2 \xFF日本", [&](std::string_view piece, bool isMatch) {
            rebuilt += piece;
            matches += isMatch;
        });
        QCOMPARE(rebuilt, std::string("Äpfel, 2 \xFF日本"));
        QCOMPARE(matches, 2);
        VERGENCE_THROWS(ContractError, "character", Pattern("("));
        QCOMPARE(toLower("ÀÉ straße ÆØ Ω"), std::string("àé straße æø ω"));
    }

    void lowestRankedPairMergesFirst()
    {
        for (const bool asPairs : {true, false}) {
            const auto tokenizer = small(asPairs);
            QCOMPARE(pieces(*tokenizer, "hello hello"),
                     (std::vector<std::string>{"hello", " ", "hello"}));
            QCOMPARE(pieces(*tokenizer, "helo"), (std::vector<std::string>{"he", "l", "o"}));
        }
    }

    void digitsStandAlone()
    {
        QCOMPARE(pieces(*small(), "2025"), (std::vector<std::string>{"2", "0", "2", "5"}));
    }

    void leadingBlankMatters()
    {
        const auto tokenizer = small();
        QVERIFY(tokenizer->encode(" hello") != tokenizer->encode("hello"));
    }

    void specialsAreAtomicAndNotMadeFromLookAlikes()
    {
        const auto tokenizer = small();
        QCOMPARE(tokenizer->encode("<|endoftext|>"), std::vector<int>{0});
        QCOMPARE(tokenizer->encode("<|im_start|>  hello").size(),
                 std::size_t{2}); // swallows blanks
        QVERIFY(tokenizer->encode("<| endoftext |>").size() > 5);
        QCOMPARE(tokenizer->find("<|im_start|>"), 1);
        QCOMPARE(tokenizer->vocabularySize(), 262);
    }

    void textComesBack_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("empty") << QByteArray();
        QTest::newRow("ascii") << QByteArray("The quick  brown\tfox\n\njumps.  ");
        QTest::newRow("accents") << QByteArray("naïve café Ångström");
        QTest::newRow("cjk") << QByteArray("日本語のテキスト");
        QTest::newRow("emoji") << QByteArray("👍🏽 👩‍👩‍👧 🇩🇪");
        QTest::newRow("lone surrogate") << QByteArray("a\xED\xA0\x80z");
        QTest::newRow("cut character") << QByteArray("a\xE6\x97");
        QTest::newRow("null byte") << QByteArray("a\0b", 3);
        QTest::newRow("1 MB") << QByteArray::fromStdString(randomUtf8(1'000'000));
        QTest::newRow("1 MB of one word") << QByteArray(1'000'000, 'l');
    }
    void textComesBack()
    {
        QFETCH(QByteArray, text);
        const auto tokenizer = small();
        QCOMPARE(tokenizer->decodeBytes(tokenizer->encode(text.toStdString())), text.toStdString());
    }

    void invalidBytesAreReplacedOnlyInText()
    {
        const auto tokenizer = small();
        const auto ids = tokenizer->encode("a\xFFz");
        QCOMPARE(tokenizer->decodeBytes(ids), std::string("a\xFFz"));
        QCOMPARE(tokenizer->decode(ids), std::string("a\xEF\xBF\xBDz"));
        QVERIFY_EXCEPTION_THROWN(tokenizer->decode(std::vector<int>{9999}), ContractError);
    }

    void damagedFilesNameTheMember_data()
    {
        QTest::addColumn<QByteArray>("json");
        QTest::addColumn<QByteArray>("expected");
        const auto row = [](const char* name, const std::function<void(Json&)>& damage,
                            const char* expected) {
            Json file = smallTokenizer(true);
            damage(file);
            QTest::newRow(name) << QByteArray::fromStdString(file.dump()) << QByteArray(expected);
        };
        QTest::newRow("no JSON") << QByteArray("{") << QByteArray("not valid JSON");
        row(
            "no model", [](Json& f) { f.erase("model"); }, "\"model\"");
        row(
            "another model", [](Json& f) { f["model"]["type"] = "Unigram"; }, "BPE");
        row(
            "no vocabulary", [](Json& f) { f["model"].erase("vocab"); }, "\"vocab\"");
        row(
            "negative id", [](Json& f) { f["model"]["vocab"]["h"] = -1; }, "\"h\"");
        row(
            "huge id", [](Json& f) { f["model"]["vocab"]["h"] = 1e15; }, "\"h\"");
        row(
            "id twice", [](Json& f) { f["model"]["vocab"]["h"] = 50; }, "belongs to");
        row(
            "missing byte", [](Json& f) { f["model"]["vocab"].erase("Ġ"); }, "byte 32");
        row(
            "merge of unknown",
            [](Json& f) {
                f["model"]["merges"][0] = {"q", "q"};
            },
            "merge 0");
        row(
            "broken merge", [](Json& f) { f["model"]["merges"][1] = "ab"; }, "merge 1");
        row(
            "foreign words",
            [](Json& f) {
                f["pre_tokenizer"] = {{"type", "Metaspace"}};
            },
            "Metaspace");
        row(
            "added without id", [](Json& f) { f["added_tokens"][0].erase("id"); }, "\"id\"");
    }
    void damagedFilesNameTheMember()
    {
        QFETCH(QByteArray, json);
        QFETCH(QByteArray, expected);
        const std::string text = json.toStdString();
        VERGENCE_THROWS(InputError, "broken.json", parseTokenizerJson(text, "broken.json"));
        VERGENCE_THROWS(InputError, expected, parseTokenizerJson(text, "broken.json"));
    }

    void clipTextIsCleaned()
    {
        QCOMPARE(clipText("  A &amp;amp; B\n\tC&#39;s &lt;x&gt; &bogus; &#x41; "),
                 std::string("a & b c's <x> &bogus; a"));
        QCOMPARE(clipText("&#0;&#xD800;&"), std::string("&#0;&#xd800;&"));
    }

    void clipMergesGiveThePublishedIds()
    {
        VERGENCE_GOLDEN_FOLDER(folder, "clip_tokenizer");
        const auto tokenizer = readClipMerges(folder / "bpe_simple_vocab_16e6.txt.gz");
        const Json cases = Json::parse(readFile(folder / "cases.json"));
        QCOMPARE(tokenizer->vocabularySize(), cases["vocab_size"].get<int>());
        QCOMPARE(tokenizer->find("<|startoftext|>"), cases["start"].get<int>());
        QVERIFY(cases["cases"].size() > 10);
        for (const Json& entry : cases["cases"]) {
            const std::string text = entry["text"];
            const auto expected = entry["ids"].get<std::vector<int>>();
            QVERIFY2(tokenizer->encode(text) == expected, text.c_str());
            const auto context = clipContext(*tokenizer, text);
            QCOMPARE(context.size(), std::size_t{77});
            const std::size_t end = std::min<std::size_t>(expected.size() + 1, 76);
            QCOMPARE(context[0], 49406);
            QCOMPARE(context[end], 49407);
        }
        QCOMPARE(tokenizer->decode(tokenizer->encode("A Photo")), std::string("a photo "));
    }

    void brokenMergeListsAreRefused()
    {
        const Scratch folder;
        writeFileAtomic(folder / "short.txt", std::string_view("#version\na b\n"));
        writeFileAtomic(folder / "bad.txt", std::string_view("#version\nab\n"));
        VERGENCE_THROWS(InputError, "cut short", readClipMerges(folder / "short.txt"));
        VERGENCE_THROWS(InputError, "line 2", readClipMerges(folder / "bad.txt"));
        VERGENCE_THROWS(InputError, "none.txt", readClipMerges(folder / "none.txt"));
    }
};

VERGENCE_TEST(TestTokenizer)
#include "tst_tokenizer.moc"
