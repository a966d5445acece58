#include <algorithm>

#include <QTest>

#include "core/base/error.h"
#include "tests/plugins/foveated_vlm/text_support.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::fvlm;
using namespace vergence::fvlm::fixtures;

namespace {

const ClipText kText{"what is the square doing?", "red square moving up", "drawn", {}, {}};

const Tokenizer& tokenizer()
{
    static const auto made = tokenizerOf({kText.prompt, kText.answer, "system user assistant"});
    return *made;
}

std::vector<int> joined(const TextTokens& tokens)
{
    std::vector<int> all = tokens.before;
    all.insert(all.end(), tokens.after.begin(), tokens.after.end());
    return all;
}

TextSettings settingsOf(TemplateKind kind, TextMask mask = TextMask::Answer)
{
    TextSettings settings;
    settings.kind = kind;
    settings.mask = mask;
    return settings;
}

int sum(const std::vector<std::uint8_t>& mask)
{
    return static_cast<int>(std::count(mask.begin(), mask.end(), 1));
}

} // namespace

class TestTemplate : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void conversationIsWrittenAsPublished()
    {
        const ChatTemplate chat(tokenizer(), settingsOf(TemplateKind::ChatMl, TextMask::All));
        const TextTokens tokens = chat.sample(kText);
        QCOMPARE(tokenizer().decode(joined(tokens)),
                 std::string("<|im_start|>system\nYou describe what you see.<|im_end|>\n"
                             "<|im_start|>user\nwhat is the square doing?<|im_end|>\n"
                             "<|im_start|>assistant\nred square moving up<|im_end|>\n"));
        QCOMPARE(joined(tokens), tokenizer().encode(tokenizer().decode(joined(tokens))));
        QCOMPARE(sum(tokens.beforeMask), static_cast<int>(tokens.before.size()));
        QCOMPARE(sum(tokens.afterMask), static_cast<int>(tokens.after.size()));
    }

    void answerMaskStartsAfterThePrefixAndHoldsTheEnd()
    {
        const ChatTemplate chat(tokenizer(), settingsOf(TemplateKind::ChatMl));
        const TextTokens tokens = chat.sample(kText);
        QVERIFY(tokenizer().decode(tokens.before).ends_with("<|im_start|>assistant\n"));
        QCOMPARE(tokenizer().decode(tokens.after), std::string("red square moving up<|im_end|>"));
        QCOMPARE(sum(tokens.beforeMask), 0);
        QCOMPARE(sum(tokens.afterMask), static_cast<int>(tokens.after.size()));
        QCOMPARE(tokens.after.back(), chat.endOfTurn());
        QCOMPARE(chat.question(kText).before, tokens.before);
        QVERIFY(chat.question(kText).after.empty());
    }

    void shortTemplateFitsTheDemo()
    {
        const ChatTemplate chat(tokenizer(), settingsOf(TemplateKind::Short));
        const TextTokens tokens = chat.sample(kText);
        QCOMPARE(tokenizer().decode(joined(tokens)),
                 std::string("what is the square doing?<|im_start|>red square moving "
                             "up<|im_end|>"));
        QVERIFY(tokens.size() <= 24);
    }

    void sourcesHaveTheirOwnWords()
    {
        TextSettings settings = settingsOf(TemplateKind::ChatMl);
        settings.sources["drawn"] = {"Be short.", "Which?"};
        const ChatTemplate chat(tokenizer(), settings);
        QVERIFY(tokenizer().decode(chat.sample(kText).before).find("Be short.") !=
                std::string::npos);
        ClipText silent = kText;
        silent.prompt.clear();
        QVERIFY(tokenizer().decode(chat.sample(silent).before).find("Which?") != std::string::npos);
        silent.source.clear();
        QVERIFY(tokenizer().decode(chat.sample(silent).before).find(settings.prompt) !=
                std::string::npos);
    }

    void longAnswersAreCutAndKeepTheirEnd_data()
    {
        QTest::addColumn<int>("kind");
        QTest::addColumn<int>("mask");
        for (const TemplateKind kind : {TemplateKind::ChatMl, TemplateKind::Short}) {
            for (const TextMask mask : {TextMask::All, TextMask::Answer})
                QTest::addRow("%d %d", static_cast<int>(kind), static_cast<int>(mask))
                    << static_cast<int>(kind) << static_cast<int>(mask);
        }
    }
    void longAnswersAreCutAndKeepTheirEnd()
    {
        QFETCH(int, kind);
        QFETCH(int, mask);
        TextSettings settings =
            settingsOf(static_cast<TemplateKind>(kind), static_cast<TextMask>(mask));
        const TextTokens whole = ChatTemplate(tokenizer(), settings).sample(kText);
        QCOMPARE(whole.dropped, 0);
        for (int over = 1; over < 8; ++over) {
            settings.limit = whole.size() - over;
            const ChatTemplate chat(tokenizer(), settings);
            const TextTokens tokens = chat.sample(kText);
            QCOMPARE(tokens.size(), settings.limit);
            QCOMPARE(tokens.dropped, over);
            QCOMPARE(tokens.afterMask.size(), tokens.after.size());
            const auto end = std::find(tokens.after.begin(), tokens.after.end(), chat.endOfTurn());
            QVERIFY(end != tokens.after.end());
            const auto answer = static_cast<int>(end - tokens.after.begin());
            QVERIFY(std::equal(tokens.after.begin(), end, whole.after.begin()));
            // Four words, then the prompt gives way from its end.
            QCOMPARE(answer, std::max(0, 4 - over));
            QCOMPARE(whole.before.size() - tokens.before.size(),
                     static_cast<std::size_t>(std::max(0, over - 4)));
        }
    }

    void emptyAnswersCountNothing()
    {
        const ChatTemplate chat(tokenizer(), settingsOf(TemplateKind::Short, TextMask::All));
        const TextTokens tokens = chat.sample(kText, {});
        QCOMPARE(sum(tokens.beforeMask) + sum(tokens.afterMask), 0);
    }

    void otherAnswersShareTheQuestion()
    {
        const ChatTemplate chat(tokenizer(), settingsOf(TemplateKind::ChatMl));
        QCOMPARE(chat.sample(kText, "up").before, chat.sample(kText).before);
        QVERIFY(chat.sample(kText, "up").after != chat.sample(kText).after);
    }

    void badSettingsAreRefused()
    {
        TextSettings settings = settingsOf(TemplateKind::ChatMl);
        settings.limit = 5;
        VERGENCE_THROWS(ContractError, "a limit of 5 tokens", ChatTemplate(tokenizer(), settings));
        const auto plain = parseTokenizerJson(
            trainedTokenizerJson({}, {512, {"<|endoftext|>", "<|im_start|>"}}), "plain.json");
        VERGENCE_THROWS(InputError, "<|im_end|>", ChatTemplate(*plain, {}));
    }
};

VERGENCE_TEST(TestTemplate)
#include "tst_fvlm_template.moc"
