#include "core/compute/ops/spatial.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/compute/ops/operands.h"
#include "core/compute/ops/spatial_kernels.h"
#include "core/compute/ops/structure.h"

namespace vergence {

namespace {

void expectRank(const char* operation, const Tensor& x, int rank)
{
    if (x.rank() != rank)
        throw ContractError(
            fmt::format("{}: {} instead of {} dimensions", operation, toString(x.shape()), rank));
}

ImageArguments imageArguments(const Tensor& image, bool channelsLast)
{
    ImageArguments args;
    args.type = image.dtype();
    args.samples = image.extent(0);
    args.channels = image.extent(channelsLast ? 3 : 1);
    args.height = image.extent(channelsLast ? 1 : 2);
    args.width = image.extent(channelsLast ? 2 : 3);
    args.channelsLast = channelsLast;
    return args;
}

ImageArguments patchArguments(const char* operation, const Tensor& image, bool channelsLast,
                              int patch, const Tensor& patches)
{
    expectRank(operation, image, 4);
    expectRank(operation, patches, 3);
    if (patch < 1)
        throw ContractError(fmt::format("{}: a patch of {} pixels", operation, patch));
    ImageArguments args = imageArguments(image, channelsLast);
    args.type = patches.dtype();
    args.factor = patch;
    args.columns = patches.extent(2);
    const Index count = args.height / patch * (args.width / patch);
    const Index used = args.channels * patch * patch;
    expectShape(operation, "the tensor of patches", patches,
                {args.samples, count, std::max(args.columns, used)});
    return args;
}

/// The smaller and the larger of two grids for a change of resolution by `factor`.
Shape enlarged(const Shape& shape, bool channelsLast, int factor)
{
    Shape larger = shape;
    const std::size_t row = channelsLast ? 1 : 2;
    larger[row] *= factor;
    larger[row + 1] *= factor;
    return larger;
}

/// Source: Cubic Convolution Interpolation for Digital Image Processing (1981), equation 15.
double cubicKernel(double x, double a)
{
    x = std::abs(x);
    if (x < 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? a * (((x - 5) * x + 8) * x - 4) : 0;
}

/// Pixels grouped by p × p and their places in the group made dimensions of their own:
/// [n, Y, dy, X, dx, c] or [n, c, Y, dy, X, dx].
Tensor split(const Tensor& large, int factor, bool channelsLast)
{
    const Shape& s = large.shape();
    if (channelsLast)
        return large.reshaped({s[0], s[1] / factor, factor, s[2] / factor, factor, s[3]});
    return large.reshaped({s[0], s[1], s[2] / factor, factor, s[3] / factor, factor});
}

/// The view of the unshuffled image in the order of split().
Tensor arranged(const Tensor& small, int factor, bool channelsLast)
{
    const Shape& s = small.shape();
    const Index square = static_cast<Index>(factor) * factor;
    if (channelsLast) {
        return small.reshaped({s[0], s[1], s[2], s[3] / square, factor, factor})
            .permuted({0, 1, 4, 2, 5, 3});
    }
    return small.reshaped({s[0], s[1] / square, factor, factor, s[2], s[3]})
        .permuted({0, 1, 4, 2, 5, 3});
}

void expectShuffle(const char* operation, const Tensor& large, int factor, bool channelsLast,
                   const Tensor& small)
{
    expectRank(operation, large, 4);
    const std::size_t row = channelsLast ? 1 : 2, channel = channelsLast ? 3 : 1;
    Shape wanted = large.shape();
    if (factor < 1 || wanted[row] % factor != 0 || wanted[row + 1] % factor != 0)
        throw ContractError(
            fmt::format("{}: {} cannot be cut by {}", operation, toString(wanted), factor));
    wanted[row] /= factor;
    wanted[row + 1] /= factor;
    wanted[channel] *= static_cast<Index>(factor) * factor;
    expectShape(operation, "the unshuffled tensor", small, wanted);
    expects(large.isContiguous() && small.isContiguous(), "pixelShuffle: a strided tensor");
}

} // namespace

void unfoldPatches(Stream& stream, const Tensor& image, int patch, const Tensor& patches)
{
    expectAlike("unfoldPatches", stream, {&image, &patches});
    ImageArguments args = patchArguments("unfoldPatches", image, false, patch, patches);
    args.from = image.data();
    args.to = patches.data();
    unfoldKernel(stream, args);
}

void unfoldPatchesBackward(Stream& stream, const Tensor& gradPatches, int patch,
                           const Tensor& gradImage)
{
    constexpr const char* kName = "unfoldPatchesBackward";
    expectAlike(kName, stream, {&gradPatches, &gradImage});
    ImageArguments args = patchArguments(kName, gradImage, false, patch, gradPatches);
    args.from = gradPatches.data();
    args.to = gradImage.data();
    foldKernel(stream, args);
}

void unfoldPixels(Stream& stream, const Tensor& pixels, int patch, const PixelNormalisation& how,
                  const Tensor& patches)
{
    constexpr const char* kName = "unfoldPixels";
    expectType(kName, stream, pixels, DType::U8);
    expectNumbers(kName, stream, patches);
    ImageArguments args = patchArguments(kName, pixels, how.channelsLast, patch, patches);
    if (args.channels != 3)
        throw ContractError(fmt::format("{}: {} has {} channels instead of 3", kName,
                                        toString(pixels.shape()), args.channels));
    args.from = pixels.data();
    args.to = patches.data();
    unfoldPixelsKernel(stream, args, how);
}

std::vector<double> cubicResampling(Index from, Index to, double offset, bool antialias)
{
    if (from < 1 || to < 0)
        throw ContractError(fmt::format("cubicResampling: from {} to {} samples", from, to));
    const double step = static_cast<double>(from) / (static_cast<double>(to) + offset);
    const double stretch = antialias ? std::max(step, 1.0) : 1.0;
    std::vector<double> rows(static_cast<std::size_t>(from * to), 0.0);
    for (Index i = 0; i < to; ++i) {
        double* row = rows.data() + i * from;
        const double centre = (static_cast<double>(i) + 0.5) * step - 0.5;
        const auto first = static_cast<Index>(std::floor(centre - 2 * stretch)) + 1;
        const auto last = static_cast<Index>(std::ceil(centre + 2 * stretch)) - 1;
        // With antialiasing taps beyond the border are dropped, without it they are clamped to it;
        // the rest is scaled to a sum of 1.
        double sum = 0;
        for (Index k = first; k <= last; ++k) {
            if (antialias && (k < 0 || k >= from))
                continue;
            const double weight =
                cubicKernel((static_cast<double>(k) - centre) / stretch, antialias ? -0.5 : -0.75);
            row[std::clamp<Index>(k, 0, from - 1)] += weight;
            sum += weight;
        }
        for (Index k = 0; k < from; ++k)
            row[k] /= sum;
    }
    return rows;
}

void upsampleNearest2(Stream& stream, const Tensor& x, bool channelsLast, const Tensor& y)
{
    expectAlike("upsampleNearest2", stream, {&x, &y});
    expectRank("upsampleNearest2", x, 4);
    expectShape("upsampleNearest2", "the result", y, enlarged(x.shape(), channelsLast, 2));
    ImageArguments args = imageArguments(x, channelsLast);
    args.from = x.data();
    args.to = y.data();
    upsampleKernel(stream, args);
}

void upsampleNearest2Backward(Stream& stream, const Tensor& gradY, bool channelsLast,
                              const Tensor& gradX, bool accumulate)
{
    constexpr const char* kName = "upsampleNearest2Backward";
    expectAlike(kName, stream, {&gradY, &gradX});
    expectRank(kName, gradX, 4);
    expectShape(kName, "the gradient of the result", gradY,
                enlarged(gradX.shape(), channelsLast, 2));
    ImageArguments args = imageArguments(gradX, channelsLast);
    args.from = gradY.data();
    args.to = gradX.data();
    args.accumulate = accumulate;
    upsampleBackwardKernel(stream, args);
}

void pixelUnshuffle(Stream& stream, const Tensor& x, int factor, bool channelsLast, const Tensor& y)
{
    expectShuffle("pixelUnshuffle", x, factor, channelsLast, y);
    copyStrided(stream, split(x, factor, channelsLast), arranged(y, factor, channelsLast));
}

void pixelShuffle(Stream& stream, const Tensor& x, int factor, bool channelsLast, const Tensor& y)
{
    expectShuffle("pixelShuffle", y, factor, channelsLast, x);
    copyStrided(stream, arranged(x, factor, channelsLast), split(y, factor, channelsLast));
}

} // namespace vergence
