#include "plugins/live_diffusion/session/background_loop.h"

#include <chrono>
#include <utility>

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
    m_made = std::async(std::launch::async, [made = std::move(recipe)]() -> Made {
        try {
            return {made.build(), {}};
        } catch (const std::exception& error) {
            return {nullptr, std::string(error.what()) + " The old plan streams on."};
        }
    });
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
