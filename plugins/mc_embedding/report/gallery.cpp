#include "plugins/mc_embedding/report/gallery.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/artifact/image_ops.h"
#include "plugins/mc_embedding/statistics/ranks.h"

namespace vergence::mc_embedding {

namespace {

enum Order : std::size_t { Highest, Lowest, Disagreement, UncertainRight, CertainWrong };

/// "0.00812 ± 0.00034"; both to the second digit of the error.
std::string withError(double score, double error)
{
    if (!std::isfinite(error) || error <= 0)
        return shortNumber(score);
    if (std::abs(score) < 1e-3 || std::abs(score) >= 1e5)
        return shortNumber(score) + " ± " + shortNumber(error, 2);
    const int decimals = std::clamp(1 - static_cast<int>(std::floor(std::log10(error))), 0, 9);
    return fmt::format("{:.{}f} ± {:.{}f}", score, decimals, error, decimals);
}

/// "0.00812 ± 0.00034 · class 3"
std::string labelOf(const StudyState& state, const Look& look, std::size_t image, double score,
                    double error)
{
    std::string text = withError(score, error);
    const auto& ambiguity = state.models[look.model].ambiguity;
    if (ambiguity && image < ambiguity->predicted.size() && ambiguity->predicted[image] >= 0)
        text +=
            " · " + ambiguity->classes.at(static_cast<std::size_t>(ambiguity->predicted[image]));
    else if (!state.images.images.at(image).label.empty())
        text += " · " + state.images.images.at(image).label;
    return text;
}

} // namespace

const std::vector<std::string>& galleryOrders()
{
    static const std::vector<std::string> kOrders{"highest score", "lowest score",
                                                  "models disagree", "uncertain but right",
                                                  "certain but wrong"};
    return kOrders;
}

std::vector<GalleryEntry> galleryEntries(const StudyState& state, const Look& look,
                                         std::size_t other, std::size_t order)
{
    const auto scores = scoresOf(state, look);
    if (!scores)
        return {};
    const std::vector<double> means = trialMeans(*scores), errors = trialErrors(*scores);
    std::vector<double> key = means; // the gallery falls by this
    std::vector<std::string> extra(means.size());
    if (order == Lowest || order == CertainWrong)
        for (double& value : key)
            value = -value;
    if (order == Disagreement) {
        const auto second =
            other == look.model ? std::nullopt : scoresOf(state, {other, look.pass, look.metric});
        if (!second || second->images != scores->images)
            return {};
        const auto a = averageRanks(means), b = averageRanks(trialMeans(*second));
        for (std::size_t i = 0; i < key.size(); ++i) {
            key[i] = std::abs(a[i] - b[i]);
            extra[i] = fmt::format("ranks {:.0f} / {:.0f}", a[i], b[i]);
        }
    }
    if (order == UncertainRight || order == CertainWrong) {
        const auto& ambiguity = state.models[look.model].ambiguity;
        if (!ambiguity)
            return {};
        for (std::size_t i = 0; i < key.size(); ++i) {
            const std::size_t image = scores->images[i];
            const bool isJudged = image < ambiguity->truth.size() && ambiguity->truth[image] >= 0;
            const bool isRight = isJudged && ambiguity->truth[image] == ambiguity->predicted[image];
            if (!isJudged || isRight != (order == UncertainRight))
                key[i] = NAN;
            else
                extra[i] = fmt::format("margin {}", shortNumber(ambiguity->margin[image], 2));
        }
    }
    std::vector<GalleryEntry> entries;
    for (const std::size_t i : byScore(key)) {
        std::string label = labelOf(state, look, scores->images[i], means[i], errors[i]);
        if (!extra[i].empty())
            label = extra[i] + " · " + label;
        entries.push_back({scores->images[i], std::move(label)});
    }
    return entries;
}

Image fitted(const Image& picture, int side)
{
    const int longest = std::max({1, picture.width, picture.height});
    const double scale =
        longest > side ? static_cast<double>(side) / longest : std::max(1, side / longest);
    return scaled(toRgb(picture), scale);
}

Image galleryTile(const Image& picture, int side)
{
    return centredOn(fitted(picture, side), side, side);
}

} // namespace vergence::mc_embedding
