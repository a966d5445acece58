#include "plugins/sugar/compute/gaussians.h"

#include <algorithm>
#include <span>

namespace vergence::sugar {

namespace {

/// Copies `rows` rows of `width` floats into the first rows of a tensor.
void copyRows(Stream& stream, const Tensor& target, const std::vector<float>& values)
{
    if (!values.empty())
        stream.copy(target.data(), values.data(), values.size() * sizeof(float));
}

std::vector<float> firstRows(Stream& stream, const Tensor& source, Index rows)
{
    if (source.isEmpty())
        return {};
    const Index width = source.size() / source.extent(0);
    std::vector<float> values(static_cast<std::size_t>(rows * width));
    if (!values.empty())
        stream.copy(values.data(), source.data(), values.size() * sizeof(float));
    return values;
}

/// Coefficients of the cloud for another degree: missing ones are 0, further ones dropped.
std::vector<float> atDegree(const GaussianCloud& cloud, int degree)
{
    const auto from = static_cast<std::size_t>(3 * restCoefficients(cloud.degree));
    const auto to = static_cast<std::size_t>(3 * restCoefficients(degree));
    const auto count = static_cast<std::size_t>(cloud.count());
    if (from == to)
        return cloud.shRest;
    std::vector<float> result(count * to, 0.0F);
    for (std::size_t i = 0; i < count; ++i)
        std::copy_n(cloud.shRest.begin() + static_cast<std::ptrdiff_t>(i * from),
                    std::min(from, to), result.begin() + static_cast<std::ptrdiff_t>(i * to));
    return result;
}

GaussianArrays zerosOf(Stream& stream, const std::shared_ptr<Device>& device, Index capacity,
                       int degree, DType type, DType restType)
{
    expects(capacity >= 0, "GaussianArrays: capacity must not be negative");
    expects(degree >= 0 && degree <= 3, "GaussianArrays: the degree must be 0 to 3");
    GaussianArrays arrays;
    arrays.position = Tensor::zeros(stream, device, {capacity, 3}, type);
    arrays.logScale = Tensor::zeros(stream, device, {capacity, 3}, type);
    arrays.rotation = Tensor::zeros(stream, device, {capacity, 4}, type);
    arrays.opacity = Tensor::zeros(stream, device, {capacity}, type);
    arrays.shDc = Tensor::zeros(stream, device, {capacity, 3}, type);
    if (degree > 0)
        arrays.shRest =
            Tensor::zeros(stream, device, {capacity, restCoefficients(degree), 3}, restType);
    return arrays;
}

/// Whether the harmonics above degree 0 are of one type and all else of another.
bool areOf(const GaussianArrays& arrays, DType type, DType restType)
{
    for (const Tensor* tensor :
         {&arrays.position, &arrays.logScale, &arrays.rotation, &arrays.opacity, &arrays.shDc}) {
        if (tensor->dtype() != type)
            return false;
    }
    return arrays.shRest.isEmpty() || arrays.shRest.dtype() == restType;
}

} // namespace

int GaussianArrays::degree() const
{
    const Index rest = shRest.isEmpty() ? 0 : shRest.extent(1);
    int degree = 0;
    while (restCoefficients(degree) < rest)
        ++degree;
    return degree;
}

std::vector<Tensor> GaussianArrays::groups() const
{
    std::vector<Tensor> all{position, logScale, rotation, opacity, shDc};
    if (!shRest.isEmpty())
        all.push_back(shRest);
    return all;
}

GaussianArrays GaussianArrays::zeros(Stream& stream, const std::shared_ptr<Device>& device,
                                     Index capacity, int degree)
{
    return zerosOf(stream, device, capacity, degree, DType::F32, DType::F32);
}

GaussianArrays GaussianArrays::zeroShapes(Stream& stream, const std::shared_ptr<Device>& device,
                                          Index capacity)
{
    GaussianArrays arrays = zeros(stream, device, capacity, 0);
    arrays.shDc = Tensor();
    return arrays;
}

AdamMoments zeroMoments(Stream& stream, const std::shared_ptr<Device>& device, Index capacity,
                        int degree, MomentFormat format)
{
    if (format == MomentFormat::F32)
        return {GaussianArrays::zeros(stream, device, capacity, degree),
                GaussianArrays::zeros(stream, device, capacity, degree)};
    return {zerosOf(stream, device, capacity, degree, DType::BF16, DType::BF16),
            zerosOf(stream, device, capacity, degree, DType::BF16, DType::U8)};
}

MomentFormat formatOf(const GaussianArrays& moment1, const GaussianArrays& moment2)
{
    if (areOf(moment1, DType::F32, DType::F32) && areOf(moment2, DType::F32, DType::F32))
        return MomentFormat::F32;
    expects(areOf(moment1, DType::BF16, DType::BF16) && areOf(moment2, DType::BF16, DType::U8),
            "moments must be F32, or BF16 with U8 for the roots of the harmonics' second ones");
    return MomentFormat::Compact;
}

Gaussians upload(Stream& stream, const std::shared_ptr<Device>& device, const GaussianCloud& cloud,
                 Index capacity, int degree)
{
    expects(capacity >= cloud.count(), "upload: the capacity is below the number of Gaussians");
    Gaussians gaussians;
    gaussians.count = cloud.count();
    gaussians.value = GaussianArrays::zeros(stream, device, capacity, degree);
    copyRows(stream, gaussians.value.position, cloud.position);
    copyRows(stream, gaussians.value.logScale, cloud.logScale);
    copyRows(stream, gaussians.value.rotation, cloud.rotation);
    copyRows(stream, gaussians.value.opacity, cloud.opacity);
    copyRows(stream, gaussians.value.shDc, cloud.shDc);
    if (degree > 0)
        copyRows(stream, gaussians.value.shRest, atDegree(cloud, degree));
    if (!cloud.filter.empty()) {
        gaussians.filter = Tensor::zeros(stream, device, {capacity});
        copyRows(stream, gaussians.filter, cloud.filter);
    }
    return gaussians;
}

GaussianCloud download(Stream& stream, const Gaussians& gaussians)
{
    GaussianCloud cloud;
    const GaussianArrays& value = gaussians.value;
    cloud.degree = value.degree();
    cloud.position = firstRows(stream, value.position, gaussians.count);
    cloud.logScale = firstRows(stream, value.logScale, gaussians.count);
    cloud.rotation = firstRows(stream, value.rotation, gaussians.count);
    cloud.opacity = firstRows(stream, value.opacity, gaussians.count);
    cloud.shDc = firstRows(stream, value.shDc, gaussians.count);
    cloud.shRest = firstRows(stream, value.shRest, gaussians.count);
    cloud.filter = firstRows(stream, gaussians.filter, gaussians.count);
    stream.synchronize();
    return cloud;
}

} // namespace vergence::sugar
