#include <charconv>
#include <cmath>
#include <numbers>
#include <optional>

#include <fmt/format.h>

#include "core/artifact/artifact_store.h"
#include "core/base/error.h"
#include "core/compute/rng.h"
#include "plugins/mc_embedding/compute/perturbation.h"
#include "plugins/mc_embedding/models/text_model.h"
#include "plugins/mc_embedding/models/text_passes.h"

namespace vergence::mc_embedding {

namespace {

std::uint32_t wordOf(const std::string& hex, std::size_t word)
{
    std::uint32_t value = 0;
    const char* first = hex.data() + 8 * word;
    std::from_chars(first, first + 8, value, 16);
    return value;
}

/// Standard normals by Box and Muller from two words each, u₁ = (a + 0.5) · 2⁻³². Specification,
/// section 3.5.
double normal(std::uint32_t a, std::uint32_t b)
{
    const double u = (a + 0.5) * 0x1p-32, v = b * 0x1p-32;
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

/// A tower that reads bytes, as CLIP's: causal, pooled at its largest id.
TextShape byteTower(Index feature)
{
    TextShape shape;
    shape.key = "bytes";
    shape.width = 64;
    shape.hidden = 128;
    shape.feature = feature;
    shape.layers = 2;
    shape.heads = 2;
    shape.context = 80;
    shape.vocabulary = 259;
    return shape;
}

/// 0 is padding; a byte b is b + 1; the start 257, the end 258.
std::vector<int> bytesOf(const std::string& text, std::size_t context)
{
    std::vector<int> ids{257};
    for (const char c : text.substr(0, context - 2))
        ids.push_back(static_cast<unsigned char>(c) + 1);
    ids.push_back(258);
    return ids;
}

class DemoTextModel final : public TextModel {
public:
    DemoTextModel(std::string key, std::size_t dimensions, std::uint64_t seed,
                  std::shared_ptr<Device> device)
        : m_key(std::move(key)),
          m_dimensions(dimensions),
          m_seed(seed),
          m_device(std::move(device))
    {
    }
    std::string describe() const override
    {
        return fmt::format("random text features for {}: they show the machinery and mean nothing",
                           m_key);
    }
    double logitScale() const override { return 100; }
    double logitBias() const override { return 0; }
    std::string identity() const override
    {
        return fmt::format("demo {} {}", m_seed, m_dimensions);
    }
    Matrix encode(Stream&, const std::vector<std::string>& prompts, const std::string&) override
    {
        Matrix features(prompts.size(), m_dimensions);
        for (std::size_t i = 0; i < prompts.size(); ++i)
            fill(prompts[i], &features(i, 0));
        return features;
    }
    Matrix encodeMasked(Stream& stream, const std::vector<std::string>& prompts, const std::string&,
                        const Perturbation& dropout, std::span<const PassId> passes) override
    {
        expects(m_device != nullptr, "demoTextModel: masks need a device");
        const TextShape shape = byteTower(static_cast<Index>(m_dimensions));
        if (!m_tower)
            m_tower.emplace(stream, m_device, shape, m_seed);
        std::vector<TextContext> texts;
        for (const std::string& prompt : prompts)
            texts.push_back({prompt, bytesOf(prompt, static_cast<std::size_t>(shape.context))});
        return maskedPasses(stream, *m_tower, texts, dropout, passes);
    }

private:
    void fill(const std::string& prompt, double* feature) const
    {
        const std::string hash = sha256Hex(prompt);
        constexpr auto kPurpose = static_cast<std::uint64_t>(Purpose::DemoWeights) << 56;
        // Counter words 1 and 2 are of the text, word 3 carries the purpose, word 0 counts blocks.
        const std::uint64_t stream = kPurpose | wordOf(hash, 1);
        const std::uint64_t text = static_cast<std::uint64_t>(wordOf(hash, 0)) << 32;
        for (std::size_t d = 0; d < m_dimensions; d += 2) {
            const PhiloxBlock block = philox(m_seed, stream, text | (d / 2));
            feature[d] = normal(block.word[0], block.word[1]);
            if (d + 1 < m_dimensions)
                feature[d + 1] = normal(block.word[2], block.word[3]);
        }
    }

    std::string m_key;
    std::size_t m_dimensions;
    std::uint64_t m_seed;
    std::shared_ptr<Device> m_device;
    std::optional<TextTower> m_tower;
};

} // namespace

std::unique_ptr<TextModel> demoTextModel(const std::string& key, std::size_t dimensions,
                                         std::uint64_t seed, std::shared_ptr<Device> device)
{
    expects(dimensions > 0, "demoTextModel: features need at least one dimension");
    return std::make_unique<DemoTextModel>(key, dimensions, seed, std::move(device));
}

} // namespace vergence::mc_embedding
