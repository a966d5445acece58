#include "plugins/foveated_vlm/view/evaluation_record.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/artifact/json_text.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/compute/rng.h"

namespace vergence::fvlm {

namespace {

constexpr const char* kFormat = "vergence-evaluation/1";

/// Names of the modes in files, with where they are kept.
struct Mode {
    const char* name;
    double ClipScore::*score;
};
constexpr std::array<Mode, 5> kModes{{{"coarse", &ClipScore::coarse},
                                      {"fine", &ClipScore::fine},
                                      {"sequential", &ClipScore::sequential},
                                      {"random", &ClipScore::random},
                                      {"shuffled", &ClipScore::shuffled}}};

/// Ratios of totals.
struct Total {
    const char* name;
    double EvaluationRecord::*ratio;
};
constexpr std::array<Total, 2> kTotals{{{"random_ratio", &EvaluationRecord::randomRatio},
                                        {"shuffled_ratio", &EvaluationRecord::shuffledRatio}}};

} // namespace

nlohmann::json evaluationJson(const EvaluationRecord& record)
{
    nlohmann::json scores = nlohmann::json::array();
    for (const ClipScore& score : record.scores) {
        nlohmann::json row = {{"id", score.id}, {"counted", score.counted}};
        for (const Mode& mode : kModes)
            if (std::isfinite(score.*mode.score))
                row[mode.name] = score.*mode.score;
        scores.push_back(std::move(row));
    }
    nlohmann::json json{{"format", kFormat},
                        {"update", record.update},
                        {"variant", record.variant},
                        {"coarse_only", record.isCoarseOnly},
                        {"trains_coarse", record.trainsCoarse},
                        {"epochs", record.epochs},
                        {"clips", record.clips},
                        {"scores", std::move(scores)}};
    for (const Total& total : kTotals)
        if (std::isfinite(record.*total.ratio))
            json[total.name] = record.*total.ratio;
    return json;
}

EvaluationRecord evaluationFromJson(const nlohmann::json& json, const std::string& source)
{
    EvaluationRecord record;
    try {
        if (json.at("format") != kFormat)
            throw InputError(source + " holds no evaluation of this format");
        record.update = json.at("update").get<std::int64_t>();
        record.variant = json.at("variant").get<std::string>();
        record.isCoarseOnly = json.at("coarse_only").get<bool>();
        record.trainsCoarse = json.at("trains_coarse").get<bool>();
        record.epochs = json.at("epochs").get<double>();
        record.clips = json.at("clips").get<std::string>();
        for (const Total& total : kTotals)
            if (json.contains(total.name))
                record.*total.ratio = json.at(total.name).get<double>();
        for (const nlohmann::json& row : json.at("scores")) {
            ClipScore score;
            score.id = row.at("id").get<std::uint64_t>();
            score.counted = row.at("counted").get<int>();
            for (const Mode& mode : kModes)
                if (row.contains(mode.name))
                    score.*mode.score = row.at(mode.name).get<double>();
            record.scores.push_back(score);
        }
    } catch (const nlohmann::json::exception& e) {
        throw InputError("the evaluation of " + source + " cannot be read: " + e.what());
    }
    return record;
}

EvaluationRecord readEvaluation(const std::filesystem::path& runFolder)
{
    const std::filesystem::path path = runFolder / "artifacts" / kEvaluationFile;
    return evaluationFromJson(parseJson(readFile(path), path.string()), path.string());
}

Interval ratioInterval(std::span<const double> numerators, std::span<const double> denominators,
                       std::uint64_t seed)
{
    constexpr std::size_t kResamples = 2'000;
    expects(numerators.size() == denominators.size(), "ratio: as many numerators as denominators");
    std::vector<std::array<double, 2>> pairs;
    std::array<double, 2> sums{};
    for (std::size_t i = 0; i < numerators.size(); ++i)
        if (std::isfinite(numerators[i]) && std::isfinite(denominators[i])) {
            pairs.push_back({numerators[i], denominators[i]});
            sums[0] += numerators[i];
            sums[1] += denominators[i];
        }
    if (pairs.empty() || !(sums[1] > 0))
        return {};
    const Rng rng(seed, 0x626F6F74); // a stream of its own
    std::vector<double> ratios;
    std::uint64_t index = 0;
    for (std::size_t r = 0; r < kResamples; ++r) {
        std::array<double, 2> drawn{};
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            const auto at =
                static_cast<std::size_t>(rng.uniform(index++) * static_cast<float>(pairs.size()));
            const auto& pair = pairs[std::min(at, pairs.size() - 1)];
            drawn[0] += pair[0];
            drawn[1] += pair[1];
        }
        if (drawn[1] > 0)
            ratios.push_back(drawn[0] / drawn[1]);
    }
    std::ranges::sort(ratios);
    const auto percentile = [&](double share) {
        const double at = share * static_cast<double>(ratios.size() - 1);
        const auto low = static_cast<std::size_t>(at);
        const std::size_t high = std::min(low + 1, ratios.size() - 1);
        return ratios[low] + (at - static_cast<double>(low)) * (ratios[high] - ratios[low]);
    };
    return {sums[0] / sums[1], percentile(0.025), percentile(0.975)};
}

} // namespace vergence::fvlm
