#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/cuda_emulation/convolutions/descriptor.h"

namespace vergence::emulation::convolutions {

enum class Layout { Nchw, Nhwc, Either, Other };

/// CUDNN_BACKEND_TENSOR_DESCRIPTOR.
struct Tensor : Meaning {
    cudnnDataType_t type = CUDNN_DATA_FLOAT;
    std::vector<std::int64_t> extents, strides; ///< elements; images are N, C, H, W
    std::int64_t name = 0;                      ///< unique id
    std::int64_t alignment = 0;                 ///< of addresses, bytes
    bool isVirtual = false;

    std::int64_t elements() const;
    std::size_t bytes() const; ///< from the first element to behind the last
    /// Of four dense dimensions; Either where both are the same.
    Layout layout() const;
    bool isSameAs(const Tensor& other) const;
};
using TensorPointer = std::shared_ptr<const Tensor>;

std::size_t bytesOf(cudnnDataType_t type);
bool has16Bits(cudnnDataType_t type);
/// Throws where the emulation does not compute with it.
void expectNumberType(cudnnDataType_t type, const char* what);

extern const Kind kTensorKind;

/// Calls body(index, place): indices count elements, the last dimension fastest; places are where
/// they lie, in elements.
template <class Body>
void forEachPlace(const std::vector<std::int64_t>& extents,
                  const std::vector<std::int64_t>& strides, Body body)
{
    std::vector<std::int64_t> position(extents.size(), 0);
    std::int64_t place = 0;
    for (std::int64_t index = 0;; ++index) {
        body(index, place);
        std::size_t d = extents.size();
        while (d-- > 0) {
            place += strides[d];
            if (++position[d] < extents[d])
                break;
            place -= strides[d] * extents[d];
            position[d] = 0;
        }
        if (d == static_cast<std::size_t>(-1))
            return;
    }
}

} // namespace vergence::emulation::convolutions
