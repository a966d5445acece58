#include "plugins/foveated_vlm/view/evaluation_record.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/artifact/json_text.h"
#include "core/base/error.h"
#include "core/base/file.h"

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

/// Numbers of the whole.
struct Total {
    const char* name;
    double EvaluationRecord::*value;
};
constexpr std::array<Total, 3> kTotals{{{"random_ratio", &EvaluationRecord::randomRatio},
                                        {"shuffled_ratio", &EvaluationRecord::shuffledRatio},
                                        {"blind_nats", &EvaluationRecord::blindNats}}};

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
        if (std::isfinite(record.*total.value))
            json[total.name] = record.*total.value;
    if (record.answers > 0)
        json.update({{"right", record.right}, {"answers", record.answers}});
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
                record.*total.value = json.at(total.name).get<double>();
        record.right = json.value("right", std::int64_t{0});
        record.answers = json.value("answers", std::int64_t{0});
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

EvaluationRecord readControl(const std::filesystem::path& runFolder)
{
    constexpr const char* kAdvice = "name a finished run with control = coarse_only and held-out "
                                    "clips in compare_with, or leave that empty";
    if (!std::filesystem::exists(runFolder / "artifacts" / kEvaluationFile))
        throw InputError(fmt::format("The run {} has no artifacts/{} to compare with: {}.",
                                     runFolder.string(), kEvaluationFile, kAdvice));
    EvaluationRecord record = readEvaluation(runFolder);
    if (!record.isCoarseOnly)
        throw InputError(fmt::format("The run {} is no matched control, it was trained with fine "
                                     "looks: {}.",
                                     runFolder.string(), kAdvice));
    return record;
}

Interval shareInterval(std::int64_t part, std::int64_t whole)
{
    expects(whole > 0 && part >= 0 && part <= whole, "share: a part of something");
    constexpr double z = 1.96;
    const auto n = static_cast<double>(whole);
    const double share = static_cast<double>(part) / n, spread = z * z / n;
    const double middle = (share + spread / 2) / (1 + spread);
    const double reach =
        std::sqrt(share * (1 - share) * spread + spread * spread / 4) / (1 + spread);
    return {share, std::max(0.0, middle - reach), std::min(1.0, middle + reach)};
}

Interval ratioInterval(std::span<const double> numerators, std::span<const double> denominators,
                       std::uint64_t seed)
{
    expects(numerators.size() == denominators.size(), "ratio: as many numerators as denominators");
    std::vector<double> above, below;
    for (std::size_t i = 0; i < numerators.size(); ++i) {
        if (std::isfinite(numerators[i]) && std::isfinite(denominators[i])) {
            above.push_back(numerators[i]);
            below.push_back(denominators[i]);
        }
    }
    return above.empty() ? Interval{} : bootstrapRatio(above, below, seed);
}

} // namespace vergence::fvlm
