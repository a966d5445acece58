#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "plugins/mc_embedding/compute/mask_math.h"
#include "plugins/mc_embedding/models/text_shape.h"
#include "plugins/mc_embedding/statistics/figure.h"

namespace vergence::mc_embedding {

/// Dropout on q, k, v, out, fc1 and fc2 of every block of a text tower; sites are numbered as those
/// of an image tower, the mask id is that of the text.
struct TextMasks {
    std::uint64_t seed = 42;
    double p = 0.01;
    std::vector<SequenceKey> keys; ///< one per text
};

/// A text tower with its weights on a device.
class TextTower {
public:
    /// Throws InputError where a tensor is missing or of another shape. `isStopped` is asked
    /// between tensors; the tower is then of no use.
    TextTower(Stream& stream, std::shared_ptr<Device> device, const WeightFile& file,
              const TextSource& source, const std::function<bool()>& isStopped = {});
    /// Random weights, as those of the demo's image towers.
    TextTower(Stream& stream, std::shared_ptr<Device> device, const TextShape& shape,
              std::uint64_t seed);
    ~TextTower();

    /// Token ids as the tower's context has them (CLIP may be shorter) → features [texts, D], not
    /// normalised. Computed a few texts at a time.
    /// Ends early, with zeros for what is left, where `isStopped` says so.
    Matrix features(Stream& stream, const std::vector<std::vector<int>>& contexts,
                    const std::function<bool()>& isStopped = {}) const;
    /// The same under masks, one key per text. Rows repeat bit for bit for the same list of texts.
    Matrix features(Stream& stream, const std::vector<std::vector<int>>& contexts,
                    const TextMasks& masks) const;

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace vergence::mc_embedding
