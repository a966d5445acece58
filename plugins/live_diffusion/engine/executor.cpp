#include "plugins/live_diffusion/engine/executor.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <mutex>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/compute/backend.h"
#include "core/compute/huge_page_heap.h"
#include "core/compute/kernel.h"
#include "plugins/live_diffusion/engine/executor_parts.h"
#include "plugins/live_diffusion/engine/ranges.h"
#include "plugins/live_diffusion/model/stop_scope.h"

namespace vergence::live {

namespace {

std::size_t index(int i)
{
    return static_cast<std::size_t>(i);
}

/// When each buffer is written first and read last, with all that lie in its place; sizes of one
/// batch row.
std::vector<BufferLife> livesOf(const StepList& list, std::size_t elementBytes)
{
    const int steps = static_cast<int>(list.steps.size());
    std::vector<BufferLife> lives(list.buffers.size(), {0, -1, -1});
    const auto root = [&](int buffer) -> BufferLife& {
        const int alias = list.buffers[index(buffer)].alias;
        return lives[index(alias >= 0 ? alias : buffer)];
    };
    for (std::size_t b = 0; b < lives.size(); ++b)
        lives[b].bytes = static_cast<std::size_t>(list.buffers[b].size()) * elementBytes;
    for (int s = 0; s < steps; ++s) {
        const Step& step = list.steps[index(s)];
        for (const int input : step.inputs)
            root(input).last = s;
        if (step.residual >= 0)
            root(step.residual).last = s;
        if (step.output >= 0) {
            BufferLife& life = root(step.output);
            life.first = life.first < 0 ? s : life.first;
            life.last = s;
        }
    }
    for (const int output : list.outputs) {
        if (output >= 0)
            root(output).last = steps - 1;
    }
    return lives;
}

void loadModule(const char* name)
{
    for (const auto& folder : moduleFolders()) {
        const auto file = folder / name;
        std::error_code code;
        if (std::filesystem::exists(file, code)) {
            loadKernelModule(file); // without it the launch says what is missing
            return;
        }
    }
}

/// The CUDA bodies of this folder and of the samplers lie in modules of their own.
void loadBodies()
{
    static std::once_flag once;
    std::call_once(once, [] {
        loadModule("libvergence-kernels-live_diffusion.so");
        loadModule("libvergence-kernels-live_diffusion_engine.so");
    });
}

} // namespace

DType storageType(Precision precision)
{
    switch (precision) {
    case Precision::Fp16:
        return DType::F16;
    case Precision::Bf16:
        return DType::BF16;
    default:
        return DType::F32;
    }
}

Executor::Executor(std::shared_ptr<Device> device, Stream& stream, const Program& program,
                   const WeightSource& weights, ExecutorSettings settings, ConvolutionTuner& tuner)
    : m_device(std::move(device)),
      m_program(program),
      m_settings(std::move(settings)),
      m_type(storageType(m_settings.switches.precision))
{
    expects(m_settings.maxRows >= 1, "Executor: at least one batch row");
    if (!m_device->isCpu())
        loadBodies();
    LoweringSettings lowering;
    lowering.layout = m_settings.switches.layout;
    lowering.fusion = m_settings.switches.fusion;
    lowering.exportsOutputs = m_settings.exportsOutputs;
    lowering.runs = m_settings.runs;
    m_list = lowerProgram(program, lowering);
    const LastingBlocks lasting;
    makeStaging(stream);
    makeLayers(stream, weights, tuner);
    m_settings.keys = nullptr;
    planInstances();
    makeRecords();
}

Executor::~Executor() = default;

const Tensor& Executor::input(int value) const
{
    const Tensor& tensor = m_staging.at(index(value));
    expects(!tensor.isEmpty(), "Executor: not an input that this program reads");
    return tensor;
}

const Tensor& Executor::output(int value) const
{
    const Tensor& tensor = m_staging.at(index(value));
    expects(!tensor.isEmpty(), "Executor: not an output that leaves its buffer");
    return tensor;
}

Tensor Executor::raw(std::size_t output, int rows) const
{
    const int id = m_list.outputs.at(output);
    expects(id >= 0, "Executor: the output is made elsewhere");
    return buffer(id, rows);
}

Tensor Executor::buffer(int id, int rows) const
{
    expectRows(rows);
    const Buffer& b = m_list.buffers.at(index(id));
    const Instance& one = *m_instances[index(rows - 1)];
    auto* data =
        static_cast<std::byte*>(m_arena.data()) + one.plan.offsets[one.bufferAt[index(id)]];
    const Shape shape = b.channelsLast ? Shape{rows, b.height, b.width, b.channels}
                                       : Shape{rows, b.channels, b.height, b.width};
    return Tensor::wrap(m_device, data, shape, m_type, m_arena.storage());
}

Index Executor::timeOffset(int addChannelsOp) const
{
    return m_timeOffsets.at(index(addChannelsOp));
}

bool Executor::usesNaive(const ProgramOp& op) const
{
    const Index size = m_program.value(op.output).channels / op.heads;
    return m_settings.switches.attention == AttentionKind::Naive || size < 4 || size > 128;
}

void Executor::makeStaging(Stream& stream)
{
    m_staging.resize(m_program.values.size());
    const auto stage = [&](int value) {
        Tensor& tensor = m_staging[index(value)];
        const ProgramValue& v = m_program.value(value);
        if (tensor.isEmpty())
            tensor = Tensor::zeros(stream, m_device,
                                   {m_settings.maxRows, v.channels, v.height, v.width});
    };
    Index keys = 0, width = 0;
    for (const Step& step : m_list.steps) {
        if (step.kind == StepKind::CrossAttention)
            keys = m_program.value(step.sources[1]).pixels();
        else
            for (const int source : step.sources)
                stage(source);
        if (step.kind == StepKind::Export)
            stage(step.target);
    }
    m_timeOffsets.assign(m_program.ops.size(), 0);
    for (std::size_t i = 0; i < m_program.ops.size(); ++i) {
        const ProgramOp& op = m_program.ops[i];
        if (op.kind != OpKind::AddChannels || !m_settings.runs(op))
            continue;
        m_timeOffsets[i] = width;
        width += m_program.value(op.output).channels;
    }
    m_timeBias.assign(index(static_cast<int>(width)), 0.0f);
    m_timeAddends = Tensor::zeros(stream, m_device, {m_settings.maxRows, width});
    m_keyBias = Tensor::zeros(stream, m_device, {m_settings.maxRows, keys});
}

void Executor::planInstances()
{
    expects(!m_list.steps.empty(), "Executor: nothing to run");
    const auto lives = livesOf(m_list, sizeOf(m_type));
    std::size_t arena = 0;
    Index room = 0;
    for (int rows = 1; rows <= m_settings.maxRows; ++rows) {
        planInstance(rows, lives);
        arena = std::max(arena, m_instances.back()->plan.bytes);
        for (std::size_t s = 0; s < m_list.steps.size(); ++s)
            room = std::max(room, StepBuilder::temporaries(*this, s, rows).roomNumbers);
    }
    m_arena = Tensor::empty(m_device, {static_cast<Index>(arena)}, DType::U8);
    m_room = Tensor::empty(m_device, {room});
}

void Executor::planInstance(int rows, const std::vector<BufferLife>& lives)
{
    auto one = std::make_unique<Instance>();
    one->rows = rows;
    std::vector<BufferLife> planned;
    one->bufferAt.resize(lives.size());
    for (std::size_t b = 0; b < lives.size(); ++b) {
        const int alias = m_list.buffers[b].alias; // one that was made before
        one->bufferAt[b] = alias >= 0 ? one->bufferAt[index(alias)] : planned.size();
        if (alias < 0)
            planned.push_back({lives[b].bytes * index(rows), lives[b].first, lives[b].last});
    }
    one->temporaryAt.resize(m_list.steps.size());
    for (std::size_t s = 0; s < m_list.steps.size(); ++s) {
        for (const std::size_t bytes : StepBuilder::temporaries(*this, s, rows).bytes) {
            one->temporaryAt[s].push_back(planned.size());
            planned.push_back({bytes, static_cast<int>(s), static_cast<int>(s)});
        }
    }
    one->plan = planMemory(planned, static_cast<int>(m_list.steps.size()));
    m_instances.push_back(std::move(one));
}

void Executor::expectRows(int rows) const
{
    expects(rows >= 1 && rows <= m_settings.maxRows,
            fmt::format("Executor: {} batch rows, prepared for 1 to {}", rows, m_settings.maxRows));
}

Executor::Instance& Executor::instance(int rows)
{
    expectRows(rows);
    Instance& one = *m_instances[index(rows - 1)];
    if (one.calls.empty()) {
        const StepBuilder builder(*this, one);
        for (std::size_t s = 0; s < m_list.steps.size(); ++s)
            one.calls.push_back(builder.call(s));
        if (m_settings.switches.graph && !m_device->isCpu())
            one.graph = std::make_unique<StepGraph>(
                [this, &one](Stream& stream) { launch(stream, one, nullptr); });
    }
    return one;
}

void Executor::run(Stream& stream, int rows, OpObserver* observer)
{
    Instance& one = instance(rows);
    if (!observer && one.graph)
        return one.graph->run(stream);
    launch(stream, one, observer);
}

void Executor::launch(Stream& stream, int rows, OpObserver* observer)
{
    launch(stream, instance(rows), observer);
}

void Executor::launch(Stream& stream, const Instance& one, OpObserver* observer) const
{
    for (std::size_t s = 0; s < one.calls.size(); ++s) {
        if (m_device->isCpu()) // launches on a card are soon over, and may be recorded
            stopHere();
        const Range range(stream, m_records[s].name.c_str());
        if (!observer) {
            one.calls[s](stream);
            continue;
        }
        observer->began(s);
        one.calls[s](stream);
        stream.synchronize();
        observer->ended(s);
    }
}

double Executor::replay(Stream& stream, std::size_t step, int repeats)
{
    using Clock = std::chrono::steady_clock;
    expects(repeats >= 1, "Executor: at least one repeat");
    const Call& call = instance(1).calls.at(step);
    stream.synchronize();
    const auto start = Clock::now();
    for (int i = 0; i < repeats; ++i) {
        stopHere();
        call(stream);
    }
    stream.synchronize();
    return std::chrono::duration<double>(Clock::now() - start).count() / repeats;
}

const MemoryPlan& Executor::memoryPlan() const
{
    return m_instances.front()->plan;
}

int Executor::kernels() const
{
    int count = 0;
    for (const OpRecord& record : m_records)
        count += record.kernels;
    return count;
}

std::int64_t Executor::work() const
{
    std::int64_t sum = 0;
    for (const OpRecord& record : m_records)
        sum += record.work;
    return sum;
}

std::size_t Executor::workspaceBytes() const
{
    std::size_t bytes = m_room.bytes() + m_timeAddends.bytes() + m_keyBias.bytes();
    for (const Tensor& tensor : m_staging)
        bytes += tensor.bytes();
    return bytes;
}

} // namespace vergence::live
