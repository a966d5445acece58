#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/artifact/image.h"
#include "core/compute/tensor.h"
#include "plugins/light_field/compute/optics.h"

namespace vergence::light_field {

/// Lanes 0 … channels − 1 of an image [S, W, W, L] or [W, W, L] as [W, W, channels] on the host.
std::vector<float> interleaved(Stream& stream, const Tensor& images, int state, int channels);

/// One panel image per plane from [K, side, side, channels]: 8 bits, rows flipped so that +y is up.
std::vector<Image> planeImages(std::span<const float> planes, int side, int channels, bool raw);
/// All planes in a grid of at most 4 columns, each at most 256 px wide, with f_k, D_k and Q_k
/// below.
Image contactSheet(const std::vector<Image>& planes, const Optics& optics);

/// Signed error, mean over channels, blue below and red above the target, full colour at ±`scale`.
Image errorImage(std::span<const float> image, std::span<const float> target, int width, int height,
                 int channels, float scale = 0.25f);
/// Burns a label into the top left corner.
void burnLabel(Image& image, const std::string& label);
/// Equal heights side by side with a gap of 8 px.
Image sideBySide(const Image& left, const Image& right);

/// "7.14 D, 140 mm, f 40.6 mm", or why an eye cannot focus the plane. Narrow labels lose their end.
std::string planeLabel(const Optics& optics, int plane);

} // namespace vergence::light_field
