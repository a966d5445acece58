#pragma once

#include <functional>

namespace vergence::live {

/// What long work throws once its thread is asked to stop.
struct Stopped {};

/// While one lives, long work of its thread – evaluations, plans, drawn weights, samples – asks
/// `isStopped` between its pieces and throws Stopped. The innermost counts.
class StopScope {
public:
    explicit StopScope(std::function<bool()> isStopped);
    ~StopScope();
    StopScope(const StopScope&) = delete;
    StopScope& operator=(const StopScope&) = delete;

private:
    friend void stopHere();

    std::function<bool()> m_isStopped;
    const StopScope* m_outer;
};

/// Between two pieces of long work: throws Stopped where the scope of this thread asks for it.
void stopHere();

} // namespace vergence::live
