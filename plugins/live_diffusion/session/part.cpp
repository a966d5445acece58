#include "plugins/live_diffusion/session/part.h"

#include "plugins/live_diffusion/model/stop_scope.h"

namespace vergence::live {

bool Part::step(RunContext& context)
{
    m_wasInterrupted = false;
    const StopScope scope([&context] { return context.stopRequested(); });
    try {
        return advance(context);
    } catch (const Stopped&) {
        m_wasInterrupted = true;
        return true;
    }
}

} // namespace vergence::live
