#include <zlib.h>

#include <fmt/format.h>

#include "core/artifact/tokenizer/bpe_tokenizer.h"
#include "core/artifact/tokenizer/byte_alphabet.h"
#include "core/base/error.h"

namespace vergence {

namespace {

constexpr std::size_t kMerges = 48'894;
constexpr int kStart = 49'406, kEnd = 49'407;

/// Plain or gzip: zlib reads both.
std::string readText(const std::filesystem::path& path)
{
    constexpr std::size_t kLargest = std::size_t{64} << 20;
    const auto close = [](gzFile file) { gzclose(file); };
    const std::unique_ptr<gzFile_s, decltype(close)> file(gzopen(path.c_str(), "rb"), close);
    if (!file)
        throw InputError(
            fmt::format("{}: cannot be opened; name CLIP's merge list.", path.string()));
    std::string text;
    char buffer[1 << 16];
    for (int count; (count = gzread(file.get(), buffer, sizeof(buffer))) != 0;) {
        if (count < 0 || text.size() > kLargest)
            throw InputError(fmt::format("{}: is damaged (after {} bytes); fetch it again.",
                                         path.string(), text.size()));
        text.append(buffer, static_cast<std::size_t>(count));
    }
    return text;
}

std::vector<std::pair<std::string, std::string>> publishedMerges(const std::string& text,
                                                                 const std::string& source)
{
    auto merges = mergeList(text, source, kMerges);
    if (merges.size() < kMerges)
        throw InputError(fmt::format("{}: {} merges instead of {}; the file is cut short.", source,
                                     merges.size(), kMerges));
    return merges;
}

/// Bytes in the order of the printable table, the same with the end of a word, then the merges.
std::vector<std::string> piecesOf(const std::vector<std::pair<std::string, std::string>>& merges)
{
    std::vector<std::string> bytes, others;
    for (int byte = 0; byte < 256; ++byte) {
        const auto value = static_cast<unsigned char>(byte);
        (spellsItself(value) ? bytes : others).push_back(spelledByte(value));
    }
    bytes.insert(bytes.end(), others.begin(), others.end());
    std::vector<std::string> pieces = bytes;
    for (const std::string& text : bytes)
        pieces.push_back(text + BpeTokenizer::kEndOfWord);
    for (const auto& [left, right] : merges)
        pieces.push_back(left + right);
    return pieces;
}

} // namespace

std::unique_ptr<Tokenizer> readClipMerges(const std::filesystem::path& path)
{
    const auto merges = publishedMerges(readText(path), path.string());
    BpeRules rules;
    rules.isClip = true;
    rules.added = {{kStart, "<|startoftext|>", false, false},
                   {kEnd, "<|endoftext|>", false, false}};
    return std::make_unique<BpeTokenizer>(
        BpeModel(piecesOf(merges), merges, BpeTokenizer::kEndOfWord, path.string()),
        std::move(rules));
}

std::vector<int> clipContext(const Tokenizer& tokenizer, std::string_view text, int length)
{
    expects(length >= 2, "clipContext: at least 2 ids");
    std::vector<int> ids = tokenizer.encode(text);
    ids.insert(ids.begin(), tokenizer.find("<|startoftext|>"));
    ids.resize(std::min(ids.size(), static_cast<std::size_t>(length - 1)));
    ids.push_back(tokenizer.find("<|endoftext|>"));
    ids.resize(static_cast<std::size_t>(length), 0);
    return ids;
}

} // namespace vergence
