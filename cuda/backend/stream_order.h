#pragma once

#include <map>
#include <mutex>
#include <thread>

namespace vergence {

class CudaStream;

/// What a thread gives to a device is done in the order in which it came, whatever streams it is
/// given to: the pool hands a block that a thread has returned to this thread's next use of it
/// while the last one may still be queued. Streams of different threads are not ordered.
class StreamOrder {
public:
    /// The calling thread is about to give `stream` work, which waits for what the thread gave to
    /// another stream before.
    void enter(const CudaStream& stream);
    /// The stream ends; all its work is done.
    void forget(const CudaStream& stream) noexcept;

    /// Held while a stream begins or ends to record: nobody marks it meanwhile.
    std::mutex& lock() { return m_mutex; }

private:
    std::mutex m_mutex;
    std::map<std::thread::id, const CudaStream*>
        m_last; ///< by thread; others have none to wait for
};

} // namespace vergence
