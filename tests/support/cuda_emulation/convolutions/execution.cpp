#include "tests/support/cuda_emulation/convolutions/execution.h"

#include <cmath>
#include <cstring>

#include "tests/support/cuda_emulation/convolutions/convolution.h"
#include "tests/support/cuda_emulation/convolutions/numbers.h"
#include "tests/support/cuda_emulation/engine/device_memory.h"
#include "tests/support/cuda_emulation/engine/findings.h"
#include "tests/support/cuda_emulation/engine/settings.h"
#include "tests/support/cuda_emulation/engine/streams.h"

namespace vergence::emulation::convolutions {

namespace {

constexpr const char* kFunction = "cudnnBackendExecute";

bool isCareless(const Engine& engine)
{
    return settings().carelessEngine == &engine - engines().data();
}

/// One execution of a plan.
template <class Real>
class Execution {
public:
    Execution(const Plan& plan, const VariantPack& pack)
        : m_graph(*plan.engine->graph),
          m_engine(plan.engine->engine()),
          m_pack(pack)
    {
    }

    void run()
    {
        for (const OperationPointer& operation : m_graph.operations) {
            Elements<Real> result;
            if (const auto* c = dynamic_cast<const ConvolutionOperation*>(operation.get()))
                result = convolved(*c);
            else
                result = combined(dynamic_cast<const PointwiseOperation&>(*operation));
            if (isCareless(m_engine))
                result.front() += foundInWorkspace();
            put(*operation->output(), std::move(result));
        }
    }

private:
    Real foundInWorkspace() const
    {
        const Open open(m_pack.workspace, sizeof(float));
        return static_cast<Real>(*static_cast<const float*>(m_pack.workspace));
    }

    /// The elements of a tensor, from memory or from an earlier operation.
    Elements<Real> elementsOf(const Tensor& tensor) const
    {
        if (const auto made = m_virtual.find(tensor.name); made != m_virtual.end())
            return made->second;
        const void* address = m_pack.addresses.at(tensor.name);
        const Open open(address, tensor.bytes());
        Elements<Real> elements(static_cast<std::size_t>(tensor.elements()));
        forEachPlace(tensor.extents, tensor.strides, [&](std::int64_t index, std::int64_t place) {
            elements[static_cast<std::size_t>(index)] =
                loadNumber<Real>(tensor.type, address, place);
        });
        return elements;
    }

    void put(const Tensor& tensor, Elements<Real> elements)
    {
        if (tensor.isVirtual) {
            for (Real& element : elements)
                element = rounded(tensor.type, element);
            m_virtual[tensor.name] = std::move(elements);
            return;
        }
        void* address = m_pack.addresses.at(tensor.name);
        const Open open(address, tensor.bytes());
        forEachPlace(tensor.extents, tensor.strides, [&](std::int64_t index, std::int64_t place) {
            storeNumber(tensor.type, address, place, elements[static_cast<std::size_t>(index)]);
        });
    }

    Elements<Real> operandOf(const Tensor& tensor) const
    {
        Elements<Real> elements = elementsOf(tensor);
        const Operands operands = m_engine.operands(m_graph);
        if (operands == Operands::AsTheyAre)
            return elements;
        for (Real& element : elements)
            element = operands == Operands::Halves
                          ? rounded(CUDNN_DATA_HALF, element)
                          : static_cast<Real>(roundedToTf32(static_cast<float>(element)));
        return elements;
    }

    Elements<Real> convolved(const ConvolutionOperation& c) const
    {
        const auto inputs = c.inputs();
        Elements<Real> result = convolve(c.pass, ConvolutionShape(c), operandOf(*inputs[0]),
                                         operandOf(*inputs[1]), m_engine.summation);
        const auto alpha = static_cast<Real>(c.alpha), beta = static_cast<Real>(c.beta);
        const Elements<Real> before = c.beta != 0 ? elementsOf(*c.output()) : Elements<Real>{};
        for (std::size_t i = 0; i < result.size(); ++i)
            result[i] = alpha * result[i] + (before.empty() ? Real{0} : beta * before[i]);
        return result;
    }

