#pragma once

#include "core/config/closed_choice.h"
#include "plugins/live_diffusion/engine/switches.h"
#include "plugins/live_diffusion/live_diffusion_config.h"
#include "plugins/live_diffusion/sources/source.h"
#include "plugins/live_diffusion/stream/live_stream.h"
#include "plugins/live_diffusion/stream/loop_settings.h"
#include "plugins/live_diffusion/train/train_settings.h"

namespace vergence::live {

// What the configuration means to each part of the lab.

LoopSettings loopSettings(const LiveDiffusionConfig& config);
/// With what the device does not offer replaced; `changes` receives a sentence for each.
Switches switchesOf(const LiveDiffusionConfig& config, const Device& device,
                    std::vector<std::string>* changes = nullptr);
/// Values of settings that the device does not offer, each with its reason.
std::vector<ClosedChoice> closedChoices(const Device& device);
/// All live settings: they move a stream, which is over.
std::vector<ClosedChoice> closedAfterStream();
/// Films from a seed on that is this much larger are not learnt from.
inline constexpr std::uint32_t kHeldOutFilms = 100'000;
/// What is streamed and judged. Where the run uses weights of its own training, a film that they
/// have not learnt from: films are learnt from seeds that begin with the run's.
SceneSettings sceneSettings(const LiveDiffusionConfig& config);
SourceSettings sourceSettings(const LiveDiffusionConfig& config);
LiveSettings liveSettings(const LiveDiffusionConfig& config);
TrainSettings trainSettings(const LiveDiffusionConfig& config);

} // namespace vergence::live
