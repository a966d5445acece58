#include "plugins/live_diffusion/stream/fed_frames.h"

#include <utility>

#include "core/base/error.h"

namespace vergence::live {

namespace {

/// More than a stream batch has rows.
constexpr std::size_t kMostFrames = 72;

} // namespace

void FedFrames::add(std::int64_t number, SourceFrame&& frame, double taken)
{
    m_frames.push_back({number, std::move(frame), taken});
    if (m_frames.size() > kMostFrames)
        m_frames.pop_front();
}

FedFrames::Fed FedFrames::takeAnswered(const FrameRecord& record)
{
    expects(!m_frames.empty(), "fed frames: one that was fed");
    if (record.fate != FrameFate::Generated) {
        Fed newest = std::move(m_frames.back());
        m_frames.pop_back();
        return newest;
    }
    while (m_frames.size() > 1 && m_frames.front().number < record.shown)
        m_frames.pop_front();
    Fed answered = std::move(m_frames.front());
    m_frames.pop_front();
    return answered;
}

} // namespace vergence::live
