#include "plugins/foveated_vlm/shards/ordered_work.h"

#include <algorithm>

#include "core/base/error.h"

namespace vergence::fvlm {

OrderedWork::OrderedWork(const std::vector<ClipJob>& jobs, std::size_t first, int workers)
    : m_jobs(jobs),
      m_given(first),
      m_begun(first),
      m_ahead(2 * static_cast<std::size_t>(workers) + 2)
{
    for (int i = 0; i < workers; ++i)
        m_threads.emplace_back([this](const std::stop_token& stop) { run(stop); });
}

OrderedWork::~OrderedWork()
{
    for (std::jthread& thread : m_threads)
        thread.request_stop();
    m_threads.clear();
}

void OrderedWork::run(const std::stop_token& stop)
{
    std::unique_lock lock(m_mutex);
    const auto isFree = [&] { return m_begun < m_jobs.size() && m_begun < m_given + m_ahead; };
    while (m_changed.wait(lock, stop, isFree) && !stop.stop_requested()) {
        const std::size_t i = m_begun++;
        lock.unlock();
        Result result;
        try {
            result.made.clip = m_jobs[i].make();
        } catch (const InputError& error) {
            result.made.reason = error.what();
        } catch (...) {
            result.failure = std::current_exception();
        }
        lock.lock();
        m_results.emplace(i, std::move(result));
        m_changed.notify_all();
    }
}

std::optional<MadeClip> OrderedWork::next(const std::stop_token& stop)
{
    std::unique_lock lock(m_mutex);
    if (m_given == m_jobs.size() || stop.stop_requested())
        return std::nullopt;
    const auto isThere = [&] { return m_results.contains(m_given); };
    if (!m_changed.wait(lock, stop, isThere))
        return std::nullopt;
    Result result = std::move(m_results.extract(m_given).mapped());
    ++m_given;
    m_changed.notify_all();
    if (result.failure)
        std::rethrow_exception(result.failure);
    return std::move(result.made);
}

} // namespace vergence::fvlm
