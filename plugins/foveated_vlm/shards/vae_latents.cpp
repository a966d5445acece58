#include "plugins/foveated_vlm/shards/vae_latents.h"

#include <fmt/format.h>

#include "core/artifact/digest.h"
#include "core/artifact/weights.h"
#include "core/base/error.h"

namespace vergence::fvlm {

namespace fs = std::filesystem;

namespace {

/// Diffusers names the file by itself.
fs::path fileOf(const fs::path& weights)
{
    const fs::path own = weights / "diffusion_pytorch_model.safetensors";
    std::error_code code;
    return fs::is_regular_file(own, code) ? own : weights;
}

NameMap nameMap()
{
    const VaeNames vae = vaeNames();
    NameMap names;
    for (const std::string& prefix : vae.prefixes)
        names.dropPrefix(prefix);
    for (const std::string& part : vae.unwanted)
        names.ignore(part);
    for (const auto& [part, replacement] : vae.replacements)
        names.replace(part, replacement);
    return names;
}

std::string digestOf(const WeightFile& file)
{
    Digest digest;
    for (const WeightEntry& entry : file.entries()) {
        digest.add(entry.name);
        digest.add({reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size()});
    }
    return digest.hex();
}

} // namespace

VaeProvider::VaeProvider(std::shared_ptr<Device> device, const fs::path& weights, DType compute,
                         const VaeConfig& config)
    : m_device(std::move(device)),
      m_stream(m_device->createStream()),
      m_parameters(m_device, DType::F32, compute),
      m_encoder(Declaration(m_parameters, {m_parameters.addGroup({"vae", 0, true}), 0, 0}), config),
      m_graph(*m_stream, m_device, {false, compute})
{
    m_parameters.allocate(*m_stream);
    const WeightFile file = WeightFile::open(fileOf(weights));
    loadWeights(*m_stream, m_parameters, file, nameMap());
    m_fingerprint = fmt::format("{} {}", nameOf(compute), digestOf(file));
}

std::array<Index, 3> VaeProvider::shape(int height, int width) const
{
    const Index reduction = m_encoder.reduction();
    return {m_encoder.config().latentChannels, height / reduction, width / reduction};
}

void VaeProvider::encode(std::span<const std::uint8_t> frames, Index count, int height, int width,
                         std::span<float> latents)
{
    std::vector<float> pixels;
    pixels.reserve(frames.size());
    for (const std::uint8_t byte : frames)
        pixels.push_back(static_cast<float>(byte) / 127.5f - 1);
    m_graph.reset();
    const ForwardPass pass{m_graph, m_parameters, &m_packed, false, {}};
    const Value image = m_graph.constant(
        Tensor::fromHost<float>(*m_stream, m_device, {count, 3, height, width}, pixels));
    const Value result = cast(m_graph, m_encoder.latents(pass, image), DType::F32);
    const Tensor& values = m_graph.dense(result);
    expects(values.bytes() == latents.size_bytes(), "VaeProvider: room for the latents");
    m_stream->copy(latents.data(), values.data(), values.bytes());
    m_stream->synchronize();
}

} // namespace vergence::fvlm
