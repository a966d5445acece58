#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "plugins/live_diffusion/diffusion/sampler.h"
#include "plugins/live_diffusion/model/tape_network.h"
#include "plugins/live_diffusion/onnx/interpreter.h"

namespace vergence::live {

using OnnxArrays = std::map<std::string, OnnxArray>; ///< by name

/// What a file should compute: inputs as it declares them, its outputs.
using OnnxReference = std::function<OnnxArrays(const OnnxArrays& inputs)>;

/// The network in 32 bits on its own tape. Network and stream must outlive it.
OnnxReference unetReference(Stream& stream, const TapeNetwork& network);
OnnxReference memoryEncoderReference(Stream& stream, const TapeNetwork& network);
/// The same network in the sampler's steps, with the temporal blend: see exportFrame().
OnnxReference frameReference(Stream& stream, const TapeNetwork& network, const Sampler& sampler);

/// Inputs of a file that follow from the seed alone: images and tokens even over [−1, 1), timesteps
/// and buckets over their ranges, a memory with half of its slots filled, a blend of 0 to 1.
OnnxArrays seededInputs(const OnnxModel& model, std::uint64_t seed);

inline constexpr double kOnnxBound = 1e-4;     ///< of max|reference|, files of 32 bits
inline constexpr double kOnnxLeastPsnr = 50.0; ///< dB at range 2, files of 16 bits

/// One output of one run beside the reference.
struct OnnxComparison {
    std::string output;
    std::uint64_t seed = 0;
    double maxAbs = 0;  ///< greatest difference
    double largest = 0; ///< greatest amount of the reference
    double psnr = 0;    ///< dB, range 2; infinite for equal outputs
    bool holds = false;
};

/// What was found out about a file.
struct OnnxVerification {
    std::string file;
    std::uint64_t bytes = 0; ///< with the file of weights beside it
    int opset = 0, irVersion = 0;
    bool isNarrow = false; ///< weights of 16 bits
    std::size_t nodes = 0;
    std::int64_t parameters = 0;       ///< numbers in floating constants
    std::vector<std::string> problems; ///< of the structure
    std::vector<OnnxComparison> comparisons;

    bool holds() const;
    nlohmann::json toJson() const;
    std::string sentence() const; ///< one line for people
};

/// Reads the file with the independent reader, checks it, and runs it on `runs` seeded inputs
/// against the reference; 0 runs: structure alone. Throws InputError where it cannot be read.
OnnxVerification verifyOnnx(const std::filesystem::path& path, const OnnxReference& reference,
                            int runs = 3);

} // namespace vergence::live
