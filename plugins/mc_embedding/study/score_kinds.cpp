#include "plugins/mc_embedding/study/score_kinds.h"

namespace vergence::mc_embedding {

const std::vector<ScoreKind>& scoreKinds()
{
    using S = ScoreKind::Source;
    using Shape = CloudShape;
    static const std::vector<ScoreKind> kKinds{
        {"trace_pre", S::Moments, nullptr},
        {"trace_post", S::Moments, nullptr},
        {"trace_sum", S::Moments, nullptr},
        {"weighted_trace", S::Weighted, nullptr},
        {"topk_trace", S::Weighted, nullptr},
        {"max_dim_var", S::Shape, [](const Shape& s) { return s.maxDimVariance; }},
        {"norm_var", S::Shape, [](const Shape& s) { return s.normVariance; }},
        {"top_eigenvalue", S::Shape,
         [](const Shape& s) { return s.eigenvalues.empty() ? 0.0 : s.eigenvalues.front(); }},
        {"anisotropy", S::Shape, [](const Shape& s) { return s.anisotropy; }},
        {"effective_rank", S::Shape, [](const Shape& s) { return s.effectiveRank; }},
        {"effective_rank_debiased", S::Shape,
         [](const Shape& s) { return s.effectiveRankDebiased; }},
        {"spectral_entropy", S::Shape, [](const Shape& s) { return s.spectralEntropy; }},
        {"logdet_pseudo", S::Shape, [](const Shape& s) { return s.logdetPseudo; }},
        {"logdet_eps", S::Shape, [](const Shape& s) { return s.logdetEps; }},
        {"logdet_eps_per_dim", S::Shape, [](const Shape& s) { return s.logdetEpsPerDim; }},
        {"offdiag_l1_sum", S::Shape, [](const Shape& s) { return s.offdiagL1Sum; }},
        {"offdiag_l1_ratio", S::Shape, [](const Shape& s) { return s.offdiagL1Ratio; }},
        {"offdiag_fro_ratio", S::Shape, [](const Shape& s) { return s.offdiagFroRatio; }},
        {"circular_variance", S::Shape, [](const Shape& s) { return s.circularVariance; }},
        {"angular_var", S::Shape, [](const Shape& s) { return s.angularVariance; }},
        {"angular_msq", S::Shape, [](const Shape& s) { return s.angularMeanSquare; }},
        {"tangent_trace", S::Shape, [](const Shape& s) { return s.tangentTrace; }},
        {"tangent_top_eigenvalue", S::Shape, [](const Shape& s) { return s.tangentTopEigenvalue; }},
        {"bias2", S::Shape, [](const Shape& s) { return s.bias2.value; }},
    };
    return kKinds;
}

const ScoreKind* scoreKind(const std::string& name)
{
    for (const ScoreKind& kind : scoreKinds()) {
        if (kind.name == name)
            return &kind;
    }
    return nullptr;
}

} // namespace vergence::mc_embedding
