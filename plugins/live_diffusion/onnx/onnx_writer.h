#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "plugins/live_diffusion/onnx/onnx_model.h"

namespace vergence::live {

struct OnnxWriting {
    /// Weights of more bytes than this together lie in a second file: a message of Protocol Buffers
    /// ends at 2 GB.
    std::uint64_t externalAbove = 1'500'000'000;
    std::size_t inlineBelow = 1024; ///< tensors of fewer bytes stay in the first file even then
};

inline constexpr std::uint64_t kExternalAlignment = 4096; ///< of tensors in the second file

/// Writes the model, and `path`.data beside it where the weights are large. Returns the files
/// written. Throws OutputError.
std::vector<std::filesystem::path> writeOnnx(const OnnxModel& model,
                                             const std::filesystem::path& path,
                                             const OnnxWriting& writing = {});

} // namespace vergence::live