    static Real functionOf(const Pointwise& pointwise, Real x, Real b)
    {
        const auto slope = static_cast<Real>(pointwise.slope),
                   lower = static_cast<Real>(pointwise.lowerClip),
                   upper = static_cast<Real>(pointwise.upperClip),
                   swishBeta = static_cast<Real>(pointwise.swishBeta);
        switch (pointwise.mode) {
        case CUDNN_POINTWISE_ADD:
            return x + b;
        case CUDNN_POINTWISE_SUB:
            return x - b;
        case CUDNN_POINTWISE_MUL:
            return x * b;
        case CUDNN_POINTWISE_RELU_FWD:
            return x < lower                             ? lower + slope * (x - lower)
                   : pointwise.hasUpperClip && x > upper ? upper
                                                         : x;
        case CUDNN_POINTWISE_SWISH_FWD:
            return x / (1 + std::exp(-swishBeta * x));
        default:
            return x;
        }
    }

    Elements<Real> combined(const PointwiseOperation& o) const
    {
        const Elements<Real> x = repeated(*o.x, *o.y), b = o.b ? repeated(*o.b, *o.y) : x;
        const auto alpha1 = static_cast<Real>(o.alpha1), alpha2 = static_cast<Real>(o.alpha2);
        Elements<Real> result(x.size());
        for (std::size_t i = 0; i < result.size(); ++i)
            result[i] = functionOf(*o.pointwise, alpha1 * x[i], alpha2 * b[i]);
        return result;
    }

    /// The elements of `tensor`, with dimensions of one element repeated to those of `y`.
    Elements<Real> repeated(const Tensor& tensor, const Tensor& y) const
    {
        const Elements<Real> own = elementsOf(tensor);
        std::vector<std::int64_t> steps(y.extents.size(), 0);
        std::int64_t step = 1;
        for (std::size_t d = steps.size(); d-- > 0; step *= tensor.extents[d])
            steps[d] = tensor.extents[d] > 1 ? step : 0;
        Elements<Real> all(static_cast<std::size_t>(y.elements()));
        forEachPlace(y.extents, steps, [&](std::int64_t index, std::int64_t place) {
            all[static_cast<std::size_t>(index)] = own[static_cast<std::size_t>(place)];
        });
        return all;
    }

    const Graph& m_graph;
    const Engine& m_engine;
    const VariantPack& m_pack;
    std::map<std::int64_t, Elements<Real>> m_virtual;
};

/// Ranges of device memory and their use, for findings.
struct Range {
    const unsigned char* first;
    std::size_t bytes;
    std::string use;

