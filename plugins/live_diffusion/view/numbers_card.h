#pragma once

#include <span>
#include <string>

#include "core/view/diagram.h"

namespace vergence::live {

/// One of the numbers that stand large beside the live picture.
struct BigNumber {
    std::string name;       ///< "pipeline latency"
    std::string value;      ///< "12.3 ms"; empty: not measured
    std::string note;       ///< small, below: "p95 14.0, p99 20.7 ms"
    std::string definition; ///< what exactly is counted: the tip of the number
    bool isWarning = false;
};

/// The numbers in rows; pointing at one shows its definition, which a question mark announces.
Diagram numbersCard(std::span<const BigNumber> numbers, std::size_t columns = 4,
                    double width = 760);

} // namespace vergence::live
