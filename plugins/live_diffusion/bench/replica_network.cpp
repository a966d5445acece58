#include "plugins/live_diffusion/bench/replica_network.h"

#include <algorithm>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/compute/cpu_threads.h"
#include "plugins/live_diffusion/engine/executor.h"
#include "plugins/live_diffusion/engine/host_weights.h"
#include "plugins/live_diffusion/model/counts.h"

namespace vergence::live {

namespace {

constexpr std::uint64_t kSeed = 1;

void expectAvailable(const Device& device, const Switches& switches)
{
    std::vector<std::string> changes;
    availableSwitches(device, switches, &changes);
    if (!changes.empty())
        throw ContractError(changes.front());
}

} // namespace

ReplicaNetwork::ReplicaNetwork(std::shared_ptr<Device> device, Program program,
                               const Switches& switches, int maxRows)
    : m_device(std::move(device)),
      m_program(std::move(program)),
      m_switches(switches),
      m_maxRows(maxRows),
      m_stream(m_device->createStream()),
      m_tuner(std::make_unique<ConvolutionTuner>(m_device))
{
    const ProgramValue& frame = m_program.value(m_program.findValue("x"));
    m_shape = {1, static_cast<int>(frame.height), static_cast<int>(frame.width)};
    build(switches);
}

ReplicaNetwork::~ReplicaNetwork() = default;

void ReplicaNetwork::build(const Switches& switches)
{
    expectAvailable(*m_device, switches);
    ExecutorSettings settings;
    settings.switches = switches;
    settings.maxRows = m_maxRows;
    settings.runs = [](const ProgramOp&) { return true; };
    m_executor =
        std::make_unique<Executor>(m_device, *m_stream, m_program,
                                   sourceOf(benchWeights(m_program, kSeed)), settings, *m_tuner);
}

void ReplicaNetwork::setSwitches(const Switches& switches)
{
    if (switches == m_switches)
        return;
    build(switches);
    m_switches = switches;
}

void ReplicaNetwork::put(int value, Index row, std::span<const float> numbers)
{
    const Tensor place = m_executor->input(value).slice(row);
    if (numbers.empty())
        return m_stream->fillBytes(place.data(), 0, place.bytes());
    expects(numbers.size_bytes() == place.bytes(), "ReplicaNetwork: pictures of its size");
    m_stream->copy(place.data(), numbers.data(), place.bytes());
}

void ReplicaNetwork::evaluate(const EvalInput& input, const EvalOutput& output)
{
    const auto rows = static_cast<Index>(input.rows.size());
    expects(rows >= 1 && rows <= m_maxRows, "ReplicaNetwork: batch rows that it was prepared for");
    const auto length = [](std::span<float> numbers) { return static_cast<Index>(numbers.size()); };
    expects(length(output.prediction) == rows * m_shape.values() &&
                length(output.blendLogits) == rows * m_shape.cells(),
            "ReplicaNetwork: outputs of its size");
    const double start = steadySeconds();
    const int previous = m_program.findValue("previous");
    for (Index i = 0; i < rows; ++i) {
        const EvalRow& row = input.rows[static_cast<std::size_t>(i)];
        const auto time = static_cast<float>(row.timestep);
        put(m_program.findValue("x"), i, row.x);
        put(m_program.findValue("t"), i, {&time, 1});
        if (previous >= 0)
            put(previous, i, row.history);
    }
    m_executor->run(*m_stream, static_cast<int>(rows), m_observer);
    m_launchSeconds = steadySeconds() - start;
    m_stream->copy(output.prediction.data(), m_executor->output(m_program.outputs.front()).data(),
                   output.prediction.size_bytes());
    m_stream->synchronize();
    std::fill(output.blendLogits.begin(), output.blendLogits.end(), 0.0f);
}

FrameCost ReplicaNetwork::cost() const
{
    FrameCost cost;
    cost.weightBytes = m_executor->weightBytes();
    cost.arenaBytes = m_executor->arenaBytes();
    cost.workspaceBytes = m_executor->workspaceBytes();
    cost.tuningPeakBytes = m_tuner->peakBytes();
    cost.kernelsPerEval = m_executor->kernels();
    cost.launchSeconds = m_launchSeconds;
    cost.flopPerRow = flopPerEvaluation(m_program);
    cost.threads = productThreads(*m_device);
    return cost;
}

std::span<const OpRecord> ReplicaNetwork::operations() const
{
    return m_executor->records();
}

double ReplicaNetwork::replay(std::size_t op, int repeats)
{
    return m_executor->replay(*m_stream, op, repeats);
}

} // namespace vergence::live
