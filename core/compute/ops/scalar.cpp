#include "core/compute/ops/scalar.h"

#include <fmt/format.h>

#include "core/compute/ops/scalar_kernels.h"

namespace vergence {

namespace {
bool isReal(DType type)
{
    return type == DType::F32 || type == DType::F64 || type == DType::F16 || type == DType::BF16;
}

void expectNumber(const char* what, const Tensor& number, DType operand)
{
    const DType wanted = operand == DType::F64 ? DType::F64 : DType::F32;
    expects(number.size() == 1 && number.dtype() == wanted,
            fmt::format("{}: {} {} instead of one {}", what, nameOf(number.dtype()),
                        toString(number.shape()), nameOf(wanted)));
}
} // namespace

void scaleByDevice(Stream& stream, const Tensor& x, const Tensor& factor, const Tensor& y,
                   bool accumulate)
{
    expects(x.size() == y.size(), fmt::format("scaleByDevice: {} does not fit {}",
                                              toString(x.shape()), toString(y.shape())));
    expects(x.isContiguous() && y.isContiguous(), "scaleByDevice: a tensor is strided");
    expects(
        isReal(y.dtype()) &&
            (x.dtype() == y.dtype() || (x.dtype() == DType::F32 && y.dtype() != DType::F64)),
        fmt::format("scaleByDevice: {} does not go to {}", nameOf(x.dtype()), nameOf(y.dtype())));
    expectNumber("scaleByDevice", factor, y.dtype());
    scaleByDeviceKernel(stream, x, factor, y, accumulate);
}

void dotProduct(Stream& stream, const Tensor& x, const Tensor& w, const Tensor& sum)
{
    expects(x.size() == w.size(), fmt::format("dotProduct: {} does not fit {}", toString(x.shape()),
                                              toString(w.shape())));
    expects(x.isContiguous() && w.isContiguous(), "dotProduct: a tensor is strided");
    expects(
        isReal(x.dtype()) &&
            (x.dtype() == w.dtype() || (w.dtype() == DType::F32 && x.dtype() != DType::F64)),
        fmt::format("dotProduct: {} does not go with {}", nameOf(x.dtype()), nameOf(w.dtype())));
    expectNumber("dotProduct", sum, x.dtype());
    dotProductKernel(stream, x, w, sum);
}

} // namespace vergence
