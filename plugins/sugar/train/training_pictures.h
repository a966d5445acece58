#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/compute/tensor.h"
#include "plugins/sugar/train/picture_source.h"
#include "plugins/sugar/train/schedule.h"

namespace vergence::sugar {

/// A picture on the device that learns from it.
struct TrainingPicture {
    Camera camera;
    Tensor photo;        ///< [H, W, 3] U8
    Tensor mask;         ///< [H, W] U8; empty where everything counts
    Tensor transparency; ///< [H, W] U8, see Photograph
};

/// A picture that could not be decoded, and why.
struct LeftOutPicture {
    std::size_t picture = 0;
    std::string reason;
};

/// Pictures that must be left to learn from once one cannot be decoded; all, where there were
/// fewer.
inline constexpr std::size_t kFewestPictures = 3;

/// Pictures that stay on a GPU.
inline constexpr std::size_t kResidentPictures = 64;

/// Pictures of a source on a device, at full size and at halves of it. On the CPU they are the
/// source's own memory; on a GPU the newest few stay there. A picture whose file cannot be decoded
/// is left out from then on, and the others go on.
class TrainingPictures {
public:
    TrainingPictures(std::shared_ptr<PictureSource> source, std::shared_ptr<Device> device);

    const PictureSource& source() const { return *m_source; }
    /// Picture i with its sides divided by 2^level; nothing where it is left out.
    std::optional<TrainingPicture> get(Stream& stream, std::size_t i, int level);
    /// The same picture on the host; null where it is left out.
    std::shared_ptr<const Photograph> photograph(std::size_t i, int level = 0);

    struct Next {
        std::size_t number = 0;
        TrainingPicture picture;
    };
    /// The picture that a step learns from: that of the order or, where it is left out, the first
    /// one after it that is not. That follows from the files alone, whenever they were found
    /// broken, so a resumed run learns from the same ones. Those of the next steps are read ahead.
    /// Throws InputError where fewer than kFewestPictures are left.
    Next next(Stream& stream, PictureOrder& order, std::int64_t step, int level);

    /// In the order in which they were found.
    const std::vector<LeftOutPicture>& leftOut() const { return m_leftOut; }
    bool isLeftOut(std::size_t i) const;
    /// As an earlier part of the run found it.
    void leaveOut(std::size_t i, std::string reason);

private:
    struct Key {
        std::size_t picture;
        int level;
    };
    void prefetch(std::vector<std::size_t> next, int level);
    void expectEnough(const std::vector<std::size_t>& pictures) const;
    TrainingPicture onDevice(Stream& stream, const Key& key,
                             const std::shared_ptr<const Photograph>& photograph);

    std::shared_ptr<PictureSource> m_source;
    std::shared_ptr<Device> m_device;
    std::list<std::pair<Key, TrainingPicture>> m_resident; ///< newest first; GPU only
    std::vector<LeftOutPicture> m_leftOut;
};

} // namespace vergence::sugar
