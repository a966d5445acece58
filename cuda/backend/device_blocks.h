#pragma once

#include "cuda/backend/memory_pool.h"

namespace vergence {

/// Blocks of one GPU's memory.
class DeviceBlocks final : public BlockSource {
public:
    explicit DeviceBlocks(int deviceIndex) : m_device(deviceIndex) {}

    void* take(std::size_t bytes) override;
    void giveBack(void* block) noexcept override;
    void settle() override;
    std::string room() const override;

private:
    int m_device;
};

} // namespace vergence
