#include "cuda/backend/cudnn_conv.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include <fmt/format.h>

#include "core/base/log.h"
#include "core/compute/dense/plan_cache.h"
#include "core/compute/dense/product_policy.h"
#include "core/compute/dense/tile_kernels.h"
#include "cuda/backend/cuda_stream.h"
#include "cuda/backend/cudnn_graph.h"
#include "cuda/backend/gpu_stopwatch.h"
#include "cuda/backend/lt_products.h"
#include "cuda/backend/operand_copies.h"
#include "cuda/backend/tuning_file.h"

namespace vergence {

namespace {

constexpr std::int64_t kMostWorkspace = std::int64_t{64} << 20;

using Operands = std::vector<Operand>;

bool areAligned(const Operands& operands)
{
    return std::ranges::all_of(operands, [](const Operand& operand) {
        return reinterpret_cast<std::uintptr_t>(operand.address) % kCudnnAlignment == 0;
    });
}

Operand operandOf(CudnnTensor name, const Tensor& tensor)
{
    return {name, tensor.data(), tensor.bytes()};
}

PlanKey keyOf(const CudnnConvolution& c)
{
    const ConvProblem& p = c.problem;
    PlanKey key;
    key.values = {static_cast<std::int64_t>(c.pass),
                  p.images,
                  p.channels,
                  p.height,
                  p.width,
                  p.outChannels,
                  p.kernelHeight,
                  p.kernelWidth,
                  p.stride,
                  p.padding,
                  static_cast<std::int64_t>(p.layout),
                  static_cast<std::int64_t>(p.type),
                  static_cast<std::int64_t>(c.resultType),
                  std::int64_t{c.hasBias},
                  std::int64_t{c.hasResidual},
                  std::int64_t{c.usesTf32},
                  std::int64_t{c.isTimed}};
    return key;
}

/// A convolution with all that its execution touches.
struct Work {
    ProductBackend& backend;
    Stream& stream;
    CudnnConvolution convolution;
    Operands operands;
    CudnnTensor result; ///< the tensor that is written
};

struct ForwardCall {
    ProductBackend& backend;
    Stream& stream;
    const ConvProblem& problem;
    const Tensor &x, &w, &y;
    const Conv2dOptions& options;
};

class CudnnImplementation final : public CudnnConvolutions {
public:
    CudnnImplementation(std::unique_ptr<Cudnn> library, const DeviceInfo& card)
        : m_library(std::move(library)),
          m_kept(card, m_library->version())
    {
    }

    void setPolicy(const ProductPolicy& policy) override { m_policy = policy; }

    bool forward(ProductBackend& backend, Stream& stream, const ConvProblem& problem,
                 const Tensor& x, const Tensor& w, const Tensor& y,
                 const Conv2dOptions& options) override;
    bool backwardData(ProductBackend& backend, Stream& stream, const ConvProblem& problem,
                      const Tensor& gradY, const Tensor& w, const Tensor& gradX) override;
    bool backwardWeight(ProductBackend& backend, Stream& stream, const ConvProblem& problem,
                        const Tensor& x, const Tensor& gradY, const Tensor& gradW,
                        bool accumulate) override;

private:
    using Plan = std::shared_ptr<const CudnnPlan>;

    /// Bias and residual as part of the graph where `fuses`, and else after it.
    bool forwardAs(bool fuses, const ForwardCall& call);
    /// Queues the convolution; false where there is no plan.
    bool run(Work work);
    Plan choose(const Work& work, const PlanKey& key);
    Plan best(const Work& trial, const OperandCopies& copies, const CudnnWishes& wishes);
    Plan fastest(const Work& trial, const std::vector<std::shared_ptr<CudnnPlan>>& plans);
    /// Whether its result depends on nothing but its operands.
    bool isSound(const Work& trial, const OperandCopies& copies, const CudnnPlan& plan);
    bool runs(const Work& work, const CudnnPlan& plan)
    {
        return execute(work, plan) == CUDNN_STATUS_SUCCESS;
    }
    cudnnStatus_t execute(const Work& work, const CudnnPlan& plan)
    {
        return execute(work, plan, workspaceOf(work, plan).get());
    }
    cudnnStatus_t execute(const Work& work, const CudnnPlan& plan, void* workspace);
    std::shared_ptr<void> workspaceOf(const Work& work, const CudnnPlan& plan)
    {
        return work.backend.workspace(work.stream, static_cast<std::size_t>(plan.workspaceBytes));
    }

