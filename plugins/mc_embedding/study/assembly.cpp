#include "plugins/mc_embedding/study/assembly.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "plugins/mc_embedding/statistics/cloud.h"
#include "plugins/mc_embedding/study/geometry.h"
#include "plugins/mc_embedding/study/score_kinds.h"

namespace vergence::mc_embedding {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// [T, K, B] of a chunk into columns first … of each [K, N].
void putScores(const ChunkResult& chunk, const std::vector<double>& values,
               std::vector<Matrix>& target)
{
    const std::size_t b = chunk.images, k = static_cast<std::size_t>(chunk.trials);
    for (std::size_t t = 0; t < chunk.passes.size(); ++t) {
        for (std::size_t trial = 0; trial < k; ++trial)
            std::copy_n(values.begin() + static_cast<std::ptrdiff_t>((t * k + trial) * b), b,
                        &target[t](trial, chunk.first));
    }
}

/// Mean over passes and trials and mean variance over trials, from the sums.
void putMoments(ModelStudy& study, const ChunkResult& chunk)
{
    const std::size_t b = chunk.images, d = chunk.dimensions;
    const auto k = static_cast<std::size_t>(chunk.trials);
    const double t = chunk.passes.back();
    const double divisor = study.variance == "biased" ? t : t - 1;
    for (std::size_t i = 0; i < b; ++i) {
        for (std::size_t j = 0; j < d; ++j) {
            double sums = 0, variances = 0;
            for (std::size_t trial = 0; trial < k; ++trial) {
                const std::size_t at = trial * 4 * b * d + i * d + j;
                const double s1 = chunk.moments[at], s2 = chunk.moments[at + b * d];
                sums += s1;
                variances += std::max(0.0, s2 - s1 * s1 / t) / divisor;
            }
            const double deterministic = chunk.deterministic[i * d + j];
            study.deterministic(chunk.first + i, j) = deterministic;
            study.means(chunk.first + i, j) = deterministic + sums / (t * static_cast<double>(k));
            study.variances(chunk.first + i, j) = variances / static_cast<double>(k);
        }
    }
}

} // namespace

void prepareStudy(ModelStudy& study, const MeasurementPlan& plan, std::size_t images)
{
    const auto d = static_cast<std::size_t>(study.tower.feature);
    study.trials = plan.trials;
    study.passes = plan.passes;
    study.imagesDone = 0;
    study.scores.clear();
    for (const std::string& name : plan.scores)
        study.scores[name].assign(plan.passes.size(),
                                  Matrix(static_cast<std::size_t>(plan.trials), images, kUnknown));
    study.deterministic = study.means = study.variances = Matrix(images, d, kUnknown);
    study.geometry.reset();
    study.clouds.clear();
    study.degraded.clear();
    study.ways.clear();
    study.degradedFeatures.clear();
    study.synthetic.reset();
    study.prompts.reset();
    study.texts.reset();
}

void addChunk(ModelStudy& study, const ChunkResult& chunk)
{
    expects(chunk.first == study.imagesDone, "addChunk: chunks come in order");
    for (const auto& [name, values] : chunk.scores) {
        // Kept results may hold more than is asked for now.
        if (const auto found = study.scores.find(name); found != study.scores.end())
            putScores(chunk, values, found->second);
    }
    putMoments(study, chunk);
    addGeometry(study, chunk, study.means.rows);
    const std::size_t rows =
        static_cast<std::size_t>(chunk.trials) * static_cast<std::size_t>(chunk.passes.back());
    for (std::size_t c = 0; c < chunk.cloudImages.size(); ++c) {
        Cloud cloud;
        cloud.image = chunk.first + chunk.cloudImages[c];
        cloud.passes = Matrix(rows, chunk.dimensions);
        std::copy_n(chunk.clouds.begin() + static_cast<std::ptrdiff_t>(c * rows * chunk.dimensions),
                    rows * chunk.dimensions, cloud.passes.values.begin());
        study.clouds.push_back(std::move(cloud));
    }
    study.imagesDone += chunk.images;
}

void addDegradedChunk(ModelStudy& study, const MeasurementPlan& plan, const ChunkResult& chunk)
{
    auto found = std::find_if(study.degraded.begin(), study.degraded.end(),
                              [&](const auto& d) { return d.degradation == plan.degradation; });
    if (found == study.degraded.end()) {
        study.degraded.push_back({plan.degradation, {}});
        found = std::prev(study.degraded.end());
        found->trace.assign(plan.passes.size(), Matrix(static_cast<std::size_t>(plan.trials),
                                                       study.means.rows, kUnknown));
    }
    putScores(chunk, chunk.scores.at("trace_pre"), found->trace);
}

