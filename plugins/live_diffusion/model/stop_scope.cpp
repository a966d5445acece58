#include "plugins/live_diffusion/model/stop_scope.h"

#include <utility>

namespace vergence::live {

namespace {

thread_local const StopScope* t_scope = nullptr;

} // namespace

StopScope::StopScope(std::function<bool()> isStopped)
    : m_isStopped(std::move(isStopped)),
      m_outer(t_scope)
{
    t_scope = this;
}

StopScope::~StopScope()
{
    t_scope = m_outer;
}

void stopHere()
{
    if (t_scope != nullptr && t_scope->m_isStopped())
        throw Stopped();
}

} // namespace vergence::live
