#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/compute/graph/graph.h"
#include "plugins/live_diffusion/model/parameters.h"
#include "plugins/live_diffusion/model/unet.h"

namespace vergence::live {

struct TapeOptions {
    /// Blocks are checkpoints: their temporaries are made again in the backward pass.
    bool recomputesBlocks = false;
};

/// Runs a program forward on the tape; backward() of the graph goes through all of it, except that
/// kinds that only the replicas have take no gradient. `inputs` by name: [B, H, W, C] in the
/// compute type of the parameters; B may be 1 for values that may be shared. Numbers (inputs of
/// Sinusoid and Plane) are [B, 1, 1, 1] F32 or F64, an attention's bias is [B or 1, keys, 1, 1] F32
/// (F64 where the tape is F64), both without gradient. Returns the outputs in the order of the
/// program, [B, H, W, C]. Program and parameters must live until backward(). Throws ContractError
/// for inputs that are missing or do not fit.
std::vector<Value> runOnTape(Graph& graph, const Program& program, const ParameterSet& parameters,
                             const std::map<std::string, Value>& inputs,
                             const TapeOptions& options = {});

/// The denoiser with its memory encoder, for training and as the reference of faster engines.
/// Channels last; B rows. Must live until the backward() of what it ran.
class TapeNetwork {
public:
    TapeNetwork(Stream& stream, std::shared_ptr<Device> device, const UnetSettings& settings,
                const ParameterSettings& parameters = {});
    TapeNetwork(const TapeNetwork&) = delete; ///< tapes refer to its programs
    TapeNetwork& operator=(const TapeNetwork&) = delete;

    const UnetSettings& settings() const { return m_settings; }
    const Program& unet() const { return m_unet; }
    const Program& memoryEncoder() const { return m_memoryEncoder; }
    std::vector<const Program*> programs() const { return {&m_unet, &m_memoryEncoder}; }
    ParameterSet& parameters() { return *m_parameters; }
    const ParameterSet& parameters() const { return *m_parameters; }
    void initialise(Stream& stream, Start start, std::uint64_t seed);

    struct Input {
        Value x, u, h;    ///< [B, g, g, 3p²]
        Value timesteps;  ///< [B, 1, 1, 1] F32 (F64): 0 … 999
        Value buckets;    ///< [B, 1, 1, 1] F32 (F64): 0 … 10
        Value memory;     ///< [B or 1, 264, 1, D]
        Value memoryBias; ///< [B or 1, 264, 1, 1] F32 (F64), a constant
    };
    struct Output {
        Value prediction; ///< [B, g, g, 3p²]
        Value blend;      ///< logit [B, g, g, 1]
    };
    Output operator()(Graph& graph, const Input& input, const TapeOptions& options = {}) const;

    /// frames [N, g, g, 3p²] → tokens [N, 16, D], with gradients to the encoder.
    Value encodeFrames(Graph& graph, Value frames) const;
    /// tokens [B, n·16, D] of n ≤ 16 slots (none: no value, `rows` rows) → [B, 264, 1, D] with the
    /// null token in its place and zeros elsewhere. Slots that are not filled want a bias of
    /// kEmptySlotBias, see MemoryRing::bias().
    Value assembleMemory(Graph& graph, Value tokens, Index rows) const;
    /// A constant [B, 1, 1, 1] for `timesteps` and `buckets`: F64 where the parameters are, else
    /// F32.
    Value perRow(Graph& graph, const std::vector<double>& numbers) const;
    /// A constant for `memoryBias` of rows · 264 numbers.
    Value perKey(Graph& graph, const std::vector<float>& bias) const;

private:
    UnetSettings m_settings;
    Program m_unet, m_memoryEncoder;
    std::unique_ptr<ParameterSet> m_parameters;
};

} // namespace vergence::live