    std::unique_ptr<Cudnn> m_library;
    TuningFile m_kept;
    std::atomic<ProductPolicy> m_policy{ProductPolicy{}};
    std::mutex m_mutex; ///< of the handle
    PlanCache<CudnnPlan> m_plans{512};
};

cudnnStatus_t CudnnImplementation::execute(const Work& work, const CudnnPlan& plan,
                                           void* workspace)
{
    std::vector<std::int64_t> names;
    std::vector<void*> addresses;
    for (const Operand& operand : work.operands) {
        names.push_back(operand.name);
        addresses.push_back(operand.address);
    }
    CudnnDescriptor pack(*m_library, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, names);
    pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, addresses);
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
    if (!pack.finalize())
        return CUDNN_STATUS_BAD_PARAM;
    const cudnnStatus_t status =
        m_library->setStream(m_library->handle(), static_cast<cudaStream_t>(work.stream.native()));
    return status == CUDNN_STATUS_SUCCESS
               ? m_library->execute(m_library->handle(), plan.plan->get(), pack.get())
               : status;
}

CudnnImplementation::Plan CudnnImplementation::choose(const Work& work, const PlanKey& key)
{
    const OperandCopies copies(work.operands, [&](std::size_t bytes) {
        return work.backend.workspace(work.stream, bytes);
    });
    copies.prepare(work.stream, 0, work.result);
    Work trial = work;
    trial.operands = copies.operands();
    CudnnWishes wishes{kTimedConvolutions, kMostWorkspace};
    const auto namedPlan = [&](const std::string& name) -> Plan {
        CudnnWishes wish = wishes;
        wish.name = name;
        const auto plans = cudnnPlans(*m_library, work.convolution, wish);
        return !plans.empty() && runs(trial, *plans.front()) ? plans.front() : nullptr;
    };
    const auto kept = work.convolution.isTimed ? m_kept.find(key) : std::nullopt;
    if (kept) {
        if (Plan known = namedPlan(*kept))
            return known;
    }
    const Plan chosen = best(trial, copies, wishes);
    if (!chosen || !work.convolution.isTimed)
        return chosen;
    const std::string counts = m_kept.keep(key, chosen->name, kept.value_or(""));
    const Plan theirs = counts == chosen->name ? chosen : namedPlan(counts);
    return theirs ? theirs : chosen;
}

CudnnImplementation::Plan CudnnImplementation::best(const Work& trial, const OperandCopies& copies,
                                                    const CudnnWishes& wishes)
{
    auto plans = cudnnPlans(*m_library, trial.convolution, wishes);
    for (;;) {
        const Plan chosen = fastest(trial, plans);
        if (!chosen || isSound(trial, copies, *chosen))
            return chosen;
        log("cuda").info("cuDNN's plan \"{}\" is left out: its result depends on what lies beside "
                         "its operands.",
                         chosen->name);
        std::erase(plans, chosen);
    }
}

bool CudnnImplementation::isSound(const Work& trial, const OperandCopies& copies,
                                  const CudnnPlan& plan)
{
    const Operand& result = copies[trial.result];
    const auto workspace = workspaceOf(trial, plan);
    std::vector<std::byte> values[2];
    for (const int surroundings : {0x00, 0xff}) { // zeros; not a number
        copies.prepare(trial.stream, surroundings, trial.result);
        if (plan.workspaceBytes > 0)
            trial.stream.fillBytes(workspace.get(), surroundings,
                                   static_cast<std::size_t>(plan.workspaceBytes));
        if (execute(trial, plan, workspace.get()) != CUDNN_STATUS_SUCCESS)
            return false;
        auto& read = values[surroundings != 0];
        read.resize(result.bytes);
        trial.stream.copy(read.data(), result.address, result.bytes);
        trial.stream.synchronize();
    }
    return values[0] == values[1];
}

CudnnImplementation::Plan
CudnnImplementation::fastest(const Work& trial,
                             const std::vector<std::shared_ptr<CudnnPlan>>& plans)
{
    Plan chosen;
    float best = 0;
    GpuStopwatch watch(trial.stream);
    for (const auto& plan : plans) {
        bool isRight = runs(trial, *plan);
        if (isRight && (plans.size() == 1 || !trial.convolution.isTimed))
            return plan;
        watch.start();
        for (int i = 0; i < kTimedRepetitions && isRight; ++i)
            isRight = runs(trial, *plan);
        const float taken = watch.stop();
        if (isRight && (!chosen || taken < kClearlyFaster * best)) {
            chosen = plan;
            best = taken;
        }
    }
    return chosen;
}

bool CudnnImplementation::run(Work work)
{
    CudnnConvolution& convolution = work.convolution;
    if (convolution.problem.type == DType::F64)
        return false; // cuBLASLt multiplies it as fast
    // Told of less, some engines of cuDNN 9 load 16 bytes at once all the same, which ends the
    // process's use of the GPU.
    if (!areAligned(work.operands))
        return false;
    const ProductPolicy policy = ProductPolicyScope::inForce(m_policy);
    convolution.isTimed = policy.isTimed;
    convolution.usesTf32 = policy.usesTf32 && convolution.problem.type == DType::F32;
    const PlanKey key = keyOf(convolution);
    const std::lock_guard lock(m_mutex);
    Plan plan;
    if (!m_plans.lookUp(key, plan)) {
        if (isRecording(work.stream))
            return false;
        plan = m_plans.keep(key, choose(work, key));
    }
    if (!plan)
        return false;
    static_cast<CudaStream&>(work.stream).keepForGraph(plan); // replays run its code
    const cudnnStatus_t status = execute(work, *plan);
    if (status != CUDNN_STATUS_SUCCESS)
        throw DeviceError(fmt::format("cuDNN could not run a convolution of {} × {} images: {}.",
                                      convolution.problem.height, convolution.problem.width,
                                      m_library->text(status)));
    return true;
}

bool CudnnImplementation::forward(ProductBackend& backend, Stream& stream, const ConvProblem& p,
                                  const Tensor& x, const Tensor& w, const Tensor& y,
                                  const Conv2dOptions& options)
{
    // cuDNN knows fewer graphs than convolutions: none with a residual in NCHW, for instance.
    // Without tensor cores the engines that join in bias and residual take twice as long as a
    // plain convolution and a pass after it (H200, cuDNN 9, live_diffusion's evaluation in F32).
    const ForwardCall call{backend, stream, p, x, w, y, options};
    const bool isBare = !options.bias && !options.residual;
    const bool hasTensorCores =
        p.type != DType::F32 || ProductPolicyScope::inForce(m_policy).usesTf32;
    return ((isBare || hasTensorCores) && forwardAs(true, call)) ||
           (!isBare && forwardAs(false, call));
}

bool CudnnImplementation::forwardAs(bool fuses, const ForwardCall& call)
{
    const auto& [backend, stream, p, x, w, y, options] = call;
    const bool isPlain = options.activation == Activation::None && !options.preActivation;
    CudnnConvolution c;
    c.problem = p;
    c.resultType = y.dtype();
    c.hasBias = fuses && options.bias && options.bias->dtype() == y.dtype();
    c.hasResidual = fuses && isPlain && options.residual && (c.hasBias || !options.bias);
    const bool isWhole =
        isPlain && c.hasBias == bool(options.bias) && c.hasResidual == bool(options.residual);

    // What cuDNN does not do itself follows in one pass: over preActivation, or over y where
    // nothing there is needed any more, else over memory of its own.
    const bool yIsFree = !options.residual || options.residual->data() != y.data();
    std::shared_ptr<void> memory;
    void* target = y.data();
    if (!isWhole && options.preActivation)
        target = options.preActivation->data();
    else if (!isWhole && !yIsFree)
        target = (memory = backend.workspace(stream, y.bytes())).get();

    Operands operands = {
        operandOf(kTensorX, x), operandOf(kTensorW, w), {kTensorY, target, y.bytes()}};
    if (c.hasBias)
        operands.push_back(operandOf(kTensorBias, *options.bias));
    if (c.hasResidual)
        operands.push_back(operandOf(kTensorResidual, *options.residual));
    if (!run({backend, stream, c, operands, kTensorY}))
        return false;
    if (isWhole)
        return true;

    const bool nhwc = p.layout == ImageLayout::Nhwc;
    TileFinish rest;
    rest.product = target;
    rest.productIsRounded = true;
    rest.rows = nhwc ? p.images * p.outPixels() : p.outChannels;
    rest.columns = nhwc ? p.outChannels : p.outPixels();
    rest.productStride = rest.yStride = rest.residualStride = rest.preActivationStride =
        rest.columns;
    rest.type = y.dtype();
    rest.activation = options.activation;
    if (options.bias && !c.hasBias) {
        rest.bias = options.bias->data();
        rest.biasType = options.bias->dtype();
        rest.biasPerRow = !nhwc;
    }
    const Index images = nhwc ? 1 : p.images; // channels are rows of each image
    for (Index image = 0; image < images; ++image) {
        const Index first =
            image * rest.rows * rest.columns * static_cast<Index>(sizeOf(rest.type));
        const auto at = [&](void* data) { return static_cast<std::byte*>(data) + first; };
        TileFinish part = rest;
        part.product = at(target);
        part.y = at(y.data());
        part.residual = options.residual ? at(options.residual->data()) : nullptr;
        if (options.preActivation && rest.bias)
            part.preActivation = at(options.preActivation->data());
        finishTile(stream, part);
    }
    return true;
}

bool CudnnImplementation::backwardData(ProductBackend& backend, Stream& stream,
                                       const ConvProblem& p, const Tensor& gradY, const Tensor& w,
                                       const Tensor& gradX)
{
    CudnnConvolution c;
    c.pass = CudnnPass::BackwardData;
    c.problem = p;
    c.resultType = gradX.dtype();
    return run({backend,
                stream,
                c,
                {operandOf(kTensorX, gradX), operandOf(kTensorW, w), operandOf(kTensorY, gradY)},
                kTensorX});
}

bool CudnnImplementation::backwardWeight(ProductBackend& backend, Stream& stream,
                                         const ConvProblem& p, const Tensor& x, const Tensor& gradY,
                                         const Tensor& gradW, bool accumulate)
{
    // Sums over pixels are kept in F32 also where gradW has 16 bits.
    CudnnConvolution c;
    c.pass = CudnnPass::BackwardWeight;
    c.problem = p;
    c.resultType = DType::F32;
    const bool isDirect = !accumulate && gradW.dtype() == DType::F32;
    const std::size_t bytes = static_cast<std::size_t>(p.weights()) * sizeof(float);
    std::shared_ptr<void> memory;
    if (!isDirect)
        memory = backend.workspace(stream, bytes);
    const Operand result{kTensorW, isDirect ? gradW.data() : memory.get(), bytes};
    if (!run({backend,
              stream,
              c,
              {operandOf(kTensorX, x), result, operandOf(kTensorY, gradY)},
              kTensorW}))
        return false;
    if (!isDirect) {
        TileFinish rest;
        rest.product = memory.get();
        rest.rows = p.outChannels;
        rest.columns = rest.productStride = rest.yStride = p.taps() * p.channels;
        rest.type = gradW.dtype();
        rest.y = gradW.data();
        rest.beta = accumulate ? 1 : 0;
        finishTile(stream, rest);
    }
    return true;
}

} // namespace

std::unique_ptr<CudnnConvolutions> CudnnConvolutions::open(const DeviceInfo& card,
                                                           std::string& reason)
{
    auto library = Cudnn::open(reason);
    return library ? std::make_unique<CudnnImplementation>(std::move(library), card) : nullptr;
}

} // namespace vergence
