#include "plugins/mc_embedding/report/gallery.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/artifact/image_ops.h"
#include "plugins/mc_embedding/report/plots.h"
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

/// `share`: rank of the score over the number of images.
bool passes(const GalleryFilter& filter, const std::string& label, double share)
{
    const int quartile = std::clamp(static_cast<int>(std::ceil(4 * share - 1e-9)), 1, 4);
    return (filter.label.empty() || filter.label == label) &&
           (filter.quartile == 0 || filter.quartile == quartile);
}

std::string base64(const std::string& bytes)
{
    static constexpr char kDigits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        unsigned word = 0;
        for (std::size_t k = 0; k < 3; ++k)
            word =
                word << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
        for (int k = 3; k >= 0; --k)
            text += i + static_cast<std::size_t>(3 - k) > bytes.size()
                        ? '='
                        : kDigits[word >> (6 * k) & 63];
    }
    return text;
}

/// Every part of a label on a line of its own.
std::string inLines(const std::string& label)
{
    const std::string mark = " · ";
    std::string html = escaped(label);
    for (std::size_t at = html.find(mark); at != std::string::npos; at = html.find(mark))
        html.replace(at, mark.size(), "<br>");
    return html;
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
                                         std::size_t other, std::size_t order,
                                         const GalleryFilter& filter)
{
    const auto scores = scoresOf(state, look);
    if (!scores)
        return {};
    const std::vector<double> means = meansOverTrials(*scores), errors = errorsOverTrials(*scores);
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
        const auto a = averageRanks(means), b = averageRanks(meansOverTrials(*second));
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
    const std::vector<double> ranks = averageRanks(means);
    std::vector<GalleryEntry> entries;
    for (const std::size_t i : byScore(key)) {
        if (!passes(filter, state.images.images.at(scores->images[i]).label,
                    ranks[i] / static_cast<double>(ranks.size())))
            continue;
        std::string label = labelOf(state, look, scores->images[i], means[i], errors[i]);
        if (!extra[i].empty())
            label = extra[i] + " · " + label;
        entries.push_back({scores->images[i], std::move(label)});
    }
    return entries;
}

std::string galleryHtml(const std::vector<GalleryEntry>& entries,
                        const std::function<Image(std::size_t)>& thumbnail)
{
    constexpr int kSide = 128, kQuality = 85;
    std::string html = "<div class=\"gallery\">\n";
    for (const GalleryEntry& entry : entries)
        html += fmt::format("<div><img src=\"data:image/jpeg;base64,{}\" alt=\"\">{}</div>\n",
                            base64(encodeJpeg(fitted(thumbnail(entry.image), kSide), kQuality)),
                            inLines(entry.label));
    return html + "</div>";
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
