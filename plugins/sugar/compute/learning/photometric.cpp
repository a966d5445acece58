#include "plugins/sugar/compute/learning/photometric.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "plugins/sugar/compute/learning/photometric_kernels.h"

namespace vergence::sugar {

static_assert(kBandHalo == kPhotometricHalo);

namespace {

void expectBand(const ImageBand& band, Index rows)
{
    const bool isInside = 0 <= band.begin && band.begin < band.end && band.end <= band.height;
    expects(isInside, fmt::format("photometric loss: rows {} to {} of an image of {} rows",
                                  band.begin, band.end, band.height));
    const bool hasHalo = band.top >= 0 && band.top + rows <= band.height &&
                         band.top <= std::max<Index>(band.begin - kBandHalo, 0) &&
                         band.top + rows >= std::min(band.end + kBandHalo, band.height);
    expects(hasHalo, fmt::format("photometric loss: {} rows from row {} do not hold rows {} to {} "
                                 "and {} more to each side",
                                 rows, band.top, band.begin, band.end, kBandHalo));
}

PhotometricArguments argumentsOf(const Tensor& x, const Tensor& photo, const Tensor& mask,
                                 const ImageBand& band)
{
    expects(x.rank() == 3 && x.extent(0) == 3, "photometric loss: the picture must be [3, H, W]");
    const Index width = x.extent(2);
    expects(photo.shape() == Shape{band.height, width, 3},
            fmt::format("photometric loss: a photograph {} for an image [{}, {}, 3]",
                        toString(photo.shape()), band.height, width));
    expects(mask.isEmpty() || mask.shape() == Shape{band.height, width},
            fmt::format("photometric loss: a mask {} for an image [{}, {}]", toString(mask.shape()),
                        band.height, width));
    PhotometricArguments arguments;
    arguments.height = band.height;
    arguments.width = width;
    arguments.top = band.top;
    arguments.rows = x.extent(1);
    arguments.begin = band.begin;
    arguments.end = band.end;
    arguments.x = x.flat<float>().data();
    arguments.photo = photo.flat<std::uint8_t>().data();
    arguments.mask = mask.isEmpty() ? nullptr : mask.flat<std::uint8_t>().data();
    return arguments;
}

/// Σ of the weights of all samples of rows [begin, end) of the image.
double weightOfRows(Stream& stream, const PhotometricArguments& arguments, Index begin, Index end)
{
    const Index pixels = (end - begin) * arguments.width;
    double total = static_cast<double>(pixels);
    if (arguments.mask)
        maskTotal(stream, arguments.mask + begin * arguments.width, pixels, &total);
    return 3 * total;
}

void lendScratch(Stream& stream, PhotometricArguments& arguments,
                 const std::shared_ptr<Device>& device, Tensor& scratch)
{
    std::size_t bytes = 0;
    photometricScratch(stream, arguments, &bytes);
    if (scratch.bytes() < bytes)
        scratch = Tensor::empty(device, {static_cast<Index>(bytes)}, DType::U8);
    arguments.scratch = scratch.data();
}

/// Rows of gradX that are no part of the band.
void clearHalo(Stream& stream, const PhotometricArguments& p)
{
    const auto bytes = [&](Index rows) {
        return static_cast<std::size_t>(rows * p.width) * sizeof(float);
    };
    for (Index channel = 0; channel < 3; ++channel) {
        float* rows = p.gradX + channel * p.rows * p.width;
        if (p.begin > p.top)
            stream.fillBytes(rows, 0, bytes(p.begin - p.top));
        if (p.top + p.rows > p.end)
            stream.fillBytes(rows + (p.end - p.top) * p.width, 0, bytes(p.top + p.rows - p.end));
    }
}

double decibels(double mse)
{
    return mse == 0 ? HUGE_VAL : -10 * std::log10(mse);
}

} // namespace

ImageBand imageBand(Index height, Index rows, Index index)
{
    expects(rows > 0 && index >= 0 && index * rows < height, "imageBand: no such band");
    ImageBand band;
    band.height = height;
    band.begin = index * rows;
    band.end = std::min(band.begin + rows, height);
    band.top = std::max<Index>(band.begin - kBandHalo, 0);
    return band;
}

PhotometricLoss::PhotometricLoss(double dssimWeight) : m_dssimWeight(dssimWeight)
{
    expects(dssimWeight >= 0 && dssimWeight <= 1,
            "PhotometricLoss: the weight of dissimilarity must lie in [0, 1]");
}

PhotometricValue PhotometricLoss::evaluate(Stream& stream, const Tensor& x, const Tensor& photo,
                                           const Tensor& mask, Tensor& gradX)
{
    expects(x.rank() == 3, "photometric loss: the picture must be [3, H, W]");
    return evaluateBand(stream, x, photo, mask, ImageBand::whole(x.extent(1)), gradX);
}

PhotometricValue PhotometricLoss::evaluateBand(Stream& stream, const Tensor& x, const Tensor& photo,
                                               const Tensor& mask, const ImageBand& band,
                                               Tensor& gradX)
{
    expectSameShape(x, gradX);
    PhotometricArguments arguments = argumentsOf(x, photo, mask, band);
    if (arguments.width == 0 || arguments.rows == 0)
        return {};
    expectBand(band, arguments.rows);
    arguments.gradX = gradX.flat<float>().data();
    const double total = weightOfRows(stream, arguments, 0, arguments.height);
    if (total == 0) {
        stream.fillBytes(gradX.data(), 0, gradX.bytes());
        return {};
    }
    PhotometricSums sums;
    arguments.sums = &sums;
    arguments.l1Factor = static_cast<float>((1 - m_dssimWeight) / total);
    arguments.ssimFactor = static_cast<float>(-m_dssimWeight / total);
    lendScratch(stream, arguments, x.device(), m_scratch);
    clearHalo(stream, arguments);
    photometricGradient(stream, arguments);
    const bool isWhole = band.begin == 0 && band.end == band.height;
    const double share =
        isWhole ? 1 : weightOfRows(stream, arguments, band.begin, band.end) / total;
    PhotometricValue value{sums.l1 / total, sums.ssim / total, 0};
    value.loss = (1 - m_dssimWeight) * value.l1 + m_dssimWeight * (share - value.ssim);
    return value;
}

PictureQuality pictureQuality(Stream& stream, const Tensor& x, const Tensor& photo,
                              const Tensor& mask)
{
    expects(x.rank() == 3 && x.size() > 0, "pictureQuality: the picture must be [3, H, W]");
    PhotometricArguments arguments = argumentsOf(x, photo, mask, ImageBand::whole(x.extent(1)));
    PhotometricSums sums;
    arguments.sums = &sums;
    const double total = weightOfRows(stream, arguments, 0, arguments.height);
    Tensor scratch;
    lendScratch(stream, arguments, x.device(), scratch);
    photometricMeasures(stream, arguments);
    PictureQuality quality;
    quality.mse = sums.square / total;
    quality.psnr = decibels(quality.mse);
    quality.psnr8 = decibels(sums.square8 / total);
    quality.ssim = sums.ssim / total;
    quality.l1 = sums.l1 / total;
    return quality;
}

} // namespace vergence::sugar
