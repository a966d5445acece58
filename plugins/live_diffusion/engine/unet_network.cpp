#include "plugins/live_diffusion/engine/unet_network.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

#include "core/compute/cpu_threads.h"
#include "core/compute/ops/pointwise.h"
#include "plugins/live_diffusion/engine/ranges.h"
#include "plugins/live_diffusion/engine/step_table.h"
#include "plugins/live_diffusion/model/counts.h"
#include "plugins/live_diffusion/model/memory_bank.h"
#include "plugins/live_diffusion/model/stop_scope.h"
#include "plugins/live_diffusion/model/unet.h"

namespace vergence::live {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start)
{
    return std::chrono::duration<double>(Clock::now() - start).count();
}

void expectAvailable(const Device& device, Switches switches, bool takesSlowTypes)
{
    if (takesSlowTypes && storageType(switches.precision) != DType::F32)
        switches.precision = Precision::Fp32; // always there
    std::vector<std::string> changes;
    availableSwitches(device, switches, &changes);
    if (!changes.empty())
        throw ContractError(changes.front());
}

bool runsEvaluation(const ProgramOp& op)
{
    return op.rate == Rate::Evaluation;
}

Index width(const Tensor& tensor)
{
    return tensor.extent(tensor.rank() - 1);
}

void expectLength(const char* what, std::span<const float> numbers, Index wanted)
{
    if (static_cast<Index>(numbers.size()) != wanted)
        throw ContractError(
            fmt::format("FrameNetwork: {} has {} numbers, not {}.", what, numbers.size(), wanted));
}

} // namespace

struct UnetNetwork::Engine {
    std::shared_ptr<Device> device;
    int threads = 0;
    std::unique_ptr<Stream> stream;
    Program unet, encoder;
    std::shared_ptr<ConvolutionTuner> tuner; ///< passed on while the device stays
    std::unique_ptr<MemoryBank> bank;
    std::unique_ptr<Executor> memory, network;
    std::unique_ptr<StepTable> table;
    std::unique_ptr<DeviceFrame> frames; ///< made when first asked for
    Tensor nullBias;                     ///< [264] F32: only the null token is seen
    std::size_t projectionBytes = 0;
    int x = -1, u = -1, h = -1, prediction = -1, blend = -1, frame = -1; ///< values
};

int fastestThreads(const UnetSettings& settings)
{
    const int all = usableThreads();
    const UnetLayout layout = layoutOf(settings.size);
    const int levels = layout.levels();
    double least = 0;
    int best = all;
    for (int threads = 1; threads <= all && all > 1; ++threads) {
        const auto device = makeCpuDevice(threads);
        const auto stream = device->createStream();
        double seconds = 0;
        for (const int level : {0, levels / 2, levels - 1}) {
            ConvolutionShape shape;
            shape.channels = shape.outChannels =
                settings.baseChannels() * layout.multipliers[static_cast<std::size_t>(level)];
            shape.height = shape.width = settings.grid >> level;
            const std::vector<float> weight(
                static_cast<std::size_t>(9 * shape.channels * shape.outChannels), 0.01f);
            const Convolution layer(*stream, device, shape, ConvolutionAlgorithm::Library, weight);
            const Tensor x = Tensor::zeros(*stream, device, shape.inputShape());
            const Tensor y = Tensor::empty(device, shape.outputShape());
            constexpr int kRuns = 4;
            double shortest = 1e9;
            for (int run = 0; run < kRuns; ++run) {
                stopHere();
                const auto start = Clock::now();
                layer(*stream, x, y, {}, {});
                shortest = std::min(shortest, secondsSince(start));
            }
            seconds += shortest;
        }
        if (threads == 1 || seconds < least) {
            least = seconds;
            best = threads;
        }
    }
    return best;
}

UnetNetwork::UnetNetwork(std::shared_ptr<Device> device, std::shared_ptr<const HostWeights> weights,
                         const UnetNetworkSettings& settings)
    : m_given(std::move(device)),
      m_weights(std::move(weights)),
      m_settings(settings),
      m_slots(kMemorySlots)
{
    expects(m_settings.maxRows >= 1, "UnetNetwork: at least one batch row");
    m_shape = {static_cast<int>(settings.unet.patch), static_cast<int>(settings.unet.grid),
               static_cast<int>(settings.unet.grid)};
    m_engine = makeEngine(settings.switches);
}

UnetNetwork::~UnetNetwork() = default;

