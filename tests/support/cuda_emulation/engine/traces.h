#pragma once

// Who touched memory last, and whether that is ordered before what the running thread does. All is
// inline: it runs at every access of a kernel.

#include <cstddef>
#include <cstdint>

namespace vergence::emulation {

/// When an access was, by which thread of the block: time (51 bits), thread (10), marks (3). Time
/// goes on where a block begins, at barriers, and where lanes of a warp wait for one another; so
/// the later of two stamps is the larger, and the block that runs is the last one.
using Stamp = std::uint64_t;
constexpr int kThreadShift = 3, kWarpShift = kThreadShift + 5, kTimeShift = 13;

struct Trace {
    Stamp write = 0, read = 0;
};

// Marks of Trace::read: who read besides.
constexpr Stamp kOtherLanes = 1;  ///< of the warp, since its lanes waited for one another
constexpr Stamp kOtherWarps = 2;  ///< since the barrier
constexpr Stamp kOtherBlocks = 4; ///< of the launch
// Marks of Trace::write.
constexpr Stamp kParted = 1; ///< each byte of the word has a trace of its own
constexpr Stamp kAtomic = 2;

/// The running thread's moment. Stamps below `launch` are of earlier launches, and so on.
struct Moment {
    Stamp now = 0; ///< stamp of an access
    Stamp launch = 0, block = 0;
    Stamp barrier = 0; ///< all threads of the block have waited for one another
    Stamp warp = 0;    ///< the thread's warp has
};

enum class Access { Read, Write, Atomic };
enum class Memory { Device, Shared };
enum class Conflict { None, Unset, ReadsWritten, WritesWritten, WritesRead };

template <Memory M>
inline Stamp floorOf(const Moment& moment)
{
    return M == Memory::Shared ? moment.block : moment.launch;
}

inline bool isSameThread(Stamp a, Stamp b)
{
    return ((a ^ b) >> kThreadShift & 1023) == 0;
}
inline bool isSameWarp(Stamp a, Stamp b)
{
    return ((a ^ b) >> kWarpShift & 31) == 0;
}

/// Whether a write of this launch is ordered before what the running thread does.
inline bool isBefore(Stamp write, const Moment& moment)
{
    if (write < moment.block)
        return false;
    return write < moment.barrier || isSameThread(write, moment.now) ||
           (write < moment.warp && isSameWarp(write, moment.now));
}

/// The same of all reads.
inline bool areBefore(Stamp read, const Moment& moment)
{
    if (read < moment.block || (read & kOtherBlocks))
        return false;
    if (read < moment.barrier)
        return true;
    if (read & kOtherWarps)
        return false;
    if (isSameThread(read, moment.now) && !(read & kOtherLanes))
        return true;
    return read < moment.warp && isSameWarp(read, moment.now);
}

/// Reads of this launch with one more, by the running thread.
inline Stamp withReader(Stamp read, const Moment& moment)
{
    if (read < moment.block)
        return moment.now | kOtherBlocks;
    const Stamp now = moment.now | (read & kOtherBlocks);
    if (read < moment.barrier)
        return now;
    if (read & kOtherWarps)
        return read;
    if (!isSameWarp(read, moment.now))
        return now | kOtherWarps;
    if (read < moment.warp)
        return now;
    return now | (read & kOtherLanes) | (isSameThread(read, moment.now) ? 0 : kOtherLanes);
}

/// Checks an access against a trace, and leaves one. Atomic accesses may meet, and a plain read may
/// come before one (loops that compare and swap).
template <Access A, Memory M>
inline Conflict touchTrace(Trace& trace, const Moment& moment)
{
    const Stamp floor = floorOf<M>(moment);
    if (trace.write >= floor) {
        if (!isBefore(trace.write, moment) && (A == Access::Write || !(trace.write & kAtomic)))
            return A == Access::Read ? Conflict::ReadsWritten : Conflict::WritesWritten;
    } else if (M == Memory::Shared && A != Access::Write) {
        return Conflict::Unset;
    }
    if constexpr (A == Access::Read) {
        trace.read = trace.read < floor ? moment.now : withReader(trace.read, moment);
    } else {
        if (A == Access::Write && trace.read >= floor && !areBefore(trace.read, moment))
            return Conflict::WritesRead;
        trace.write = moment.now | (A == Access::Atomic ? kAtomic : 0);
    }
    return Conflict::None;
}

/// Traces of a range of memory: one for each word of 4 bytes, and one for each byte, of use where
/// less than a word was touched since the floor.
struct TraceTable {
    Trace* words = nullptr;
    Trace* bytes = nullptr;
};

/// Bytes [first, last) of the range, all of one word.
template <Access A, Memory M>
inline Conflict touchBytes(const TraceTable& table, std::size_t first, std::size_t last,
                           const Moment& moment)
{
    Trace& word = table.words[first / 4];
    const Stamp floor = floorOf<M>(moment);
    if (word.write < floor || !(word.write & kParted)) {
        if (word.write >= floor || word.read >= floor) {
            for (std::size_t byte = first / 4 * 4; byte < first / 4 * 4 + 4; ++byte)
                table.bytes[byte] = word;
        }
        word.write = moment.now | kParted;
    }
    for (std::size_t byte = first; byte < last; ++byte) {
        const Conflict conflict = touchTrace<A, M>(table.bytes[byte], moment);
        if (conflict != Conflict::None)
            return conflict;
    }
    return Conflict::None;
}

template <Access A, Memory M>
inline Conflict touchWord(const TraceTable& table, std::size_t word, const Moment& moment)
{
    Trace& trace = table.words[word];
    if ((trace.write & kParted) && trace.write >= floorOf<M>(moment)) [[unlikely]]
        return touchBytes<A, M>(table, word * 4, word * 4 + 4, moment);
    return touchTrace<A, M>(trace, moment);
}

} // namespace vergence::emulation
