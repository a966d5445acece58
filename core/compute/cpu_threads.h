#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace vergence {

class Device;

/// Threads that this process may keep busy: its processors (affinity), its share of them (CPU quota
/// of its control groups, rounded up), and VERGENCE_THREADS where that is less. At least 1. Throws
/// DeviceError where VERGENCE_THREADS is no positive number.
int usableThreads();

/// What /proc/cpuinfo calls the processor; where it has no name for it, as on ARM, the name of the
/// board, and without one that of the architecture.
std::string processorName();

/// Cores among the processors of this process: two hardware threads of one core count once.
int usableCores();

/// Processors' worth of time that the control groups of a process grant; infinite without a limit.
/// `proc` holds its `cgroup` file, `groups` is where the hierarchies are mounted.
double cpuQuota(const std::filesystem::path& proc = "/proc/self",
                const std::filesystem::path& groups = "/sys/fs/cgroup");

/// How many of `threads` threads products should use. Two hardware threads of a core share its
/// multipliers, so there one thread a core may be faster: the better of the two counts by
/// `seconds(count)`, which is not called where every thread has a core of its own.
int threadsForProducts(int threads, int cores, const std::function<double(int)>& seconds);

/// What was chosen for a CPU device; 0 for others. The first use of a device's products decides.
int productThreads(Device& device);

} // namespace vergence
