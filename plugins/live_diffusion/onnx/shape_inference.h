#pragma once

#include <map>
#include <string>
#include <vector>

#include "plugins/live_diffusion/onnx/onnx_model.h"

namespace vergence::live {

/// Types and extents of everything in a graph, as the operations imply them.
struct OnnxShapes {
    std::map<std::string, OnnxValue> values;
    std::vector<std::string> problems; ///< sentences; empty where the graph is sound
};

/// Walks the graph in order: every name is made once and before it is read, every operation is one
/// that this lab writes, types and extents agree, no extent is 0 or open, and the outputs are what
/// the file says they are. What follows from a faulty node is not looked at.
OnnxShapes inferShapes(const OnnxModel& model);

/// The numbers of a constant of the graph. Throws InputError where there is none of that type.
OnnxDims integersOf(const OnnxModel& model, const std::string& name);
std::vector<float> floatsOf(const OnnxTensor& tensor); ///< Float or Float16

} // namespace vergence::live
