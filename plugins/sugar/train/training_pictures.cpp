#include "plugins/sugar/train/training_pictures.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence::sugar {

TrainingPictures::TrainingPictures(std::shared_ptr<PictureSource> source,
                                   std::shared_ptr<Device> device)
    : m_source(std::move(source)),
      m_device(std::move(device))
{
}

bool TrainingPictures::isLeftOut(std::size_t i) const
{
    return std::any_of(m_leftOut.begin(), m_leftOut.end(),
                       [i](const LeftOutPicture& each) { return each.picture == i; });
}

void TrainingPictures::leaveOut(std::size_t i, std::string reason)
{
    if (!isLeftOut(i))
        m_leftOut.push_back({i, std::move(reason)});
}

std::shared_ptr<const Photograph> TrainingPictures::photograph(std::size_t i, int level)
{
    if (isLeftOut(i))
        return nullptr;
    try {
        return m_source->get(i, level);
    } catch (const IoError& error) {
        leaveOut(i, error.what());
        return nullptr;
    }
}

TrainingPicture TrainingPictures::onDevice(Stream& stream, const Key& key,
                                           const std::shared_ptr<const Photograph>& photograph)
{
    const Image& image = photograph->image;
    const Shape shape{image.height, image.width, 3}, planeShape{image.height, image.width};
    TrainingPicture picture;
    picture.camera = resized(m_source->cameras().at(key.picture), image.width, image.height);
    const auto placed = [&](const std::vector<std::uint8_t>& bytes, const Shape& as) {
        if (bytes.empty())
            return Tensor();
        if (!m_device->isCpu())
            return Tensor::fromHost<std::uint8_t>(stream, m_device, as, bytes);
        // The tensor only reads; the picture is shared and stays as it is.
        const auto storage = std::const_pointer_cast<Photograph>(photograph);
        return Tensor::wrap(m_device, const_cast<std::uint8_t*>(bytes.data()), as, DType::U8,
                            storage);
    };
    picture.photo = placed(image.pixels, shape);
    picture.mask = placed(photograph->mask, planeShape);
    picture.transparency = placed(photograph->transparency, planeShape);
    return picture;
}

std::optional<TrainingPicture> TrainingPictures::get(Stream& stream, std::size_t i, int level)
{
    const Key key{i, level};
    const auto found = std::find_if(m_resident.begin(), m_resident.end(), [&](const auto& entry) {
        return entry.first.picture == i && entry.first.level == level;
    });
    if (found != m_resident.end()) {
        m_resident.splice(m_resident.begin(), m_resident, found);
        return m_resident.front().second;
    }
    const auto host = photograph(i, level);
    if (!host)
        return std::nullopt;
    TrainingPicture picture = onDevice(stream, key, host);
    if (!m_device->isCpu()) {
        m_resident.emplace_front(key, picture);
        if (m_resident.size() > kResidentPictures)
            m_resident.pop_back();
    }
    return picture;
}

void TrainingPictures::prefetch(std::vector<std::size_t> next, int level)
{
    std::erase_if(next, [this](std::size_t i) { return isLeftOut(i); });
    m_source->prefetch(next, level);
}

void TrainingPictures::expectEnough(const std::vector<std::size_t>& pictures) const
{
    const auto left = static_cast<std::size_t>(
        std::count_if(pictures.begin(), pictures.end(), [this](auto i) { return !isLeftOut(i); }));
    const std::size_t least = std::min(kFewestPictures, pictures.size());
    if (left < least)
        throw InputError(fmt::format("Only {} of the {} pictures to learn from can be read, and at "
                                     "least {} are needed. {} Replace the broken files, or take "
                                     "them out of the scene.",
                                     left, pictures.size(), least, m_leftOut.back().reason));
}

TrainingPictures::Next TrainingPictures::next(Stream& stream, PictureOrder& order,
                                              std::int64_t step, int level)
{
    for (std::int64_t at = step;; ++at) {
        Next next{order.at(at), {}};
        if (auto found = get(stream, next.number, level)) {
            next.picture = std::move(*found);
            prefetch({order.at(at + 1), order.at(at + 2)}, level);
            return next;
        }
        expectEnough(order.pictures());
    }
}

} // namespace vergence::sugar
