#pragma once

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "core/artifact/image.h"
#include "plugins/foveated_vlm/clips/synthetic_clips.h"
#include "plugins/foveated_vlm/view/gaze_picture.h"

namespace vergence::fvlm::testing {

/// Pictures that a test made lie in $VERGENCE_PICTURES where it is set, for people.
inline void keepPicture(const char* name, const Image& image)
{
    if (const char* folder = std::getenv("VERGENCE_PICTURES"))
        writePng(std::filesystem::path(folder) / (std::string(name) + ".png"), image);
}

/// A drawn clip with made-up weights: fine looks follow the subject, coarse ones are broad.
inline GazeScene gazeScene(int size = 64, int frames = 6, int patch = 8, Index clip = 3)
{
    SyntheticSettings settings;
    settings.size = size;
    settings.frames = frames;
    const SyntheticClips clips(settings);
    const SyntheticScene drawn = clips.scene(clip);
    const SyntheticObject& subject = drawn.objects[static_cast<std::size_t>(drawn.subject)];
    const Index grid = size / patch;
    const auto weights = [&](double width) {
        GazeWeights made{frames, 3, 4, grid * grid + 1, {}};
        for (int t = 0; t < frames; ++t)
            for (int look = 0; look < 3 * 4; ++look) {
                std::vector<double> row{0.02 * (1 + look % 3)};
                for (Index i = 0; i < grid * grid; ++i) {
                    const double x = (static_cast<double>(i % grid) + 0.5) * patch -
                                     (subject.x + t * subject.stepX);
                    const double y = (static_cast<double>(i / grid) + 0.5) * patch -
                                     (subject.y + t * subject.stepY);
                    row.push_back(std::exp(-(x * x + y * y) / (2 * width * width)) / 20 + 1e-4);
                }
                double sum = 0;
                for (const double value : row)
                    sum += value;
                for (const double value : row)
                    made.values.push_back(static_cast<float>(value / sum));
            }
        return made;
    };
    GazeScene scene;
    scene.height = scene.width = size;
    scene.frames = framesOf(clips, clip);
    scene.patch = patch;
    scene.coarse = gazeMaps(weights(size / 3.0), grid, grid);
    scene.fine = gazeMaps(weights(size / 9.0), grid, grid);
    scene.timestamps = clips.info(clip).timestamps;
    scene.title = "clip " + std::to_string(clip);
    scene.note = "mean of blocks 1–3, all heads";
    return scene;
}

} // namespace vergence::fvlm::testing
