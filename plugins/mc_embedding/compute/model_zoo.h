#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/compute/dense.h"
#include "core/compute/view.h"

namespace vergence::mc_embedding {

enum class Family { Clip, Siglip, ToyLinear };

/// Extents of one image encoder. Specification, section 2.1.
struct TowerShape {
    std::string key;        ///< "clip_b32"
    std::string publicName; ///< "openai/clip-vit-base-patch32"; empty for the tiny ones
    Family family = Family::Clip;
    int imageSize = 224; ///< side of the preprocessed picture, px
    int patch = 32;
    Index width = 0, hidden = 0, feature = 0; ///< w, MLP, D
    int layers = 0, heads = 0;
    Activation activation = Activation::QuickGelu;
    double epsilon = 1e-5;

    int grid() const { return imageSize / patch; } ///< patches per side; pixels beyond are not read
    Index patches() const { return Index{grid()} * grid(); }
    Index tokens() const { return patches() + (family == Family::Clip ? 1 : 0); }
    Index headSize() const { return width / heads; }
    /// 2 × multiply-adds of matrix products and attention of one image.
    double flop() const;
    /// Parameters of the image tower.
    Index parameterCount() const;
};

/// All towers of the specification, tiny ones and the toy model last.
const std::vector<TowerShape>& modelZoo();
/// Nothing where the key is unknown.
std::optional<TowerShape> towerShape(const std::string& key);

/// Whether pictures of another side, px, give the tower as many patches as its own; so400m reads
/// the same 378 px of 384 and of 378.
inline bool fitsSize(const TowerShape& tower, int side)
{
    return side / tower.patch == tower.grid();
}

/// Sequences (an image in a pass) that an encoder's products take at once, a power of two; fewer
/// cost as much.
Index sequencesPerTile(const TowerShape& tower, bool isCpu);

} // namespace vergence::mc_embedding
