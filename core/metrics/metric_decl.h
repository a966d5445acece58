#pragma once

#include <string>

namespace vergence {

/// What a plugin says of a series before it reports it.
struct MetricDecl {
    enum class Better { Lower, Higher, Neither };
    std::string name;  ///< "train/loss"
    std::string title; ///< "Loss"
    std::string unit;  ///< "dB"; empty for none
    Better better = Better::Neither;
    bool isHeadline = false; ///< shown in the list of runs as "best metric"
};

} // namespace vergence
