#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/artifact/image.h"
#include "plugins/mc_embedding/compute/model_zoo.h"
#include "plugins/mc_embedding/io/pixel_type.h"

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
    PixelType stored = PixelType::U8;                ///< what a cache keeps

    /// Of everything that changes the stored bytes; mean and deviation are among it where values
    /// are stored normalised.
    std::string fingerprint() const;
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
/// A preprocessed picture as how.stored says, and back; 8-bit pictures survive both ways.
std::vector<std::uint8_t> storedPixels(const Image& image, const Preprocess& how);
Image pictureOf(std::span<const std::uint8_t> stored, const Preprocess& how);

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
