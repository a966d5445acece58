#pragma once

#include <memory>
#include <string>

#include "core/run/run_context.h"
#include "plugins/live_diffusion/live_diffusion_config.h"
#include "plugins/live_diffusion/stream/clip_export.h"

namespace vergence::live {

/// The streamed frames as a clip among the results: a GIF of the first 250, an MP4 or pictures of
/// all; or none. A clip that cannot be written here is a warning, and the stream goes on.
class StreamClip {
public:
    StreamClip(RunContext& context, const LiveDiffusionConfig& config);

    /// A frame of another size than the first is scaled to that one's. Throws OutputError.
    void add(const Image& input, const Image& output, double milliseconds);
    /// Completes it and lists it among the results; nothing more the second time. May be repeated
    /// after an OutputError.
    void finish(ArtifactStore& artifacts);

private:
    ExportSettings m_settings;
    std::string m_name; ///< of the file or folder among the results
    std::unique_ptr<ClipWriter> m_writer;
    std::int64_t m_pictures = 0;
    int m_width = 0, m_height = 0; ///< of the first frame
};

} // namespace vergence::live
