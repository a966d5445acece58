#pragma once

#include <filesystem>

#include "plugins/live_diffusion/onnx/onnx_model.h"

namespace vergence::live {

/// Reads a file that knows nothing of who wrote it. Weights stay in the file (and in the one beside
/// it) until they are loaded; unknown fields are passed over. Throws InputError that names the file
/// and the place for anything torn, and for what a file of this lab never holds: dynamic axes,
/// other element types, subgraphs, operations of other domains.
OnnxModel readOnnx(const std::filesystem::path& path);

} // namespace vergence::live
