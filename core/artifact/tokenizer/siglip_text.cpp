#include <algorithm>

#include <fmt/format.h>

#include "core/artifact/tokenizer/clip_text.h"
#include "core/artifact/tokenizer/pattern.h"
#include "core/artifact/tokenizer/tokenizer.h"
#include "core/base/error.h"

namespace vergence {

std::string siglipText(std::string_view text, SiglipCleaning cleaning)
{
    if (cleaning == SiglipCleaning::Lower)
        return toLower(text);
    std::string plain;
    for (const char c : text) {
        const auto code = static_cast<unsigned char>(c);
        const bool isPunctuation = code > 32 && code < 127 && !std::isalnum(code);
        if (c == '_')
            plain += ' ';
        else if (!isPunctuation)
            plain += c;
    }
    return collapsedBlanks(toLower(plain));
}

std::vector<int> siglipContext(const Tokenizer& tokenizer, std::string_view cleaned, int length)
{
    expects(length >= 1, "siglipContext: at least 1 id");
    const int end = tokenizer.find("<eos>"), padding = tokenizer.find("<pad>");
    if (end < 0 || padding < 0)
        throw InputError(fmt::format(
            "The vocabulary of {} pieces has no {}; SigLIP 2 needs the tokenizer of Gemma.",
            tokenizer.vocabularySize(), end < 0 ? "<eos>" : "<pad>"));
    std::vector<int> ids = tokenizer.encode(cleaned);
    ids.resize(std::min(ids.size(), static_cast<std::size_t>(length - 1)));
    ids.push_back(end);
    ids.resize(static_cast<std::size_t>(length), padding);
    return ids;
}

} // namespace vergence
