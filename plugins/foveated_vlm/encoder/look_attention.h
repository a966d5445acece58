#pragma once

#include <memory>
#include <vector>

#include "core/compute/graph/graph.h"
#include "plugins/foveated_vlm/encoder/look_kernels.h"

namespace vergence::fvlm {

/// Keys and values of F frames, as columns of one tensor [F, rows, columns].
struct KeyWindow {
    Value source;
    Index firstKey = 0, firstValue = 0; ///< columns; may be the same
    Index firstRow = 0, seen = 0;       ///< rows of every frame that a look sees
    int heads = 1;
    Index headSize = 0;
};

/// How sharply a query looks.
struct LookSettings {
    double temperature = 1; ///< τ > 0: logits are q·k / (√headSize · τ)
    int topK = 0;           ///< only the k largest logits per head count; 0: all
};

/// What looks at the same keys and values leave for the derivative of the patches' own attention,
/// so that the gradients of keys and values are written in one go. Used from one thread.
class WaitingLooks {
public:
    /// `look` must stay valid until finish(): its tensors lie in the graph's arena.
    void add(Graph& graph, const LookGradient& look);
    /// Adds the parts of all looks to the gradient of the keys' source, or overwrites it, and
    /// forgets them. Does nothing to a gradient to be added to where nothing waits.
    void finish(Graph& graph, const KeyWindow& keys, const Tensor& gradSource, bool accumulate);

    /// Makes the derivative due that calls finish() by giving `result`, which depends on it, a
    /// gradient: of 0 where it `isRead`. Needless where something else does.
    void wake(Value result, bool isRead)
    {
        m_result = result;
        m_isRead = isRead;
    }

private:
    Value m_result;
    bool m_isRead = false;
    std::vector<LookGradient> m_looks;
};

/// Queries against the keys of the frames they look at: softmax(q·Kᵀ / (√headSize · τ)) V per head.
/// queries [M, heads · headSize]; frames [M] I32: which frame each looks at, null: query i at frame
/// i, M = F → [M, heads · headSize]. With `waiting` the gradients of keys and values are left
/// there, else added to the source's at once. weights: receives the softmax [M, heads, seen], F32
/// (F64), valid until the graph's reset(); null where not wanted. entropy: receives −Σ P ln P of
/// them [M, heads], nats, F32 (F64), with its derivative; null where not wanted. Throws
/// ContractError for shapes that do not fit.
Value lookAttention(Graph& graph, Value queries, const KeyWindow& keys,
                    const LookSettings& settings, const Tensor* frames,
                    const std::shared_ptr<WaitingLooks>& waiting, Tensor* weights = nullptr,
                    Value* entropy = nullptr);

/// Attention of patches among themselves: qkv [F, S, 3D] (queries, keys, values), of which all S
/// rows ask and the first `keys.seen` answer → [F, S, D]. Its derivative takes in what waits; null:
/// nothing ever does.
Value patchAttention(Graph& graph, const KeyWindow& keys,
                     const std::shared_ptr<WaitingLooks>& waiting);

/// For keys and values that no patch asks: the derivative takes in what waits.
void receiveLooks(Graph& graph, const KeyWindow& keys,
                  const std::shared_ptr<WaitingLooks>& waiting);

} // namespace vergence::fvlm
