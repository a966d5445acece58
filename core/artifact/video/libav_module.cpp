#include "core/artifact/video/libav_parts.h"

extern "C" {
#include <libavutil/log.h>
}

namespace vergence {

namespace {

class LibavModule final : public VideoModule {
public:
    std::unique_ptr<VideoReader> reader(const std::filesystem::path& path,
                                        int threads) const override
    {
        return openLibavReader(path, threads);
    }
    std::unique_ptr<VideoStream> stream(const std::filesystem::path& path,
                                        int threads) const override
    {
        return openLibavStream(path, threads);
    }
    std::unique_ptr<VideoStream> camera(const CameraSettings& settings) const override
    {
        return openLibavCamera(settings);
    }
    std::unique_ptr<VideoWriter> writer(const std::filesystem::path& path,
                                        const VideoWriterSettings& settings) const override
    {
        return openLibavWriter(path, settings);
    }
};

} // namespace

} // namespace vergence

/// The entry that video.h names.
extern "C" [[gnu::visibility("default")]] const vergence::VideoModule* vergenceVideoModule()
{
    av_log_set_level(AV_LOG_QUIET); // what is wrong comes as an exception
    static const vergence::LibavModule module;
    return &module;
}
