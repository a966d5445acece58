#include <algorithm>
#include <limits>

#include <QTest>

#include "core/artifact/json_text.h"
#include "core/artifact/tokenizer/tokenizer.h"
#include "core/base/error.h"
#include "plugins/foveated_vlm/text/bpe_trainer.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::fvlm;

namespace {

const std::vector<std::string> kTexts{"red disc moving up", "red cross moving left",
                                      "blue disc moving up left", "red square staying still"};

std::unique_ptr<Tokenizer> trained(int vocabulary = 512)
{
    return parseTokenizerJson(trainedTokenizerJson(kTexts, {vocabulary}), "trained.json");
}

std::vector<std::string> pieces(const Tokenizer& tokenizer, std::string_view text)
{
    std::vector<std::string> result;
    for (const int id : tokenizer.encode(text))
        result.push_back(tokenizer.decodeBytes(std::vector<int>{id}));
    return result;
}

} // namespace

class TestTokenizerTraining : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void sameTextsGiveTheSameBytes()
    {
        QCOMPARE(trainedTokenizerJson(kTexts), trainedTokenizerJson(kTexts));
        QVERIFY(trainedTokenizerJson(kTexts) !=
                trainedTokenizerJson(std::vector<std::string>{"other words entirely"}));
    }

    void vocabularyIsFilled()
    {
        const auto tokenizer = trained();
        QCOMPARE(tokenizer->vocabularySize(), 512);
        QCOMPARE(tokenizer->find("<|endoftext|>"), 0);
        QCOMPARE(tokenizer->find("<|im_start|>"), 1);
        QCOMPARE(tokenizer->find("<|im_end|>"), 2);
        QVERIFY(tokenizer->find("<|reserved_0|>") > 258);
    }

    void wordsOfTheTextsBecomeSinglePieces()
    {
        const std::vector<std::string> expected{"red", " disc", " moving", " up", " left"};
        QCOMPARE(pieces(*trained(), "red disc moving up left"), expected);
    }

    /// " moving" occurs three times, so its pairs are merged before those of " staying"; with a
    /// smaller vocabulary the rare word stays in parts.
    void frequentPairsAreMergedFirst()
    {
        const auto tokenizer = trained(3 + 256 + 6);
        QCOMPARE(tokenizer->vocabularySize(), 265);
        const auto merges =
            parseJson(trainedTokenizerJson(kTexts, {265}), "trained.json")["model"]["merges"];
        QCOMPARE(merges.size(), std::size_t{6});
        // "in" of "moving" ×3 and "staying": no other pair occurs four times.
        QCOMPARE(merges[0].dump(), std::string(R"(["i","n"])"));
        QVERIFY(pieces(*tokenizer, " staying").size() > pieces(*tokenizer, " moving").size());
    }

    void anyTextComesBack_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("ascii") << QByteArray("The 3 red discs, moving: 2025!");
        QTest::newRow("accents") << QByteArray("dépêche à l'œuvre");
        QTest::newRow("cjk") << QByteArray("赤い円が上に動く");
        QTest::newRow("emoji") << QByteArray("👩‍👩‍👧 🇸🇪");
        QTest::newRow("not UTF-8") << QByteArray("\xff\xfe\x80 red");
        QTest::newRow("blanks") << QByteArray("  red \n\n  disc  ");
        QTest::newRow("empty") << QByteArray();
    }
    void anyTextComesBack()
    {
        QFETCH(QByteArray, text);
        const auto tokenizer = trained();
        QCOMPARE(tokenizer->decodeBytes(tokenizer->encode(text.toStdString())), text.toStdString());
    }

    void digitsStayAlone() { QCOMPARE(pieces(*trained(), "2025").size(), std::size_t{4}); }

    void specialsAreNotMadeOfWords()
    {
        const auto tokenizer = trained();
        QCOMPARE(tokenizer->encode("<|im_end|>"), std::vector<int>{2});
        const std::vector<int> ids = tokenizer->encode("<| im_end |>");
        QVERIFY(std::find(ids.begin(), ids.end(), 2) == ids.end());
    }

    void nothingToLearnStillGivesATokenizer()
    {
        const auto tokenizer = parseTokenizerJson(trainedTokenizerJson({}), "empty.json");
        QCOMPARE(tokenizer->vocabularySize(), 512);
        QCOMPARE(tokenizer->decodeBytes(tokenizer->encode("red")), std::string("red"));
    }

    void aStopIsHeardAtEachTextAndMerge()
    {
        int asked = 0;
        const auto askedUntil = [&](int last) {
            asked = 0;
            return trainedTokenizerJson(kTexts, {}, [&, last] { return ++asked >= last; });
        };
        QCOMPARE(askedUntil(std::numeric_limits<int>::max()), trainedTokenizerJson(kTexts));
        const int all = asked;
        QVERIFY(all > static_cast<int>(kTexts.size()) + 20); // of texts, then of merges
        for (int last = 1; last <= all; ++last)
            QVERIFY(askedUntil(last).empty());
    }

    void vocabulariesTooSmallAreRefused()
    {
        VERGENCE_THROWS(ContractError, "258 ids", trainedTokenizerJson(kTexts, {258}));
        VERGENCE_THROWS(ContractError, "twice",
                        trainedTokenizerJson(kTexts, {512, {"<|a|>", "<|a|>"}}));
    }
};

VERGENCE_TEST(TestTokenizerTraining)
#include "tst_fvlm_tokenizer_training.moc"