namespace {

/// [K, B] at the largest T of a chunk into columns first … of [K, N].
void putColumns(const ChunkResult& chunk, const std::string& score, Matrix& target)
{
    const std::vector<double>& values = chunk.scores.at(score);
    const auto k = static_cast<std::size_t>(chunk.trials);
    const std::size_t from = (chunk.passes.size() - 1) * k * chunk.images;
    for (std::size_t trial = 0; trial < k; ++trial)
        std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(from + trial * chunk.images),
                    chunk.images, &target(trial, chunk.first));
}

WayScores& wayOf(ModelStudy& study, const MeasurementPlan& plan)
{
    for (WayScores& way : study.ways) {
        if (way.experiment == plan.experiment && way.name == plan.way)
            return way;
    }
    WayScores& way = study.ways.emplace_back();
    way.experiment = plan.experiment;
    way.name = plan.way;
    way.p = plan.variant.p;
    way.rates = plan.groupRates;
    return way;
}

void addFeatures(ModelStudy& study, const std::string& degradation, const ChunkResult& chunk)
{
    Matrix& features = study.degradedFeatures[degradation];
    if (features.values.empty())
        features = Matrix(study.means.rows, chunk.dimensions, kUnknown);
    std::copy(chunk.deterministic.begin(), chunk.deterministic.end(), &features(chunk.first, 0));
}

} // namespace

void addLaterChunk(ModelStudy& study, const MeasurementPlan& plan, const ChunkResult& chunk,
                   const std::vector<std::string>& groups)
{
    const auto trials = static_cast<std::size_t>(chunk.trials);
    const auto reserved = [&](Matrix& matrix, std::size_t columns) -> Matrix& {
        if (matrix.values.empty())
            matrix = Matrix(trials, columns, kUnknown);
        return matrix;
    };
    switch (plan.kind) {
    case MeasurementPlan::Kind::Way: {
        WayScores& way = wayOf(study, plan);
        putColumns(chunk, "trace_pre", reserved(way.trace, study.means.rows));
        if (chunk.scores.contains("anisotropy") && plan.experiment == "exp3")
            putColumns(chunk, "anisotropy", reserved(way.anisotropy, study.means.rows));
        return;
    }
    case MeasurementPlan::Kind::Features:
        return addFeatures(study, plan.degradation, chunk);
    case MeasurementPlan::Kind::Synthetic:
        if (!study.synthetic)
            study.synthetic.emplace().groups = groups;
        return putColumns(chunk, "trace_pre", reserved(study.synthetic->trace, groups.size()));
    case MeasurementPlan::Kind::Texts:
        return putColumns(chunk, "trace_pre", study.texts->trace);
    default:
        throw ContractError("addLaterChunk: clean and degraded chunks have places of their own");
    }
}

void addCleanWay(ModelStudy& study, const MeasurementPlan& plan)
{
    WayScores& way = wayOf(study, plan);
    way.trace = study.scores.at("trace_pre").back();
    if (plan.experiment == "exp3")
        way.anisotropy = study.scores.at("anisotropy").back();
}

bool wantsWeightedScores(const MeasurementPlan& plan)
{
    return std::any_of(plan.scores.begin(), plan.scores.end(), [](const std::string& name) {
        return scoreKind(name)->source == ScoreKind::Source::Weighted;
    });
}

WeightedScores::WeightedScores(ModelStudy& study, const MeasurementPlan& plan)
    : m_study(study),
      m_weights(dimensionWeights(study.means))
{
    for (const std::string& name : plan.scores) {
        if (scoreKind(name)->source == ScoreKind::Source::Weighted)
            m_names.push_back(name);
    }
}

void WeightedScores::add(const ChunkResult& chunk)
{
    const std::size_t size = chunk.images * chunk.dimensions;
    const auto trials = static_cast<std::size_t>(chunk.trials);
    Matrix variances(chunk.images, chunk.dimensions);
    for (std::size_t t = 0; t < chunk.passes.size(); ++t) {
        for (std::size_t k = 0; k < trials; ++k) {
            std::copy_n(chunk.variances.begin() +
                            static_cast<std::ptrdiff_t>((t * trials + k) * size),
                        size, variances.values.begin());
            for (const std::string& name : m_names) {
                const std::vector<double> values = name == "topk_trace"
                                                       ? topkTrace(variances, m_weights)
                                                       : weightedTrace(variances, m_weights);
                std::copy(values.begin(), values.end(),
                          &m_study.scores.at(name)[t](k, chunk.first));
            }
        }
    }
}

} // namespace vergence::mc_embedding
