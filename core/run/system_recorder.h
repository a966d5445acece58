#pragma once

#include <string>

#include "core/metrics/system_sampler.h"
#include "core/run/run_controller.h"

namespace vergence {

/// Samples the computer once a second into the run's "system/…" series and keeps the peaks for the
/// manifest.
class SystemRecorder {
public:
    /// `deviceUuid`: the card whose memory and use belong to the run; "cpu" for none.
    SystemRecorder(RunController& controller, std::string deviceUuid);
    void sample();

private:
    RunController& m_controller;
    std::string m_deviceUuid;
    SystemSampler m_sampler{0};
};

} // namespace vergence
