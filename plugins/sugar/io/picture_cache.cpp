#include "plugins/sugar/io/picture_cache.h"

#include <utility>

namespace vergence::sugar {

namespace {

std::size_t bytesOf(const Photograph& photograph)
{
    return photograph.image.pixels.size() + photograph.mask.size() + photograph.transparency.size();
}

} // namespace

PictureCache::PictureCache(Load load, std::size_t budgetBytes, int threads)
    : m_load(std::move(load)),
      m_budget(budgetBytes)
{
    for (int i = 0; i < threads; ++i)
        m_threads.emplace_back([this] { run(); });
}

PictureCache::~PictureCache()
{
    {
        const std::lock_guard lock(m_mutex);
        m_isClosing = true;
    }
    m_work.notify_all();
    m_threads.clear(); // joins
}

PictureCache::Picture PictureCache::get(std::size_t index)
{
    std::unique_lock lock(m_mutex);
    if (const auto kept = m_kept.find(index); kept != m_kept.end()) {
        m_uses.splice(m_uses.begin(), m_uses, kept->second.use);
        return kept->second.picture;
    }
    if (const auto loading = m_loading.find(index); loading != m_loading.end()) {
        const std::shared_future<Picture> future = loading->second;
        lock.unlock();
        return future.get();
    }
    return loaded(index, lock);
}

PictureCache::Picture PictureCache::loaded(std::size_t index, std::unique_lock<std::mutex>& lock)
{
    std::promise<Picture> promise;
    m_loading[index] = promise.get_future().share();
    lock.unlock();
    try {
        const Picture picture = m_load(index);
        lock.lock();
        keep(index, picture);
        m_loading.erase(index);
        promise.set_value(picture);
        return picture;
    } catch (...) { // for those who wait for the same picture
        if (!lock.owns_lock())
            lock.lock();
        m_loading.erase(index);
        promise.set_exception(std::current_exception());
        throw;
    }
}

void PictureCache::keep(std::size_t index, const Picture& picture)
{
    m_uses.push_front(index);
    m_kept[index] = {picture, bytesOf(*picture), m_uses.begin()};
    m_bytes += bytesOf(*picture);
    while (m_bytes > m_budget && m_uses.size() > 1) {
        const auto oldest = m_kept.find(m_uses.back());
        m_bytes -= oldest->second.bytes;
        m_kept.erase(oldest);
        m_uses.pop_back();
    }
}

void PictureCache::prefetch(const std::vector<std::size_t>& next)
{
    {
        const std::lock_guard lock(m_mutex);
        m_queue.assign(next.begin(), next.end());
        m_aheadBytes = 0;
    }
    m_work.notify_all();
}

void PictureCache::readAhead(std::size_t index, std::unique_lock<std::mutex>& lock)
{
    try {
        m_aheadBytes += bytesOf(*loaded(index, lock));
    } catch (const std::exception&) { // get() tries again and tells
    }
}

void PictureCache::run()
{
    std::unique_lock lock(m_mutex);
    while (true) {
        m_work.wait(lock, [this] { return m_isClosing || !m_queue.empty(); });
        if (m_isClosing)
            return;
        const std::size_t index = m_queue.front();
        m_queue.pop_front();
        if (m_kept.contains(index) || m_loading.contains(index))
            continue;
        // More than half the budget ahead would push out what was read ahead before.
        if (m_aheadBytes > m_budget / 2) {
            m_queue.clear();
            continue;
        }
        readAhead(index, lock);
    }
}

std::size_t PictureCache::bytes() const
{
    const std::lock_guard lock(m_mutex);
    return m_bytes;
}

} // namespace vergence::sugar
