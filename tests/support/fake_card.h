#pragma once

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/compute/device.h"
#include "core/compute/stream.h"

namespace vergence::test {

/// Stands for a GPU whose memory another process opens: the slots lie in this process, their
/// handles are numbers.
class FakeCard {
public:
    static constexpr const char* kUuid = "GPU-0a1b2c3d-0000-0000-0000-000000000001";

    std::uint64_t addBlock(std::size_t bytes)
    {
        const std::lock_guard lock(m_mutex);
        m_blocks[++m_last].resize(bytes);
        return m_last;
    }
    void write(std::uint64_t block, std::size_t offset, const void* pixels, std::size_t bytes)
    {
        const std::lock_guard lock(m_mutex);
        std::memcpy(m_blocks.at(block).data() + offset, pixels, bytes);
    }
    /// What lies there; nothing where the handle is not of a block.
    std::optional<std::vector<std::byte>> read(const SharedPixels& shared, std::size_t bytes) const
    {
        std::uint64_t block = 0;
        std::memcpy(&block, shared.memoryHandle.data(), sizeof(block));
        const std::lock_guard lock(m_mutex);
        const auto found = m_blocks.find(block);
        if (found == m_blocks.end() || shared.offset + bytes > found->second.size())
            return std::nullopt;
        const auto first = found->second.begin() + static_cast<std::ptrdiff_t>(shared.offset);
        return std::vector<std::byte>(first, first + static_cast<std::ptrdiff_t>(bytes));
    }
    /// The process that owned the memory is gone.
    void loseEverything()
    {
        const std::lock_guard lock(m_mutex);
        m_blocks.clear();
    }

private:
    mutable std::mutex m_mutex;
    std::map<std::uint64_t, std::vector<std::byte>> m_blocks;
    std::uint64_t m_last = 0;
};

class FakeSlots final : public SharedSlots {
public:
    FakeSlots(FakeCard& card, std::size_t slotBytes)
        : m_card(card),
          m_slotBytes(slotBytes),
          m_block(card.addBlock(3 * slotBytes))
    {
    }
    std::size_t slotBytes() const override { return m_slotBytes; }
    SharedPixels write(Stream&, const void* pixels, std::size_t bytes) override
    {
        SharedPixels shared;
        shared.deviceUuid = FakeCard::kUuid;
        shared.offset = m_slotBytes * (m_next++ % 3);
        std::memcpy(shared.memoryHandle.data(), &m_block, sizeof(m_block));
        m_card.write(m_block, shared.offset, pixels, bytes);
        return shared;
    }

private:
    FakeCard& m_card;
    std::size_t m_slotBytes;
    std::uint64_t m_block;
    std::size_t m_next = 0;
};

/// The device of a FakeCard; computes on the CPU.
class FakeCardDevice final : public Device {
public:
    explicit FakeCardDevice(FakeCard& card) : Device(describe()), m_card(card) {}

    void* allocate(std::size_t bytes) override { return m_cpu->allocate(bytes); }
    void deallocate(void* pointer, std::size_t bytes) noexcept override
    {
        m_cpu->deallocate(pointer, bytes);
    }
    DeviceMemory memory() const override { return m_cpu->memory(); }
    std::unique_ptr<Stream> createStream() override { return m_cpu->createStream(); }
    int kernelVariant() const override { return m_cpu->kernelVariant(); }
    std::unique_ptr<SharedSlots> createSharedSlots(std::size_t slotBytes) override
    {
        return std::make_unique<FakeSlots>(m_card, slotBytes);
    }

private:
    static DeviceInfo describe()
    {
        DeviceInfo info;
        info.kind = DeviceKind::Cuda;
        info.name = "Fake card";
        info.uuid = FakeCard::kUuid;
        return info;
    }

    FakeCard& m_card;
    std::shared_ptr<Device> m_cpu = makeCpuDevice(1);
};

} // namespace vergence::test
