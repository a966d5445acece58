#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

struct CUstream_st;

namespace vergence::emulation {

/// One thing a device does: a launch, a copy, a fill, a product. It never waits for a stream.
using Work = std::function<void()>;

struct Stream;

/// A place in a stream's work: all that was given to it before.
struct Mark {
    std::shared_ptr<Stream> stream;
    std::uint64_t number = 0;
};
bool isReached(const Mark& mark);

/// Work that waits in a queue, and what must be done before it.
struct Piece {
    Work work;
    std::vector<Mark> after;
};

/// What a capture collects from the stream where it began and from those that joined. Replays run
/// copies of it.
struct Recording {
    struct Step {
        Work work;
        std::vector<std::size_t> after; ///< earlier steps that it follows
    };
    std::vector<Step> steps;
    std::string invalidated; ///< why the capture has failed; empty: it has not
    const Stream* origin = nullptr;
    int mode = 0; ///< a cudaStreamCaptureMode
    std::thread::id thread;
    bool hasEnded = false;
};

/// A queue of work. With a seed other than 0 it runs as late as a device may run it: when somebody
/// waits, and then other streams' work comes before, after or between by the seed.
struct Stream : std::enable_shared_from_this<Stream> {
    int device = 0;
    bool isNonBlocking = false; ///< does not wait for the default stream
    std::deque<Piece> queue;
    std::uint64_t issued = 0, done = 0; ///< numbers of work given and finished
    std::shared_ptr<Recording> recording;
    std::vector<std::size_t> tail; ///< steps of the recording that this stream's next one follows
};

/// The device that the calling thread has chosen.
int currentDevice();
void setCurrentDevice(int device);

/// The default stream of the current device where null. A handle that names no live stream is
/// reported, and what is given to the stream that comes instead is dropped.
Stream& streamOf(CUstream_st* stream);
/// The same, but null for such a handle. `user` is the function that was given it.
std::shared_ptr<Stream> findStream(CUstream_st* stream, const char* user);
Stream& defaultStream(int device);

/// 0, or the error with which CUDA refuses work on this stream now. Whoever calls issue() asks
/// first. Launches also need a stream of the current device.
int refusalOf(CUstream_st* stream, const char* user);
int refusalOfLaunch(CUstream_st* stream, const char* user);

CUstream_st* addStream(int device, bool isNonBlocking);
/// The handle is stale from here on; what the stream still has to do is done.
void removeStream(CUstream_st* stream);
/// All that live or have work left, default streams among them.
std::vector<std::shared_ptr<Stream>> allStreams();

/// Queues work, or records it where the stream is being captured. What the work touches is checked
/// when it runs.
void issue(Stream& stream, Work work);
/// Lets what is given to `stream` later wait for a place in another one. Not for captures.
void issueWait(Stream& stream, const Mark& mark);
Mark markOf(Stream& stream);

/// Does a stream's work up to the given number, with others' in between.
void finish(Stream& stream, std::uint64_t until);
void finishDevice(int device);
void finishAll();

/// The error that the calling thread's next cudaGetLastError returns; a sticky one (a fault of a
/// kernel) is returned by every later call that works on a device, and no work is done any more.
/// Tests set it back to 0.
void setLastError(int error);
void setStickyError(int error);
int stickyError();

/// Null, or the error that VERGENCE_EMULATED_FAILURE wants of this call now.
std::optional<int> injectedFailure(const char* call);

} // namespace vergence::emulation
