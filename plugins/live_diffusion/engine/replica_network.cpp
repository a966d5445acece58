#include "plugins/live_diffusion/engine/replica_network.h"

#include <algorithm>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/compute/cpu_threads.h"
#include "plugins/live_diffusion/engine/executor.h"
#include "plugins/live_diffusion/engine/host_weights.h"
#include "plugins/live_diffusion/model/counts.h"

namespace vergence::live {

namespace {

void expectAvailable(const Device& device, const Switches& switches)
{
    std::vector<std::string> changes;
    availableSwitches(device, switches, &changes);
    if (!changes.empty())
        throw ContractError(changes.front());
}

class ReplicaFrames final : public FrameNetwork {
public:
    ReplicaFrames(std::shared_ptr<Device> device, Program program, std::uint64_t seed,
                  const Switches& switches, int maxRows)
        : m_device(std::move(device)),
          m_program(std::move(program)),
          m_weights(benchWeights(m_program, seed)),
          m_maxRows(maxRows),
          m_previous(m_program.findValue("previous")),
          m_x(m_program.findValue("x")),
          m_t(m_program.findValue("t"))
    {
        expects(maxRows >= 1, "replica: at least one batch row");
        expects(m_x >= 0 && m_t >= 0, "replica: a program with the inputs x and t");
        const ProgramValue& frame = m_program.value(m_x);
        m_shape = {1, static_cast<int>(frame.height), static_cast<int>(frame.width)};
        build(switches);
    }

    const FrameShape& shape() const override { return m_shape; }
    int maxRows() const override { return m_maxRows; }
    void evaluate(const EvalInput& input, const EvalOutput& output) override;
    void prepareSteps(std::span<const int>, int) override {}
    void writeMemory(std::span<const float>) override {}
    void resetMemory() override {}
    int memoryWrites() const override { return 0; }
    const Switches& switches() const override { return m_switches; }
    void setSwitches(const Switches& switches) override
    {
        if (!(switches == m_switches))
            build(switches);
    }
    FrameCost cost() const override;
    std::span<const OpRecord> operations() const override { return m_engine->executor->records(); }
    void setObserver(OpObserver* observer) override { m_observer = observer; }
    double replay(std::size_t op, int repeats) override
    {
        const ProductPolicyScope scope(productPolicy(m_switches));
        return m_engine->executor->replay(*m_engine->stream, op, repeats);
    }

private:
    /// All that belongs to one set of switches.
    struct Engine {
        std::shared_ptr<Device> device;
        std::unique_ptr<Stream> stream;
        std::shared_ptr<ConvolutionTuner> tuner;
        std::unique_ptr<Executor> executor;
    };
    void build(const Switches& switches);
    void put(int value, Index row, std::span<const float> numbers);

    std::shared_ptr<Device> m_device;
    Program m_program;
    std::shared_ptr<const HostWeights> m_weights;
    FrameShape m_shape;
    Switches m_switches;
    int m_maxRows, m_previous, m_x, m_t;
    std::unique_ptr<Engine> m_engine;
    OpObserver* m_observer = nullptr;
    double m_launchSeconds = 0;
};

void ReplicaFrames::build(const Switches& switches)
{
    expectAvailable(*m_device, switches);
    const ProductPolicyScope scope(productPolicy(switches));
    auto engine = std::make_unique<Engine>();
    const bool isOwn =
        m_device->isCpu() && switches.threads > 0 && switches.threads != productThreads(*m_device);
    engine->device = isOwn ? makeCpuDevice(switches.threads) : m_device;
    engine->stream = engine->device->createStream();
    engine->tuner = std::make_shared<ConvolutionTuner>(engine->device);
    ExecutorSettings settings;
    settings.switches = switches;
    settings.maxRows = m_maxRows;
    settings.runs = [](const ProgramOp&) { return true; };
    engine->executor = std::make_unique<Executor>(engine->device, *engine->stream, m_program,
                                                  sourceOf(m_weights), settings, *engine->tuner);
    m_engine = std::move(engine);
    m_switches = switches;
}

void ReplicaFrames::put(int value, Index row, std::span<const float> numbers)
{
    Stream& stream = *m_engine->stream;
    const Tensor place = m_engine->executor->input(value).slice(row);
    if (numbers.empty())
        return stream.fillBytes(place.data(), 0, place.bytes());
    expects(numbers.size_bytes() == place.bytes(), "replica: pictures of its size");
    stream.copy(place.data(), numbers.data(), place.bytes());
}

void ReplicaFrames::evaluate(const EvalInput& input, const EvalOutput& output)
{
    const auto rows = static_cast<Index>(input.rows.size());
    expects(rows >= 1 && rows <= m_maxRows, "replica: batch rows that it was prepared for");
    expects(static_cast<Index>(output.prediction.size()) == rows * m_shape.values() &&
                static_cast<Index>(output.blendLogits.size()) == rows * m_shape.cells(),
            "replica: outputs of its size");
    const double start = steadySeconds();
    for (Index i = 0; i < rows; ++i) {
        const EvalRow& row = input.rows[static_cast<std::size_t>(i)];
        const auto time = static_cast<float>(row.timestep);
        put(m_x, i, row.x);
        put(m_t, i, {&time, 1});
        if (m_previous >= 0)
            put(m_previous, i, row.history);
    }
    Stream& stream = *m_engine->stream;
    const ProductPolicyScope scope(productPolicy(m_switches));
    m_engine->executor->run(stream, static_cast<int>(rows), m_observer);
    m_launchSeconds = steadySeconds() - start;
    stream.copy(output.prediction.data(),
                m_engine->executor->output(m_program.outputs.front()).data(),
                output.prediction.size_bytes());
    stream.synchronize();
    std::ranges::fill(output.blendLogits, 0.0f);
}

FrameCost ReplicaFrames::cost() const
{
    const Executor& executor = *m_engine->executor;
    FrameCost cost;
    cost.weightBytes = executor.weightBytes();
    cost.arenaBytes = executor.arenaBytes();
    cost.workspaceBytes = executor.workspaceBytes();
    cost.tuningPeakBytes = m_engine->tuner->peakBytes();
    cost.kernelsPerEval = executor.kernels();
    cost.launchSeconds = m_launchSeconds;
    cost.flopPerRow = flopPerEvaluation(m_program);
    cost.workPerRow = executor.work();
    cost.threads = m_device->isCpu() ? productThreads(*m_engine->device) : 0;
    return cost;
}

} // namespace

std::shared_ptr<FrameNetwork> makeReplicaNetwork(std::shared_ptr<Device> device,
                                                 const Program& program, std::uint64_t seed,
                                                 const Switches& switches, int rows)
{
    return std::make_shared<ReplicaFrames>(std::move(device), program, seed, switches, rows);
}

} // namespace vergence::live
