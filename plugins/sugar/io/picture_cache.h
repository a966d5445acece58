#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "plugins/sugar/io/photographs.h"

namespace vergence::sugar {

/// Keeps what `load` makes up to a number of bytes; the longest unused goes first. Nothing is
/// loaded twice at the same time, and no lock is held while loading.
class PictureCache {
public:
    using Picture = std::shared_ptr<const Photograph>;
    using Load = std::function<Picture(std::size_t index)>;
    PictureCache(Load load, std::size_t budgetBytes, int threads);
    ~PictureCache(); ///< waits for what is being loaded
    PictureCache(const PictureCache&) = delete;
    PictureCache& operator=(const PictureCache&) = delete;

    Picture get(std::size_t index); ///< throws what `load` throws
    /// Replaces what is read ahead.
    void prefetch(const std::vector<std::size_t>& next);
    std::size_t bytes() const;

private:
    struct Entry {
        Picture picture;
        std::size_t bytes = 0;
        std::list<std::size_t>::iterator use;
    };

    void run();
    /// Gives the lock back while loading and holds it again at the end, whatever happens.
    Picture loaded(std::size_t index, std::unique_lock<std::mutex>& lock);
    void readAhead(std::size_t index, std::unique_lock<std::mutex>& lock);
    void keep(std::size_t index, const Picture& picture);

    Load m_load;
    std::size_t m_budget, m_bytes = 0;
    std::size_t m_aheadBytes = 0; ///< read since the last prefetch()
    mutable std::mutex m_mutex;
    std::condition_variable m_work;
    std::map<std::size_t, Entry> m_kept;
    std::list<std::size_t> m_uses; ///< newest first
    std::map<std::size_t, std::shared_future<Picture>> m_loading;
    std::deque<std::size_t> m_queue;
    bool m_isClosing = false;
    std::vector<std::jthread> m_threads;
};

} // namespace vergence::sugar
