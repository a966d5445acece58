#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "plugins/foveated_vlm/train/bootstrap.h"

namespace vergence::fvlm {

/// Losses of one held-out clip. Sums, so that clips of many tokens count more; NaN where a mode was
/// not measured.
struct ClipScore {
    std::uint64_t id = 0;
    int counted = 0; ///< tokens, or predicted frames
    double coarse = NAN, fine = NAN, sequential = NAN;
    double random = NAN;   ///< fine with queries drawn at random
    double shuffled = NAN; ///< fine with the queries of other clips
};

/// What a run says of its held-out clips; another run reads it as its matched control.
struct EvaluationRecord {
    std::int64_t update = 0;
    std::string variant;       ///< "A", "B", "joint", "dpo"
    bool isCoarseOnly = false; ///< trained without fine looks: the matched control
    bool trainsCoarse = false; ///< the coarse loss is part of what is trained
    double epochs = 0;
    std::string clips; ///< digest of the held-out clips
    /// Loss with such queries / fine loss over all clips, where single clips have none.
    double randomRatio = NAN, shuffledRatio = NAN;
    /// Answers that are right, of so many; 0 where not all clips were answered.
    std::int64_t right = 0, answers = 0;
    double blindNats = NAN; ///< per answer of a model that does not see, where a gaze can know all
    std::vector<ClipScore> scores;
};

/// Name below the artifacts of a run.
inline constexpr const char* kEvaluationFile = "evaluation.json";

nlohmann::json evaluationJson(const EvaluationRecord& record);
/// Throws InputError that names `source` and the field at fault.
EvaluationRecord evaluationFromJson(const nlohmann::json& json, const std::string& source);
/// The record of a run's folder. Throws InputError where there is none.
EvaluationRecord readEvaluation(const std::filesystem::path& runFolder);
/// The same of a matched control. Throws InputError that says what to do where the run is none.
EvaluationRecord readControl(const std::filesystem::path& runFolder);

/// A share with its interval. Source: Probable Inference, the Law of Succession, and Statistical
/// Inference (1927), z = 1.96.
Interval shareInterval(std::int64_t part, std::int64_t whole);

/// Ratio of two sums over the same clips, with percentiles of 2,000 resamples of the clips
/// (bootstrap). Pairs that are not finite are left out; NaN without any. Source: An Introduction to
/// the Bootstrap (1993), chapter 13.
Interval ratioInterval(std::span<const double> numerators, std::span<const double> denominators,
                       std::uint64_t seed = 42);

} // namespace vergence::fvlm
