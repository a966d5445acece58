#include "plugins/mc_embedding/study/geometry.h"

#include <algorithm>
#include <limits>

namespace vergence::mc_embedding {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

void putSpectrum(const CloudShape& shape, double* target)
{
    const std::size_t count = std::min(kEigenvalues, shape.eigenvalues.size());
    std::copy_n(shape.eigenvalues.begin(), count, target);
    std::fill_n(target + count, kEigenvalues - count, 0.0);
}

} // namespace

void putGeometry(ChunkResult& chunk, int trial, std::size_t image, const Matrix& cloud)
{
    const std::size_t b = chunk.images, g = static_cast<std::size_t>(chunk.geometryTrials);
    const std::size_t at = static_cast<std::size_t>(trial) * b + image;
    const auto put = [&](const std::string& name, double value) {
        auto& values = chunk.geometry[name];
        values.resize(g * b, kUnknown);
        values[at] = value;
    };
    const CloudShape pre = cloudShape(cloud), post = cloudShape(normalisedRows(cloud));
    for (const auto& [shape, space] : {std::pair(&pre, "_pre"), std::pair(&post, "_post")}) {
        put(std::string("trace") + space, shape->tracePerDim);
        put(std::string("offdiag_l1_sum") + space, shape->offdiagL1Sum);
        put(std::string("offdiag_l1_ratio") + space, shape->offdiagL1Ratio);
        put(std::string("offdiag_fro_ratio") + space, shape->offdiagFroRatio);
        put(std::string("logdet_pseudo") + space, shape->logdetPseudo);
        put(std::string("logdet_eps") + space, shape->logdetEps);
        put(std::string("logdet_eps_per_dim") + space, shape->logdetEpsPerDim);
        put(std::string("effective_rank") + space, shape->effectiveRank);
        put(std::string("anisotropy") + space, shape->anisotropy);
    }
    put("resultant_length", pre.resultantLength);
    put("circular_variance", pre.circularVariance);
    put("angular_var", pre.angularVariance);
    put("angular_msq", pre.angularMeanSquare);
    chunk.eigenvaluesPre.resize(g * b * kEigenvalues, kUnknown);
    chunk.eigenvaluesPost.resize(g * b * kEigenvalues, kUnknown);
    putSpectrum(pre, chunk.eigenvaluesPre.data() + at * kEigenvalues);
    putSpectrum(post, chunk.eigenvaluesPost.data() + at * kEigenvalues);
}

void adoptGeometry(const ChunkResult& from, ChunkResult& to, std::size_t trials)
{
    const std::size_t g = static_cast<std::size_t>(to.geometryTrials);
    const std::size_t count = std::min({trials, g, static_cast<std::size_t>(from.geometryTrials)});
    const auto copy = [&](const std::vector<double>& source, std::vector<double>& target,
                          std::size_t row) {
        target.resize(g * row, kUnknown);
        std::copy_n(source.begin(), count * row, target.begin());
    };
    if (count == 0)
        return;
    for (const auto& [name, values] : from.geometry)
        copy(values, to.geometry[name], to.images);
    copy(from.eigenvaluesPre, to.eigenvaluesPre, to.images * kEigenvalues);
    copy(from.eigenvaluesPost, to.eigenvaluesPost, to.images * kEigenvalues);
}

void addGeometry(ModelStudy& study, const ChunkResult& chunk, std::size_t images)
{
    if (chunk.geometryTrials == 0)
        return;
    const std::size_t g = static_cast<std::size_t>(chunk.geometryTrials), b = chunk.images;
    if (!study.geometry) {
        study.geometry.emplace();
        study.geometry->trials = chunk.geometryTrials;
        study.geometry->passes = chunk.passes.back();
        study.geometry->eigenvaluesPre = Matrix(g * images, kEigenvalues, kUnknown);
        study.geometry->eigenvaluesPost = Matrix(g * images, kEigenvalues, kUnknown);
    }
    GeometryTrials& all = *study.geometry;
    for (const auto& [name, values] : chunk.geometry) {
        Matrix& matrix = all.values.try_emplace(name, g, images, kUnknown).first->second;
        for (std::size_t k = 0; k < g; ++k)
            std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(k * b), b,
                        &matrix(k, chunk.first));
    }
    for (std::size_t k = 0; k < g; ++k) {
        const auto from = static_cast<std::ptrdiff_t>(k * b * kEigenvalues);
        std::copy_n(chunk.eigenvaluesPre.begin() + from, b * kEigenvalues,
                    &all.eigenvaluesPre(k * images + chunk.first, 0));
        std::copy_n(chunk.eigenvaluesPost.begin() + from, b * kEigenvalues,
                    &all.eigenvaluesPost(k * images + chunk.first, 0));
    }
}

} // namespace vergence::mc_embedding
