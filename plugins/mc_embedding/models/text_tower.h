#pragma once

#include <memory>
#include <vector>

#include "plugins/mc_embedding/models/text_shape.h"
#include "plugins/mc_embedding/statistics/figure.h"

namespace vergence::mc_embedding {

/// A text tower with its weights on a device.
class TextTower {
public:
    /// Throws InputError where a tensor is missing or of another shape.
    TextTower(Stream& stream, std::shared_ptr<Device> device, const WeightFile& file,
              const TextSource& source);
    ~TextTower();

    /// Token ids as the tower's context has them (CLIP may be shorter) → features [texts, D], not
    /// normalised. Computed a few texts at a time.
    Matrix features(Stream& stream, const std::vector<std::vector<int>>& contexts) const;

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace vergence::mc_embedding
