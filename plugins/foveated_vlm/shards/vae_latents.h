#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/compute/graph/graph.h"
#include "plugins/foveated_vlm/encoder/vae_encoder.h"
#include "plugins/foveated_vlm/shards/latent_shards.h"

namespace vergence::fvlm {

/// The encoder of latent diffusion with weights from a file, run on a device.
class VaeProvider : public LatentProvider {
public:
    /// `weights`: a safetensors file, or a folder with diffusion_pytorch_model.safetensors or
    /// model.safetensors; names of all ages (vaeNames()). `compute`: F32, or BF16 with norms in
    /// F32. Throws InputError for weights that are missing or do not fit.
    VaeProvider(std::shared_ptr<Device> device, const std::filesystem::path& weights,
                DType compute = DType::F32, const VaeConfig& config = {});

    std::string name() const override { return "vae"; }
    std::array<Index, 3> shape(int height, int width) const override;
    /// Throws ContractError unless height and width are multiples of 8.
    void encode(std::span<const std::uint8_t> frames, Index count, int height, int width,
                std::span<float> latents) override;
    std::string fingerprint() const override { return m_fingerprint; }

private:
    std::shared_ptr<Device> m_device;
    std::unique_ptr<Stream> m_stream;
    ParameterSet m_parameters;
    VaeEncoder m_encoder;
    PackedWeights m_packed;
    Graph m_graph;
    std::string m_fingerprint;
};

} // namespace vergence::fvlm
