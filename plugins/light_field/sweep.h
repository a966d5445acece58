#pragma once

#include <string>
#include <vector>

#include "plugins/light_field/light_field_config.h"

namespace vergence::light_field {

/// One thing to solve: a board, a scene, or a board under one value of a parameter.
struct SweepItem {
    std::string folder; ///< "n26", "basic", "planes-4"
    std::string label;  ///< burnt into pictures: "n = 26"
    double x = 0;       ///< abscissa of the sweep: n, the parameter's value, or a running number
    int cellSize = 0;   ///< s of a board, otherwise 0
    int sameAs = -1; ///< index of an earlier item with the very same board; it is not solved again
    Scene scene;
    int channels = 3;        ///< 1 where the scene is grey
    LightFieldConfig config; ///< with the parameter's value applied
};

/// All items of a run, in order. Reads pictures; throws InputError where they do not fit.
std::vector<SweepItem> sweepItems(const LightFieldConfig& config, const Config& source);

/// Title of the abscissa: "n", "headroom", "scene".
std::string sweepAxis(const LightFieldConfig& config);

} // namespace vergence::light_field
