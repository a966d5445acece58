#pragma once

#include <map>
#include <string>
#include <vector>

#include "plugins/live_diffusion/onnx/onnx_model.h"

namespace vergence::live {

/// Numbers on their way through a graph, row-major.
struct OnnxArray {
    OnnxDims dims;
    std::vector<float> values;
};

/// Runs a graph in plain loops, in 32 bits on the CPU: slow, and made to be looked through. Values
/// that the file keeps in 16 bits are rounded to them, sums inside an operation are not. Throws
/// InputError with the first problem where the graph is not sound (inferShapes()), ContractError
/// for inputs that are missing or have other extents.
std::map<std::string, OnnxArray> runOnnx(const OnnxModel& model,
                                         const std::map<std::string, OnnxArray>& inputs);

} // namespace vergence::live
