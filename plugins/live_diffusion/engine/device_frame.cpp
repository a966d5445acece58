#include "plugins/live_diffusion/engine/device_frame.h"

#include <algorithm>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "plugins/live_diffusion/engine/frame_kernels.h"
#include "plugins/live_diffusion/engine/ranges.h"

namespace vergence::live {

namespace {

/// Batch rows of a step: with and without the condition.
int rowsOf(const FramePlan& plan, int step)
{
    const bool hasNegative = plan.guidance == GuidanceKind::Full ||
                             (plan.guidance == GuidanceKind::OnetimeNegative && step == 0);
    return hasNegative ? 2 : 1;
}

float* floats(const Tensor& tensor)
{
    return tensor.flat<float>().data();
}

bool drawsNoise(const FramePlan& plan, int step)
{
    return (plan.noisySteps >> step & 1) != 0;
}

} // namespace

DeviceFrame::DeviceFrame(DeviceFrameParts parts, bool isReplayed)
    : m_parts(std::move(parts)),
      m_isReplayed(isReplayed)
{
    const Index values = m_parts.network->input(m_parts.x).slice(0).size();
    m_numbers =
        Tensor::empty(m_parts.device, {static_cast<Index>(sizeof(FrameNumbers))}, DType::U8);
    for (Tensor* picture : {&m_input, &m_last, &m_startNoise, &m_ownNoise, &m_historyNoise,
                            &m_reference, &m_bad, &m_clean[0], &m_clean[1]})
        *picture = Tensor::empty(m_parts.device, {values});
    m_badSum = Tensor::empty(m_parts.device, {1});
    const MemoryBank& bank = *m_parts.bank;
    for (int layer = 0; layer < bank.layers(); ++layer) {
        const Tensor& cache = bank.keysAndValues(layer);
        m_staged.push_back(
            Tensor::empty(m_parts.device, {kSlotTokens, cache.extent(1)}, cache.dtype()));
    }
}

const FrameNumbers* DeviceFrame::numbers() const
{
    return static_cast<const FrameNumbers*>(m_numbers.data());
}

std::size_t DeviceFrame::bytes() const
{
    std::size_t bytes = m_numbers.bytes() + m_badSum.bytes() + kPictures * m_input.bytes();
    for (const Tensor& rows : m_staged)
        bytes += rows.bytes();
    return bytes;
}

int DeviceFrame::plansRecorded() const
{
    return static_cast<int>(std::ranges::count_if(
        m_sequences, [](const Sequence& one) { return one.graph->isReplayed(); }));
}

Tensor DeviceFrame::tokens() const
{
    const Tensor made = m_parts.memory->raw(0, 1);
    return made.reshaped({kSlotTokens, made.extent(made.rank() - 1)});
}

void DeviceFrame::bring(const FrameCall& call)
{
    Stream& stream = *m_parts.stream;
    m_host = call.numbers;
    for (std::size_t i = 0; i < call.timesteps.size(); ++i)
        m_host.steps[i].timeRow = static_cast<std::int32_t>(
            m_parts.table->place(stream, call.timesteps[i], call.historyBucket));
    m_host.slot = static_cast<std::int32_t>(m_parts.bank->ring().nextSlot());
    const auto bias = call.seesMemory ? m_parts.bank->ring().bias() : MemoryRing().bias();
    std::ranges::copy(bias, m_host.keyBias);
    stream.copy(m_numbers.data(), &m_host, sizeof(m_host));
    stream.copy(m_input.data(), call.input.data(), m_input.bytes());
    if (call.lastVersion == 0 || call.lastVersion != m_version)
        stream.copy(m_last.data(), call.last.data(), m_last.bytes());
    m_version = call.lastVersion;
}

StepGraph& DeviceFrame::sequence(const FramePlan& plan)
{
    auto found = std::ranges::find(m_sequences, plan, &Sequence::plan);
    if (found == m_sequences.end()) {
        if (m_sequences.size() >= kMostPlans)
            m_sequences.erase(std::ranges::min_element(m_sequences, {}, &Sequence::used));
        auto graph = std::make_unique<StepGraph>([this, plan](Stream&) { enqueue(plan, nullptr); });
        m_sequences.push_back({plan, std::move(graph), 0});
        found = m_sequences.end() - 1;
        ++m_plansMade;
    }
    found->used = ++m_clock;
    return *found->graph;
}

FrameAnswer DeviceFrame::run(const FrameCall& call, std::span<float> picture, std::uint64_t version,
                             OpObserver* observer)
{
    Stream& stream = *m_parts.stream;
    const Range range(stream, "frame");
    bring(call);
    StepGraph& graph = sequence(call.plan);
    const double begun = steadySeconds();
    if (m_isReplayed && !observer)
        graph.run(stream);
    else
        enqueue(call.plan, observer);
    m_launchSeconds = steadySeconds() - begun;
    float badSum = 0;
    stream.copy(&badSum, m_badSum.data(), sizeof(badSum));
    stream.copy(picture.data(), m_last.data(), m_last.bytes());
    stream.synchronize();
    if (badSum != 0)
        return {false, m_version};
    if (call.plan.writesMemory)
        m_parts.bank->countWrite(stream);
    m_version = version;
    return {true, version};
}

void DeviceFrame::enqueue(const FramePlan& plan, OpObserver* observer)
{
    start(plan);
    for (int step = 0; step < plan.steps; ++step) {
        evaluate(plan, step, observer);
        advance(plan, step);
    }
    finish(plan);
    if (plan.writesMemory)
        writeMemory();
}

void DeviceFrame::drawNormals(const NoiseDraw* which, std::uint32_t purpose, const Tensor& into)
{
    NormalFill fill;
    fill.y = floats(into);
    fill.count = into.size();
    fill.purpose = purpose;
    fill.live = which;
    fillNormalsKernel(*m_parts.stream, fill);
}

void DeviceFrame::start(const FramePlan& plan)
{
    Stream& stream = *m_parts.stream;
    const auto atStart = static_cast<std::uint32_t>(NoisePurpose::Start);
    drawNormals(&numbers()->startNoise, atStart, m_startNoise);
    if (plan.mixesStart)
        drawNormals(&numbers()->ownNoise, atStart, m_ownNoise);
    drawNormals(&numbers()->ownNoise, static_cast<std::uint32_t>(NoisePurpose::History),
                m_historyNoise);
    const Executor& network = *m_parts.network;
    const auto row = [&](int value) { return floats(network.input(value).slice(0)); };
    FrameStart start;
    start.numbers = numbers();
    start.values = m_input.size();
    start.startNoise = floats(m_startNoise);
    start.ownNoise = plan.mixesStart ? floats(m_ownNoise) : nullptr;
    start.historyNoise = floats(m_historyNoise);
    start.input = floats(m_input);
    start.last = floats(m_last);
    start.x = row(m_parts.x);
    start.u = row(m_parts.u);
    start.h = row(m_parts.h);
    start.reference = floats(m_reference);
    startFrameKernel(stream, start);
    const Tensor& keyBias = network.keyBias();
    stream.copy(keyBias.slice(0).data(), numbers()->keyBias, keyBias.slice(0).bytes());
    if (rowsOf(plan, 0) == 2) { // u, h and memory are not seen there
        for (const int value : {m_parts.u, m_parts.h}) {
            const Tensor unseen = network.input(value).slice(1);
            stream.fillBytes(unseen.data(), 0, unseen.bytes());
        }
        stream.copy(keyBias.slice(1).data(), m_parts.nullBias.data(), m_parts.nullBias.bytes());
    }
}

void DeviceFrame::evaluate(const FramePlan& plan, int step, OpObserver* observer)
{
    Stream& stream = *m_parts.stream;
    const Range range(stream, "evaluation");
    const Executor& network = *m_parts.network;
    const int rows = rowsOf(plan, step);
    FrameTime time;
    time.numbers = numbers();
    time.step = step;
    time.rows = rows;
    time.width = network.timeAddends().extent(1);
    time.table = floats(m_parts.table->rows());
    time.addends = floats(network.timeAddends());
    frameTimeKernel(stream, time);
    if (rows == 2) {
        const Tensor& x = network.input(m_parts.x);
        stream.copy(x.slice(1).data(), x.slice(0).data(), x.slice(0).bytes());
    }
    m_parts.network->launch(stream, rows, observer);
}

void DeviceFrame::advance(const FramePlan& plan, int step)
{
    Stream& stream = *m_parts.stream;
    const Range range(stream, "sampler step");
    const Executor& network = *m_parts.network;
    const Tensor& predictions = network.output(m_parts.prediction);
    FrameStep work;
    work.numbers = numbers();
    work.step = step;
    work.values = m_input.size();
    work.cells = network.output(m_parts.blend).slice(0).size();
    work.clamps = plan.clampsEstimate;
    work.kind = plan.prediction;
    work.guidance = plan.guidance;
    work.prediction = floats(predictions);
    if (rowsOf(plan, step) == 2)
        work.unconditional = work.prediction + work.values;
    work.logits = floats(network.output(m_parts.blend));
    if (drawsNoise(plan, step)) {
        drawNormals(&numbers()->ownNoise, stepPurpose(step), m_ownNoise);
        work.noise = floats(m_ownNoise);
    }
    work.previousClean = floats(cleanOf(step + 1));
    work.x = floats(network.input(m_parts.x));
    work.clean = floats(cleanOf(step));
    work.reference = floats(m_reference);
    work.bad = floats(m_bad);
    frameStepKernel(stream, work);
}

void DeviceFrame::finish(const FramePlan& plan)
{
    const Tensor& logits = m_parts.network->output(m_parts.blend);
    FrameBlend blend;
    blend.numbers = numbers();
    blend.cells = logits.slice(0).size();
    blend.channels = m_input.size() / blend.cells;
    blend.clean = floats(cleanOf(plan.steps - 1));
    blend.logits = floats(logits);
    blend.bad = floats(m_bad);
    blend.badSum = floats(m_badSum);
    blend.picture = floats(m_last);
    frameBlendKernel(*m_parts.stream, blend);
}

void DeviceFrame::writeMemory()
{
    Stream& stream = *m_parts.stream;
    const Range range(stream, "memory write");
    stream.copy(m_parts.memory->input(m_parts.picture).data(), m_last.data(), m_last.bytes());
    m_parts.memory->launch(stream, 1, nullptr);
    MemoryBank& bank = *m_parts.bank;
    bank.project(stream, tokens(), m_staged);
    const auto toSlot = [&](const Tensor& rows, const Tensor& place) {
        SlotCopy copy;
        copy.numbers = numbers();
        copy.badSum = floats(m_badSum);
        copy.words = static_cast<Index>(rows.bytes() / sizeof(std::uint32_t));
        copy.rows = static_cast<const std::uint32_t*>(rows.data());
        copy.bank = static_cast<std::uint32_t*>(place.data());
        copyToSlotKernel(stream, copy);
    };
    toSlot(tokens(), bank.tokens());
    for (int layer = 0; layer < bank.layers(); ++layer)
        toSlot(m_staged[static_cast<std::size_t>(layer)], bank.keysAndValues(layer));
}

} // namespace vergence::live
