#include "plugins/foveated_vlm/view/frame_strip.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "core/artifact/plot/plot.h"
#include "core/base/error.h"
#include "plugins/foveated_vlm/clips/patch_basis.h"
#include "plugins/foveated_vlm/view/gaze_picture.h"
#include "plugins/foveated_vlm/view/picture_sheet.h"

namespace vergence::fvlm {

namespace {

constexpr int kEdge = 12, kGap = 4, kCaption = 16, kNames = 78, kBar = 10, kBarRoom = 70;
constexpr double kFace = 12;

/// Errors as a picture, the greatest lightest.
DecodedFrames errorFrames(const std::vector<float>& errors, int height, int width, float greatest)
{
    const std::size_t area = static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
    DecodedFrames frames{height, width, std::vector<std::uint8_t>(errors.size() * 3)};
    for (std::size_t i = 0; i < errors.size(); ++i) {
        const auto rgb = gazeColour(greatest > 0 ? errors[i] / greatest : 0);
        for (std::size_t c = 0; c < 3; ++c)
            frames.pixels[(i / area * 3 + c) * area + i % area] = rgb[c];
    }
    return frames;
}

struct Row {
    std::string name;
    DecodedFrames pictures;
    std::vector<std::string> notes; ///< below the frames
};

std::vector<Row> rowsOf(const StripScene& scene, std::size_t count, float& greatest)
{
    std::vector<Row> rows{{"frames", {scene.height, scene.width, scene.frames}, {}}};
    for (std::size_t t = 0; t < count; ++t)
        rows.front().notes.push_back(frameName(scene.timestamps, t));
    if (scene.truth.empty())
        return rows;
    const int h = scene.latentHeight, w = scene.latentWidth;
    const auto decode = [&](const char* name, const std::vector<float>& latents) {
        rows.push_back({name, decodeLatents(latents, h, w, scene.provider, scene.statistics), {}});
    };
    decode("previous", scene.previous);
    decode("predicted", scene.predicted);
    decode("true", scene.truth);
    const std::vector<float> errors = latentErrors(scene.predicted, scene.truth, h, w);
    greatest = std::ranges::max(errors);
    rows.push_back({"error", errorFrames(errors, h, w, greatest), {}});
    const std::size_t area = errors.size() / count;
    for (std::size_t t = 0; t < count; ++t) {
        double sum = 0;
        for (std::size_t i = 0; i < area; ++i)
            sum += errors[t * area + i];
        rows.back().notes.push_back("mean " + plot::shortNumber(sum / static_cast<double>(area)));
    }
    return rows;
}

} // namespace

DecodedFrames decodeLatents(std::span<const float> latents, int height, int width,
                            const std::string& provider, const LatentStatistics& statistics)
{
    if (provider == "patch_basis")
        return {height * kPatchBasisBlock, width * kPatchBasisBlock,
                decodePatchBasis(latents, height, width, statistics)};
    static constexpr float kColours[4][3] = {{0.298F, 0.207F, 0.208F},
                                             {0.187F, 0.286F, 0.173F},
                                             {-0.158F, 0.189F, 0.264F},
                                             {-0.184F, -0.271F, -0.473F}};
    const std::size_t area = static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
    expects(area > 0 && latents.size() % (4 * area) == 0, "latents: whole frames of four channels");
    const std::size_t count = latents.size() / (4 * area);
    DecodedFrames frames{height, width, std::vector<std::uint8_t>(count * 3 * area)};
    for (std::size_t i = 0; i < frames.pixels.size(); ++i) {
        const std::size_t frame = i / (3 * area), c = i / area % 3, place = i % area;
        float value = 0;
        for (std::size_t k = 0; k < 4; ++k)
            value += kColours[k][c] *
                     (latents[(frame * 4 + k) * area + place] * statistics.deviation[k] +
                      statistics.mean[k]);
        frames.pixels[i] =
            static_cast<std::uint8_t>(std::clamp((value + 1) * 127.5F + 0.5F, 0.0F, 255.0F));
    }
    return frames;
}

std::vector<float> latentErrors(std::span<const float> predicted, std::span<const float> truth,
                                int height, int width)
{
    const std::size_t area = static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
    expects(area > 0 && predicted.size() == truth.size() && truth.size() % (4 * area) == 0,
            "latents: predicted and true ones of equal extents");
    std::vector<float> errors(truth.size() / 4);
    for (std::size_t i = 0; i < truth.size(); ++i) {
        const float difference = predicted[i] - truth[i];
        errors[i / (4 * area) * area + i % area] += difference * difference / 4;
    }
    return errors;
}

Image frameStrip(const StripScene& scene, int cell, int mostFrames, bool isDark)
{
    const std::size_t frameSize = std::size_t(3) * static_cast<std::size_t>(scene.height) *
                                  static_cast<std::size_t>(scene.width);
    expects(frameSize > 0 && cell >= 32, "strip: frames with an extent");
    const std::size_t count = scene.frames.size() / frameSize;
    expects(count > 0 && scene.frames.size() == count * frameSize, "strip: whole frames");
    const std::size_t latentSize = std::size_t(4) * static_cast<std::size_t>(scene.latentHeight) *
                                   static_cast<std::size_t>(scene.latentWidth);
    for (const std::vector<float>* latents : {&scene.previous, &scene.predicted, &scene.truth})
        expects(latents->size() == (scene.truth.empty() ? 0 : count * latentSize),
                "strip: three latents per frame, or none");
    float greatest = 0;
    const std::vector<Row> rows = rowsOf(scene, count, greatest);
    const std::vector<std::size_t> shown = shownFrames(count, mostFrames);
    const int head = kEdge + 26;
    int height = head + kEdge;
    for (const Row& row : rows)
        height += PictureSheet::heightFor(cell, row.pictures.height, row.pictures.width) + kGap +
                  (row.notes.empty() ? 0 : kCaption);
    constexpr int kLeast = 360; // room for the title
    const int columnsEnd = kEdge + kNames + static_cast<int>(shown.size()) * (cell + kGap);
    const int width = std::max(kLeast, columnsEnd - kGap + (rows.size() > 1 ? kBarRoom : kEdge));
    PictureSheet sheet(width, height, isDark);
    std::string title = "Frames" + (scene.title.empty() ? "" : ", " + scene.title);
    if (shown.size() < count)
        title += fmt::format(", {} of {}", shown.size(), count);
    sheet.text(kEdge, kEdge + 9, fittedLines(title, 16, width - 2 * kEdge).front(), 16, "text",
               "left", true);
    int top = head;
    for (const Row& row : rows) {
        const DecodedFrames& pictures = row.pictures;
        const std::size_t size = std::size_t(3) * static_cast<std::size_t>(pictures.height) *
                                 static_cast<std::size_t>(pictures.width);
        const int tall = PictureSheet::heightFor(cell, pictures.height, pictures.width);
        sheet.text(kEdge, top + tall / 2.0, row.name, 13);
        for (std::size_t i = 0; i < shown.size(); ++i) {
            const int left = kEdge + kNames + static_cast<int>(i) * (cell + kGap);
            sheet.frame(left, top, cell, std::span(pictures.pixels).subspan(shown[i] * size, size),
                        pictures.height, pictures.width);
            if (!row.notes.empty())
                sheet.text(left + cell / 2.0, top + tall + kCaption / 2.0 + 1, row.notes[shown[i]],
                           kFace, "muted", "centre");
        }
        if (row.name == "error") {
            sheet.bar(columnsEnd + 4, top, kBar, tall, gazeColour);
            sheet.text(columnsEnd + kBar + 8, top + 7, plot::shortNumber(greatest), 11, "muted");
            sheet.text(columnsEnd + kBar + 8, top + tall - 7, "0", 11, "muted");
        }
        top += tall + kGap + (row.notes.empty() ? 0 : kCaption);
    }
    return std::move(sheet).take();
}

} // namespace vergence::fvlm
