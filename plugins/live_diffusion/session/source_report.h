#pragma once

#include "core/plugin/lab_inspector.h"
#include "plugins/live_diffusion/live_diffusion_config.h"

namespace vergence::live {

/// Throws InputError where a part of the run would stream what cannot be read, so that nothing is
/// trained before it is found out. Cameras are left alone.
void expectSource(const LiveDiffusionConfig& config);

/// What the source holds, or why it cannot be used (`E-DATA`).
DataReport sourceReport(const LiveDiffusionConfig& config);

} // namespace vergence::live
