#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/cuda_emulation/convolutions/engines.h"

namespace vergence::emulation::convolutions {

/// Images of N × C × H × W, filters of K × C × R × S, results of N × K × P × Q.
struct ConvolutionShape {
    explicit ConvolutionShape(const ConvolutionOperation& operation);

    std::int64_t images, channels, height, width, filters, filterHeight, filterWidth, outHeight,
        outWidth;
    std::int64_t paddingTop, paddingLeft, strideY, strideX, dilationY, dilationX;
    bool isFlipped;

    std::int64_t pixels() const { return height * width; }
    std::int64_t outPixels() const { return outHeight * outWidth; }
    std::int64_t taps() const { return channels * filterHeight * filterWidth; }
};

/// Elements of a tensor in the order of its dimensions, the last one fastest.
template <class Real>
using Elements = std::vector<Real>;

/// The result of a pass from its inputs(), without alpha and beta. Real is float or double.
template <class Real>
Elements<Real> convolve(Pass pass, const ConvolutionShape& shape, const Elements<Real>& first,
                        const Elements<Real>& second, const Summation& summation);

extern template Elements<float> convolve(Pass, const ConvolutionShape&, const Elements<float>&,
                                         const Elements<float>&, const Summation&);
extern template Elements<double> convolve(Pass, const ConvolutionShape&, const Elements<double>&,
                                          const Elements<double>&, const Summation&);

} // namespace vergence::emulation::convolutions
