#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "plugins/foveated_vlm/shards/clip_jobs.h"

namespace vergence::fvlm {

/// A clip, or why there is none.
struct MadeClip {
    std::optional<DecodedClip> clip;
    std::string reason;
};

/// Makes clips on its own threads and gives them in the order of the jobs, never more than a few
/// ahead of the reader.
class OrderedWork {
public:
    /// Jobs from number `first` on.
    OrderedWork(const std::vector<ClipJob>& jobs, std::size_t first, int workers);
    ~OrderedWork(); ///< waits for clips that are being made

    /// The next clip; nothing where all were given or `stop` was asked for. Throws what a job threw
    /// beside InputError.
    std::optional<MadeClip> next(const std::stop_token& stop);

private:
    void run(const std::stop_token& stop);

    struct Result {
        MadeClip made;
        std::exception_ptr failure;
    };

    const std::vector<ClipJob>& m_jobs;
    std::size_t m_given, m_begun, m_ahead;
    std::mutex m_mutex;
    std::condition_variable_any m_changed;
    std::map<std::size_t, Result> m_results;
    std::vector<std::jthread> m_threads;
};

} // namespace vergence::fvlm
