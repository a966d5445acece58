#include "plugins/live_diffusion/onnx/verification.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/compute/graph/graph.h"
#include "core/compute/rng.h"
#include "plugins/live_diffusion/model/blend.h"
#include "plugins/live_diffusion/onnx/onnx_reader.h"
#include "plugins/live_diffusion/onnx/shape_inference.h"

namespace vergence::live {

namespace {

constexpr float kMaskedBias = -30000, kBiasPerWrite = -0.05F;

/// [B, C, H, W] → [B, H, W, C], or back.
std::vector<float> turned(const std::vector<float>& from, Index batch, Index channels, Index pixels,
                          bool toChannelsLast)
{
    std::vector<float> to(from.size());
    for (Index b = 0; b < batch; ++b)
        for (Index c = 0; c < channels; ++c)
            for (Index p = 0; p < pixels; ++p) {
                const auto first = static_cast<std::size_t>((b * channels + c) * pixels + p),
                           last = static_cast<std::size_t>((b * pixels + p) * channels + c);
                (toChannelsLast ? to[last] : to[first]) = from[toChannelsLast ? first : last];
            }
    return to;
}

/// Puts arrays of a file on a tape and takes them off.
class Tape {
public:
    Tape(Stream& stream, const TapeNetwork& network)
        : m_stream(stream),
          m_device(network.parameters().device()),
          m_graph(stream, m_device, {false, network.parameters().computeType()})
    {
        expects(network.parameters().computeType() == DType::F32,
                "ONNX: the reference computes in 32 bits");
    }

