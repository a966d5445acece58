#pragma once

#include <list>
#include <map>
#include <memory>

#include "core/compute/tensor.h"
#include "plugins/sugar/train/picture_source.h"

namespace vergence::sugar {

/// A picture on the device that learns from it.
struct TrainingPicture {
    Camera camera;
    Tensor photo; ///< [H, W, 3] U8
    Tensor mask;  ///< [H, W] U8; empty where everything counts
};

/// Pictures of a source on a device, at full size and at halves of it. On the CPU they are the
/// source's own memory; on a GPU the newest few stay there.
class TrainingPictures {
public:
    TrainingPictures(std::shared_ptr<PictureSource> source, std::shared_ptr<Device> device);

    const PictureSource& source() const { return *m_source; }
    /// Picture i with its sides divided by 2^level.
    TrainingPicture get(Stream& stream, std::size_t i, int level);
    /// The same picture on the host, at full size.
    std::shared_ptr<const Photograph> photograph(std::size_t i) { return m_source->get(i); }
    void prefetch(const std::vector<std::size_t>& next) { m_source->prefetch(next); }

private:
    struct Key {
        std::size_t picture;
        int level;
        bool operator<(const Key& other) const
        {
            return picture != other.picture ? picture < other.picture : level < other.level;
        }
    };
    std::shared_ptr<const Photograph> photograph(std::size_t i, int level);
    TrainingPicture onDevice(Stream& stream, const Key& key,
                             const std::shared_ptr<const Photograph>& photograph);

    std::shared_ptr<PictureSource> m_source;
    std::shared_ptr<Device> m_device;
    std::map<Key, std::shared_ptr<const Photograph>> m_smaller; ///< of the level in use
    int m_level = 0;
    std::list<std::pair<Key, TrainingPicture>> m_resident; ///< newest first; GPU only
};

} // namespace vergence::sugar
