#include "plugins/live_diffusion/engine/step_table.h"

#include <algorithm>

#include "core/base/error.h"

namespace vergence::live {

StepTable::StepTable(std::shared_ptr<Device> device, Stream& stream, const Program& unet,
                     const WeightSource& weights, const Executor& network, ConvolutionTuner& tuner)
    : m_device(std::move(device)),
      m_program(unet),
      m_bias(network.timeBias().begin(), network.timeBias().end()),
      m_pairs(kPairs),
      m_t(unet.findValue("t")),
      m_b(unet.findValue("b"))
{
    m_program.outputs.clear();
    for (const ProgramOp& op : m_program.ops) {
        if (op.kind == OpKind::AddChannels && op.rate == Rate::Evaluation)
            m_program.outputs.push_back(op.inputs[1]);
    }
    ExecutorSettings settings;
    settings.switches.tuned = false;
    settings.switches.graph = false;
    settings.runs = [](const ProgramOp& op) { return op.rate == Rate::TimeTable; };
    m_executor = std::make_unique<Executor>(m_device, stream, m_program, weights, settings, tuner);
    m_rows = Tensor::empty(m_device, {kPairs, static_cast<Index>(m_bias.size())});
}

Index StepTable::place(Stream& stream, int timestep, int historyBucket)
{
    std::size_t oldest = 0;
    for (std::size_t i = 0; i < m_pairs.size(); ++i) {
        if (m_pairs[i].timestep == timestep && m_pairs[i].bucket == historyBucket) {
            m_pairs[i].used = ++m_clock;
            return static_cast<Index>(i);
        }
        if (m_pairs[i].used < m_pairs[oldest].used)
            oldest = i;
    }
    const auto made = static_cast<Index>(oldest);
    compute(stream, m_rows.slice(made), timestep, historyBucket);
    m_pairs[oldest] = {timestep, historyBucket, ++m_clock};
    return made;
}

void StepTable::compute(Stream& stream, const Tensor& row, int timestep, int historyBucket)
{
    const float t = static_cast<float>(timestep), b = static_cast<float>(historyBucket);
    stream.copy(m_executor->input(m_t).data(), &t, sizeof(t));
    stream.copy(m_executor->input(m_b).data(), &b, sizeof(b));
    m_executor->run(stream, 1);
    std::vector<float> sums = m_bias;
    std::size_t first = 0;
    for (const int value : m_program.outputs) {
        for (const float addend : m_executor->output(value).toHost<float>(stream))
            sums[first++] += addend;
    }
    expects(first == sums.size(), "StepTable: addends and biases differ in number");
    stream.copy(row.data(), sums.data(), sums.size() * sizeof(float));
}

} // namespace vergence::live
