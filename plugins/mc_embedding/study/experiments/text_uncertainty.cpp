#include "plugins/mc_embedding/study/experiments/text_uncertainty.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "plugins/mc_embedding/io/image_random.h"
#include "plugins/mc_embedding/statistics/figure_json.h"
#include "plugins/mc_embedding/statistics/ranks.h"
#include "plugins/mc_embedding/study/experiments/score_comparison.h"

namespace vergence::mc_embedding {

namespace {

constexpr std::array<const char*, 40> kThings = {
    "dog",     "cat",      "horse",  "sheep",  "cow",   "bird",   "fish",     "fox",
    "bicycle", "car",      "truck",  "boat",   "train", "plane",  "lamp",     "chair",
    "table",   "sofa",     "clock",  "vase",   "cup",   "bottle", "knife",    "spoon",
    "apple",   "banana",   "orange", "carrot", "pizza", "cake",   "keyboard", "phone",
    "book",    "umbrella", "kite",   "guitar", "drum",  "ladder", "hammer",   "tent"};
constexpr std::array<const char*, 12> kColours = {"red",    "blue",  "green",  "yellow",
                                                  "black",  "white", "brown",  "grey",
                                                  "orange", "pink",  "purple", "golden"};
constexpr std::array<const char*, 10> kLooks = {"small", "large", "old",    "new",     "shiny",
                                                "dusty", "round", "broken", "striped", "wooden"};
constexpr std::array<const char*, 12> kPlaces = {
    "on a wooden table",   "in a snowy forest",  "beside a river",    "under a bridge",
    "in a crowded street", "on a sandy beach",   "behind a window",   "in a dark garage",
    "near a stone wall",   "on a mountain road", "in a sunny garden", "at a railway station"};
constexpr std::array<const char*, 10> kTimes = {
    "at dawn",         "at night", "in heavy rain", "in thick fog", "during a storm",
    "on a bright day", "at noon",  "in winter",     "in autumn",    "under street lights"};
constexpr std::array<const char*, 20> kVague = {
    "something", "anything",  "stuff",   "some object", "a thing",
    "an item",   "a place",   "a scene", "a picture",   "an image",
    "some view", "a subject", "a shape", "a form",      "some content",
    "a part",    "a detail",  "an area", "one of them", "a kind of thing"};
constexpr std::array<const char*, 20> kVagueEnds = {
    "",           "here",        "there",      "again",      "as usual", "of some kind",
    "like that",  "like this",   "somewhere",  "in general", "in a way", "and more",
    "and so on",  "or another",  "or similar", "as always",  "as it is", "by itself",
    "in the end", "at some time"};

template <std::size_t N>
std::string pick(Draws& draws, const std::array<const char*, N>& words)
{
    return words[draws.below(static_cast<std::uint32_t>(N))];
}

std::string promptOf(std::size_t style, Draws& draws)
{
    const std::string thing = pick(draws, kThings);
    switch (style) {
    case 0: {
        const std::string front = pick(draws, kVague), end = pick(draws, kVagueEnds);
        return end.empty() ? front : front + " " + end;
    }
    case 1:
        return fmt::format("{} {}", pick(draws, kColours), thing);
    case 2:
        return fmt::format("a photo of a {} {}", pick(draws, kLooks), thing);
    case 3:
        return fmt::format("a {} {} {}", pick(draws, kLooks), pick(draws, kColours), thing);
    default:
        return fmt::format("a {} {} {} {} {}", pick(draws, kLooks), pick(draws, kColours), thing,
                           pick(draws, kPlaces), pick(draws, kTimes));
    }
}

const std::set<std::string>& emptyWords()
{
    static const std::set<std::string> kWords = {
        "a",      "an",        "the",     "of",     "in",    "on",      "at",        "under",
        "near",   "beside",    "behind",  "during", "and",   "or",      "so",        "as",
        "it",     "is",        "by",      "one",    "them",  "some",    "something", "anything",
        "stuff",  "object",    "thing",   "item",   "place", "scene",   "picture",   "image",
        "photo",  "view",      "subject", "shape",  "form",  "content", "part",      "detail",
        "area",   "kind",      "here",    "there",  "again", "usual",   "like",      "that",
        "this",   "somewhere", "general", "way",    "more",  "another", "similar",   "always",
        "itself", "end",       "time"};
    return kWords;
}

/// Scores less the mean of their group.
std::vector<double> withoutMeans(const std::vector<double>& x,
                                 std::span<const StyledPrompt> prompts)
{
    std::map<std::string, std::pair<double, double>> sums;
    for (std::size_t i = 0; i < x.size(); ++i) {
        sums[prompts[i].style].first += x[i];
        sums[prompts[i].style].second += 1;
    }
    std::vector<double> rest(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        const auto& [sum, count] = sums[prompts[i].style];
        rest[i] = x[i] - sum / count;
    }
    return rest;
}

} // namespace

const std::vector<std::string>& promptStyles()
{
    static const std::vector<std::string> kStyles = {"vague", "label", "photo", "attributes",
                                                     "scene"};
    return kStyles;
}

std::vector<StyledPrompt> textUncertaintyPrompts(std::size_t count, std::uint64_t seed)
{
    // The rarest style has 400 prompts; far below that no draw is long.
    expects(count <= 1500, "textUncertaintyPrompts: at most 1500 prompts");
    constexpr std::uint32_t kOwner = 0x54455854; // apart from the draws of images
    Draws draws(seed, Purpose::Sampling, kOwner);
    std::set<std::string> seen;
    std::vector<StyledPrompt> prompts;
    while (prompts.size() < count) {
        const std::size_t style = prompts.size() % promptStyles().size();
        std::string text = promptOf(style, draws);
        if (seen.insert(text).second)
            prompts.push_back({promptStyles()[style], std::move(text)});
    }
    return prompts;
}

double specificity(const std::string& text)
{
    std::set<std::string> words;
    std::string word;
    for (const char c : text + " ") {
        if (std::isalnum(static_cast<unsigned char>(c)) || (c & 0x80)) {
            word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
            continue;
        }
        if (!word.empty() && !emptyWords().contains(word))
            words.insert(word);
        word.clear();
    }
    return static_cast<double>(words.size());
}

TextUncertaintyResult textUncertainty(std::span<const StyledPrompt> prompts, const Matrix& scores,
                                      int passes, double alpha)
{
    expects(!prompts.empty() && scores.columns == prompts.size() && scores.rows > 0,
            "textUncertainty: scores of every prompt");
    const std::vector<double> traces = meansOverTrials(scores);
    std::vector<double> exactness;
    for (const StyledPrompt& prompt : prompts)
        exactness.push_back(specificity(prompt.text));
    TextUncertaintyResult result;
    for (const std::string& name : promptStyles()) {
        TextUncertaintyResult::Style style{name};
        for (std::size_t i = 0; i < prompts.size(); ++i) {
            if (prompts[i].style != name)
                continue;
            ++style.prompts;
            style.meanTrace += traces[i];
            style.meanSpecificity += exactness[i];
        }
        if (style.prompts == 0)
            continue;
        style.meanTrace /= static_cast<double>(style.prompts);
        style.meanSpecificity /= static_cast<double>(style.prompts);
        result.styles.push_back(style);
    }
    result.correlation = spearman(traces, exactness);
    result.correlationWithin =
        spearman(withoutMeans(traces, prompts), withoutMeans(exactness, prompts));
    result.trace = reliability(scores, passes, alpha);
    return result;
}

nlohmann::json toJson(const TextUncertaintyResult& result)
{
    nlohmann::json json = {{"styles", nlohmann::json::object()},
                           {"trace", reliabilityJson(result.trace)}};
    for (const auto& style : result.styles)
        json["styles"][style.name] = {{"num_prompts", style.prompts},
                                      {"mean_trace", style.meanTrace},
                                      {"mean_specificity", style.meanSpecificity}};
    setFigure(json, "spearman_specificity", result.correlation);
    setFigure(json, "spearman_specificity_within_styles", result.correlationWithin);
    return json;
}

} // namespace vergence::mc_embedding
