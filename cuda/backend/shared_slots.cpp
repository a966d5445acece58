#include "cuda/backend/shared_slots.h"

#include <cstring>

#include "core/compute/stream.h"
#include "cuda/backend/check.h"

namespace vergence {

CudaSharedSlots::CudaSharedSlots(Device& device, ExportedBlocks& blocks, std::size_t slotBytes)
    : m_device(device),
      m_blocks(blocks),
      m_block(blocks.take(slotBytes))
{
}

CudaSharedSlots::~CudaSharedSlots()
{
    m_blocks.giveBack(std::move(m_block));
}

SharedPixels CudaSharedSlots::write(Stream& stream, const void* pixels, std::size_t bytes)
{
    expects(bytes <= slotBytes(), "SharedSlots::write: the frame is larger than a slot");
    const auto native = static_cast<cudaStream_t>(stream.native());
    cudaStreamCaptureStatus recording = cudaStreamCaptureStatusNone;
    checkCuda(cudaStreamIsCapturing(native, &recording), "Asking whether a stream is recorded");
    expects(recording == cudaStreamCaptureStatusNone,
            "SharedSlots::write: a preview cannot be part of a launch graph; publish between "
            "replays");
    const int slot = m_block->nextSlot();
    if (bytes > 0)
        checkCuda(
            cudaMemcpyAsync(m_block->slot(slot), pixels, bytes, cudaMemcpyDeviceToDevice, native),
            "Copying a preview");
    checkCuda(cudaEventRecord(m_block->event(slot), native), "Marking a preview");

    SharedPixels shared;
    shared.deviceUuid = m_device.info().uuid;
    shared.offset = static_cast<std::uint64_t>(slot) * slotBytes();
    static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(shared.memoryHandle));
    static_assert(sizeof(cudaIpcEventHandle_t) == sizeof(shared.eventHandle));
    std::memcpy(shared.memoryHandle.data(), &m_block->memoryHandle(), sizeof(cudaIpcMemHandle_t));
    std::memcpy(shared.eventHandle.data(), &m_block->eventHandle(slot),
                sizeof(cudaIpcEventHandle_t));
    return shared;
}

} // namespace vergence
