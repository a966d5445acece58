#include "core/compute/dense/double_product_kernels.h"

#include "core/compute/launch.h"

#if !defined(__CUDACC__)

// Eigen's functions under a name of their own per build: the linker would otherwise keep one copy
// of three that were compiled for different instruction sets.
#define VERGENCE_JOIN_(a, b) a##b
#define VERGENCE_JOIN(a, b) VERGENCE_JOIN_(a, b)
#define Eigen VERGENCE_JOIN(eigen_of_, VERGENCE_KERNEL_NAMESPACE)
#define EIGEN_DONT_PARALLELIZE
// GCC 12 takes the undefined lanes of AVX-512 intrinsics for variables that were forgotten.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <Eigen/Core>

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Map = Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>;

void doubleProductBody(Stream&, const DoubleProduct& p)
{
    const Map a(p.a, p.transposeA ? p.k : p.m, p.transposeA ? p.m : p.k,
                Eigen::OuterStride<>(p.aStride));
    const Map b(p.b, p.transposeB ? p.n : p.k, p.transposeB ? p.k : p.n,
                Eigen::OuterStride<>(p.bStride));
    Eigen::Map<Matrix, 0, Eigen::OuterStride<>> product(p.product, p.m, p.n,
                                                        Eigen::OuterStride<>(p.productStride));
    if (p.transposeA && p.transposeB)
        product.noalias() = a.transpose() * b.transpose();
    else if (p.transposeA)
        product.noalias() = a.transpose() * b;
    else if (p.transposeB)
        product.noalias() = a * b.transpose();
    else
        product.noalias() = a * b;
}

VERGENCE_REGISTER_KERNEL(doubleProduct, doubleProductBody)

} // namespace
} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence

#endif
