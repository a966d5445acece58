#pragma once

#include <memory>
#include <vector>

#include "core/compute/tensor.h"

namespace vergence::sugar {

/// One number per parameter of each Gaussian, as parameters, gradients and moments are kept:
/// structure of arrays, F32 (moments: see MomentFormat), `capacity` rows of which the first `count`
/// are in use.
/// Source: 3D Gaussian Splatting for real-time radiance field rendering (2023), section 4.
struct GaussianArrays {
    Tensor position; ///< [C, 3] world units
    Tensor logScale; ///< [C, 3] ln of the standard deviations along the axes
    Tensor rotation; ///< [C, 4] quaternion w x y z, any norm above 0
    Tensor opacity;  ///< [C] logit
    Tensor shDc;     ///< [C, 3] spherical harmonics of degree 0, red green blue
    Tensor shRest;   ///< [C, K, 3] of degrees 1 to D, K = (D + 1)² − 1; empty for D = 0

    Index capacity() const { return position.isEmpty() ? 0 : position.extent(0); }
    int degree() const; ///< D, from the extent of shRest
    /// The six tensors in the order above, the empty shRest left out.
    std::vector<Tensor> groups() const;

    static GaussianArrays zeros(Stream& stream, const std::shared_ptr<Device>& device,
                                Index capacity, int degree);
    /// Without colours: for gradients of terms that do not depend on them.
    static GaussianArrays zeroShapes(Stream& stream, const std::shared_ptr<Device>& device,
                                     Index capacity);
};

/// Coefficients of degrees 1 to `degree`: (degree + 1)² − 1.
constexpr int restCoefficients(int degree)
{
    return (degree + 1) * (degree + 1) - 1;
}

/// What is trained, and what the renderer reads. All arrays have the same capacity.
struct Gaussians {
    Index count = 0;
    GaussianArrays value;
    Tensor filter; ///< [C] standard deviation of the 3D smoothing filter; empty without mip filters

    const std::shared_ptr<Device>& device() const { return value.position.device(); }
};

/// Host copy, as files hold it. Raw parameters, not activated.
struct GaussianCloud {
    int degree = 0;
    std::vector<float> position; ///< [N, 3]
    std::vector<float> logScale; ///< [N, 3]
    std::vector<float> rotation; ///< [N, 4]
    std::vector<float> opacity;  ///< [N]
    std::vector<float> shDc;     ///< [N, 3]
    std::vector<float> shRest;   ///< [N, K, 3]
    std::vector<float> filter;   ///< [N], or empty

    Index count() const { return static_cast<Index>(opacity.size()); }
};

/// How Adam's moments are stored. Compact: the first one as BF16; of the second its root, as BF16,
/// or, of shRest, in 8 bits. At degree 3 that is 191 bytes a Gaussian instead of 472.
enum class MomentFormat { F32, Compact };

/// Both moments of Gaussians of one layout.
struct AdamMoments {
    GaussianArrays first, second;
};
AdamMoments zeroMoments(Stream& stream, const std::shared_ptr<Device>& device, Index capacity,
                        int degree, MomentFormat format);
/// Throws ContractError where the element types are those of no format.
MomentFormat formatOf(const GaussianArrays& moment1, const GaussianArrays& moment2);

/// Copies a cloud to a device. `capacity` of at least the count; `degree` may be above the cloud's
/// (new coefficients are 0) or below it (they are dropped).
Gaussians upload(Stream& stream, const std::shared_ptr<Device>& device, const GaussianCloud& cloud,
                 Index capacity, int degree);
/// Waits for the stream.
GaussianCloud download(Stream& stream, const Gaussians& gaussians);

} // namespace vergence::sugar
