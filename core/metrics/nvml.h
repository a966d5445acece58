#pragma once

#include <memory>
#include <vector>

#include "core/metrics/system_sampler.h"

namespace vergence::detail {

/// The management library of NVIDIA's driver, opened where it exists. Creates no CUDA context.
class Nvml {
public:
    /// Null where the library is missing or cannot be initialised.
    static std::unique_ptr<Nvml> open();
    ~Nvml();
    Nvml(const Nvml&) = delete;
    Nvml& operator=(const Nvml&) = delete;

    /// One reading per device of the computer, and one per instance of a divided one behind it;
    /// memory of process `pid` where the driver names it.
    std::vector<GpuReading> read(int pid) const;

private:
    struct Functions;
    Nvml(void* library, std::unique_ptr<Functions> functions);

    void* m_library;
    std::unique_ptr<Functions> m_functions;
};

} // namespace vergence::detail
