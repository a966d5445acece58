#include "plugins/light_field/compute/linear_operator.h"

#include "core/base/error.h"

namespace vergence::light_field {

LinearOperator::~LinearOperator() = default;

void LinearOperator::setTileRays(int rays)
{
    expects(rays >= 1, "tile_rays must be at least 1");
    m_tileRays = rays;
}

void LinearOperator::adjoint(Stream& stream, const Tensor& residual, Tensor& gradient,
                             RowSubset rows) const
{
    const Index lanes = residual.size() / measurements();
    expects(gradient.size() == unknowns() * lanes, "adjoint: the gradient must be [N, L]");
    TexelUpdate update;
    update.gradient = gradient.data();
    adjointUpdate(stream, residual, static_cast<int>(lanes), update, rows);
}

Tensor LinearOperator::rowSums(Stream& stream) const
{
    const Tensor ones = filled(stream, unknowns(), 1.0);
    Tensor sums = Tensor::zeros(stream, m_device, {measurements()}, elementType());
    forward(stream, ones, sums);
    return sums;
}

Tensor LinearOperator::columnSums(Stream& stream, RowSubset rows) const
{
    const Tensor ones = filled(stream, measurements(), 1.0);
    Tensor sums = Tensor::zeros(stream, m_device, {unknowns()}, elementType());
    adjoint(stream, ones, sums, rows);
    return sums;
}

Tensor LinearOperator::majoriser(Stream& stream, const Tensor& weights) const
{
    // The residual of 1 against 0 is Ω A 1.
    const Tensor ones = filled(stream, unknowns(), 1.0);
    const Tensor zeros = filled(stream, measurements(), 0.0);
    Tensor images = Tensor::zeros(stream, m_device, {measurements()}, elementType());
    Tensor weighted = Tensor::zeros(stream, m_device, {measurements()}, elementType());
    residual(stream, ones, zeros, weights, images, weighted);
    Tensor diagonal = Tensor::zeros(stream, m_device, {unknowns()}, elementType());
    adjoint(stream, weighted, diagonal);
    return diagonal;
}

Tensor LinearOperator::filled(Stream& stream, Index count, double value) const
{
    if (elementType() == DType::F64) {
        const std::vector<double> values(static_cast<std::size_t>(count), value);
        return Tensor::fromHost<double>(stream, m_device, {count}, values);
    }
    const std::vector<float> values(static_cast<std::size_t>(count), static_cast<float>(value));
    return Tensor::fromHost<float>(stream, m_device, {count}, values);
}

UpdateSums toUpdateSums(Stream& stream, const Tensor& texelSums, int lanes)
{
    TexelSums sums;
    stream.copy(&sums, texelSums.data(), sizeof(sums));
    stream.synchronize();
    return {{sums.restart, sums.restart + lanes}, sums.gradientSquared, sums.atZero, sums.atOne};
}

} // namespace vergence::light_field
