#pragma once

#include "tests/support/run_bench.h"

namespace vergence::fvlm {

/// Series of this lab that depend on time.
inline constexpr const char* kTimedSeries[] = {"it_per_s", "clips_per_s", "data_wait_ms",
                                               "gflop_per_s"};

/// Numbers of a run that do not depend on time.
inline std::map<std::string, std::vector<double>> runNumbersOf(const RunFolder& folder)
{
    auto numbers = vergence::test::timelessNumbers(folder);
    for (const char* timed : kTimedSeries)
        numbers.erase(timed);
    return numbers;
}

} // namespace vergence::fvlm
