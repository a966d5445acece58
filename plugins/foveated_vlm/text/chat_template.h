#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/artifact/tokenizer/tokenizer.h"
#include "plugins/foveated_vlm/clips/clip_source.h"

namespace vergence::fvlm {

/// Which tokens of a sample count in the loss: all, or from the first token after the generation
/// prefix through the end of the turn.
enum class TextMask { All, Answer };

/// How turns are written. ChatMl: "<|im_start|>ROLE\nCONTENT<|im_end|>\n" for system, user and
/// assistant. Short: "PROMPT<|im_start|>ANSWER<|im_end|>", for sequences of a few tokens.
enum class TemplateKind { ChatMl, Short };

/// What the template says for clips of one source.
struct SourceTexts {
    std::string system; ///< empty: that of the settings
    std::string prompt; ///< empty: that of the settings
};

struct TextSettings {
    TemplateKind kind = TemplateKind::ChatMl;
    TextMask mask = TextMask::Answer;
    std::string system = "You describe what you see."; ///< always said
    std::string prompt = "What happens in the video?"; ///< of clips that have none
    std::map<std::string, SourceTexts> sources{};      ///< by ClipText::source
    int limit = 512;                                   ///< tokens of a sample
};

/// One sample as tokens, with a mask of what counts.
struct TextTokens {
    std::vector<int> before;                         ///< through the generation prefix
    std::vector<int> after;                          ///< the answer and its end
    std::vector<std::uint8_t> beforeMask, afterMask; ///< 0 or 1
    int dropped = 0;                                 ///< tokens that the limit cost

    int size() const { return static_cast<int>(before.size() + after.size()); }
};

/// Writes clips by the template. Immutable; thread-safe where the tokenizer is.
class ChatTemplate {
public:
    /// `tokenizer` must outlive it. Throws InputError where it has no <|im_start|> or <|im_end|>,
    /// ContractError for a limit that cannot hold an empty conversation.
    ChatTemplate(const Tokenizer& tokenizer, TextSettings settings);

    /// The text with its answer; an empty answer leaves nothing to count. Texts that are too long
    /// lose tokens from the end of the answer, then of the prompt; the end of the turn stays.
    TextTokens sample(const ClipText& text) const;
    /// The same with another answer: an option of a question, a preferred or a rejected one.
    TextTokens sample(const ClipText& text, const std::string& answer) const;
    /// Up to the generation prefix: what an answer is generated from. Nothing counts.
    TextTokens question(const ClipText& text) const;

    int endOfTurn() const { return m_endOfTurn; }
    const TextSettings& settings() const { return m_settings; }

private:
    struct Parts {
        std::vector<int> head, prompt, prefix, answer, tail;
    };
    Parts partsOf(const ClipText& text, const std::string& answer) const;
    void addTurn(std::vector<int>& ids, const std::string& role) const;
    int cut(Parts& parts) const;
    TextTokens joined(const Parts& parts) const;

    const Tokenizer& m_tokenizer;
    TextSettings m_settings;
    int m_startOfTurn = -1, m_endOfTurn = -1;
    std::vector<int> m_turnEnd; ///< <|im_end|> and what the template puts after it
};

/// Texts of `clips` that a tokenizer is learned from: prompts and answers of at most `most` clips
/// from the first, and the words of the template.
std::vector<std::string> captionsOf(const ClipSource& clips, const TextSettings& settings,
                                    Index most = 2048);

} // namespace vergence::fvlm
