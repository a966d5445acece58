#pragma once

#include <memory>

#include "core/compute/graph/graph.h"
#include "plugins/foveated_vlm/encoder/look_kernels.h"

namespace vergence::fvlm {

/// Keys and values of F frames, as columns of one tensor [F, rows, columns].
struct KeyWindow {
    Value source;
    Index firstKey = 0, firstValue = 0; ///< columns; may be the same
    Index firstRow = 0, rows = 0;       ///< of every frame: those that a look sees
    int heads = 1;
    Index headSize = 0;
};

struct LookSettings {
    double temperature = 1; ///< τ > 0: logits are q·k / (√headSize · τ)
    int topK = 0;           ///< only the k largest logits per head count; 0: all
};

/// What looks at the same keys and values leave for the derivative of the patches' own attention,
/// so that gradients of keys and values are written in one go. Not thread-safe.
class WaitingLooks {
public:
    void add(const LookGradient& look);
    bool isEmpty() const { return m_count == 0; }
    /// Adds the parts of all looks to the gradient of the source (or overwrites it), and forgets
    /// them.
    void finish(Graph& graph, const KeyWindow& keys, const Tensor& gradSource, bool accumulate);

    /// Its gradient makes the derivative due that will call finish(). Set by who does so.
    Value trigger;

private:
    LookGradients m_looks;
    int m_count = 0;
};

/// Queries against the keys of the frames they look at: softmax(q·Kᵀ / (√headSize · τ)) V per head.
/// queries [M, heads · headSize]; frames [M] I32: which frame each looks at, null: query i at frame
/// i → [M, heads · headSize]. With `waiting` the gradients of keys and values are left there,
/// else added to the source's at once. weights: receives the softmax [M, heads, rows] in F32
/// (F64), valid until reset(); null where not wanted. Throws ContractError for shapes that do not
/// fit.
Value lookAttention(Graph& graph, Value queries, const KeyWindow& keys,
                    const LookSettings& settings, const Tensor* frames,
                    const std::shared_ptr<WaitingLooks>& waiting, Tensor* weights = nullptr);

/// Attention of patches among themselves: qkv [F, S, 3D] (queries, keys, values), of which all S
/// rows ask and the first `keys` answer → [F, S, D]. Its derivative takes in what waits.
Value patchAttention(Graph& graph, Value qkv, int heads, Index keys,
                     const std::shared_ptr<WaitingLooks>& waiting);

/// For keys and values that no patch asks: takes in what waits when the derivative of `source` is
/// due.
void receiveLooks(Graph& graph, const KeyWindow& keys,
                  const std::shared_ptr<WaitingLooks>& waiting);

} // namespace vergence::fvlm
