#include "plugins/foveated_vlm/clips/clip_source.h"

#include "core/base/error.h"

namespace vergence::fvlm {

const std::string& answerOf(const ClipText& text)
{
    return text.answer.empty() ? text.chosen : text.answer;
}

ClipSource::~ClipSource() = default;

LatentSource::~LatentSource() = default;

LatentStatistics LatentSource::statistics() const
{
    return {};
}

void expectsClip(const ClipSource& source, Index clip)
{
    expects(clip >= 0 && clip < source.count(),
            "clip " + std::to_string(clip) + " of " + std::to_string(source.count()));
}

std::size_t frameSize(const ClipSource& source)
{
    return std::size_t(3) * static_cast<std::size_t>(source.height()) *
           static_cast<std::size_t>(source.width());
}

std::vector<std::uint8_t> framesOf(const ClipSource& source, Index clip)
{
    std::vector<std::uint8_t> frames(static_cast<std::size_t>(source.info(clip).frames) *
                                     frameSize(source));
    source.read(clip, frames);
    return frames;
}

} // namespace vergence::fvlm
