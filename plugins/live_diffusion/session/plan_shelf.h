#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include "plugins/live_diffusion/session/networks.h"

namespace vergence::live {

/// Networks that a stream has used and put aside, so that a switch that is moved back is there at
/// once. The last four, as far as they fit into a gibibyte. One thread at a time builds; networks
/// come back on any.
class PlanShelf : public std::enable_shared_from_this<PlanShelf> {
public:
    struct Key {
        ModelKey model;
        Switches switches; ///< `threads` does not count
        int rows = 1;
        std::string oracle; ///< what an exact denoiser is made for besides
        bool operator==(const Key&) const = default;
    };

    /// The network that `networks` describe, with its weights: one that was put aside, its memory
    /// bank emptied, or a new one. It comes back by itself once nobody holds it. Loads other
    /// weights where the configuration names others. Throws what Networks::load() and build()
    /// throw.
    /// The first one is made before the stream begins: what is fastest is looked up in the user's
    /// cache folder, or timed and kept there. Later ones are made beside the stream; what is timed
    /// then serves this stream alone.
    std::shared_ptr<FrameNetwork> network(Networks& networks, const Switches& switches, int rows);
    /// Of the networks that are in use or put aside; null where there is none.
    std::shared_ptr<const LoadedModel> model(const ModelKey& key) const;

private:
    struct Plan {
        Key key;
        std::shared_ptr<const LoadedModel> model;
        std::shared_ptr<FrameNetwork> network;
    };
    void putAside(Plan plan);

    std::shared_ptr<TunedChoices> m_choices; ///< of whoever builds; one at a time
    mutable std::mutex m_mutex;
    std::list<Plan> m_idle; ///< newest first
    std::list<std::weak_ptr<const LoadedModel>> m_models;
};

} // namespace vergence::live
