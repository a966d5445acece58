#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/artifact/image.h"
#include "core/artifact/video/video.h"
#include "plugins/live_diffusion/scenes/scene.h"

namespace vergence::live {

/// A frame of a source. Sizes may change from frame to frame.
struct SourceFrame {
    Image rgb;
    Image target;            ///< what should become of it; empty where unknown
    std::int64_t number = 0; ///< in the source, from 0
    double seconds = 0;      ///< when it is shown, from the source's start
    double lasts = 0.04;     ///< s, until the next one; a guess for the last
    double captured = 0;     ///< steady clock, s: when it came to be in memory
};

struct SourceInfo {
    std::string name;          ///< "Orbits", "holiday.mp4", "/dev/video0"
    int width = 0, height = 0; ///< of the first frame; 0: not known yet
    double fps = 0;            ///< mean; 0: not known
    std::int64_t frames = 0;   ///< 0: not known, or without end
    double seconds = 0;        ///< length; 0: not known, or without end
    bool isLive = false;       ///< a camera: comes in its own time, cannot seek
    bool hasTarget = false;
};

/// Where frames come from. Used by one thread.
class Source {
public:
    virtual ~Source() = default;
    virtual SourceInfo info() const = 0;
    /// The next frame; nothing at the end, or soon after `stop` asks for it. Throws InputError
    /// where the source vanished or cannot be read any further.
    virtual std::optional<SourceFrame> next(const std::stop_token& stop) = 0;
    /// The next frame is the one shown at `seconds`, clamped. Nothing happens in live sources.
    virtual void seek(double seconds) = 0;
};

enum class SourceKind { Scene, Images, Video, Camera };

struct SourceSettings {
    SourceKind kind = SourceKind::Scene;
    SceneSettings scene;          ///< also what a source that is lost on the way is replaced by
    double fps = 25;              ///< of scenes and pictures, (0, 1000]
    std::int64_t sceneFrames = 0; ///< 0: without end
    std::filesystem::path path;   ///< folder of pictures, or video
    CameraSettings camera;
    int threads = 1; ///< of the decoder
};

/// Frames 0, 1, … of a scene at `fps`; `frames` = 0: without end.
std::unique_ptr<Source> sceneSource(const SceneSettings& scene, double fps,
                                    std::int64_t frames = 0);
/// PNG and JPEG files of a folder in natural order ("2" before "10"), letters of either case.
/// Files that cannot be read are left out, with a line in the log. Throws InputError where none is
/// left.
std::unique_ptr<Source> imageSource(const std::filesystem::path& folder, double fps);
/// Times of the frames are the video's own. Throws InputError, also where no picture can be read.
std::unique_ptr<Source> videoSource(const std::filesystem::path& path, int threads = 1);
std::unique_ptr<Source> cameraSource(const CameraSettings& settings); ///< throws InputError
/// Names of cameras here: "/dev/video0", …
std::vector<std::string> cameras();

/// Throws InputError with one sentence; ContractError for settings out of range.
std::unique_ptr<Source> openSource(const SourceSettings& settings);

/// Text order with numbers by value; capital and small letters alike.
bool naturallyBefore(std::string_view a, std::string_view b);

} // namespace vergence::live
