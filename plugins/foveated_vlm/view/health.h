#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace vergence::fvlm {

/// What a run says of itself; NaN: not measured.
struct HealthFigures {
    std::int64_t updates = 0;
    double uniformity = NAN;        ///< entropy of fine looks / ln N
    double querySimilarity = NAN;   ///< mean cosine of neighbouring queries
    double featureSimilarity = NAN; ///< mean cosine of coarse and fine tokens
    double queryDeviation = NAN;    ///< of the numbers of queries over frames
    double ratio = NAN;             ///< coarse loss / fine loss
};

/// One thing that commonly goes wrong.
struct HealthLight {
    enum class State { Unknown, Good, Bad };
    std::string id;       ///< "uniform", "collapsed", "same", "narrow", "even"
    std::string sentence; ///< what it means when it is on
    std::string relief;   ///< what it means when it is off
    std::string reading;  ///< the number and its bound
    State state = State::Unknown;
};

/// The five lights of section 12 of the specification, in their order.
std::vector<HealthLight> healthLights(const HealthFigures& figures);

} // namespace vergence::fvlm
