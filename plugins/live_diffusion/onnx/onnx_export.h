#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plugins/live_diffusion/onnx/frame_export.h"
#include "plugins/live_diffusion/onnx/onnx_writer.h"
#include "plugins/live_diffusion/onnx/verification.h"

namespace vergence::live {

struct OnnxExportSettings {
    OnnxOptions options;
    OnnxWriting writing;
    int runs = 3; ///< of the verification; 0: structure alone, for networks that are slow to run
    std::optional<Sampler> frame;    ///< writes frame_N.onnx too, N its steps
    std::function<bool()> isStopped; ///< asked between the parts
};

struct OnnxExport {
    std::vector<std::filesystem::path> files; ///< everything written, in that order
    std::vector<OnnxVerification> verifications;
    bool isStopped = false; ///< before all parts were done
    bool holds() const;
};

/// Writes into a folder that exists: unet.onnx, mem_encoder.onnx and what else is asked for, with
/// their weights beside them where these are large; onnx_check.npz, the inputs of the first run
/// with the network's outputs as ref_pred and ref_blend; onnx_check.json, what was verified;
/// onnx_check.txt, outsideRecipe(). Without runs there is no NPZ. Throws OutputError.
OnnxExport exportOnnx(Stream& stream, const TapeNetwork& network,
                      const std::filesystem::path& folder, const OnnxExportSettings& settings = {});

/// Four lines of Python that check the files where another program runs them.
std::string outsideRecipe(bool isNarrow);

} // namespace vergence::live
