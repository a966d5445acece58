#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "plugins/mc_embedding/io/cache_file.h"

namespace vergence::mc_embedding {

/// What became of one picture.
struct DecodedImage {
    std::size_t index = 0;
    CacheEntry entry;                ///< without the check sum of the entry
    std::vector<std::uint8_t> bytes; ///< pixels, or the reason; empty: the old record stands
};

/// Works through a list on its own threads, never more than `capacity` results ahead of the reader.
class DecodePool {
public:
    /// `work` is called from several threads at once, in the order of the list.
    using Work = std::function<DecodedImage(std::size_t index)>;
    DecodePool(std::vector<std::size_t> list, Work work, int workers, std::size_t capacity);
    ~DecodePool(); ///< does not wait for what is not begun
    DecodePool(const DecodePool&) = delete;
    DecodePool& operator=(const DecodePool&) = delete;

    /// The next result in any order; nothing when all have been given or after stop(). Throws what
    /// `work` threw.
    std::optional<DecodedImage> next();
    void stop(); ///< results that are there are still given

private:
    void run();
    std::optional<std::size_t> take();

    std::vector<std::size_t> m_list;
    Work m_work;
    std::size_t m_capacity;
    std::mutex m_mutex;
    std::condition_variable m_given, m_taken;
    std::deque<DecodedImage> m_results;
    std::size_t m_nextJob = 0, m_running = 0;
    std::exception_ptr m_failure;
    std::vector<std::jthread> m_threads;
};

} // namespace vergence::mc_embedding
