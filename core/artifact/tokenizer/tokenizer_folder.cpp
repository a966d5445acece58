#include <fmt/format.h>

#include "core/artifact/tokenizer/tokenizer.h"
#include "core/base/error.h"

namespace vergence {

namespace {
constexpr const char* kJson = "tokenizer.json";
constexpr const char* kVocabulary = "vocab.json";
constexpr const char* kMergesFile = "merges.txt";
constexpr const char* kClipLists[] = {"bpe_simple_vocab_16e6.txt.gz", "bpe_simple_vocab_16e6.txt"};
} // namespace

std::vector<std::filesystem::path> tokenizerFiles(const std::filesystem::path& folder)
{
    const auto has = [&](const char* name) { return std::filesystem::exists(folder / name); };
    if (has(kJson))
        return {folder / kJson};
    if (has(kVocabulary) && has(kMergesFile))
        return {folder / kVocabulary, folder / kMergesFile};
    for (const char* list : kClipLists) {
        if (has(list))
            return {folder / list};
    }
    return {};
}

std::unique_ptr<Tokenizer> readTokenizerFolder(const std::filesystem::path& folder)
{
    const auto files = tokenizerFiles(folder);
    if (files.size() == 2)
        return readVocabularyAndMerges(files[0], files[1]);
    if (!files.empty())
        return files[0].filename() == kJson ? readTokenizerJson(files[0])
                                            : readClipMerges(files[0]);
    if (std::filesystem::exists(folder / "tokenizer.model"))
        throw InputError(fmt::format(
            "{} holds a tokenizer.model alone. That format (SentencePiece) is not read: put the "
            "tokenizer.json of the same model beside it, or import text features made elsewhere.",
            folder.string()));
    throw InputError(fmt::format("{} holds no tokenizer: {}, or {} with {}, is needed.",
                                 folder.string(), kJson, kVocabulary, kMergesFile));
}

} // namespace vergence
