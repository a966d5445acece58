#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugins/live_diffusion/bench/driven_network.h"
#include "plugins/live_diffusion/live_diffusion_config.h"
#include "plugins/live_diffusion/session/loaded_model.h"
#include "plugins/live_diffusion/session/settings.h"

namespace vergence::live {

class TapeNetwork;

/// What was found fastest, in the user's cache folder.
std::shared_ptr<TunedChoices> keptChoices();

/// The networks of a run: what is streamed, measured, exported. Parts share it; the part train
/// hands its weights on through it. Used by the run thread; others take a copy, which shares the
/// weights.
class Networks {
public:
    /// Loads the weights; `warn` hears of what is replaced or does not quite fit. Throws InputError
    /// for a file that does not fit.
    Networks(std::shared_ptr<Device> device, Stream& stream, const LiveDiffusionConfig& config,
             const Warn& warn);

    const LiveDiffusionConfig& config() const { return m_config; }
    /// Values that people changed while the run goes on.
    void follow(const LiveDiffusionConfig& config) { m_config = config; }
    /// The weights in use. They stay where others are named, until these are loaded.
    const std::shared_ptr<const LoadedModel>& model() const { return m_model; }
    void setModel(std::shared_ptr<const LoadedModel> model) { m_model = std::move(model); }
    bool hasNamedModel() const { return m_model->key == modelKey(m_config); }
    /// The weights that the configuration names now. Throws InputError for a file that does not fit
    /// and for weights that were not trained.
    void load(const Warn& warn);
    const std::shared_ptr<Device>& device() const { return m_device; }
    FrameShape shape() const;
    LoopSettings loop() const { return loopSettings(m_config); }
    /// As asked for, where the device offers it.
    Switches switches() const { return switchesOf(m_config, *m_device); }

    /// The network as configured: the denoiser, the oracle, or a replica.
    /// `choices`: what earlier processes found fastest; null: everything is timed anew.
    std::shared_ptr<FrameNetwork> build(const Switches& switches, int rows,
                                        std::shared_ptr<TunedChoices> choices = nullptr) const;
    std::shared_ptr<FrameNetwork> build() const;
    BenchSubject subject() const;
    std::string name() const;        ///< "Pico", "Oracle", "Replica-A"
    bool isTrained() const;          ///< false: random weights, speed only
    std::string note() const;        ///< what a viewer should know: "random weights"; may be empty
    std::string weightsHash() const; ///< SHA-256; empty without weights

    /// Of the denoiser, on the tape: to be distilled or exported. Throws InputError without
    /// weights.
    std::unique_ptr<TapeNetwork> tape(Stream& stream, bool trains) const;
    ModelDescription description() const;
    /// What the part train has learnt.
    void setWeights(std::shared_ptr<const HostWeights> weights, const UnetSettings& unet,
                    bool isConsistencyModel);

    /// The same from a file that an earlier process of this run wrote.
    void takeWeights(Stream& stream, const std::filesystem::path& file);

    /// The first frames of the source, planes of the network's shape. Throws InputError.
    std::vector<std::vector<float>> frames(int count) const;

private:
    const std::shared_ptr<const HostWeights>& weights() const; ///< throws InputError for none

    std::shared_ptr<Device> m_device;
    LiveDiffusionConfig m_config;
    std::shared_ptr<const LoadedModel> m_model; ///< never null
};

} // namespace vergence::live
