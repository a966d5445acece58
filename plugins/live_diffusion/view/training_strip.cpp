#include "plugins/live_diffusion/view/training_strip.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/live_diffusion/view/picture_sheet.h"

namespace vergence::live {

namespace {

constexpr int kEdge = 12, kGap = 4, kHead = 48, kBreak = 12; ///< px; kBreak: before the target

/// At most `most` of `count`, the first and the last among them, evenly spread.
std::vector<std::size_t> spread(std::size_t count, std::size_t most)
{
    const std::size_t shown = std::min(count, most);
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < shown; ++i)
        chosen.push_back(shown == 1 ? count - 1
                                    : (i * (count - 1) + (shown - 1) / 2) / (shown - 1));
    return chosen;
}

const Image& imageAt(const std::vector<Image>& images, std::size_t index)
{
    static const Image kNone;
    return index < images.size() ? images[index] : kNone;
}

} // namespace

Image trainingStrip(const TrainingStrip& strip, int cell, int mostMoments, bool isDark)
{
    expects(cell >= 32 && mostMoments >= 1, "training strip: cells of 32 px, at least one moment");
    const std::vector<std::size_t> shown =
        spread(strip.moments.size(), static_cast<std::size_t>(mostMoments));
    std::size_t samples = std::max(strip.inputs.size(), strip.targets.size());
    for (const std::size_t i : shown)
        samples = std::max(samples, strip.moments[i].outputs.size());
    const int tall = strip.inputs.empty() ? cell : PictureSheet::heightFor(cell, strip.inputs[0]);
    const int columns = static_cast<int>(shown.size()) + 2;
    constexpr int kLeast = 380; // room for the title
    const int wide = 2 * kEdge + columns * (cell + kGap) - kGap + 2 * kBreak;
    const int rows = std::max(1, static_cast<int>(samples));
    PictureSheet sheet(std::max(kLeast, wide), kHead + rows * (tall + kGap) - kGap + kEdge, isDark);
    sheet.text(kEdge, kEdge + 6, "Samples", 16, "text", "left", true);
    sheet.text(kEdge + 90, kEdge + 6, strip.note, 12, "muted");
    int left = kEdge;
    const auto column = [&](const std::string& name, const std::vector<Image>& images) {
        sheet.text(left + cell / 2.0, kHead - 9, name, 12, "muted", "centre");
        for (std::size_t s = 0; s < samples; ++s)
            sheet.picture(left, kHead + static_cast<int>(s) * (tall + kGap), cell,
                          imageAt(images, s));
        left += cell + kGap;
    };
    column("input", strip.inputs);
    left += kBreak;
    for (const std::size_t i : shown)
        column(fmt::format("step {}", strip.moments[i].step), strip.moments[i].outputs);
    left += kBreak;
    column("target", strip.targets);
    if (samples == 0)
        sheet.text(kEdge, kHead + tall / 2.0, "No sample yet.", 13, "muted");
    return std::move(sheet).take();
}

} // namespace vergence::live
