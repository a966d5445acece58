#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugins/sugar/io/photographs.h"

namespace vergence::sugar {

/// Pinhole pictures to learn from and to test with, whether they were photographed or made.
class PictureSource {
public:
    virtual ~PictureSource();
    virtual std::size_t count() const = 0;
    virtual const std::string& name(std::size_t i) const = 0;
    /// One per picture, of the picture's size; world axes are those of the scene.
    virtual const std::vector<Camera>& cameras() const = 0;
    /// Whether the scene itself keeps the picture for testing.
    virtual std::optional<bool> isTest(std::size_t i) const = 0;
    /// Picture i with its sides divided by 2^level. Throws InputError where a file broke meanwhile.
    /// Safe from any thread.
    virtual std::shared_ptr<const Photograph> get(std::size_t i, int level) = 0;
    virtual void prefetch(const std::vector<std::size_t>& next, int level);
    /// Pictures with a mask of their own.
    virtual std::size_t masked() const;
    virtual const Scene& scene() const = 0;
    virtual const std::vector<SceneFinding>& findings() const = 0;
    virtual std::string fingerprint() const = 0;
};

/// Photographs of a scene, as readScene() has it.
std::unique_ptr<PictureSource> photographedPictures(Scene scene,
                                                    const PhotographSettings& settings);

/// The built-in scene, rendered when first asked for.
std::unique_ptr<PictureSource> builtInPictures(int width, int height, bool gloss,
                                               std::uint64_t seed);

/// For Gaussians of a file alone.
std::unique_ptr<PictureSource> noPictures();

} // namespace vergence::sugar
