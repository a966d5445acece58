#pragma once

#include "core/compute/kernel.h"
#include "core/compute/tensor.h"
#include "plugins/light_field/compute/eye.h"
#include "plugins/light_field/compute/linear_operator.h"
#include "plugins/light_field/compute/optics_math.h"

namespace vergence::light_field {

/// Texels side by side that one adjoint task of the CPU owns, for all rows of a plane.
inline constexpr int kStripTexels = 64;
/// Pixels side by side that one forward task of the CPU renders.
inline constexpr int kBlockPixels = 128;

/// One axis of every ray, [S, K, M, W]: first texel and weight of the next one, squared distance
/// (mm²) from the centre of the lenslet (infinite where the ray is rejected, 0 for square lenslets)
/// and from the axis at the tunable lens.
template <class Real>
struct AxisView {
    int* first = nullptr;
    Real* alpha = nullptr;
    Real* lenslet2 = nullptr;
    Real* aperture2 = nullptr;
};

/// Both axes and what joins them.
template <class Real>
struct TableView {
    AxisView<Real> x, y;
    int states = 0, planes = 0, samples = 0, resolution = 0, panel = 0;
    Real lensletLimit2 = 0, apertureLimit2 = 0;
    Real scale = 0; ///< w_k / M
    /// [S, K, W, W]: M over the number of accepted rays of a pixel and plane, 0 where none is; null
    /// where missing light is absorbed.
    Real* gain = nullptr;
    bool hasAperture = false;

    VERGENCE_HD Index at(int state, int plane, int sample) const
    {
        return ((static_cast<Index>(state) * planes + plane) * samples + sample) * resolution;
    }

    /// What the rays of a pixel count for on a plane.
    VERGENCE_HD Real gainAt(int state, int plane, Index row, Index column) const
    {
        const Index layer = static_cast<Index>(state) * planes + plane;
        return gain ? gain[(layer * resolution + row) * resolution + column] : Real(1);
    }

    /// Whether a ray passes both circles; i and j are positions in the tables of y and x.
    VERGENCE_HD bool passes(Index i, Index j) const
    {
        return y.lenslet2[i] + x.lenslet2[j] <= lensletLimit2 &&
               (!hasAperture || y.aperture2[i] + x.aperture2[j] <= apertureLimit2);
    }
};

/// The pixels that touch a texel along one axis: entries start[t] … start[t + 1] − 1 of [S, K, M, 2
/// W].
template <class Real>
struct InvertedView {
    const int* start = nullptr; ///< [S, K, M, R + 1]
    const int* pixel = nullptr;
    const Real* weight = nullptr;
};

/// A pixel column of a strip of texels; `texel` counts from the strip's first texel and may be −1.
struct StripEntry {
    int pixel;
    int texel;
    float alpha, lenslet2, aperture2;
};

struct StripView {
    const int* start = nullptr; ///< [S, K, M, strips + 1]
    const StripEntry* entries = nullptr;
};

struct BuildArguments {
    AxisOptics axis; ///< what all rays share
    const EyeState* states = nullptr;
    const RaySample* samples = nullptr;
    const double* inverseFocals = nullptr; ///< [K]
    double slopeExtent = 0;
    bool squareLenslets = false;
    bool floorsTexels = false; ///< rays read one texel instead of four
};

template <class Real>
struct ForwardArguments {
    TableView<Real> tables;
    const Real* x = nullptr;       ///< [K, R, R, L]
    Real* images = nullptr;        ///< [S, W, W, L]
    const Real* target = nullptr;  ///< [S, W, W, L] or null: only images are made
    const Real* weights = nullptr; ///< [S, W, W] or null for 1
    Real* residual = nullptr;      ///< [S, W, W, L]
    double* sums = nullptr;        ///< [2, L]: squared and weighted
    int lanes = 1, firstPlane = 0, planeCount = 0;
    RowSubset rows;
    int tileRays = 8192;
};

template <class Real>
struct AdjointArguments {
    TableView<Real> tables;
    InvertedView<Real> columns, lines; ///< along x and y; plain and CUDA drivers
    StripView strips;                  ///< CPU driver
    float* bundled = nullptr;          ///< CPU driver: room for the residual, see bundleCount()
    float* slots = nullptr;            ///< CPU driver: room for slotCount strips
    int slotCount = 0;
    const Real* residual = nullptr;
    TexelUpdate update;
    TexelSums* sums = nullptr; ///< [1]
    int lanes = 1;
    RowSubset rows;
    int tileRays = 8192;
};

/// Groups of 16 / L image rows of one state, for the largest subset.
inline Index bundleCount(int resolution, int lanes)
{
    const Index rows = kMaxLanes / lanes;
    return (resolution + rows - 1) / rows;
}

// Bodies in table_kernels.cpp; they are the reference.
inline const Kernel<void(const BuildArguments&, const TableView<float>&)> buildTablesF32{
    "light_field.tables.f32"};
inline const Kernel<void(const BuildArguments&, const TableView<double>&)> buildTablesF64{
    "light_field.tables.f64"};
inline const Kernel<void(const TableView<float>&)> buildGainsF32{"light_field.gains.f32"};
inline const Kernel<void(const TableView<double>&)> buildGainsF64{"light_field.gains.f64"};
inline const Kernel<void(const ForwardArguments<float>&)> forwardPlainF32{
    "light_field.forwardPlain.f32"};
inline const Kernel<void(const ForwardArguments<double>&)> forwardPlainF64{
    "light_field.forwardPlain.f64"};
inline const Kernel<void(const AdjointArguments<float>&)> adjointPlainF32{
    "light_field.adjointPlain.f32"};
inline const Kernel<void(const AdjointArguments<double>&)> adjointPlainF64{
    "light_field.adjointPlain.f64"};

// Bodies in table_tiles.cpp; same results up to rounding, much faster.
inline const Kernel<void(const ForwardArguments<float>&)> forwardTiles{"light_field.forwardTiles"};
inline const Kernel<void(const AdjointArguments<float>&)> adjointTiles{"light_field.adjointTiles"};

} // namespace vergence::light_field
