#include "plugins/mc_embedding/study/experiments/semantic_space.h"

#include <algorithm>
#include <numeric>

#include <Eigen/SVD>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "plugins/mc_embedding/statistics/cloud.h"
#include "plugins/mc_embedding/statistics/prediction.h"

namespace vergence::mc_embedding {

namespace {

using Dense = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::Map<const Dense> mapped(const Matrix& m)
{
    return {m.values.data(), static_cast<Eigen::Index>(m.rows),
            static_cast<Eigen::Index>(m.columns)};
}

Dense centred(const Dense& x)
{
    return x.rowwise() - x.colwise().mean();
}

/// Orthonormal columns that span the differences of the rows.
Dense spanOf(const Dense& texts)
{
    const Eigen::BDCSVD<Eigen::MatrixXd> svd(centred(texts), Eigen::ComputeThinV);
    const auto& values = svd.singularValues();
    const double noise = values(0) * static_cast<double>(std::max(texts.rows(), texts.cols())) *
                         std::numeric_limits<double>::epsilon();
    Eigen::Index rank = 0;
    while (rank < values.size() && values(rank) > noise)
        ++rank;
    return svd.matrixV().leftCols(rank);
}

void addImage(SemanticSpaceResult& result, const Matrix& cloud, const Dense& texts,
              const Dense& basis, double logitScale)
{
    const Dense deviations = centred(mapped(cloud));
    const double all = deviations.squaredNorm();
    result.insideShare.push_back(all > 0 ? (deviations * basis).squaredNorm() / all : 0);

    const Matrix directions = normalisedRows(cloud);
    const Dense similarities = mapped(directions) * texts.transpose(); // [T, P]
    const double degrees = static_cast<double>(cloud.rows - 1);
    result.similarityVariance.push_back(centred(similarities).squaredNorm() / degrees /
                                        static_cast<double>(texts.rows()));
    const Eigen::RowVectorXd means = similarities.colwise().mean();
    std::vector<double> logits(means.data(), means.data() + means.size());
    result.promptGap.push_back(margin(logits));
    for (double& logit : logits)
        logit *= logitScale;
    result.promptEntropy.push_back(entropy(softmax(logits)));
}

} // namespace

const std::vector<std::string>& semanticPrompts()
{
    static const std::vector<std::string> kPrompts = {
        "a photo of a dog",           "a photo of a cat",        "a photo of a bird",
        "a photo of a fish",          "a photo of a person",     "a photo of a child",
        "a photo of a car",           "a photo of a boat",       "a photo of a building",
        "a photo of a kitchen",       "a photo of a forest",     "a photo of a beach",
        "a photo of a mountain",      "a photo of a street",     "a photo of a plate of food",
        "a photo of a flower",        "a photo of a machine",    "a photo of a musical instrument",
        "a photo of a piece of text", "a photo of the night sky"};
    return kPrompts;
}

SemanticSpaceResult semanticSpace(const Matrix& texts, std::span<const Matrix> clouds,
                                  double logitScale)
{
    expects(texts.rows >= 2, "semanticSpace: two prompts or more");
    expects(!clouds.empty(), "semanticSpace: an image or more");
    const Matrix directions = normalisedRows(texts);
    const Dense directionsOfTexts = mapped(directions), basis = spanOf(directionsOfTexts);
    SemanticSpaceResult result;
    result.rank = static_cast<std::size_t>(basis.cols());
    result.nullShare = static_cast<double>(result.rank) / static_cast<double>(texts.columns);
    for (const Matrix& cloud : clouds) {
        expects(cloud.rows >= 2 && cloud.columns == texts.columns,
                "semanticSpace: two passes or more, as long as the text features");
        addImage(result, cloud, directionsOfTexts, basis, logitScale);
    }
    result.meanInsideShare =
        std::accumulate(result.insideShare.begin(), result.insideShare.end(), 0.0) /
        static_cast<double>(clouds.size());
    constexpr std::size_t kTop = 20;
    result.top.resize(clouds.size());
    std::iota(result.top.begin(), result.top.end(), std::size_t{0});
    std::stable_sort(result.top.begin(), result.top.end(), [&](std::size_t a, std::size_t b) {
        return result.similarityVariance[a] > result.similarityVariance[b];
    });
    result.top.resize(std::min(kTop, result.top.size()));
    return result;
}

nlohmann::json toJson(const SemanticSpaceResult& result)
{
    return {{"rank", result.rank},
            {"null_share", result.nullShare},
            {"mean_inside_share", result.meanInsideShare},
            {"mean_outside_share", 1 - result.meanInsideShare},
            {"num_images", result.insideShare.size()},
            {"top_images", result.top}};
}

} // namespace vergence::mc_embedding
