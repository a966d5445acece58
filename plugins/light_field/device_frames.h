#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/compute/tensor.h"
#include "core/run/run_context.h"

namespace vergence::light_field {

/// Publishes pictures that lie on a GPU without a detour through the host, for viewers that can
/// open device memory.
class DeviceFrames {
public:
    /// Linear image [W, W, L] on the run's device as an RGBA8 frame. False where that is not
    /// possible (CPU, or a viewer that wants host memory); nothing was published then.
    bool publish(RunContext& context, const std::string& stream, const Tensor& image, int channels,
                 const std::string& meta);

private:
    struct Slots {
        std::unique_ptr<SharedSlots> shared;
        Tensor packed; ///< [W, W, 4] U8
    };
    std::map<std::string, Slots> m_slots;
};

} // namespace vergence::light_field
