#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "plugins/mc_embedding/models/vision_model.h"

namespace vergence::mc_embedding {

/// Models that stay loaded after use, as many as fit beside the one in use, so that placements,
/// rates and exp5's own images do not read weights again. Not thread-safe.
class ModelShelf {
public:
    using Load = std::function<VisionModel()>;

    /// The model of a key, by `load` where it is not there. So that its `bytes` fit, models that
    /// nobody uses are given up, the longest unused first. Throws what `load` throws; a load that
    /// finds no room is tried again on an empty shelf.
    std::shared_ptr<VisionModel> take(const Device& device, const std::string& key,
                                      std::size_t bytes, const Load& load);
    /// A model that was read in part only.
    void forget(const std::string& key);
    /// Gives up what nobody uses; whether that was anything.
    bool clearIdle();
    std::size_t size() const { return m_models.size(); }

private:
    struct Entry {
        std::string key;
        std::shared_ptr<VisionModel> model;
    };
    bool dropOldest();

    std::list<Entry> m_models; ///< the last one used last
};

} // namespace vergence::mc_embedding
