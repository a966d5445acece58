#pragma once

#include <memory>
#include <vector>

#include "plugins/light_field/compute/table_operator.h"

namespace vergence::light_field {

/// What one eye sees of given planes, for any eye state; fast enough to follow a slider.
class EyeRenderer {
public:
    EyeRenderer(Stream& stream, std::shared_ptr<Device> device, Optics optics, int raysPerPixel);
    ~EyeRenderer();

    /// `planes` [K, R, R, L] → image [W, W, L], unclamped linear light.
    Tensor render(Stream& stream, const Tensor& planes, const EyeState& eye);
    /// The share of every plane: [K, W, W, L]; their sum is render().
    Tensor contributions(Stream& stream, const Tensor& planes, const EyeState& eye);

private:
    void moveTo(Stream& stream, const EyeState& eye);

    EyeState m_eye;
    std::unique_ptr<TableOperator> m_operator;
};

enum class Rejection { None, LensAperture, LensletGap, ArrayEdge, PanelEdge, Baffle };

/// One ray of a pixel from the pupil to the panel, positions in mm.
struct RayPath {
    int plane = 0;
    int sample = 0;
    double pupil[2] = {0, 0};   ///< at z = 0
    double tunable[2] = {0, 0}; ///< at the tunable lens
    double lenslet[2] = {0, 0}; ///< at the lenslets
    double panel[2] = {0, 0};   ///< at the panel (where it would arrive, if rejected)
    int lensletIndex[2] = {0, 0};
    double texel[2] = {0, 0}; ///< column and row, texel centres at whole numbers
    Rejection rejection = Rejection::None;
};

/// All K × M rays of the pixel in row `row`, column `column` (fractions allowed), plane by plane
/// (profile P).
std::vector<RayPath> tracePixel(const Optics& optics, const EyeState& eye, int raysPerPixel,
                                double row, double column);

} // namespace vergence::light_field
