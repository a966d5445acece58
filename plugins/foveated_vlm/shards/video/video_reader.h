#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/artifact/image.h"

namespace vergence::fvlm {

/// When frames of a video are shown, s, ascending.
struct VideoTimes {
    std::vector<double> times;
    double end = 0; ///< when the last one stops being shown
};

/// One frame upright: RGB, full range, its pixels `aspect` times as wide as high.
struct VideoFrame {
    Image rgb;
    double aspect = 1;
};

/// What decoding found.
struct VideoOutcome {
    VideoTimes shown;       ///< of all frames that were decoded
    bool isDamaged = false; ///< some data could not be decoded
};

/// Reads one video. The implementation lies in the module libvergence-video.so, so that libav is
/// loaded by those alone who read videos.
class VideoReader {
public:
    virtual ~VideoReader() = default;
    /// Times of the packets, undecoded; what the frames' will be unless the file is damaged.
    virtual VideoTimes packetTimes() = 0;
    /// Decodes all frames in the order they are shown; `give(i, frame)` for those wanted.
    virtual VideoOutcome decode(const std::function<bool(std::size_t)>& wants,
                                const std::function<void(std::size_t, VideoFrame&&)>& give) = 0;
};

inline constexpr const char* kVideoModule = "libvergence-video.so";
/// Entry of the module: opens a file. Throws InputError.
inline constexpr const char* kVideoEntry = "vergenceOpenVideo";
using VideoEntry = VideoReader* (*)(const char* path, int threads);

} // namespace vergence::fvlm