/// The fastest number of threads, as kept or timed; all where times must not decide.
int UnetNetwork::threadsInUse(const Switches& switches)
{
    if (switches.threads > 0)
        return switches.threads;
    if (!switches.tuned)
        return productThreads(*m_given);
    if (m_fastestThreads > 0)
        return m_fastestThreads;
    TunedChoices* const choices = m_settings.choices.get();
    const std::string machine = tuningMachine(*m_given);
    const std::string key =
        fmt::format("threads {} {}", titleOf(m_settings.unet.size), m_settings.unet.grid);
    const auto kept = choices != nullptr ? choices->find(machine, key) : std::nullopt;
    m_fastestThreads = kept ? std::atoi(kept->c_str()) : 0;
    if (m_fastestThreads >= 1 && m_fastestThreads <= usableThreads())
        return m_fastestThreads;
    m_fastestThreads = fastestThreads(m_settings.unet);
    if (choices != nullptr)
        choices->set(machine, key, std::to_string(m_fastestThreads));
    return m_fastestThreads;
}

void UnetNetwork::chooseDevice(Engine& engine, const Switches& switches)
{
    if (m_given->isCpu())
        engine.threads = threadsInUse(switches);
    if (m_engine && m_engine->threads == engine.threads) {
        engine.device = m_engine->device;
        engine.tuner = m_engine->tuner;
        return;
    }
    const bool isGiven = !m_given->isCpu() || engine.threads == productThreads(*m_given);
    engine.device = isGiven ? m_given : makeCpuDevice(engine.threads);
    engine.tuner = std::make_shared<ConvolutionTuner>(engine.device, m_settings.choices);
}

std::unique_ptr<UnetNetwork::Engine> UnetNetwork::makeEngine(const Switches& switches)
{
    expectAvailable(*m_given, switches, m_settings.takesSlowTypes);
    auto engine = std::make_unique<Engine>();
    chooseDevice(*engine, switches);
    engine->stream = engine->device->createStream();
    const ProductPolicyScope scope(productPolicy(switches));
    UnetSettings unet = m_settings.unet;
    unet.channelRounding = std::max(switches.channelRounding, 1);
    engine->unet = buildUnet(unet);
    engine->encoder = buildMemoryEncoder(unet);
    const WeightSource source = sourceOf(m_weights);
    makeMemory(*engine, source, switches);

    ExecutorSettings settings;
    settings.switches = switches;
    settings.maxRows = m_settings.maxRows;
    settings.runs = runsEvaluation;
    const auto layers = crossAttentionLayers(engine->unet);
    settings.keys = [&](int op) {
        const auto found = std::find(layers.attentions.begin(), layers.attentions.end(), op);
        return engine->bank->keysAndValues(static_cast<int>(found - layers.attentions.begin()));
    };
    Stream& stream = *engine->stream;
    engine->network = std::make_unique<Executor>(engine->device, stream, engine->unet, source,
                                                 settings, *engine->tuner);
    engine->table = std::make_unique<StepTable>(engine->device, stream, engine->unet, source,
                                                *engine->network, *engine->tuner);
    engine->x = engine->unet.findValue("x");
    engine->u = engine->unet.findValue("u");
    engine->h = engine->unet.findValue("h");
    engine->prediction = engine->unet.outputs.at(0);
    engine->blend = engine->unet.outputs.at(1);
    restoreMemory(*engine);
    engine->tuner->rest();
    return engine;
}

void UnetNetwork::makeMemory(Engine& engine, const WeightSource& source,
                             const Switches& switches) const
{
    Stream& stream = *engine.stream;
    const DType type = storageType(switches.precision);
    ExecutorSettings settings;
    settings.switches = switches;
    settings.switches.layout = Layout::Nhwc;
    settings.switches.tuned = false;
    settings.switches.graph = false;
    settings.exportsOutputs = false;
    settings.runs = [](const ProgramOp&) { return true; };
    engine.memory = std::make_unique<Executor>(engine.device, stream, engine.encoder, source,
                                               settings, *engine.tuner);
    engine.frame = engine.encoder.inputs.at(0);
    engine.memory->run(stream, 1); // the null token does not depend on the frame
    const Tensor null = engine.memory->raw(1, 1);
    std::vector<Tensor> projections;
    for (const int layer : crossAttentionLayers(engine.unet).projections) {
        const ProgramWeight& weight = engine.unet.weight(engine.unet.op(layer).weight);
        projections.push_back(uploaded(stream, engine.device, weight.shape, source(weight), type));
        engine.projectionBytes += projections.back().bytes();
    }
    engine.bank = std::make_unique<MemoryBank>(stream, std::move(projections),
                                               null.reshaped({width(null)}).clone(stream));
    std::vector<float> onlyNull(static_cast<std::size_t>(kMemoryTokens), kEmptySlotBias);
    onlyNull[static_cast<std::size_t>(kNullToken)] = 0;
    engine.nullBias = Tensor::fromHost<float>(stream, engine.device, {kMemoryTokens}, onlyNull);
}

