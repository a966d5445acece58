#pragma once

#include "core/artifact/video/av_handles.h"
#include "core/artifact/video/video.h"

namespace vergence {

/// Turns decoded frames into upright RGB of full range.
class RgbFrames {
public:
    /// `display`: the display matrix of the stream, or null.
    explicit RgbFrames(const std::int32_t* display);

    /// Colours by the frame's own matrix and range; where it names none, BT.709 from 720 rows on,
    /// else BT.601, and the range of studios. `aspect`: of the stream's pixels, for frames that
    /// name none. Throws InputError for a form that cannot be converted.
    VideoFrame converted(const AVFrame& frame, AVRational aspect);

private:
    void prepare(const AVFrame& frame);

    int m_quarters = 0; ///< turns clockwise
    bool m_isMirrored = false;
    AvHandle<SwsContext> m_scaler;
    int m_width = 0, m_height = 0, m_format = -1, m_matrix = -1, m_range = -1;
};

} // namespace vergence
