#pragma once

#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "plugins/live_diffusion/session/loop_recipe.h"

namespace vergence::live {

/// A loop that is made on a thread of its own while another one is in use, for streams that have no
/// threads. Used by one thread; its end stops what is being made.
class BackgroundLoop {
public:
    BackgroundLoop() = default;
    ~BackgroundLoop() { drop(); }
    BackgroundLoop(const BackgroundLoop&) = delete;
    BackgroundLoop& operator=(const BackgroundLoop&) = delete;

    struct Made {
        std::unique_ptr<FrameLoop> loop; ///< null where it could not be made
        std::string failure;             ///< why
    };
    /// What is being made already is dropped when it is done.
    void start(LoopRecipe recipe);
    void drop(); ///< stops what is being made and forgets it
    bool isBusy() const { return m_made.valid(); }
    /// The loop of the newest recipe, once; nothing while it is being made. Waits `seconds` at
    /// most.
    std::optional<Made> take(double seconds = 0);

private:
    void launch(LoopRecipe recipe);

    std::future<Made> m_made;
    std::optional<LoopRecipe> m_next;
    std::stop_source m_stop;
};

} // namespace vergence::live