/// Writes what the slots hold into a new bank, so that slots and ages are as before: after the
/// first sixteen writes only their number modulo fifteen matters.
void UnetNetwork::restoreMemory(Engine& engine) const
{
    constexpr int kTurn = static_cast<int>(kMemorySlots) - 1;
    const int writes =
        m_writes <= kMemorySlots ? m_writes : kMemorySlots + (m_writes - kMemorySlots) % kTurn;
    const Index tokenWidth = width(engine.bank->tokens());
    const DType type = engine.bank->tokens().dtype();
    for (int write = 0; write < writes; ++write) {
        const auto& slot = m_slots[static_cast<std::size_t>(MemoryRing::slotOfWrite(write))];
        engine.bank->write(*engine.stream, uploaded(*engine.stream, engine.device,
                                                    {kSlotTokens, tokenWidth}, slot, type));
    }
}

void UnetNetwork::setSwitches(const Switches& switches)
{
    if (switches == m_settings.switches)
        return;
    m_engine = makeEngine(switches);
    m_settings.switches = switches;
}

const Executor& UnetNetwork::executor() const
{
    return *m_engine->network;
}

const Tensor& UnetNetwork::keysAndValues(int layer) const
{
    return m_engine->bank->keysAndValues(layer);
}

void UnetNetwork::fillRows(const EvalInput& input)
{
    Engine& e = *m_engine;
    Stream& stream = *e.stream;
    const auto put = [&](const char* what, int value, Index row, std::span<const float> numbers) {
        const Tensor place = e.network->input(value).slice(row);
        if (numbers.empty())
            return stream.fillBytes(place.data(), 0, place.bytes());
        expectLength(what, numbers, m_shape.values());
        stream.copy(place.data(), numbers.data(), place.bytes());
    };
    for (std::size_t i = 0; i < input.rows.size(); ++i) {
        const EvalRow& row = input.rows[i];
        const auto at = static_cast<Index>(i);
        expectLength("x", row.x, m_shape.values());
        expects(row.timestep >= 0 && row.timestep < 1000 && row.historyBucket >= 0 &&
                    row.historyBucket < kHistoryBuckets,
                "FrameNetwork: timestep or history bucket out of range");
        put("x", e.x, at, row.x);
        put("the input frame", e.u, at, row.input);
        put("the history frame", e.h, at, row.history);
        const Tensor addends = e.network->timeAddends().slice(at);
        const Tensor known = e.table->row(stream, row.timestep, row.historyBucket);
        stream.copy(addends.data(), known.data(), addends.bytes());
        const Tensor keyBias = e.network->keyBias().slice(at);
        const Tensor& bias = row.seesMemory ? e.bank->bias() : e.nullBias;
        stream.copy(keyBias.data(), bias.data(), keyBias.bytes());
    }
}

void UnetNetwork::evaluate(const EvalInput& input, const EvalOutput& output)
{
    const auto rows = static_cast<Index>(input.rows.size());
    expects(
        rows >= 1 && rows <= m_settings.maxRows,
        fmt::format("FrameNetwork: {} batch rows, prepared for 1 to {}", rows, m_settings.maxRows));
    expectLength("the prediction", output.prediction, rows * m_shape.values());
    expectLength("the blend logits", output.blendLogits, rows * m_shape.cells());
    const auto start = Clock::now();
    Engine& e = *m_engine;
    const ProductPolicyScope scope(productPolicy(m_settings.switches));
    Stream& stream = *e.stream;
    const Range range(stream, "evaluation");
    fillRows(input);
    e.network->run(stream, static_cast<int>(rows), m_observer);
    m_launchSeconds = secondsSince(start);
    stream.copy(output.prediction.data(), e.network->output(e.prediction).data(),
                output.prediction.size_bytes());
    stream.copy(output.blendLogits.data(), e.network->output(e.blend).data(),
                output.blendLogits.size_bytes());
    stream.synchronize();
}

bool UnetNetwork::runsFrames() const
{
    return m_settings.runsFrames || !m_engine->device->isCpu();
}

DeviceFrame& UnetNetwork::deviceFrame()
{
    Engine& e = *m_engine;
    if (!e.frames) {
        const DeviceFrameParts parts{e.device,
                                     e.stream.get(),
                                     e.network.get(),
                                     e.memory.get(),
                                     e.table.get(),
                                     e.bank.get(),
                                     e.nullBias,
                                     e.x,
                                     e.u,
                                     e.h,
                                     e.prediction,
                                     e.blend,
                                     e.frame};
        e.frames = std::make_unique<DeviceFrame>(parts, m_settings.switches.graph);
    }
    return *e.frames;
}

