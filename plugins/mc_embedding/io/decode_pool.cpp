#include "plugins/mc_embedding/io/decode_pool.h"

#include <utility>

#include "core/base/error.h"

namespace vergence::mc_embedding {

DecodePool::DecodePool(std::vector<std::size_t> list, Work work, int workers, std::size_t capacity)
    : m_list(std::move(list)),
      m_work(std::move(work)),
      m_capacity(capacity)
{
    expects(workers > 0 && capacity > 0, "DecodePool: one worker and one place or more");
    for (int i = 0; i < workers; ++i)
        m_threads.emplace_back([this] { run(); });
}

DecodePool::~DecodePool()
{
    stop();
    const std::lock_guard lock(m_mutex);
    m_capacity = m_results.size() + m_threads.size(); // nobody takes results any more
    m_taken.notify_all();
}

void DecodePool::stop()
{
    const std::lock_guard lock(m_mutex);
    m_nextJob = m_list.size();
    m_taken.notify_all();
    m_given.notify_all();
}

std::optional<DecodedImage> DecodePool::next()
{
    std::unique_lock lock(m_mutex);
    m_given.wait(lock, [this] {
        return !m_results.empty() || m_failure || (m_nextJob == m_list.size() && m_running == 0);
    });
    if (m_failure)
        std::rethrow_exception(m_failure);
    if (m_results.empty())
        return std::nullopt;
    DecodedImage result = std::move(m_results.front());
    m_results.pop_front();
    m_taken.notify_one();
    return result;
}

std::optional<std::size_t> DecodePool::take()
{
    std::unique_lock lock(m_mutex);
    m_taken.wait(lock, [this] {
        return m_nextJob == m_list.size() || m_results.size() + m_running < m_capacity;
    });
    if (m_nextJob == m_list.size())
        return std::nullopt;
    ++m_running;
    return m_list[m_nextJob++];
}

void DecodePool::run()
{
    while (const auto index = take()) {
        std::optional<DecodedImage> result;
        std::exception_ptr failure;
        try {
            result = m_work(*index);
        } catch (...) {
            failure = std::current_exception(); // for the thread that asks for results
        }
        const std::lock_guard lock(m_mutex);
        --m_running;
        if (result)
            m_results.push_back(std::move(*result));
        if (failure) {
            m_failure = failure;
            m_nextJob = m_list.size();
            m_taken.notify_all();
        }
        m_given.notify_all();
    }
}

} // namespace vergence::mc_embedding
