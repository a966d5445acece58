#include "plugins/live_diffusion/tensorrt/tensorrt_network.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/compute/graph/step_graph.h"
#include "core/compute/ops/pointwise.h"
#include "core/plugin/plugin_registry.h"
#include "plugins/live_diffusion/model/counts.h"
#include "plugins/live_diffusion/model/unet.h"

namespace vergence::live {

namespace {

void expectCount(const char* what, std::span<const float> numbers, Index wanted)
{
    if (static_cast<Index>(numbers.size()) != wanted)
        throw ContractError(fmt::format("TensorRtNetwork: {} has {} numbers, not {}.", what,
                                        numbers.size(), wanted));
}

/// What the files are made from; no channels are padded, TensorRT pads as it likes.
UnetSettings unpadded(UnetSettings settings)
{
    settings.channelRounding = 1;
    return settings;
}

} // namespace

class TensorRtNetwork::Part {
public:
    Part(std::unique_ptr<TensorRtEngine> engine, const std::shared_ptr<Device>& device,
         Stream& stream)
        : m_engine(std::move(engine)),
          m_graph([this](Stream& recorded) { step(recorded); })
    {
        for (const EnginePort& port : m_engine->ports()) {
            Port& own = m_ports[port.name];
            own.isInput = port.isInput;
            own.raw = Tensor::zeros(stream, device, port.shape, port.type);
            m_engine->bind(port.name, own.raw.data());
        }
    }

    /// As the engine reads and writes it.
    const Tensor& raw(const std::string& name) const { return find(name).raw; }
    /// The same as F32, converted in every run; to be asked for before the first.
    const Tensor& wide(const std::string& name, Stream& stream)
    {
        Port& port = m_ports.at(name);
        if (port.raw.dtype() == DType::F32)
            return port.raw;
        if (port.wide.isEmpty())
            port.wide = Tensor::zeros(stream, port.raw.device(), port.raw.shape());
        return port.wide;
    }

    void run(Stream& stream) { m_graph.run(stream); }

    const TensorRtEngine& engine() const { return *m_engine; }
    std::size_t portBytes() const
    {
        std::size_t bytes = 0;
        for (const auto& [name, port] : m_ports)
            bytes += port.raw.bytes() + port.wide.bytes();
        return bytes;
    }

private:
    struct Port {
        Tensor raw, wide; ///< wide: empty where nobody asked, or where raw is F32
        bool isInput = true;
    };

    const Port& find(const std::string& name) const
    {
        const auto found = m_ports.find(name);
        expects(found != m_ports.end(), "TensorRtNetwork: the engine has no tensor " + name);
        return found->second;
    }

    void step(Stream& stream)
    {
        for (const auto& [name, port] : m_ports) {
            if (port.isInput && !port.wide.isEmpty())
                cast(stream, port.wide, port.raw);
        }
        m_engine->enqueue(stream);
        for (const auto& [name, port] : m_ports) {
            if (!port.isInput && !port.wide.isEmpty())
                cast(stream, port.raw, port.wide);
        }
    }

