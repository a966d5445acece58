#include "tests/support/cuda_emulation/engine/streams.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include <driver_types.h>

#include "tests/support/cuda_emulation/engine/device_memory.h"
#include "tests/support/cuda_emulation/engine/handles.h"
#include "tests/support/cuda_emulation/engine/settings.h"

namespace vergence::emulation {

namespace {

struct Streams {
    Handles<Stream> handles{1, "a stream"};
    std::map<int, std::shared_ptr<Stream>> defaults; ///< by device
    std::vector<std::shared_ptr<Stream>> all;
    std::shared_ptr<Stream> lost = std::make_shared<Stream>(); ///< takes what is given to no stream
    int sticky = 0;
};

/// Never destroyed: work may be given until the process has ended.
Streams& streams()
{
    static auto* all = new Streams;
    return *all;
}

thread_local int chosenDevice = 0;

bool isDefault(const Stream& stream)
{
    const auto found = streams().defaults.find(stream.device);
    return found != streams().defaults.end() && found->second.get() == &stream;
}

bool isWorking(const Stream& stream)
{
    return stream.done < stream.issued;
}

/// What CUDA lets work wait for unasked: the default stream and those that are not non-blocking
/// wait for one another.
std::vector<Mark> impliedMarks(const Stream& stream)
{
    std::vector<Mark> marks;
    if (stream.isNonBlocking)
        return marks;
    const bool waitsForAll = isDefault(stream);
    for (const auto& other : streams().all) {
        if (other.get() != &stream && other->device == stream.device && !other->isNonBlocking &&
            isWorking(*other) && (waitsForAll || isDefault(*other)))
            marks.push_back(markOf(*other));
    }
    return marks;
}

void record(Stream& stream, Work work)
{
    Recording& recording = *stream.recording;
    if (!recording.invalidated.empty())
        return;
    const std::size_t step = recording.steps.size();
    recording.steps.push_back({std::move(work), std::move(stream.tail)});
    stream.tail = {step};
}

const Mark* blockerOf(const Stream& stream)
{
    for (const Mark& mark : stream.queue.front().after) {
        if (!isReached(mark))
            return &mark;
    }
    return nullptr;
}

/// The stream whose next piece brings `stream` on. Marks are of earlier work, so there is no
/// circle.
Stream& firstOfAllFor(Stream& stream)
{
    Stream* next = &stream;
    while (const Mark* blocker = blockerOf(*next))
        next = blocker->stream.get();
    return *next;
}

Stream* anyThatCanRun()
{
    std::vector<Stream*> candidates;
    for (const auto& stream : streams().all) {
        if (!stream->queue.empty() && !blockerOf(*stream))
            candidates.push_back(stream.get());
    }
    return candidates.empty() ? nullptr : candidates[shuffledBelow(candidates.size())];
}

void runNext(Stream& stream)
{
    const Piece piece = std::move(stream.queue.front());
    stream.queue.pop_front();
    if (piece.work && streams().sticky == 0)
        piece.work();
    ++stream.done;
}

/// How much of others' work comes before that which is waited for.
enum class Others { None, All, Some, Most, Count };

Others othersBySeed()
{
    if (!isLate())
        return Others::None;
    return static_cast<Others>(shuffledBelow(static_cast<std::size_t>(Others::Count)));
}

bool takesOther(Others others)
{
    switch (others) {
    case Others::All:
        return true;
    case Others::Some:
        return shuffledBelow(4) == 0;
    case Others::Most:
        return shuffledBelow(4) != 0;
    default:
        return false;
    }
}

/// A destroyed stream stays until its work is done.
void forgetDestroyed()
{
    std::erase_if(streams().all, [](const std::shared_ptr<Stream>& stream) {
        return stream.use_count() == 1 && stream->queue.empty();
    });
}

void push(Stream& stream, Piece piece)
{
    if (&stream == streams().lost.get())
        return;
    stream.queue.push_back(std::move(piece));
    ++stream.issued;
    if (!isLate())
        finish(stream, stream.issued);
}

bool isLegacyHandle(const CUstream_st* stream)
{
    return !stream || stream == cudaStreamLegacy;
}

} // namespace

bool isReached(const Mark& mark)
{
    return !mark.stream || mark.stream->done >= mark.number;
}

int currentDevice()
{
    return chosenDevice;
}

void setCurrentDevice(int device)
{
    chosenDevice = device;
}

Stream& defaultStream(int device)
{
    const std::lock_guard guard(deviceLock());
    auto& stream = streams().defaults[device];
    if (!stream) {
        stream = std::make_shared<Stream>();
        stream->device = device;
        streams().all.push_back(stream);
    }
    return *stream;
}

std::shared_ptr<Stream> findStream(CUstream_st* stream, const char* user)
{
    const std::lock_guard guard(deviceLock());
    if (isLegacyHandle(stream))
        return defaultStream(currentDevice()).shared_from_this();
    return streams().handles.find(stream, user);
}

Stream& streamOf(CUstream_st* stream)
{
    const std::lock_guard guard(deviceLock());
    const auto found = findStream(stream, "work for a stream");
    return found ? *found : *streams().lost;
}

int refusalOf(CUstream_st* handle, const char* user)
{
    const std::lock_guard guard(deviceLock());
    if (streams().sticky != 0)
        return streams().sticky;
    const auto stream = findStream(handle, user);
    if (!stream)
        return cudaErrorInvalidResourceHandle;
    if (stream->recording)
        return stream->recording->invalidated.empty() ? 0 : cudaErrorStreamCaptureInvalidated;
    if (!isDefault(*stream))
        return 0;
    int refusal = 0;
    for (const auto& other : streams().all) {
        if (!other->recording || other->isNonBlocking || other->device != stream->device)
            continue;
        other->recording->invalidated = std::string(user) + " on the default stream";
        refusal = cudaErrorStreamCaptureImplicit;
    }
    return refusal;
}

int refusalOfLaunch(CUstream_st* handle, const char* user)
{
    const std::lock_guard guard(deviceLock());
    if (const int refusal = refusalOf(handle, user))
        return refusal;
    const auto stream = findStream(handle, user);
    return stream->device == currentDevice() ? 0 : cudaErrorInvalidResourceHandle;
}

CUstream_st* addStream(int device, bool isNonBlocking)
{
    const std::lock_guard guard(deviceLock());
    forgetDestroyed();
    defaultStream(device);
    auto stream = std::make_shared<Stream>();
    stream->device = device;
    stream->isNonBlocking = isNonBlocking;
    streams().all.push_back(stream);
    return static_cast<CUstream_st*>(streams().handles.add(std::move(stream)));
}

void removeStream(CUstream_st* stream)
{
    const std::lock_guard guard(deviceLock());
    streams().handles.remove(stream);
    forgetDestroyed();
}

std::vector<std::shared_ptr<Stream>> allStreams()
{
    const std::lock_guard guard(deviceLock());
    return streams().all;
}

void issue(Stream& stream, Work work)
{
    const std::lock_guard guard(deviceLock());
    if (stream.recording)
        record(stream, std::move(work));
    else
        push(stream, {std::move(work), impliedMarks(stream)});
}

void issueWait(Stream& stream, const Mark& mark)
{
    const std::lock_guard guard(deviceLock());
    if (isReached(mark))
        return;
    std::vector<Mark> marks = impliedMarks(stream);
    marks.push_back(mark);
    push(stream, {{}, std::move(marks)});
}

Mark markOf(Stream& stream)
{
    return {stream.shared_from_this(), stream.issued};
}

void finish(Stream& stream, std::uint64_t until)
{
    const std::lock_guard guard(deviceLock());
    const auto kept = stream.shared_from_this();
    until = std::min(until, stream.issued);
    std::optional<Open> opened; // once for many pieces: opening and closing takes time
    if (stream.done + 1 < until)
        opened.emplace();
    const Others others = othersBySeed();
    while (stream.done < until) {
        Stream* other = takesOther(others) ? anyThatCanRun() : nullptr;
        runNext(other ? *other : firstOfAllFor(stream));
    }
}

void finishDevice(int device)
{
    const std::lock_guard guard(deviceLock());
    auto all = streams().all;
    while (!all.empty()) {
        const auto chosen = all.begin() + static_cast<std::ptrdiff_t>(shuffledBelow(all.size()));
        if ((*chosen)->device == device)
            finish(**chosen, (*chosen)->issued);
        all.erase(chosen);
    }
}

void finishAll()
{
    const std::lock_guard guard(deviceLock());
    for (const auto& stream : allStreams())
        finish(*stream, stream->issued);
}

void setStickyError(int error)
{
    const std::lock_guard guard(deviceLock());
    streams().sticky = error;
}

int stickyError()
{
    const std::lock_guard guard(deviceLock());
    return streams().sticky;
}

} // namespace vergence::emulation
