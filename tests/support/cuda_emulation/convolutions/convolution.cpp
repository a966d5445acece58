#include "tests/support/cuda_emulation/convolutions/convolution.h"

#include <algorithm>
#include <numeric>

#include <Eigen/Core>

#include "tests/support/cuda_emulation/engine/settings.h"

namespace vergence::emulation::convolutions {

namespace {

template <class Real>
using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class Real>
using ConstMap = Eigen::Map<const Matrix<Real>>;
template <class Real>
using MutableMap = Eigen::Map<Matrix<Real>>;

std::vector<Eigen::Index> orderOf(Summation::Order order, Eigen::Index count)
{
    std::vector<Eigen::Index> indices(static_cast<std::size_t>(count));
    std::iota(indices.begin(), indices.end(), Eigen::Index{0});
    if (order == Summation::Descending)
        std::ranges::reverse(indices);
    for (std::size_t i = indices.size(); order == Summation::Shuffled && i > 1; --i)
        std::swap(indices[i - 1], indices[shuffledBelow(i)]);
    return indices;
}

/// sum += a b, the terms of each element added in the engine's order.
template <class Real, class A, class B>
void addProduct(const A& a, const B& b, const Summation& summation, MutableMap<Real> sum)
{
    const auto order = orderOf(summation.order, a.cols());
    const Matrix<Real> orderedA = a(Eigen::all, order), orderedB = b(order, Eigen::all);
    const Eigen::Index parts = std::min<Eigen::Index>(summation.parts, a.cols());
    for (Eigen::Index part = 0; part < parts; ++part) {
        const Eigen::Index first = a.cols() * part / parts,
                           count = a.cols() * (part + 1) / parts - first;
        const Matrix<Real> product =
            orderedA.middleCols(first, count) * orderedB.middleRows(first, count);
        sum += product;
    }
}

/// Calls body(tap, output pixel, input pixel) wherever a window lies in the image.
template <class Body>
void forEachTap(const ConvolutionShape& s, Body body)
{
    const std::int64_t area = s.filterHeight * s.filterWidth;
    for (std::int64_t tap = 0; tap < s.taps(); ++tap) {
        const std::int64_t channel = tap / area;
        const std::int64_t inFilter = s.isFlipped ? area - 1 - tap % area : tap % area;
        const std::int64_t r = inFilter / s.filterWidth, c = inFilter % s.filterWidth;
        for (std::int64_t p = 0; p < s.outHeight; ++p) {
            const std::int64_t y = p * s.strideY - s.paddingTop + r * s.dilationY;
            if (y < 0 || y >= s.height)
                continue;
            for (std::int64_t q = 0; q < s.outWidth; ++q) {
                const std::int64_t x = q * s.strideX - s.paddingLeft + c * s.dilationX;
                if (x >= 0 && x < s.width)
                    body(tap, p * s.outWidth + q, channel * s.pixels() + y * s.width + x);
            }
        }
    }
}

/// Taps × output pixels: what each window sees of an image.
template <class Real>
Matrix<Real> unfolded(const ConvolutionShape& s, const Real* image)
{
    Matrix<Real> windows = Matrix<Real>::Zero(s.taps(), s.outPixels());
    forEachTap(s, [&](std::int64_t tap, std::int64_t out, std::int64_t in) {
        windows(tap, out) = image[in];
    });
    return windows;
}

} // namespace

ConvolutionShape::ConvolutionShape(const ConvolutionOperation& o)
    : images(o.x->extents[0]),
      channels(o.x->extents[1]),
      height(o.x->extents[2]),
      width(o.x->extents[3]),
      filters(o.w->extents[0]),
      filterHeight(o.w->extents[2]),
      filterWidth(o.w->extents[3]),
      outHeight(o.y->extents[2]),
      outWidth(o.y->extents[3]),
      paddingTop(o.convolution->before[0]),
      paddingLeft(o.convolution->before[1]),
      strideY(o.convolution->strides[0]),
      strideX(o.convolution->strides[1]),
      dilationY(o.convolution->dilations[0]),
      dilationX(o.convolution->dilations[1]),
      isFlipped(o.convolution->isFlipped)
{
}

template <class Real>
Elements<Real> convolve(Pass pass, const ConvolutionShape& s, const Elements<Real>& first,
                        const Elements<Real>& second, const Summation& summation)
{
    const std::int64_t imageElements = s.channels * s.pixels();
    const std::int64_t outElements = s.filters * s.outPixels();
    const std::int64_t results = pass == Pass::Forward        ? s.images * outElements
                                 : pass == Pass::BackwardData ? s.images * imageElements
                                                              : s.filters * s.taps();
    Elements<Real> result(static_cast<std::size_t>(results), Real{0});
    for (const Eigen::Index image : orderOf(summation.order, s.images)) {
        if (pass == Pass::Forward) {
            const ConstMap<Real> w(second.data(), s.filters, s.taps());
            addProduct<Real>(w, unfolded(s, first.data() + image * imageElements), summation,
                             {result.data() + image * outElements, s.filters, s.outPixels()});
            continue;
        }
        const ConstMap<Real> gradY(first.data() + image * outElements, s.filters, s.outPixels());
        if (pass == Pass::BackwardFilter) {
            const Matrix<Real> windows =
                unfolded(s, second.data() + image * imageElements).transpose();
            addProduct<Real>(gradY, windows, summation, {result.data(), s.filters, s.taps()});
            continue;
        }
        const Matrix<Real> w = ConstMap<Real>(second.data(), s.filters, s.taps()).transpose();
        Matrix<Real> windows = Matrix<Real>::Zero(s.taps(), s.outPixels());
        addProduct<Real>(w, gradY, summation, {windows.data(), s.taps(), s.outPixels()});
        forEachTap(s, [&](std::int64_t tap, std::int64_t out, std::int64_t in) {
            result[static_cast<std::size_t>(image * imageElements + in)] += windows(tap, out);
        });
    }
    return result;
}

template Elements<float> convolve(Pass, const ConvolutionShape&, const Elements<float>&,
                                  const Elements<float>&, const Summation&);
template Elements<double> convolve(Pass, const ConvolutionShape&, const Elements<double>&,
                                   const Elements<double>&, const Summation&);

} // namespace vergence::emulation::convolutions
