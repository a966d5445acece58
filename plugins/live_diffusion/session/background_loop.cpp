#include "plugins/live_diffusion/session/background_loop.h"

#include <chrono>
#include <utility>

#include "plugins/live_diffusion/model/stop_scope.h"

namespace vergence::live {

void BackgroundLoop::start(LoopRecipe recipe)
{
    if (isBusy())
        m_next = std::move(recipe);
    else
        launch(std::move(recipe));
}

void BackgroundLoop::launch(LoopRecipe recipe)
{
    m_made = std::async(
        std::launch::async, [made = std::move(recipe), stop = m_stop.get_token()]() -> Made {
            const StopScope scope([stop] { return stop.stop_requested(); });
            try {
                return {made.build(), {}};
            } catch (const Stopped&) {
                return {}; // nobody waits for it
            } catch (const std::exception& error) {
                return {nullptr, std::string(error.what()) + " The old plan streams on."};
            }
        });
}

void BackgroundLoop::drop()
{
    m_stop.request_stop();
    m_made = {}; // waits until it has heard of that
    m_next.reset();
    m_stop = {};
}

std::optional<BackgroundLoop::Made> BackgroundLoop::take(double seconds)
{
    if (!isBusy() ||
        m_made.wait_for(std::chrono::duration<double>(seconds)) != std::future_status::ready)
        return std::nullopt;
    Made made = m_made.get();
    if (!m_next)
        return made;
    launch(*std::exchange(m_next, std::nullopt));
    return std::nullopt;
}

} // namespace vergence::live
