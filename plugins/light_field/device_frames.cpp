#include "plugins/light_field/device_frames.h"

#include "plugins/light_field/compute/pack_pixels.h"

namespace vergence::light_field {

bool DeviceFrames::publish(RunContext& context, const std::string& stream, const Tensor& image,
                           int channels, const std::string& meta)
{
    if (!context.frames().wantsShared() || context.device()->isCpu())
        return false;
    Slots& slots = m_slots[stream];
    const Shape shape = {image.extent(0), image.extent(1), 4};
    if (slots.packed.shape() != shape) {
        slots.packed = Tensor::empty(context.device(), shape, DType::U8);
        slots.shared = context.device()->createSharedSlots(slots.packed.bytes());
    }
    if (!slots.shared)
        return false;
    packSrgb(context.stream(), image, channels, slots.packed);
    FrameInfo info;
    info.stream = stream;
    info.step = context.step();
    info.width = static_cast<std::uint32_t>(image.extent(1));
    info.height = static_cast<std::uint32_t>(image.extent(0));
    info.meta = meta;
    context.frames().publishShared(
        std::move(info),
        slots.shared->write(context.stream(), slots.packed.data(), slots.packed.bytes()));
    return true;
}

} // namespace vergence::light_field
