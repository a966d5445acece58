#pragma once

#include <span>

#include "plugins/light_field/compute/operator_tables.h"
#include "plugins/light_field/compute/table_operator.h"

namespace vergence::light_field {

/// Plain values as bytes on a device.
template <class T>
Tensor uploadBytes(Stream& stream, const std::shared_ptr<Device>& device, std::span<const T> values)
{
    const std::span<const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(values.data()),
                                              values.size_bytes());
    return Tensor::fromHost<std::uint8_t>(stream, device, {static_cast<Index>(bytes.size())},
                                          bytes);
}

template <class T>
T* dataOf(const Tensor& tensor)
{
    return static_cast<T*>(tensor.data());
}

/// Tables of one axis, [S, K, M, W].
struct AxisTables {
    Tensor first, alpha, lenslet2, aperture2;
    Tensor start, pixel, weight; ///< inverted, made when first needed

    void allocate(const std::shared_ptr<Device>& device, Index entries, DType type)
    {
        first = Tensor::empty(device, {entries}, DType::I32);
        alpha = Tensor::empty(device, {entries}, type);
        lenslet2 = Tensor::empty(device, {entries}, type);
        aperture2 = Tensor::empty(device, {entries}, type);
    }

    template <class Real>
    AxisView<Real> view() const
    {
        return {dataOf<int>(first), dataOf<Real>(alpha), dataOf<Real>(lenslet2),
                dataOf<Real>(aperture2)};
    }

    template <class Real>
    InvertedView<Real> inverted() const
    {
        return {dataOf<const int>(start), dataOf<const int>(pixel), dataOf<const Real>(weight)};
    }

    std::size_t bytes() const
    {
        return first.bytes() + alpha.bytes() + lenslet2.bytes() + aperture2.bytes() +
               start.bytes() + pixel.bytes() + weight.bytes();
    }
};

struct OperatorTables {
    AxisTables x, y;
    Tensor gain;                     ///< see TableView, empty where missing light is absorbed
    Tensor stripStart, stripEntries; ///< made when first needed
    Tensor bundled, slots;           ///< working memory of the CPU adjoint
    Tensor sums, texelSums;
    int slotCount = 0;

    template <class Real>
    TableView<Real> view(const TableOperator& op) const
    {
        const Optics& optics = op.optics();
        TableView<Real> t;
        t.x = x.view<Real>();
        t.y = y.view<Real>();
        t.states = op.states();
        t.planes = op.planes();
        t.samples = op.raysPerPixel();
        t.resolution = op.resolution();
        t.panel = op.panelResolution();
        t.lensletLimit2 = static_cast<Real>(optics.lensletPitch * optics.lensletPitch / 4);
        t.apertureLimit2 = static_cast<Real>(optics.tunableAperture * optics.tunableAperture / 4);
        t.hasAperture = optics.tunableAperture > 0;
        t.scale = static_cast<Real>(optics.planeWeight() / op.raysPerPixel());
        t.gain = gain.isEmpty() ? nullptr : dataOf<Real>(gain);
        return t;
    }

    void forgetLists() { x.start = y.start = stripStart = stripEntries = Tensor(); }

    /// Makes the inverted lists of both axes unless they exist.
    template <class Real>
    void invert(Stream& stream, const TableOperator& op)
    {
        if (x.start.isEmpty()) {
            invertAxis<Real>(stream, op, x);
            invertAxis<Real>(stream, op, y);
        }
    }
    template <class Real>
    static void invertAxis(Stream& stream, const TableOperator& op, AxisTables& axis);
    void makeStrips(Stream& stream, const TableOperator& op);
    void makeRoom(const TableOperator& op, int lanes);
};

} // namespace vergence::light_field
