#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "plugins/live_diffusion/bench/report.h"

namespace vergence::live {

/// Also the exit codes of `vergence bench`.
enum class CompareStatus { Ok = 0, Regression = 1, NotComparable = 2, Failed = 3 };
std::string_view nameOf(CompareStatus status); ///< "ok", "regression", …

enum class Change { Same, Improved, Regressed };
std::string_view nameOf(Change change);

/// One quantity before and after.
struct CompareRow {
    std::string id, quantity, unit;
    double before = 0, after = 0;
    double limit = 0; ///< growth that is still the same, as a share of `before`
    double p = 1;     ///< of the rank-sum test; 1 where none was made
    Change change = Change::Same;

    double growth() const { return before == 0 ? 0 : after / before - 1; }
};

struct Comparison {
    CompareStatus status = CompareStatus::Ok;
    bool isForced = false; ///< compared although it is not comparable: every table says so
    std::vector<std::string> obstacles; ///< why the two are not comparable
    std::vector<CompareRow> rows;

    std::string markdown() const;
    nlohmann::json toJson() const;
};

/// How `after` stands to `before`. Not comparable unless forced where device, driver's major
/// version, cuDNN's minor version, weights or configuration differ. A time regressed where its
/// median grew by more than max(3 %, 3·MAD of `before` as a share) and a two-sided rank-sum test
/// gives p < 0.01; improvements alike. Steady memory: +1 % and +8 MiB. Numbers: PSNR 3 dB lower,
/// or a bound of the precision broken (numericBoundBroken()).
Comparison compare(const BenchReport& before, const BenchReport& after, bool isForced = false);

/// Why two measurements are not comparable; empty where they are.
std::vector<std::string> obstacles(const BenchReport& before, const BenchReport& after);

/// Whether an evaluation in `precision` ("fp16" …) is farther from strict F32 than that type
/// explains: cosine below 0.9999 for fp16 and tf32, 0.999 for bf16, or not finite.
bool numericBoundBroken(const std::string& precision, const NumericError& error);

} // namespace vergence::live
