#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/artifact/tokenizer/bpe_tokenizer.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace vergence {

namespace {

using Json = nlohmann::json;

constexpr std::size_t kLargestVocabulary = 4'000'000;

[[noreturn]] void refuse(const std::string& source, const std::string& what)
{
    throw InputError(fmt::format("{}: {}", source, what));
}

const Json& member(const Json& object, const char* name, Json::value_t type,
                   const std::string& source)
{
    if (!object.is_object() || !object.contains(name) || object.at(name).type() != type)
        refuse(source, fmt::format("member \"{}\" is missing or of the wrong type.", name));
    return object.at(name);
}

std::vector<std::string> piecesOf(const Json& vocabulary, const std::string& source)
{
    std::vector<std::string> pieces;
    for (const auto& [piece, id] : vocabulary.items()) {
        if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= kLargestVocabulary)
            refuse(source, fmt::format("vocabulary entry \"{}\" has no valid id.", piece));
        const auto at = id.get<std::size_t>();
        pieces.resize(std::max(pieces.size(), at + 1));
        if (!pieces[at].empty())
            refuse(source,
                   fmt::format("id {} belongs to \"{}\" and \"{}\".", at, pieces[at], piece));
        pieces[at] = piece;
    }
    return pieces;
}

/// Either ["a", "b"] or "a b".
std::vector<std::pair<std::string, std::string>> mergesOf(const Json& list,
                                                          const std::string& source)
{
    std::vector<std::pair<std::string, std::string>> merges;
    for (const Json& entry : list) {
        if (entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string()) {
            merges.emplace_back(entry[0], entry[1]);
            continue;
        }
        const std::string text = entry.is_string() ? entry.get<std::string>() : std::string();
        const std::size_t blank = text.find(' ');
        if (blank == std::string::npos || blank == 0 || blank + 1 == text.size())
            refuse(source, fmt::format("merge {} is not a pair of pieces.", merges.size()));
        merges.emplace_back(text.substr(0, blank), text.substr(blank + 1));
    }
    return merges;
}

std::vector<AddedToken> addedOf(const Json& file, const std::string& source)
{
    std::vector<AddedToken> added;
    if (!file.contains("added_tokens") || file["added_tokens"].is_null())
        return added;
    for (const Json& entry : member(file, "added_tokens", Json::value_t::array, source)) {
        AddedToken token;
        token.content = member(entry, "content", Json::value_t::string, source);
        const Json& id = member(entry, "id", Json::value_t::number_unsigned, source);
        if (token.content.empty() || id.get<std::uint64_t>() >= kLargestVocabulary)
            refuse(source,
                   fmt::format("added token {} is empty or has no valid id.", added.size()));
        token.id = id.get<int>();
        const auto flag = [&](const char* name) {
            return entry.contains(name) && entry[name].is_boolean() && entry[name].get<bool>();
        };
        token.stripsLeft = flag("lstrip");
        token.stripsRight = flag("rstrip");
        token.isNormalised = flag("normalized");
        added.push_back(std::move(token));
    }
    return added;
}

/// Steps of a normaliser of whole texts: replacements and lower case, alone or in a sequence.
void readNormaliser(const Json& node, BpeRules& rules, const std::string& source, int depth = 0)
{
    if (!node.is_object())
        return;
    if (depth > 4)
        refuse(source, "normalizers are nested too deeply.");
    const std::string type = member(node, "type", Json::value_t::string, source);
    if (type == "Sequence") {
        for (const Json& part : member(node, "normalizers", Json::value_t::array, source))
            readNormaliser(part, rules, source, depth + 1);
        return;
    }
    if (type == "Lowercase") {
        rules.normaliser.push_back({true, {}, {}});
        return;
    }
    if (type != "Replace")
        refuse(source, fmt::format("normalizer \"{}\" is not understood; Replace, Lowercase and "
                                   "their sequences are.",
                                   type));
    const Json& pattern = member(node, "pattern", Json::value_t::object, source);
    TextStep step;
    step.from = member(pattern, "String", Json::value_t::string, source);
    step.to = member(node, "content", Json::value_t::string, source);
    if (step.from.empty())
        refuse(source, "a normalizer replaces nothing.");
    rules.normaliser.push_back(std::move(step));
}

