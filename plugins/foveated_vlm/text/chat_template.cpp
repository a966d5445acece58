#include "plugins/foveated_vlm/text/chat_template.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence::fvlm {

namespace {

constexpr const char* kStartOfTurn = "<|im_start|>";
constexpr const char* kEndOfTurn = "<|im_end|>";

void append(std::vector<int>& ids, const std::vector<int>& more)
{
    ids.insert(ids.end(), more.begin(), more.end());
}

int pieceOf(const Tokenizer& tokenizer, const char* piece)
{
    const int id = tokenizer.find(piece);
    if (id < 0)
        throw InputError(fmt::format("The tokenizer has no piece {}; the template of conversations "
                                     "needs it.",
                                     piece));
    return id;
}

/// Drops up to `most` tokens from the end.
int shorten(std::vector<int>& ids, int most)
{
    const int dropped = std::clamp(most, 0, static_cast<int>(ids.size()));
    ids.resize(ids.size() - static_cast<std::size_t>(dropped));
    return dropped;
}

void countNothing(TextTokens& tokens)
{
    tokens.beforeMask.assign(tokens.before.size(), 0);
    tokens.afterMask.assign(tokens.after.size(), 0);
}

} // namespace

ChatTemplate::ChatTemplate(const Tokenizer& tokenizer, TextSettings settings)
    : m_tokenizer(tokenizer),
      m_settings(std::move(settings)),
      m_startOfTurn(pieceOf(tokenizer, kStartOfTurn)),
      m_endOfTurn(pieceOf(tokenizer, kEndOfTurn)),
      m_turnEnd{m_endOfTurn}
{
    if (m_settings.kind == TemplateKind::ChatMl)
        append(m_turnEnd, tokenizer.encode("\n"));
    Parts parts = partsOf({}, {});
    parts.prompt.clear();
    const int least = joined(parts).size();
    expects(m_settings.limit >= least,
            fmt::format("ChatTemplate: a limit of {} tokens; the template alone has {}",
                        m_settings.limit, least));
}

void ChatTemplate::addTurn(std::vector<int>& ids, const std::string& role) const
{
    ids.push_back(m_startOfTurn);
    append(ids, m_tokenizer.encode(role + "\n"));
}

ChatTemplate::Parts ChatTemplate::partsOf(const ClipText& text, const std::string& answer) const
{
    const auto found = m_settings.sources.find(text.source);
    const SourceTexts source = found == m_settings.sources.end() ? SourceTexts{} : found->second;
    const std::string& standing = source.prompt.empty() ? m_settings.prompt : source.prompt;
    Parts parts;
    parts.prompt = m_tokenizer.encode(text.prompt.empty() ? standing : text.prompt);
    parts.answer = m_tokenizer.encode(answer);
    parts.tail = {m_endOfTurn};
    if (m_settings.kind == TemplateKind::Short) {
        parts.prefix = {m_startOfTurn};
        return parts;
    }
    addTurn(parts.head, "system");
    append(parts.head,
           m_tokenizer.encode(source.system.empty() ? m_settings.system : source.system));
    append(parts.head, m_turnEnd);
    addTurn(parts.head, "user");
    parts.prefix = m_turnEnd;
    addTurn(parts.prefix, "assistant");
    if (m_settings.mask == TextMask::All) // what nothing is learned from is left out
        parts.tail = m_turnEnd;
    return parts;
}

int ChatTemplate::cut(Parts& parts) const
{
    const auto over = [&] {
        return static_cast<int>(parts.head.size() + parts.prompt.size() + parts.prefix.size() +
                                parts.answer.size() + parts.tail.size()) -
               m_settings.limit;
    };
    const int fromAnswer = shorten(parts.answer, over());
    return fromAnswer + shorten(parts.prompt, over());
}

TextTokens ChatTemplate::joined(const Parts& parts) const
{
    TextTokens tokens;
    append(tokens.before, parts.head);
    append(tokens.before, parts.prompt);
    append(tokens.before, parts.prefix);
    append(tokens.after, parts.answer);
    append(tokens.after, parts.tail);
    tokens.beforeMask.assign(tokens.before.size(), m_settings.mask == TextMask::All ? 1 : 0);
    tokens.afterMask.assign(tokens.after.size(), 1);
    return tokens;
}

TextTokens ChatTemplate::sample(const ClipText& text) const
{
    return sample(text, text.answer);
}

TextTokens ChatTemplate::sample(const ClipText& text, const std::string& answer) const
{
    Parts parts = partsOf(text, answer);
    const int dropped = cut(parts);
    TextTokens tokens = joined(parts);
    tokens.dropped = dropped;
    if (answer.empty())
        countNothing(tokens);
    return tokens;
}

TextTokens ChatTemplate::question(const ClipText& text) const
{
    Parts parts = partsOf(text, {});
    parts.tail.clear();
    const int dropped = cut(parts);
    TextTokens tokens = joined(parts);
    tokens.dropped = dropped;
    countNothing(tokens);
    return tokens;
}

std::vector<std::string> captionsOf(const ClipSource& clips, const TextSettings& settings,
                                    Index most)
{
    std::vector<std::string> texts{settings.system, settings.prompt, "system\n", "user\n",
                                   "assistant\n"};
    for (const auto& [name, source] : settings.sources) {
        texts.push_back(source.system);
        texts.push_back(source.prompt);
    }
    for (Index i = 0; i < std::min(most, clips.count()); ++i) {
        const ClipText text = clips.info(i).text;
        for (const std::string& part : {text.prompt, text.answer, text.chosen, text.rejected})
            texts.push_back(part);
    }
    return texts;
}

} // namespace vergence::fvlm
