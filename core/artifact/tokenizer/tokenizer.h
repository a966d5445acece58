#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vergence {

/// Text to token ids and back. Immutable apart from a cache; thread-safe.
class Tokenizer {
public:
    virtual ~Tokenizer();

    /// Ids of the text alone: no start, end or padding ids. Takes any bytes; what is not UTF-8 is
    /// encoded byte by byte.
    virtual std::vector<int> encode(std::string_view text) const = 0;
    /// The bytes that ids stand for; ids outside the vocabulary throw ContractError.
    virtual std::string decodeBytes(std::span<const int> ids) const = 0;
    /// The same as text: bytes that are not UTF-8 become U+FFFD.
    std::string decode(std::span<const int> ids) const;

    virtual int vocabularySize() const = 0;
    /// Id of a special or ordinary piece as the file spells it ("<|im_end|>"); −1 where there is
    /// none.
    virtual int find(const std::string& piece) const = 0;
};

/// Reads a Hugging Face `tokenizer.json` with a byte-level BPE model (GPT-2, SmolLM2, CLIP). Throws
/// InputError that names file and member where something is damaged or of another kind.
std::unique_ptr<Tokenizer> readTokenizerJson(const std::filesystem::path& path);
std::unique_ptr<Tokenizer> parseTokenizerJson(std::string_view json, const std::string& source);

/// CLIP's tokenizer from its published merge list (`bpe_simple_vocab_16e6.txt`, plain or gzip):
/// 49,408 ids, start 49406, end 49407. Source: Learning Transferable Visual Models From Natural
/// Language Supervision (2021), section 2.4.
std::unique_ptr<Tokenizer> readClipMerges(const std::filesystem::path& path);

/// Start id, text, end id, then 0 up to `length`; a longer text is cut and keeps the end id.
std::vector<int> clipContext(const Tokenizer& tokenizer, std::string_view text, int length = 77);

} // namespace vergence