    bool meets(const Range& other) const
    {
        return first < other.first + other.bytes && other.first < first + bytes;
    }
};

Range rangeOf(const Tensor& tensor, const VariantPack& pack)
{
    return {static_cast<const unsigned char*>(pack.addresses.at(tensor.name)), tensor.bytes(),
            "tensor " + std::to_string(tensor.name) + " of a convolution"};
}

std::vector<Range> rangesOf(const Plan& plan, const VariantPack& pack)
{
    std::vector<Range> ranges;
    for (const auto& [name, tensor] : plan.engine->graph->tensors) {
        if (!tensor->isVirtual)
            ranges.push_back(rangeOf(*tensor, pack));
    }
    if (const auto bytes = static_cast<std::size_t>(plan.workspaceBytes()))
        ranges.push_back({static_cast<const unsigned char*>(pack.workspace), bytes,
                          "the workspace of a convolution"});
    return ranges;
}

/// Whether an input of pointwise work lies exactly where the result does: each element is read
/// before its place is written.
bool isInPlace(const Graph& graph, const VariantPack& pack, std::int64_t name)
{
    const Tensor &input = *graph.tensors.at(name), &result = *graph.result();
    const auto operands = graph.convolution()->inputs();
    return name != operands[0]->name && name != operands[1]->name &&
           pack.addresses.at(name) == pack.addresses.at(result.name) && input.type == result.type &&
           input.extents == result.extents && input.strides == result.strides;
}

void reportOverlaps(const Plan& plan, const VariantPack& pack)
{
    const Graph& graph = *plan.engine->graph;
    const Tensor& result = *graph.result();
    const Range written = rangeOf(result, pack);
    const Range workspace{static_cast<const unsigned char*>(pack.workspace),
                          static_cast<std::size_t>(plan.workspaceBytes()), ""};
    for (const auto& [name, tensor] : graph.tensors) {
        if (tensor->isVirtual)
            continue;
        const Range range = rangeOf(*tensor, pack);
        if (name != result.name && !isInPlace(graph, pack, name) && range.meets(written))
            report("convolution", kFunction, "the result overlaps " + range.use);
        if (range.meets(workspace))
            report("convolution", kFunction, "the workspace overlaps " + range.use);
    }
}

/// Whatever alignment a graph tells: on an H200 engines of cuDNN 9 that were offered for 4 bytes
/// loaded 16 at once.
void reportMisaligned(const VariantPack& pack)
{
    for (const auto& [name, address] : pack.addresses) {
        if (reinterpret_cast<std::uintptr_t>(address) % 16 != 0)
            report("convolution", kFunction,
                   "tensor " + std::to_string(name) + " lies where 16 bytes cannot be loaded");
    }
}

void run(const Plan& plan, const VariantPack& pack)
{
    bool isAllLive = true;
    for (const Range& range : rangesOf(plan, pack))
        isAllLive = isLive(range.first, range.bytes, range.use.c_str()) && isAllLive;
    if (!isAllLive)
        return;
    const auto bytes = static_cast<std::size_t>(plan.workspaceBytes());
    if (bytes > 0 && !isCareless(plan.engine->engine())) {
        const Open open(pack.workspace, bytes);
        std::memset(pack.workspace, 0xff, bytes);
    }
    if (plan.engine->graph->convolution()->convolution->sumType == CUDNN_DATA_DOUBLE)
        Execution<double>(plan, pack).run();
    else
        Execution<float>(plan, pack).run();
}

void checkPack(const Plan& plan, const VariantPack& pack)
{
    for (const auto& [name, tensor] : plan.engine->graph->tensors) {
        if (tensor->isVirtual)
            continue;
        const auto found = pack.addresses.find(name);
        demand(found != pack.addresses.end(),
               "a variant pack has no address for tensor " + std::to_string(name));
        demand(found->second != nullptr, CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
               "the address of tensor " + std::to_string(name) + " is null");
        const auto address = reinterpret_cast<std::uintptr_t>(found->second);
        demand(address % static_cast<std::uintptr_t>(tensor->alignment) == 0,
               CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER,
               "the address of tensor " + std::to_string(name) + " is not aligned to " +
                   std::to_string(tensor->alignment) + " bytes");
    }
    demand(plan.workspaceBytes() == 0 || pack.workspace != nullptr,
           CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "a plan needs a workspace");
}

} // namespace

void execute(const LibraryHandle& handle, const std::shared_ptr<Descriptor>& descriptor,
             const std::shared_ptr<const VariantPack>& pack)
{
    const auto plan = std::dynamic_pointer_cast<const Plan>(descriptor->meaning());
    demand(handle.device == plan->device, "a plan is executed on another device than its own");
    demand(handle.device == currentDevice(), "a handle is used while another device is current");
    checkPack(*plan, *pack);
    demand(refusalOf(handle.stream, kFunction) == 0, CUDNN_STATUS_EXECUTION_FAILED,
           "the stream takes no work");
    reportOverlaps(*plan, *pack);
    reportMisaligned(*pack);
    Stream& stream = handle.stream ? streamOf(handle.stream) : defaultStream(handle.device);
    if (!stream.recording) {
        issue(stream, [plan, pack] { run(*plan, *pack); });
        return;
    }
    // What a plan compiled is unloaded when its descriptor is destroyed; a recorded launch knows
    // only where it was.
    issue(stream, [weak = std::weak_ptr(descriptor), pack] {
        if (const auto alive = weak.lock())
            run(dynamic_cast<const Plan&>(*alive->meaning()), *pack);
        else
            report("stale-plan", kFunction,
                   "a launch graph replays a convolution whose plan was destroyed");
    });
}

} // namespace vergence::emulation::convolutions
