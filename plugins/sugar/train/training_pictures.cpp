#include "plugins/sugar/train/training_pictures.h"

#include <algorithm>

#include "core/artifact/image_ops.h"

namespace vergence::sugar {

namespace {

constexpr std::size_t kResident = 64; ///< pictures kept on a GPU

/// Half the sides as often as the level says; a masked pixel stays masked where any part of it was.
std::shared_ptr<const Photograph> smaller(const Photograph& full, int level)
{
    auto result = std::make_shared<Photograph>();
    result->image = scaled(full.image, 1.0 / (1 << level));
    if (full.mask.empty())
        return result;
    Image mask = makeImage(full.image.width, full.image.height, 1);
    for (std::size_t i = 0; i < full.mask.size(); ++i)
        mask.pixels[i] = full.mask[i] ? 255 : 0;
    result->mask = scaled(mask, 1.0 / (1 << level)).pixels;
    for (std::uint8_t& value : result->mask)
        value = value == 255 ? 1 : 0;
    return result;
}

} // namespace

TrainingPictures::TrainingPictures(std::shared_ptr<PictureSource> source,
                                   std::shared_ptr<Device> device)
    : m_source(std::move(source)),
      m_device(std::move(device))
{
}

std::shared_ptr<const Photograph> TrainingPictures::photograph(std::size_t i, int level)
{
    if (level == 0)
        return m_source->get(i);
    if (level != m_level) {
        m_smaller.clear();
        m_level = level;
    }
    auto& cached = m_smaller[{i, level}];
    if (!cached)
        cached = smaller(*m_source->get(i), level);
    return cached;
}

TrainingPicture TrainingPictures::onDevice(Stream& stream, const Key& key,
                                           const std::shared_ptr<const Photograph>& photograph)
{
    const Image& image = photograph->image;
    const Shape shape{image.height, image.width, 3}, maskShape{image.height, image.width};
    TrainingPicture picture;
    picture.camera = resized(m_source->cameras().at(key.picture), image.width, image.height);
    if (m_device->isCpu()) {
        // The tensors only read; the picture is shared and stays as it is.
        const auto storage = std::const_pointer_cast<Photograph>(photograph);
        picture.photo =
            Tensor::wrap(m_device, storage->image.pixels.data(), shape, DType::U8, storage);
        if (!photograph->mask.empty())
            picture.mask =
                Tensor::wrap(m_device, storage->mask.data(), maskShape, DType::U8, storage);
        return picture;
    }
    picture.photo = Tensor::fromHost<std::uint8_t>(stream, m_device, shape, image.pixels);
    if (!photograph->mask.empty())
        picture.mask =
            Tensor::fromHost<std::uint8_t>(stream, m_device, maskShape, photograph->mask);
    return picture;
}

TrainingPicture TrainingPictures::get(Stream& stream, std::size_t i, int level)
{
    const Key key{i, level};
    if (m_device->isCpu())
        return onDevice(stream, key, photograph(i, level));
    const auto found = std::find_if(m_resident.begin(), m_resident.end(), [&](const auto& entry) {
        return entry.first.picture == i && entry.first.level == level;
    });
    if (found != m_resident.end()) {
        m_resident.splice(m_resident.begin(), m_resident, found);
        return m_resident.front().second;
    }
    m_resident.emplace_front(key, onDevice(stream, key, photograph(i, level)));
    if (m_resident.size() > kResident)
        m_resident.pop_back();
    return m_resident.front().second;
}

} // namespace vergence::sugar
