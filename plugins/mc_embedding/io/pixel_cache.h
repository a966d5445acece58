#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "plugins/mc_embedding/io/image_set.h"
#include "plugins/mc_embedding/io/preprocess.h"

namespace vergence::mc_embedding {

/// A picture that could not be used.
struct SkippedImage {
    std::size_t index = 0; ///< in the set
    std::string path, reason;
};

/// Preprocessed pictures, 8-bit RGB or normalised values, in one memory-mapped file
/// `<16 of fingerprint>-<16 of set>.mcpx`; made once per (preprocessing, image set), resumed after
/// an interruption. Specification, sections 9.6, 9.8.
class PixelCache {
public:
    /// Opens or makes the file in `folder` for the images of the set, degraded as said. Throws
    /// InputError where another process writes it (names the process), OutputError for a full disk
    /// (what is done stays done).
    static std::unique_ptr<PixelCache> open(const std::filesystem::path& folder, ImageSet& set,
                                            const Preprocess& how,
                                            const std::string& degradation = "none",
                                            std::uint64_t seed = 42);
    virtual ~PixelCache();

    /// Decodes what is missing on all cores but one, then fills set.images[i].sha256 and maskId of
    /// the caller's set. `progress(done, total)` from the calling thread. Stops early where asked;
    /// call again to go on. A source that changed since it was read is read again. Throws as open()
    /// does. Other threads may call isReady(), sourceSha256()
    /// and pixels() meanwhile.
    virtual void fill(ImageSet& set, std::stop_token stop,
                      const std::function<void(std::size_t, std::size_t)>& progress) = 0;
    virtual bool isComplete() const = 0;
    virtual const std::vector<SkippedImage>& skipped() const = 0;

    virtual std::size_t count() const = 0;
    virtual int side() const = 0;
    virtual const Preprocess& preprocess() const = 0;
    /// One picture as preprocess().stored says; contents undefined for skipped ones.
    virtual std::span<const std::uint8_t> pixels(std::size_t index) const = 0;
    /// Whether fill() has settled this picture: pixels are there, or it is known to be skipped.
    virtual bool isReady(std::size_t index) const = 0;
    /// SHA-256 of the source file of a settled picture; empty where it could not be read.
    virtual std::string sourceSha256(std::size_t index) const = 0;
    /// Pictures decoded by this object, for the promise "once".
    virtual std::size_t decoded() const = 0;
    /// Pictures taken from other files of the folder that hold the same source in the same form.
    virtual std::size_t reused() const = 0;
    virtual const std::filesystem::path& file() const = 0;
};

} // namespace vergence::mc_embedding
