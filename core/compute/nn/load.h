#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/compute/graph/parameter.h"

namespace vergence {

/// A tensor of a model file in host memory. Dense.
struct HostArray {
    DType dtype = DType::F32; ///< F32, F64, F16 or BF16
    Shape shape;
    const void* data = nullptr;
};
/// Finds a tensor by name; the place to map names of other layouts. `data` lives until the call
/// that asked returns.
using ArraySource = std::function<std::optional<HostArray>(const std::string& name)>;

/// Fills all parameters, or windows of them, converting the element type to the masters', and
/// refreshes the shadows. Extents of 1 may be left out or added. Throws InputError that names the
/// tensor that is missing, or both shapes or the type that do not fit.
void loadParameters(Stream& stream, ParameterSet& parameters, const ArraySource& source);

} // namespace vergence
