#pragma once

#include <array>
#include <filesystem>
#include <string>

#include "core/artifact/image.h"
#include "plugins/mc_embedding/compute/model_zoo.h"

namespace vergence::mc_embedding {

enum class Filter { Bicubic, Bilinear };

/// How a picture becomes the square that a tower reads. Specification, sections 9.2 to 9.5.
struct Preprocess {
    int size = 224;
    bool stretches = false;  ///< SigLIP: straight to size × size; else short side, centre crop
    bool floorsCrop = false; ///< crop = "floor": the Transformers variant of odd margins
    bool rotatesByExif = false;
    Filter filter = Filter::Bicubic;
    std::array<float, 3> mean{}, deviation{1, 1, 1}; ///< of value/255

    std::string fingerprint() const; ///< of everything that changes bytes, not of mean, deviation
};
/// What the model's publishers use; CLIP bicubic and crop, SigLIP 2 bilinear and stretch.
Preprocess defaultPreprocess(const TowerShape& tower);

/// 8-bit RGB as section 9.1 says. Throws InputError.
Image decodeRgb(const std::filesystem::path& path, bool rotatesByExif = false);
/// The same of a file in memory; `name` for messages.
Image decodeRgb(const std::string& bytes, const std::filesystem::path& name, bool rotatesByExif);
/// Pillow's 8-bit separable resampling, bit for bit. RGB, RGBA or grey.
Image resized(const Image& image, int width, int height, Filter filter);
/// RGB [size, size].
Image preprocessed(const Image& image, const Preprocess& how);

// Degradations of section 9.7, on the decoded picture.
Image gaussianBlurred(const Image& image, double radius); ///< as Pillow, bit for bit
Image downUpSampled(const Image& image, int factor);
Image jpegCompressed(const Image& image, int quality);
/// A grey square of that share of the area, placed by Philox purpose 4.
Image occluded(const Image& image, double share, std::uint64_t seed, std::uint32_t maskId);

/// "none", "blur5", "blur15", "down4", "down8", "jpeg40", "blur1", "occlude0.1", …
Image degraded(const Image& image, const std::string& degradation, std::uint64_t seed,
               std::uint32_t maskId);
bool isDegradation(const std::string& name);

} // namespace vergence::mc_embedding