/// Splitting at blanks is the one step before merging that whole texts may have: their normaliser
/// leaves no blank.
void readWholeTexts(const Json& file, BpeRules& rules, const std::string& source)
{
    rules.isWhole = true;
    if (file.contains("normalizer"))
        readNormaliser(file["normalizer"], rules, source);
    const bool replacesBlanks =
        std::any_of(rules.normaliser.begin(), rules.normaliser.end(),
                    [](const TextStep& step) { return !step.lowers && step.from == " "; });
    if (!file.contains("pre_tokenizer") || file["pre_tokenizer"].is_null())
        return;
    const Json& split = file["pre_tokenizer"];
    const Json blank{{"String", " "}};
    if (!replacesBlanks || !split.is_object() || split.value("type", "") != "Split" ||
        !split.contains("pattern") || split["pattern"] != blank)
        refuse(source, "the pre-tokenizer of a vocabulary with byte_fallback must be absent, or "
                       "split at blanks that the normalizer replaces.");
}

/// Looks through nested pre-tokenisers for the two kinds that change words.
void readPreTokenizer(const Json& node, BpeRules& rules, const std::string& source, int depth = 0)
{
    if (!node.is_object())
        return;
    if (depth > 4)
        refuse(source, "pre-tokenizers are nested too deeply.");
    const std::string type = member(node, "type", Json::value_t::string, source);
    if (type == "Sequence") {
        for (const Json& part : member(node, "pretokenizers", Json::value_t::array, source))
            readPreTokenizer(part, rules, source, depth + 1);
    } else if (type == "Digits") {
        rules.individualDigits = node.value("individual_digits", false);
    } else if (type != "ByteLevel" && !(type == "Split" && rules.isClip)) {
        refuse(source, fmt::format("pre-tokenizer \"{}\" is not understood; ByteLevel, Digits and "
                                   "their sequences are.",
                                   type));
    }
}

} // namespace

std::unique_ptr<Tokenizer> parseTokenizerJson(std::string_view json, const std::string& source)
{
    const Json file = Json::parse(json, nullptr, false);
    if (file.is_discarded())
        refuse(source, "is not valid JSON.");
    const Json& model = member(file, "model", Json::value_t::object, source);
    if (model.contains("type") && model["type"] != "BPE")
        refuse(source, "the model is not of type BPE; only BPE is understood.");
    const auto isSet = [&](const char* name) {
        return model.contains(name) && model[name].is_boolean() && model[name].get<bool>();
    };
    BpeRules rules;
    rules.isClip = model.contains("end_of_word_suffix") &&
                   model["end_of_word_suffix"] == BpeTokenizer::kEndOfWord;
    rules.added = addedOf(file, source);
    if (isSet("byte_fallback")) {
        if (isSet("ignore_merges"))
            refuse(source, "ignore_merges is set; only vocabularies that merge are understood.");
        readWholeTexts(file, rules, source);
    } else {
        for (AddedToken& token : rules.added)
            token.isNormalised = false; // byte-level normalisers do not change them
        if (file.contains("pre_tokenizer"))
            readPreTokenizer(file["pre_tokenizer"], rules, source);
    }
    BpeModel bpe(piecesOf(member(model, "vocab", Json::value_t::object, source), source),
                 mergesOf(member(model, "merges", Json::value_t::array, source), source),
                 rules.isClip ? BpeTokenizer::kEndOfWord : "", source,
                 rules.isWhole ? BpeAlphabet::Characters : BpeAlphabet::SpelledBytes);
    return std::make_unique<BpeTokenizer>(std::move(bpe), std::move(rules));
}

std::unique_ptr<Tokenizer> readTokenizerJson(const std::filesystem::path& path)
{
    return parseTokenizerJson(readFile(path), path.string());
}

std::unique_ptr<Tokenizer> readVocabularyAndMerges(const std::filesystem::path& vocabulary,
                                                   const std::filesystem::path& merges)
{
    const std::string source = vocabulary.string();
    const Json pieces = Json::parse(readFile(vocabulary), nullptr, false);
    if (!pieces.is_object())
        refuse(source, "is not a JSON object of pieces and ids.");
    BpeRules rules;
    rules.isClip = pieces.contains(std::string("a") + BpeTokenizer::kEndOfWord);
    for (const char* special : {"<|startoftext|>", "<|endoftext|>"}) {
        if (pieces.contains(special) && pieces[special].is_number_unsigned())
            rules.added.push_back({pieces[special].get<int>(), special});
    }
    BpeModel bpe(piecesOf(pieces, source), mergeList(readFile(merges), merges.string()),
                 rules.isClip ? BpeTokenizer::kEndOfWord : "", source);
    return std::make_unique<BpeTokenizer>(std::move(bpe), std::move(rules));
}

} // namespace vergence
