#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/compute/device.h"

namespace vergence {

/// Blocks of device memory that are handed out again and again, so that repeated work allocates
/// nothing. Thread-safe. Must outlive what it handed out.
class Workspace {
public:
    explicit Workspace(Device& device) : m_device(device) {}
    ~Workspace();
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;

    /// Aligned to 256 bytes; goes back to the pool with the last copy of the result.
    std::shared_ptr<void> take(std::size_t bytes);

private:
    void giveBack(void* block, std::size_t bytes);

    Device& m_device;
    std::mutex m_mutex;
    std::multimap<std::size_t, void*> m_free; ///< by size
};

} // namespace vergence
