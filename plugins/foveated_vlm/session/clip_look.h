#pragma once

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plugins/foveated_vlm/session/session.h"
#include "plugins/foveated_vlm/view/attention.h"

namespace vergence::fvlm {

/// An answer that the model wrote, and what the true one costs it.
struct WrittenAnswer {
    std::string text;
    double nats = NAN; ///< Σ negative log-likelihood of the true answer
};

/// What a model sees and says of one held-out clip, in host memory.
struct ClipLook {
    Index clip = 0;
    ClipInfo info;
    std::vector<std::uint8_t> frames; ///< [T, 3, height, width]
    GazeWeights coarse, fine;         ///< fine: of the last refinement; empty for the control
    std::vector<float> queries;       ///< [T, Q]
    std::vector<float> staticQuery, firstQuery; ///< [Q]
    std::vector<float> latents, predicted;      ///< [T, 4, h, w]; empty without latents
    std::vector<float> firstLatent;             ///< [4, h, w], learned; likewise
    WrittenAnswer coarseAnswer, fineAnswer, sequentialAnswer; ///< empty without text
};

/// Looks at single clips with the weights of now; outside of training, on a tape of its own.
class ClipLooker {
public:
    /// `session` must outlive it.
    explicit ClipLooker(Session& session);
    ~ClipLooker();

    struct Wish {
        int refinements = 1;
        bool writes = false;             ///< answers too
        std::optional<ClipText> asked{}; ///< in place of the clip's own text
    };
    /// `isStopped` is asked between its parts and ends it early; what it says is then cut short.
    ClipLook look(Stream& stream, Index heldOutClip, const Wish& wish,
                  const std::function<bool()>& isStopped = {});

private:
    LoadedBatch& load(Stream& stream, const ClipLook& look, bool isQuestion);
    WrittenAnswer write(Stream& stream, const ClipLook& look, Mode mode, int refinements,
                        const std::function<bool()>& isStopped);
    double cost(Stream& stream, const ClipLook& look, Mode mode);
    void see(Stream& stream, const Wish& wish, ClipLook& look);
    void readQueries(Stream& stream, ClipLook& look) const;

    Session& m_session;
    BatchLoader m_loader;
    Graph m_graph;
};

} // namespace vergence::fvlm
