#pragma once

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <string>
#include <vector>

#include "plugins/mc_embedding/statistics/figure.h"

namespace vergence::mc_embedding {

/// Exp 2: groups of pictures by their mean trace.
struct SyntheticNaturalResult {
    struct Group {
        std::string name;
        std::size_t images = 0;
        double mean = 0;
        Figure error; ///< standard error of the mean over images
    };
    std::vector<Group> groups;        ///< solid, gradient, noise, natural; those that have images
    std::vector<std::string> missing; ///< the others; without them the order is not known
    bool isExpectedOrder = false;     ///< none is missing and means rise in that order
    /// For neighbours in that order: chance that an image of the later one scores higher.
    std::vector<Figure> laterIsHigher;
};
/// Names in the expected order.
const std::vector<std::string>& syntheticNaturalOrder();
/// scores [K, N]; groups: a name of syntheticNaturalOrder() for every image.
SyntheticNaturalResult syntheticNatural(const Matrix& scores, std::span<const std::string> groups);
nlohmann::json toJson(const SyntheticNaturalResult& result);

} // namespace vergence::mc_embedding
