#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/artifact/video/av_handles.h"
#include "core/artifact/video/video.h"

namespace vergence {

/// Damaged packets one after the other at which the rest of a file is given up.
inline constexpr int kMostFailures = 1000;

/// A file or a device with its best video stream. Every failure is an InputError that names it.
class LibavInput {
public:
    explicit LibavInput(const std::filesystem::path& path);
    /// Packets come when there are some: read() may return AVERROR(EAGAIN).
    explicit LibavInput(const CameraSettings& camera);

    [[noreturn]] void fail(const std::string& what) const;
    /// From the first packet again; for files.
    void reopen();
    AvHandle<AVCodecContext> openCodec(int threads) const;

    /// av_read_frame(), packets of other streams left out.
    int read(AVPacket& packet);
    /// The next packet that can be read; false at the end.
    bool nextPacket(AVPacket& packet, bool& isDamaged);
    /// To the last key frame at or before `seconds`; false where the container cannot.
    bool seek(double seconds);

    AVFormatContext& format() const { return *m_format; }
    AVStream& stream() const { return *m_format->streams[m_stream]; }
    /// From the stream's start, s.
    double seconds(std::int64_t time) const;
    /// What a frame lasts where nothing says so, s.
    double usualSeconds() const;
    /// Of a duration in the stream's units, s; the usual one for 0.
    double lasting(std::int64_t duration) const;
    AVRational aspectOf(AVFrame& frame) const;
    const std::int32_t* displayMatrix() const; ///< null where there is none

private:
    void chooseStream();

    std::string m_what, m_name; ///< "video", "/a/b.mp4"
    int m_stream = -1;
    const AVCodec* m_decoder = nullptr;
    AvHandle<AVFormatContext> m_format;
};

} // namespace vergence
