#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/compute/graph/step_graph.h"
#include "plugins/live_diffusion/engine/convolution.h"
#include "plugins/live_diffusion/engine/convolution_tuner.h"
#include "plugins/live_diffusion/engine/frame_network.h"
#include "plugins/live_diffusion/engine/lowering.h"
#include "plugins/live_diffusion/engine/memory_planner.h"

namespace vergence::live {

/// All numbers of a weight of the program, in the program's order.
using WeightSource = std::function<std::vector<float>(const ProgramWeight&)>;

/// Where a cross-attention finds what was made outside: keys and values of all heads.
using KeySource = std::function<Tensor(int crossAttentionOp)>; ///< [264, 2C], type of the network

struct ExecutorSettings {
    Switches switches;
    int maxRows = 1;
    std::function<bool(const ProgramOp&)> runs; ///< operations of the program that are its own
    bool exportsOutputs = true;
    KeySource keys; ///< wanted where the program has cross-attention
};

class LayerMaker;

/// Runs a program forward, for 1 … maxRows batch rows, in memory that is planned once. The order of
/// work, for each set of switches: lowerProgram(), an algorithm per convolution, planMemory(), and
/// one call per step. After the first run with a number of rows nothing is allocated on the device.
class Executor {
public:
    /// `program` and `device` must live as long. The tuner may be shared by executors of a device.
    Executor(std::shared_ptr<Device> device, Stream& stream, const Program& program,
             const WeightSource& weights, ExecutorSettings settings, ConvolutionTuner& tuner);
    ~Executor();

    const Program& program() const { return m_program; }
    int maxRows() const { return m_settings.maxRows; }
    DType type() const { return m_type; }

    /// Planar F32 [maxRows, C, H, W]: to be filled before run(), to be read after it.
    const Tensor& input(int value) const;
    const Tensor& output(int value) const;
    /// An output that stays in its buffer: [rows, H, W, C] in the type of the network.
    Tensor raw(std::size_t output, int rows) const;
    /// What a step reads or writes: [rows, H, W, C], or [rows, C, H, W] for planes, in the type of
    /// the network. Valid from the step that writes it to the last one that reads it.
    Tensor buffer(int id, int rows) const;

    /// What each AddChannels adds per batch row: F32 [maxRows, Σ C]; filled from outside. Where the
    /// addition is part of a convolution it must hold that convolution's bias too: timeBias().
    const Tensor& timeAddends() const { return m_timeAddends; }
    std::span<const float> timeBias() const { return m_timeBias; } ///< [Σ C]
    Index timeOffset(int addChannelsOp) const;
    /// Added to the scores of cross-attention: F32 [maxRows, keys]; filled from outside.
    const Tensor& keyBias() const { return m_keyBias; }

    /// `observer` may be null. Steps are recorded and replayed where switches and device allow it.
    void run(Stream& stream, int rows, OpObserver* observer = nullptr);
    /// The same step by step, always: for those who record more than one evaluation.
    void launch(Stream& stream, int rows, OpObserver* observer = nullptr);
    double replay(Stream& stream, std::size_t step, int repeats);

    std::span<const OpRecord> records() const { return m_records; }
    std::span<const Step> steps() const { return m_list.steps; }
    const MemoryPlan& memoryPlan() const; ///< of one row
    int kernels() const;
    std::int64_t work() const; ///< of all records
    std::size_t weightBytes() const { return m_weightBytes; }
    std::size_t arenaBytes() const { return m_arena.bytes(); }
    std::size_t workspaceBytes() const;

private:
    using Call = std::function<void(Stream&)>;
    struct Layer;    ///< weights of one step, for any number of rows
    struct Instance; ///< all for one number of rows
    friend class StepBuilder;

    /// Whether an attention stores its scores: asked for, or heads that flash has not.
    bool usesNaive(const ProgramOp& op) const;
    void makeStaging(Stream& stream);
    void makeLayers(Stream& stream, const WeightSource& weights, ConvolutionTuner& tuner);
    void makeProduct(const LayerMaker& make, Stream& stream, const Step& step, Layer& layer,
                     ConvolutionTuner& tuner);
    void makeConvolution(Stream& stream, const Step& step, Layer& layer,
                         const std::vector<float>& weight, ConvolutionTuner& tuner);
    void makeLinear(const LayerMaker& make, const Step& step, Layer& layer,
                    const std::vector<float>& weight) const;
    void makeVectors(const LayerMaker& make, const Step& step, Layer& layer) const;
    void planInstances();
    void planInstance(int rows, const std::vector<BufferLife>& lives);
    void makeRecords();
    void expectRows(int rows) const;
    Instance& instance(int rows);
    void launch(Stream& stream, const Instance& one, OpObserver* observer) const;

    std::shared_ptr<Device> m_device;
    const Program& m_program;
    ExecutorSettings m_settings;
    DType m_type;
    StepList m_list;
    std::vector<Tensor> m_staging; ///< per value: inputs and outputs that are planar F32
    Tensor m_timeAddends, m_keyBias;
    std::vector<Index> m_timeOffsets; ///< per op
    std::vector<float> m_timeBias;
    std::vector<Layer> m_layers; ///< per step
    std::vector<std::unique_ptr<Instance>> m_instances;
    Tensor m_arena, m_room;
    std::vector<OpRecord> m_records;
    std::size_t m_weightBytes = 0;
};

/// Type of weights and activations in memory.
DType storageType(Precision precision);

} // namespace vergence::live
