#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/artifact/image.h"

namespace vergence {

/// When frames of a video are shown, s, ascending.
struct VideoTimes {
    std::vector<double> times;
    double end = 0; ///< when the last one stops being shown
};

/// One frame upright: RGB, full range, its pixels `aspect` times as wide as high.
struct VideoFrame {
    Image rgb;
    double aspect = 1;
    double seconds = 0; ///< when it is shown; of a camera: since its first frame
    double lasts = 0;   ///< s; 0: not said
};

/// What decoding found.
struct VideoOutcome {
    VideoTimes shown;       ///< of all frames that were decoded
    bool isDamaged = false; ///< some data could not be decoded
};

/// Reads one video as a whole. Not thread-safe.
class VideoReader {
public:
    virtual ~VideoReader() = default;
    /// Times of the packets, undecoded; what the frames' will be unless the file is damaged.
    virtual VideoTimes packetTimes() = 0;
    /// Decodes all frames in the order they are shown; `give(i, frame)` for those wanted.
    virtual VideoOutcome decode(const std::function<bool(std::size_t)>& wants,
                                const std::function<void(std::size_t, VideoFrame&&)>& give) = 0;
};

/// What is known before the first frame; 0 where nothing says it.
struct VideoStreamInfo {
    int width = 0, height = 0; ///< as coded; frames may be turned or change
    double fps = 0;            ///< mean
    double seconds = 0;        ///< length; 0 for cameras
};

/// Reads a video or a camera frame by frame. Not thread-safe.
class VideoStream {
public:
    virtual ~VideoStream() = default;
    virtual VideoStreamInfo info() const = 0;
    /// The next frame in the order of being shown, at the size that it has. Nothing at the end and,
    /// within 20 ms, once `stop` asks for it. Throws InputError where reading fails for good.
    virtual std::optional<VideoFrame> next(const std::stop_token& stop) = 0;
    /// The next frame is the one that is shown at `seconds` (clamped to the length). Cameras ignore
    /// it. Throws InputError.
    virtual void seek(double seconds) = 0;
};

/// What is asked of a camera; it may give something else.
struct CameraSettings {
    std::string device = "/dev/video0"; ///< as the system's input format names it
    std::string format = "v4l2";        ///< libav's input format
    int width = 640, height = 480;
    double fps = 30;
};

struct VideoWriterSettings {
    int width = 0, height = 0; ///< px, 2 … 8192; odd sizes repeat their last column or row
    double fps = 25;           ///< above 0, at most 1000
    int quality = 20;          ///< constant rate factor of H.264, 0 (best) … 51
};

/// Writes a video whose file appears under its name when finish() succeeds.
class VideoWriter {
public:
    virtual ~VideoWriter() = default;
    /// Frame i is shown at i / fps. RGB of the given size. Throws OutputError, ContractError for
    /// another size.
    virtual void add(const Image& rgb) = 0;
    /// Ends the file; ContractError without a frame, OutputError.
    virtual void finish() = 0;
    virtual std::string codec() const = 0; ///< "h264" or "mpeg4"
};

/// What the optional module libvergence-video.so offers, so that libav is loaded by those alone who
/// read or write videos.
class VideoModule {
public:
    virtual ~VideoModule() = default;
    /// `threads`: of the decoder. Throw InputError with a sentence that names the file or device.
    virtual std::unique_ptr<VideoReader> reader(const std::filesystem::path& path,
                                                int threads) const = 0;
    virtual std::unique_ptr<VideoStream> stream(const std::filesystem::path& path,
                                                int threads) const = 0;
    virtual std::unique_ptr<VideoStream> camera(const CameraSettings& settings) const = 0;
    /// The container is chosen by the ending (.mp4, .mkv, …); H.264 where there is an encoder of
    /// it, otherwise MPEG-4 part 2. Throws OutputError, ContractError.
    virtual std::unique_ptr<VideoWriter> writer(const std::filesystem::path& path,
                                                const VideoWriterSettings& settings) const = 0;
};

inline constexpr const char* kVideoModule = "libvergence-video.so";
/// Entry of the module; the object lives as long as the process.
inline constexpr const char* kVideoEntry = "vergenceVideoModule";
using VideoEntry = const VideoModule* (*)();

/// The module, loaded at the first call; null where it is missing, with one sentence in `reason`
/// that names the packages. Thread-safe.
const VideoModule* videoModule(std::string* reason = nullptr);
/// The same; throws InputError with that sentence.
const VideoModule& requireVideoModule();

/// Whether the name of a file ends as a video's does (MP4, MOV, MKV, WebM, AVI, GIF, …).
bool hasVideoName(const std::filesystem::path& path);

} // namespace vergence
