#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/compute/graph/graph.h"
#include "plugins/live_diffusion/model/parameters.h"
#include "plugins/live_diffusion/model/unet.h"

namespace vergence::live {

struct TapeOptions {
    /// Blocks are checkpoints: their temporaries are made again in the backward pass.
    bool recomputesBlocks = false;
};

/// Runs a program forward on the tape; backward() of the graph goes through all of it. `inputs` by
/// name: [B, H, W, C] in the compute type of the parameters, or F32 (F64) for `t`, `b` and other
/// inputs of Sinusoid and Plane, as [B, 1, 1, 1]; B may be 1 for values that may be shared; an
/// attention bias is a constant, [B or 1, keys, 1, 1] F32 (F64). Returns the outputs in the order
/// of the program, [B, H, W, C]. Throws ContractError for inputs that are missing or do not fit.
std::vector<Value> runOnTape(Graph& graph, const Program& program, const ParameterSet& parameters,
                             const std::map<std::string, Value>& inputs,
                             const TapeOptions& options = {});

/// The denoiser with its memory encoder, for training and as the reference of faster engines.
/// Channels last; B rows.
class TapeNetwork {
public:
    TapeNetwork(Stream& stream, std::shared_ptr<Device> device, const UnetSettings& settings,
                const ParameterSettings& parameters = {});

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
    /// tokens [B, n·16, D] of n ≤ 16 slots, or none → [B, 264, 1, D] with the null token in its
    /// place and zeros elsewhere. Slots that are not filled want a bias of kEmptySlotBias.
    Value assembleMemory(Graph& graph, Value tokens, Index rows) const;

private:
    UnetSettings m_settings;
    Program m_unet, m_memoryEncoder;
    std::unique_ptr<ParameterSet> m_parameters;
};

/// [B, 1, 1, 1] on the graph's device, F64 where the parameters are F64 and F32 otherwise: what
/// `timesteps` and `buckets` want.
Value perRow(Graph& graph, const ParameterSet& parameters, const std::vector<double>& numbers);

} // namespace vergence::live
