#include "plugins/mc_embedding/compute/model_zoo.h"

#include <algorithm>

namespace vergence::mc_embedding {

namespace {

TowerShape clip(std::string key, std::string publicName, int imageSize, int patch, Index width,
                int layers, int heads, Index feature)
{
    TowerShape tower;
    tower.key = std::move(key);
    tower.publicName = std::move(publicName);
    tower.imageSize = imageSize;
    tower.patch = patch;
    tower.width = width;
    tower.hidden = 4 * width;
    tower.feature = feature;
    tower.layers = layers;
    tower.heads = heads;
    return tower;
}

TowerShape siglip(std::string key, std::string publicName, int imageSize, int patch, Index width,
                  int layers, int heads, Index hidden)
{
    TowerShape tower =
        clip(std::move(key), std::move(publicName), imageSize, patch, width, layers, heads, width);
    tower.family = Family::Siglip;
    tower.hidden = hidden;
    tower.activation = Activation::GeluTanh;
    tower.epsilon = 1e-6;
    return tower;
}

TowerShape toyLinear()
{
    TowerShape tower;
    tower.key = "toy_linear";
    tower.family = Family::ToyLinear;
    tower.imageSize = tower.patch = 32;
    tower.feature = 64;
    tower.layers = 1;
    tower.activation = Activation::None;
    return tower;
}

/// Multiply-adds of the head that turns tokens into the feature.
double headProducts(const TowerShape& t)
{
    const auto w = static_cast<double>(t.width);
    if (t.family == Family::Clip)
        return w * static_cast<double>(t.feature);
    const auto n = static_cast<double>(t.tokens()), m = static_cast<double>(t.hidden);
    return 2 * n * w * w + w * w + 2 * n * w + w * w + 2 * w * m;
}

} // namespace

double TowerShape::flop() const
{
    const auto pixels = static_cast<double>(3 * patch * patch);
    if (family == Family::ToyLinear)
        return 2 * pixels * static_cast<double>(feature);
    const auto n = static_cast<double>(tokens()), w = static_cast<double>(width),
               m = static_cast<double>(hidden);
    const double products = static_cast<double>(patches()) * pixels * w +
                            layers * (n * (4 * w * w + 2 * w * m) + 2 * n * n * w) +
                            headProducts(*this);
    return 2 * products;
}

Index TowerShape::parameterCount() const
{
    const Index pixels = Index{3} * patch * patch, w = width, m = hidden;
    if (family == Family::ToyLinear)
        return pixels * feature + feature;
    const Index norm = 2 * w, mlp = 2 * w * m + m + w, attention = 4 * w * w + 4 * w;
    const Index common = pixels * w + tokens() * w + layers * (attention + mlp + 2 * norm) + norm;
    if (family == Family::Clip)
        return common + w + norm + w * feature;
    return common + w + w + attention + norm + mlp;
}

const std::vector<TowerShape>& modelZoo()
{
    static const std::vector<TowerShape> zoo = [] {
        std::vector<TowerShape> all = {
            clip("clip_b32", "openai/clip-vit-base-patch32", 224, 32, 768, 12, 12, 512),
            clip("clip_l14", "openai/clip-vit-large-patch14", 224, 14, 1024, 24, 16, 768),
            siglip("siglip2_b16", "google/siglip2-base-patch16-224", 224, 16, 768, 12, 12, 3072),
            siglip("siglip2_so400m", "google/siglip2-so400m-patch14-384", 384, 14, 1152, 27, 16,
                   4304),
            siglip("siglip2_so400m_p16", "google/siglip2-so400m-patch16-384", 384, 16, 1152, 27, 16,
                   4304),
            siglip("siglip2_g16", "google/siglip2-giant-opt-patch16-384", 384, 16, 1536, 40, 16,
                   6144),
            clip("tiny_clip", "", 32, 8, 128, 3, 2, 48),
            siglip("tiny_siglip", "", 32, 8, 96, 3, 4, 224),
            toyLinear(),
        };
        return all;
    }();
    return zoo;
}

std::optional<TowerShape> towerShape(const std::string& key)
{
    const auto& zoo = modelZoo();
    const auto found = std::ranges::find(zoo, key, &TowerShape::key);
    return found == zoo.end() ? std::nullopt : std::optional(*found);
}

Index sequencesPerTile(const TowerShape& tower, bool isCpu)
{
    const Index wanted = isCpu ? 256 : 4096; // rows of a product that are worth a call
    Index sequences = 1;
    while (sequences * tower.tokens() < wanted)
        sequences *= 2;
    return sequences;
}

} // namespace vergence::mc_embedding