    Graph& graph() { return m_graph; }
    Value put(const std::vector<float>& values, Shape shape)
    {
        return m_graph.constant(
            Tensor::fromHost<float>(m_stream, m_device, std::move(shape), values));
    }
    Value image(const OnnxArray& array)
    {
        const OnnxDims& d = array.dims;
        return put(turned(array.values, d[0], d[1], d[2] * d[3], true), {d[0], d[2], d[3], d[1]});
    }
    std::vector<float> take(Value value) { return m_graph.dense(value).toHost<float>(m_stream); }
    OnnxArray takeImage(Value value)
    {
        const Shape shape = m_graph.shape(value);
        return {{shape[0], shape[3], shape[1], shape[2]},
                turned(take(value), shape[0], shape[3], shape[1] * shape[2], false)};
    }

private:
    Stream& m_stream;
    std::shared_ptr<Device> m_device;
    Graph m_graph;
};

OnnxComparison compare(const std::string& output, const std::vector<float>& made,
                       const std::vector<float>& wanted, bool isNarrow)
{
    OnnxComparison result;
    result.output = output;
    double squares = 0;
    bool isFinite = made.size() == wanted.size();
    for (std::size_t i = 0; i < std::min(made.size(), wanted.size()); ++i) {
        const double difference = double(made[i]) - wanted[i];
        isFinite = isFinite && std::isfinite(difference);
        result.maxAbs = std::max(result.maxAbs, std::abs(difference));
        result.largest = std::max(result.largest, std::abs(double(wanted[i])));
        squares += difference * difference;
    }
    result.psnr = squares > 0 ? 10 * std::log10(4 * double(made.size()) / squares) : INFINITY;
    result.holds = isFinite && (isNarrow ? result.psnr >= kOnnxLeastPsnr
                                         : result.maxAbs <= kOnnxBound * result.largest);
    return result;
}

nlohmann::json finiteOrNull(double value)
{
    return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}

} // namespace

OnnxReference unetReference(Stream& stream, const TapeNetwork& network)
{
    return [&stream, &network](const OnnxArrays& inputs) {
        Tape tape(stream, network);
        const auto numbers = [&](const char* name) {
            const std::vector<float>& values = inputs.at(name).values;
            return network.perRow(tape.graph(), {values.begin(), values.end()});
        };
        const OnnxArray& memory = inputs.at("mem");
        TapeNetwork::Input input;
        input.x = tape.image(inputs.at("x"));
        input.u = tape.image(inputs.at("u"));
        input.h = tape.image(inputs.at("h"));
        input.timesteps = numbers("t");
        input.buckets = numbers("b");
        input.memory = tape.put(memory.values, {1, memory.dims[0], 1, memory.dims[1]});
        input.memoryBias = network.perKey(tape.graph(), inputs.at("mem_bias").values);
        const TapeNetwork::Output output = network(tape.graph(), input);
        return OnnxArrays{{"pred", tape.takeImage(output.prediction)},
                          {"blend", tape.takeImage(output.blend)}};
    };
}

OnnxReference memoryEncoderReference(Stream& stream, const TapeNetwork& network)
{
    return [&stream, &network](const OnnxArrays& inputs) {
        Tape tape(stream, network);
        const Value tokens = network.encodeFrames(tape.graph(), tape.image(inputs.at("frame")));
        const Tensor null = network.parameters().named("mem.null.weight");
        return OnnxArrays{{"tokens", {tape.graph().shape(tokens), tape.take(tokens)}},
                          {"null", {{1, null.size()}, null.toHost<float>(stream)}}};
    };
}

OnnxReference frameReference(Stream& stream, const TapeNetwork& network, const Sampler& sampler)
{
    return [evaluate = unetReference(stream, network), sampler](const OnnxArrays& inputs) {
        OnnxArrays asked = inputs;
        OnnxArray x = inputs.at("init"), logits;
        const OnnxDims& d = x.dims;
        std::vector<float> clean(x.values.size()), before(clean);
        sampler.begin(x.values, inputs.at("noise").values, x.values);
        for (int step = 0; step < sampler.steps(); ++step) {
            const int time = sampler.times()[static_cast<std::size_t>(step)];
            asked["x"] = x;
            asked["t"] = {{d[0]}, std::vector<float>(static_cast<std::size_t>(d[0]), float(time))};
            const OnnxArrays output = evaluate(asked);
            logits = output.at("blend");
            std::swap(clean, before);
            std::span<const float> noise;
            if (sampler.usesNoise(step))
                noise = inputs.at(fmt::format("noise_{}", step)).values;
            sampler.step(step, {x.values, output.at("pred").values, clean, before, noise});
        }
        OnnxArray frame{d, std::vector<float>(clean.size())};
        temporalBlend(clean, inputs.at("previous").values, logits.values,
                      inputs.at("beta").values[0], {d[0], d[1], d[2] * d[3]}, frame.values);
        return OnnxArrays{{"frame", std::move(frame)}};
    };
}

OnnxArrays seededInputs(const OnnxModel& model, std::uint64_t seed)
{
    OnnxArrays inputs;
    std::uint64_t number = 0;
    for (const OnnxValue& input : model.inputs) {
        const Rng rng(seed, number++);
        OnnxArray array{input.dims,
                        std::vector<float>(static_cast<std::size_t>(elementCount(input.dims)))};
        for (std::size_t i = 0; i < array.values.size(); ++i) {
            const float uniform = rng.uniform(i);
            float& value = array.values[i];
            if (input.name == "t")
                value = std::floor(1000 * uniform);
            else if (input.name == "b")
                value = std::floor(kHistoryBuckets * uniform);
            else if (input.name == "beta")
                value = uniform;
            else if (input.name == "mem_bias")
                value = i == kNullToken      ? 0
                        : i < kNullToken / 2 ? kBiasPerWrite * static_cast<float>(i / kSlotTokens)
                                             : kMaskedBias;
            else
                value = 2 * uniform - 1;
        }
        inputs[input.name] = std::move(array);
    }
    return inputs;
}

OnnxVerification verifyOnnx(const std::filesystem::path& path, const OnnxReference& reference,
                            int runs)
{
    const OnnxModel model = readOnnx(path);
    OnnxVerification result;
    result.file = path.filename().string();
    result.bytes = std::filesystem::file_size(path);
    std::filesystem::path beside = path;
    beside += ".data";
    if (std::filesystem::exists(beside))
        result.bytes += std::filesystem::file_size(beside);
    result.opset = model.opset;
    result.irVersion = model.irVersion;
    result.nodes = model.nodes.size();
    for (const OnnxTensor& tensor : model.initialisers) {
        if (tensor.type != OnnxType::Int64)
            result.parameters += elementCount(tensor.dims);
        result.isNarrow = result.isNarrow || tensor.type == OnnxType::Float16;
    }
    result.problems = inferShapes(model).problems;
    for (int run = 0; run < runs && result.problems.empty(); ++run) {
        const auto seed = static_cast<std::uint64_t>(run);
        const OnnxArrays inputs = seededInputs(model, seed);
        const OnnxArrays wanted = reference(inputs), made = runOnnx(model, inputs);
        for (const OnnxValue& output : model.outputs) {
            result.comparisons.push_back(compare(output.name, made.at(output.name).values,
                                                 wanted.at(output.name).values, result.isNarrow));
            result.comparisons.back().seed = seed;
        }
    }
    return result;
}

bool OnnxVerification::holds() const
{
    return problems.empty() && std::ranges::all_of(comparisons, &OnnxComparison::holds);
}

nlohmann::json OnnxVerification::toJson() const
{
    nlohmann::json runs = nlohmann::json::array();
    for (const OnnxComparison& comparison : comparisons)
        runs.push_back({{"output", comparison.output},
                        {"seed", comparison.seed},
                        {"max_abs", finiteOrNull(comparison.maxAbs)},
                        {"max_reference", finiteOrNull(comparison.largest)},
                        {"psnr_db", finiteOrNull(comparison.psnr)},
                        {"holds", comparison.holds}});
    return {{"file", file},
            {"bytes", bytes},
            {"opset", opset},
            {"ir_version", irVersion},
            {"element_type", isNarrow ? "float16" : "float"},
            {"nodes", nodes},
            {"parameters", parameters},
            {"problems", problems},
            {"reference", "network in fp32 on the CPU"},
            {"bound", isNarrow ? nlohmann::json{{"psnr_db", kOnnxLeastPsnr}}
                               : nlohmann::json{{"max_abs_of_max_reference", kOnnxBound}}},
            {"runs", runs},
            {"holds", holds()}};
}

std::string OnnxVerification::sentence() const
{
    if (!problems.empty())
        return fmt::format("{} is not sound: {}", file, problems.front());
    if (comparisons.empty())
        return fmt::format("{} is sound; it was not run.", file);
    double worst = 0, least = INFINITY;
    for (const OnnxComparison& comparison : comparisons) {
        worst = std::max(worst, comparison.maxAbs / comparison.largest);
        least = std::min(least, comparison.psnr);
    }
    const std::string reading = isNarrow
                                    ? fmt::format("at least {:.1f} dB", least)
                                    : fmt::format("at most {:.1e} of the largest value", worst);
    return fmt::format("{} is sound and {} the network's outputs: {}.", file,
                       holds() ? "gives" : "misses", reading);
}

} // namespace vergence::live
