#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "plugins/live_diffusion/engine/host_weights.h"
#include "plugins/live_diffusion/live_diffusion_config.h"
#include "plugins/live_diffusion/model/weight_file.h"

namespace vergence::live {

/// What hears of replaced values and of weights that do not quite fit.
using Warn = std::function<void(const std::string& id, const std::string& sentence)>;

/// Which weights a configuration names. Padding of channels is left out: weights serve any.
struct ModelKey {
    NetworkKind network = NetworkKind::Unet;
    WeightsFrom weights = WeightsFrom::Shipped;
    std::filesystem::path file; ///< of weights = file
    UnetSettings unet;
    std::uint64_t seed = 0;
    bool operator==(const ModelKey&) const = default;
};
ModelKey modelKey(const LiveDiffusionConfig& config);

/// Weights of a denoiser and what they are of. Never changed; shared by networks.
struct LoadedModel {
    ModelKey key;
    UnetSettings unet;
    ModelDescription description;
    std::shared_ptr<const HostWeights> weights; ///< null before they are trained, and for an oracle
    bool isTrained = false;
};

/// Reads or makes the weights that the configuration names; `warn` hears where they were trained to
/// predict something else. Throws InputError for a file that does not fit.
LoadedModel loadedModel(Stream& stream, const std::shared_ptr<Device>& device,
                        const LiveDiffusionConfig& config, const Warn& warn);

} // namespace vergence::live
