#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/artifact/image.h"
#include "plugins/sugar/io/scene.h"

namespace vergence::sugar {

struct PhotographSettings {
    double scale = 1;            ///< the picture's sides are divided by this; 1 keeps them
    int maxWidth = 0;            ///< px; 0: no limit. Applied after `scale`
    std::string fit = "inside";  ///< undistortion: "inside", "all" or "keepK"
    std::size_t budgetBytes = 0; ///< of decoded pictures kept; 0: half of the free memory
    std::array<float, 3> background{0, 0, 0}; ///< behind transparent pictures
    bool keepsTransparency = false;           ///< for another background later
    bool alphaMasks = false;                  ///< pixels of less than half the opacity do not count
    /// Folder of grey pictures, bright where a photograph counts: NAME.png for the photograph NAME,
    /// or of its name with the ending png, or of the very name. Empty: none.
    std::filesystem::path masks{};
    /// Asked before every file that is measured; where it holds, the pictures are of no use.
    std::function<bool()> isStopped{};
};

/// A photograph ready for training.
struct Photograph {
    Image image; ///< [H, W, 3]
    /// [H·W], 0 where nothing was seen or the pixel shall not count; empty where all count.
    std::vector<std::uint8_t> mask;
    /// [H·W], share of the background in the image, 255 for all; empty where opaque or not kept.
    std::vector<std::uint8_t> transparency;
};

/// Photographs of a scene as pinhole pictures: decoded when first asked for, undistorted, scaled by
/// area and kept up to a budget, the longest unused dropped first. Safe from any thread; a pool
/// reads ahead what prefetch() announces.
class Photographs {
public:
    /// Measures every file (header only). Views whose file is missing or broken are left out, each
    /// with a finding; throws InputError where some are and fewer than three remain.
    Photographs(Scene scene, PhotographSettings settings);
    ~Photographs();

    const Scene& scene() const;
    /// Kept views, in the order of the sorted names. cameras()[i] belongs to the picture of i.
    std::size_t count() const;
    const std::string& name(std::size_t i) const;
    const std::vector<Camera>& cameras() const;
    const SourceView& view(std::size_t i) const;
    const std::vector<SceneFinding>& findings() const;

    /// With its sides divided by 2^level; every size counts in the budget. Throws InputError where
    /// the file broke meanwhile.
    std::shared_ptr<const Photograph> get(std::size_t i, int level = 0);
    void prefetch(const std::vector<std::size_t>& next, int level = 0);
    /// SHA-256 over names, sizes and times of the files, masks and the scene, for manifests and
    /// resume.
    std::string fingerprint() const;
    std::size_t cachedBytes() const;
    std::size_t masked() const; ///< photographs with a file in the folder of masks

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace vergence::sugar
