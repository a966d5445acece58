#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/error.h"
#include "plugins/mc_embedding/study/study_state.h"

namespace vergence::mc_embedding {

inline const ModelStudy& modelOf(const StudyState& state, const std::string& label)
{
    const auto found = std::find_if(state.models.begin(), state.models.end(),
                                    [&](const auto& m) { return m.label == label; });
    if (found == state.models.end())
        throw InputError("no model " + label);
    return *found;
}

/// NaN equals NaN: what is not known on both sides.
inline bool sameNumbers(const std::vector<double>& a, const std::vector<double>& b)
{
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) {
               return x == y || (std::isnan(x) && std::isnan(y));
           });
}

inline bool sameNumbers(const Matrix& a, const Matrix& b)
{
    return a.rows == b.rows && a.columns == b.columns && sameNumbers(a.values, b.values);
}

/// The first thing that differs between two studies, bit for bit; empty where nothing does.
inline std::string differenceOf(const ModelStudy& a, const ModelStudy& b)
{
    if (a.imagesDone != b.imagesDone || a.passes != b.passes || a.trials != b.trials)
        return "extents";
    for (const auto& [name, matrices] : a.scores) {
        for (std::size_t t = 0; t < matrices.size(); ++t) {
            if (!sameNumbers(matrices[t], b.scores.at(name)[t]))
                return name;
        }
    }
    if (!sameNumbers(a.deterministic, b.deterministic) || !sameNumbers(a.means, b.means) ||
        !sameNumbers(a.variances, b.variances))
        return "features";
    if (a.geometry.has_value() != b.geometry.has_value())
        return "geometry";
    if (a.geometry) {
        for (const auto& [name, matrix] : a.geometry->values) {
            if (!sameNumbers(matrix, b.geometry->values.at(name)))
                return "geometry " + name;
        }
        if (!sameNumbers(a.geometry->eigenvaluesPost, b.geometry->eigenvaluesPost))
            return "eigenvalues";
    }
    if (a.degraded.size() != b.degraded.size())
        return "degraded";
    for (std::size_t i = 0; i < a.degraded.size(); ++i) {
        if (!sameNumbers(a.degraded[i].trace.back(), b.degraded[i].trace.back()))
            return a.degraded[i].degradation;
    }
    if (a.clouds.size() != b.clouds.size())
        return "clouds";
    for (std::size_t i = 0; i < a.clouds.size(); ++i) {
        if (!sameNumbers(a.clouds[i].passes, b.clouds[i].passes))
            return "cloud";
    }
    return {};
}

} // namespace vergence::mc_embedding