    std::map<std::string, Port> m_ports;
    std::unique_ptr<TensorRtEngine> m_engine;
    StepGraph m_graph; ///< last: it works in all of the above
};

TensorRtNetwork::TensorRtNetwork(TensorRtModule& module, std::shared_ptr<Device> device,
                                 std::shared_ptr<const HostWeights> weights,
                                 const TensorRtSettings& settings)
    : m_maxRows(settings.maxRows),
      m_stream(device->createStream())
{
    expects(m_maxRows >= 1, "TensorRtNetwork: at least one batch row");
    const UnetSettings unet = unpadded(settings.unet);
    m_shape = {static_cast<int>(unet.patch), static_cast<int>(unet.grid),
               static_cast<int>(unet.grid)};
    m_switches.precision = settings.type == OnnxType::Float16 ? Precision::Fp16 : Precision::Fp32;
    const auto source = sourceOf(std::move(weights));
    const EngineCache cache(settings.cache);
    const auto part = [&](const Program& program) {
        CachedEngine made = cachedEngine(
            module, *device, exportProgram(program, source, {.type = settings.type}), cache);
        m_tuningPeakBytes = std::max(m_tuningPeakBytes, made.tuningPeakBytes);
        return std::make_unique<Part>(std::move(made.engine), device, *m_stream);
    };
    const Program program = buildUnet(unet);
    m_flop = flopPerEvaluation(program);
    m_unet = part(program);
    m_encoder = part(buildMemoryEncoder(unet));

    for (const char* name : {"x", "u", "h", "t", "b", "mem_bias", "pred", "blend"})
        m_unet->wide(name, *m_stream);
    m_encoder->wide("frame", *m_stream);
    m_encoder->run(*m_stream); // the null token does not depend on the frame
    const Tensor place = m_unet->raw("mem").slice(kNullToken);
    m_stream->copy(place.data(), m_encoder->raw("null").data(), place.bytes());
    m_onlyNull.fill(kEmptySlotBias);
    m_onlyNull[static_cast<std::size_t>(kNullToken)] = 0;
    m_stream->synchronize();
    resetMemory();
}

TensorRtNetwork::~TensorRtNetwork() = default;

void TensorRtNetwork::resetMemory()
{
    m_ring.reset();
    m_bias = m_ring.bias();
}

void TensorRtNetwork::writeMemory(std::span<const float> frame)
{
    expectCount("the frame", frame, m_shape.values());
    m_stream->copy(m_encoder->wide("frame", *m_stream).data(), frame.data(), frame.size_bytes());
    m_encoder->run(*m_stream);
    const Tensor slot = m_unet->raw("mem").narrow(0, m_ring.write() * kSlotTokens, kSlotTokens);
    m_stream->copy(slot.data(), m_encoder->raw("tokens").data(), slot.bytes());
    m_stream->synchronize(); // nothing is queued between calls: the engines may go at any time
    m_bias = m_ring.bias();
}

void TensorRtNetwork::fillRow(const EvalRow& row)
{
    const auto put = [&](const char* name, const void* numbers) {
        const Tensor& place = m_unet->wide(name, *m_stream);
        m_stream->copy(place.data(), numbers, place.bytes());
    };
    const auto image = [&](const char* name, std::span<const float> numbers) {
        const Tensor& place = m_unet->wide(name, *m_stream);
        if (numbers.empty())
            return m_stream->fillBytes(place.data(), 0, place.bytes());
        expectCount(name, numbers, m_shape.values());
        m_stream->copy(place.data(), numbers.data(), place.bytes());
    };
    expectCount("x", row.x, m_shape.values());
    expects(row.timestep >= 0 && row.timestep < 1000 && row.historyBucket >= 0 &&
                row.historyBucket < kHistoryBuckets,
            "TensorRtNetwork: timestep or history bucket out of range");
    image("x", row.x);
    image("u", row.input);
    image("h", row.history);
    const auto timestep = static_cast<float>(row.timestep);
    const auto bucket = static_cast<float>(row.historyBucket);
    put("t", &timestep);
    put("b", &bucket);
    put("mem_bias", (row.seesMemory ? m_bias : m_onlyNull).data());
}

void TensorRtNetwork::evaluate(const EvalInput& input, const EvalOutput& output)
{
    const auto rows = static_cast<Index>(input.rows.size());
    expects(rows >= 1 && rows <= m_maxRows,
            fmt::format("TensorRtNetwork: {} batch rows, prepared for 1 to {}", rows, m_maxRows));
    expectCount("the prediction", output.prediction, rows * m_shape.values());
    expectCount("the blend logits", output.blendLogits, rows * m_shape.cells());
    const auto take = [&](const char* name, std::span<float> numbers, std::size_t row) {
        const Tensor& place = m_unet->wide(name, *m_stream);
        const auto count = static_cast<std::size_t>(place.size());
        m_stream->copy(numbers.subspan(row * count, count).data(), place.data(), place.bytes());
    };
    m_launchSeconds = 0;
    for (std::size_t i = 0; i < input.rows.size(); ++i) {
        const double start = steadySeconds();
        fillRow(input.rows[i]);
        m_unet->run(*m_stream);
        m_launchSeconds += steadySeconds() - start;
        take("pred", output.prediction, i);
        take("blend", output.blendLogits, i);
    }
    m_stream->synchronize();
}

void TensorRtNetwork::setSwitches(const Switches& switches)
{
    expects(switches == m_switches, "TensorRtNetwork: TensorRT chooses by itself");
}

FrameCost TensorRtNetwork::cost() const
{
    const TensorRtEngine &unet = m_unet->engine(), &encoder = m_encoder->engine();
    FrameCost cost;
    cost.weightBytes = unet.weightBytes() + encoder.weightBytes();
    cost.arenaBytes = unet.activationBytes();
    cost.cacheBytes = m_unet->raw("mem").bytes();
    cost.workspaceBytes =
        encoder.activationBytes() + m_unet->portBytes() + m_encoder->portBytes() - cost.cacheBytes;
    cost.tuningPeakBytes = m_tuningPeakBytes;
    cost.kernelsPerEval = unet.layers();
    cost.launchSeconds = m_launchSeconds;
    cost.flopPerRow = cost.workPerRow = m_flop;
    return cost;
}

double TensorRtNetwork::replay(std::size_t, int)
{
    throw ContractError("TensorRtNetwork: an engine has no operations to replay");
}

std::shared_ptr<FrameNetwork> makeTensorRtNetwork(std::shared_ptr<Device> device,
                                                  std::shared_ptr<const HostWeights> weights,
                                                  const UnetSettings& unet, int maxRows)
{
    const std::string reason = whyNoTensorRt(*device);
    if (!reason.empty())
        throw DeviceError(reason, ExitCode::NoDevice);
    TensorRtSettings settings;
    settings.unet = unet;
    settings.maxRows = maxRows;
    settings.cache = cacheHome() / "tensorrt";
    return std::make_shared<TensorRtNetwork>(*tensorRtModule(), std::move(device),
                                             std::move(weights), settings);
}

} // namespace vergence::live
