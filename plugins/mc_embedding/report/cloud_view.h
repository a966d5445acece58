#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plugins/mc_embedding/report/plots.h"
#include "plugins/mc_embedding/study/study_state.h"

namespace vergence::mc_embedding {

/// Which clouds of a model are looked at, and how.
struct CloudLook {
    std::size_t model = 0;
    std::vector<std::size_t> clouds; ///< indices into ModelStudy::clouds
    /// Axes of the pooled deviations, every cloud about its own mean (their shape), instead of axes
    /// of the image means (where they sit).
    bool isPooled = true;
    bool isTangent = false; ///< on the sphere, along the tangent plane of each mean
    bool operator==(const CloudLook&) const = default;
};

/// The passes of those clouds along three principal axes. Expensive; what follows is cheap.
struct CloudProjection {
    struct Item {
        std::size_t image = 0;
        int trials = 1;
        Matrix points;                     ///< [K · T, 3], trial by trial
        std::vector<double> deterministic; ///< 3 entries; empty where unknown
    };
    std::vector<Item> items;
    Matrix places;                        ///< [n, 3] means of images where the axes are theirs
    std::vector<std::size_t> placeImages; ///< [n]
    std::vector<double> shares;           ///< of the variance, per axis
    int passes = 0;                       ///< T
    std::string note;
};
CloudProjection projectClouds(const StudyState& state, const CloudLook& look);

struct CloudStyle {
    int passes = 0; ///< of every trial; 0: all
    bool is3d = false;
    double azimuthDegrees = 30, elevationDegrees = 20;
    enum class Colour { Trial, Image, Class, Score } colour = Colour::Trial;
    double width = 540, height = 470;
};
/// Scatter with 2σ ellipses (in 3-D the outline of the ellipsoid), means and deterministic points;
/// axes do not depend on `passes`. Where the axes are those of the image means, these are dots with
/// the names of the classes in their midst. Empty projection: nothing to draw is said in the note.
Plot cloudPlot(const StudyState& state, const CloudLook& look, const CloudProjection& projection,
               const CloudStyle& style);

} // namespace vergence::mc_embedding
