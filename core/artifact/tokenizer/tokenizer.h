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

/// Reads a Hugging Face `tokenizer.json` with a byte-level BPE model (GPT-2, SmolLM2, CLIP) or one
/// of characters with byte fallback (Gemma, SigLIP 2). Throws InputError that names file and member
/// where something is damaged or of another kind.
std::unique_ptr<Tokenizer> readTokenizerJson(const std::filesystem::path& path);
std::unique_ptr<Tokenizer> parseTokenizerJson(std::string_view json, const std::string& source);

/// CLIP's tokenizer from its published merge list (`bpe_simple_vocab_16e6.txt`, plain or gzip):
/// 49,408 ids, start 49406, end 49407. Source: Learning Transferable Visual Models From Natural
/// Language Supervision (2021), section 2.4.
std::unique_ptr<Tokenizer> readClipMerges(const std::filesystem::path& path);

/// The older pair of files of Hugging Face's CLIP and GPT-2: ids of pieces, and merges by rank
/// after a line with the version. Throws InputError.
std::unique_ptr<Tokenizer> readVocabularyAndMerges(const std::filesystem::path& vocabulary,
                                                   const std::filesystem::path& merges);

/// What a model's folder holds: tokenizer.json, vocab.json with merges.txt, or CLIP's published
/// merge list. Throws InputError where there is none of them, and for a tokenizer.model alone.
std::unique_ptr<Tokenizer> readTokenizerFolder(const std::filesystem::path& folder);
/// The files that readTokenizerFolder() would read, for naming what was used; empty where none.
std::vector<std::filesystem::path> tokenizerFiles(const std::filesystem::path& folder);

/// Start id, text, end id, then 0 up to `length`; a longer text is cut and keeps the end id.
std::vector<int> clipContext(const Tokenizer& tokenizer, std::string_view text, int length = 77);

/// How SigLIP cleans text. Canonicalize: "_" becomes a blank, ASCII punctuation goes, lower case,
/// white space collapses to single blanks, trimmed (big_vision, open_clip). Lower: lower case alone
/// (transformers).
enum class SiglipCleaning { Canonicalize, Lower };
std::string siglipText(std::string_view text, SiglipCleaning cleaning);
/// Ids of a cleaned text, <eos>, then <pad> to exactly `length`; a longer text is cut and keeps the
/// end id. Throws InputError where the vocabulary has no <eos> or <pad>.
std::vector<int> siglipContext(const Tokenizer& tokenizer, std::string_view cleaned,
                               int length = 64);

} // namespace vergence
