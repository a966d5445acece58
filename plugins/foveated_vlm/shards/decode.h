#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/artifact/image.h"
#include "core/artifact/video/video.h"

namespace vergence::fvlm {

/// How frames are brought to size: the short side is scaled and the centre cut, the aspect is
/// ignored, or the rest is filled with mid-grey.
enum class Fit { Crop, Squash, Letterbox };

/// Which frames are taken. UniformN: those shown at the midpoints of T equal intervals. Linspace:
/// numbers ⌊i(n−1)/(T−1)⌋ of n frames. Fps1: one a second; where that is more than T, UniformN over
/// the whole length.
enum class Sampling { UniformN, Linspace, Fps1 };

/// "crop", "squash", "letterbox"; "uniform_n", "linspace", "fps_1". Throw ContractError for other
/// names.
Fit fitFromName(std::string_view name);
Sampling samplingFromName(std::string_view name);
const char* nameOf(Fit fit);
const char* nameOf(Sampling sampling);

/// What becomes of a video.
struct DecodeSettings {
    Sampling sampling = Sampling::UniformN;
    Fit fit = Fit::Crop;
    int size = 224;  ///< of the square frames, px; 8 to 4096
    int frames = 8;  ///< T; with Fps1 the most, 1 to 1024
    int threads = 1; ///< of the decoder itself

    /// All that changes the frames, as JSON; for manifests and shard headers.
    std::string json() const;
    bool operator==(const DecodeSettings&) const = default;
};

/// Frames of one video.
struct DecodedClip {
    std::vector<std::uint8_t> frames; ///< [count, 3, size, size], RGB, full range
    int count = 0;
    float seconds = 0, fps = 0;
    bool isShort = false;          ///< the last frame is held
    bool isImage = false;          ///< a still: one frame, or all equal
    bool isRepaired = false;       ///< damaged frames were skipped
    std::vector<float> timestamps; ///< s, of every frame given
};

/// Whether videos can be decoded here, or one sentence why not that names the packages.
bool canDecodeVideo(std::string* reason = nullptr);

/// Decodes the frames that the settings pick: display matrix, aspect of the pixels, matrix and
/// range of the colours are honoured, sizes are changed by an antialiased bicubic filter. Numbers
/// of frames that the container states are not trusted: what is decoded counts. Thread-safe, one
/// decoder a call. Throws InputError with a sentence for what cannot be read, has no video or no
/// frame; ContractError for settings out of range.
DecodedClip decodeVideo(const std::filesystem::path& path, const DecodeSettings& settings);

/// A picture at the size and fit of the settings, planes one after the other: [3, size, size].
std::vector<std::uint8_t> fittedFrame(const Image& rgb, const DecodeSettings& settings);

/// Positions in a list of timestamps (s, ascending) that the settings take. `end`: when the last
/// frame stops being shown. Times before the first frame give the first. Repeats where there are
/// too few; Fps1 gives as many as the video has seconds, rounded up.
std::vector<std::size_t> pickFrames(std::span<const double> timestamps, double end,
                                    Sampling sampling, int frames);

} // namespace vergence::fvlm
