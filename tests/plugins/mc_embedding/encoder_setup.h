#pragma once

#include <vector>

#include <QTest>

#include "core/artifact/safetensors.h"
#include "core/compute/rng.h"
#include "plugins/mc_embedding/models/vision_model.h"
#include "tests/support/device_table.h"
#include "tests/support/golden.h"

namespace vergence::test {

/// A tower of the zoo; or "odd_clip", "odd_siglip": extents that are multiples of 16 and of little
/// else, and pictures of which the last pixels are not read.
inline mc_embedding::TowerShape testTower(const std::string& key)
{
    const bool isOdd = key.starts_with("odd_");
    mc_embedding::TowerShape tower =
        mc_embedding::towerShape(isOdd ? "tiny_" + key.substr(4) : key).value();
    if (isOdd) {
        tower.key = key;
        tower.imageSize = 43;
        tower.width = 80;
        tower.hidden = 208;
        tower.layers = 2;
        tower.heads = 2;
        tower.feature = tower.family == mc_embedding::Family::Clip ? 16 : tower.width;
    }
    return tower;
}

/// An encoder with random weights of the demo and made-up pictures.
struct EncoderSetup {
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream;
    mc_embedding::Encoder encoder;

    EncoderSetup(std::shared_ptr<Device> on, const std::string& tower,
                 mc_embedding::EncoderOptions options = {})
        : device(std::move(on)),
          stream(device->createStream()),
          encoder(*stream, device, testTower(tower), normalising(options))
    {
        mc_embedding::setDemoWeights(*stream, encoder, 42);
    }

    static mc_embedding::EncoderOptions normalising(mc_embedding::EncoderOptions options)
    {
        options.mean = options.deviation = {0.5f, 0.5f, 0.5f};
        return options;
    }

    void perturb(const std::vector<mc_embedding::Site>& sites, double p)
    {
        mc_embedding::Perturbation how;
        how.p = p;
        encoder.setPerturbation(sites, how);
    }

    std::vector<float> host(const Tensor& tensor) { return tensor.toHost<float>(*stream); }

    /// U8 [count, side, side, 3], picture i of the seed being the same whatever `count`.
    Tensor pixels(std::size_t count, std::uint64_t seed)
    {
        std::vector<std::size_t> all(count);
        for (std::size_t i = 0; i < count; ++i)
            all[i] = i;
        return chosenPixels(all, seed);
    }
    Tensor chosenPixels(const std::vector<std::size_t>& images, std::uint64_t seed)
    {
        const Index side = encoder.tower().imageSize, size = side * side * 3;
        std::vector<std::uint8_t> values;
        for (const std::size_t image : images) {
            const Rng random(seed, image);
            for (Index i = 0; i < size; ++i)
                values.push_back(
                    static_cast<std::uint8_t>(random.bits(static_cast<std::uint64_t>(i)) & 255u));
        }
        return Tensor::fromHost<std::uint8_t>(
            *stream, device, {static_cast<Index>(images.size()), side, side, 3}, values);
    }
    /// F32 [count, 3, side, side].
    Tensor normalisedPixels(Index count, std::uint64_t seed)
    {
        const Index side = encoder.tower().imageSize;
        std::vector<float> values(static_cast<std::size_t>(count * 3 * side * side));
        const Rng random(seed);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = 2 * random.uniform(i) - 1;
        return Tensor::fromHost<float>(*stream, device, {count, 3, side, side}, values);
    }

    /// Features of the pictures in `order` in all passes, [pass, D] for each, computed in chunks of
    /// `images` pictures and runs of `perRun` passes.
    std::vector<std::vector<float>> features(const std::vector<std::uint32_t>& ids,
                                             const std::vector<std::size_t>& order,
                                             const std::vector<mc_embedding::PassId>& passes,
                                             std::size_t images, std::size_t perRun)
    {
        std::vector<std::vector<float>> result(order.size());
        const auto size = static_cast<std::size_t>(encoder.tower().feature);
        for (std::size_t first = 0; first < order.size(); first += images) {
            const std::size_t last = std::min(first + images, order.size());
            const std::vector<std::size_t> chunk(order.begin() + static_cast<std::ptrdiff_t>(first),
                                                 order.begin() + static_cast<std::ptrdiff_t>(last));
            std::vector<std::uint32_t> chunkIds;
            for (const std::size_t image : chunk)
                chunkIds.push_back(ids[image]);
            encoder.begin(*stream, chosenPixels(chunk, 7), chunkIds);
            for (std::size_t pass = 0; pass < passes.size(); pass += perRun) {
                const auto count = std::min(perRun, passes.size() - pass);
                const auto got = host(encoder.run(*stream, std::span(passes).subspan(pass, count)));
                for (std::size_t t = 0; t < count; ++t) {
                    for (std::size_t i = 0; i < chunk.size(); ++i) {
                        const auto at = got.begin() +
                                        static_cast<std::ptrdiff_t>((t * chunk.size() + i) * size);
                        result[first + i].insert(result[first + i].end(), at,
                                                 at + static_cast<std::ptrdiff_t>(size));
                    }
                }
            }
        }
        return result;
    }
};

/// Every place that may be live beside a preset.
inline mc_embedding::Placement placementWithFlags(const std::string& preset,
                                                  const mc_embedding::TowerShape& tower)
{
    mc_embedding::Placement placement;
    placement.preset = preset;
    placement.patchEmbedding = placement.positionAdd = true;
    placement.attentionProbabilities = placement.afterActivation = placement.blockOutput = true;
    placement.finalProjection = tower.family == mc_embedding::Family::Clip;
    return placement;
}

/// Placements that the tests go through.
inline const std::vector<std::string> kPresets = {
    "all_linear", "mlp_only",       "siglip_transformers", "siglip_timm_double",
    "fc2_all",    "attention_only", "stochastic_depth",    "block_output"};

inline void addTowerRows()
{
    QTest::addColumn<int>("device");
    QTest::addColumn<QString>("tower");
    forEachDevice([](const std::string& name, int device) {
        for (const char* tower : {"tiny_clip", "tiny_siglip", "odd_clip", "odd_siglip"})
            QTest::addRow("%s, %s", name.c_str(), tower) << device << QString(tower);
    });
}

inline void addPresetRows()
{
    QTest::addColumn<int>("device");
    QTest::addColumn<QString>("tower");
    QTest::addColumn<QString>("preset");
    forEachDevice([](const std::string& name, int device) {
        for (const char* tower : {"tiny_clip", "tiny_siglip"}) {
            for (const std::string& preset : kPresets) {
                if (preset.starts_with("siglip") && tower == std::string("tiny_clip"))
                    continue;
                QTest::addRow("%s, %s, %s", name.c_str(), tower, preset.c_str())
                    << device << QString(tower) << QString::fromStdString(preset);
            }
        }
    });
}

} // namespace vergence::test