FrameAnswer UnetNetwork::runFrame(const FrameCall& call, std::span<float> picture)
{
    expects(runsFrames(), "FrameNetwork: whole frames were not asked for");
    const FramePlan& plan = call.plan;
    expects(plan.steps >= 1 && plan.steps <= kMostFrameSteps &&
                static_cast<int>(call.timesteps.size()) == plan.steps,
            "FrameNetwork: a frame has 1 to 64 steps, each with its time");
    const bool hasNegative =
        plan.guidance == GuidanceKind::Full || plan.guidance == GuidanceKind::OnetimeNegative;
    expects(!hasNegative || m_settings.maxRows >= 2,
            "FrameNetwork: guidance needs two batch rows, prepared for 1");
    expectLength("the input frame", call.input, m_shape.values());
    expectLength("the last frame", call.last, m_shape.values());
    expectLength("the picture", picture, m_shape.values());
    const ProductPolicyScope scope(productPolicy(m_settings.switches));
    DeviceFrame& frames = deviceFrame();
    const FrameAnswer answer = frames.run(call, picture, ++m_pictures, m_observer);
    m_launchSeconds = frames.launchSeconds() / plan.steps;
    if (plan.writesMemory && answer.isFinite)
        rememberSlot(frames.tokens());
    return answer;
}

void UnetNetwork::prepareSteps(std::span<const int> timesteps, int historyBucket)
{
    const ProductPolicyScope scope(productPolicy(m_settings.switches));
    for (const int timestep : timesteps)
        m_engine->table->row(*m_engine->stream, timestep, historyBucket);
}

void UnetNetwork::writeMemory(std::span<const float> frame)
{
    expectLength("the frame", frame, m_shape.values());
    const ProductPolicyScope scope(productPolicy(m_settings.switches));
    Engine& e = *m_engine;
    Stream& stream = *e.stream;
    stream.copy(e.memory->input(e.frame).data(), frame.data(), frame.size_bytes());
    e.memory->run(stream, 1);
    const Tensor made = e.memory->raw(0, 1);
    const Tensor tokens = made.reshaped({kSlotTokens, width(made)});
    e.bank->write(stream, tokens);
    rememberSlot(tokens);
}

/// For the bank of another set of switches.
void UnetNetwork::rememberSlot(const Tensor& tokens)
{
    Engine& e = *m_engine;
    Stream& stream = *e.stream;
    auto& slot = m_slots[static_cast<std::size_t>(MemoryRing::slotOfWrite(m_writes))];
    if (tokens.dtype() == DType::F32) {
        slot = tokens.toHost<float>(stream);
    } else {
        const Tensor wide = Tensor::empty(e.device, tokens.shape());
        cast(stream, tokens, wide);
        slot = wide.toHost<float>(stream);
    }
    ++m_writes;
}

void UnetNetwork::resetMemory()
{
    m_engine->bank->reset(*m_engine->stream);
    m_writes = 0;
}

FrameCost UnetNetwork::cost() const
{
    const Engine& e = *m_engine;
    FrameCost cost;
    cost.weightBytes = e.network->weightBytes() + e.memory->weightBytes() + e.table->weightBytes() +
                       e.projectionBytes;
    cost.arenaBytes = e.network->arenaBytes();
    cost.workspaceBytes =
        e.network->workspaceBytes() + e.memory->workspaceBytes() + e.memory->arenaBytes();
    cost.cacheBytes = e.bank->cacheBytes() + e.bank->tokens().bytes() + e.table->bytes();
    if (e.frames) {
        cost.workspaceBytes += e.frames->bytes();
        cost.framePlans = e.frames->plansMade();
        cost.recordedPlans = e.frames->plansRecorded();
    }
    cost.tuningPeakBytes = e.tuner->peakBytes();
    cost.kernelsPerEval = e.network->kernels();
    cost.launchSeconds = m_launchSeconds;
    cost.flopPerRow = flopPerEvaluation(e.unet);
    cost.workPerRow = e.network->work();
    cost.threads = e.threads;
    return cost;
}

std::span<const OpRecord> UnetNetwork::operations() const
{
    return m_engine->network->records();
}

double UnetNetwork::replay(std::size_t op, int repeats)
{
    const ProductPolicyScope scope(productPolicy(m_settings.switches));
    return m_engine->network->replay(*m_engine->stream, op, repeats);
}

} // namespace vergence::live
