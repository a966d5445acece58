#include "cuda/backend/cudnn_conv.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include <fmt/format.h>

#include "core/compute/dense/plan_cache.h"
#include "core/compute/dense/product_policy.h"
#include "core/compute/dense/tile_kernels.h"
#include "cuda/backend/cuda_stream.h"
#include "cuda/backend/cudnn_graph.h"
#include "cuda/backend/gpu_stopwatch.h"
#include "cuda/backend/lt_products.h"
#include "cuda/backend/tuning_file.h"

namespace vergence {

namespace {

constexpr std::int64_t kMostWorkspace = std::int64_t{64} << 20;

struct Pointers {
    std::vector<std::int64_t> names;
    std::vector<void*> addresses;

    void add(CudnnTensor name, void* address)
    {
        names.push_back(name);
        addresses.push_back(address);
    }
    bool areAligned() const
    {
        return std::ranges::all_of(addresses, [](const void* address) {
            return reinterpret_cast<std::uintptr_t>(address) % kCudnnAlignment == 0;
        });
    }
};

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
    Pointers pointers;
    CudnnTensor result; ///< the tensor that is written
    std::size_t resultBytes;
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
    Plan fastest(const Work& trial, const std::vector<std::shared_ptr<CudnnPlan>>& plans);
    bool runs(const Work& work, const CudnnPlan& plan)
    {
        return execute(work, plan) == CUDNN_STATUS_SUCCESS;
    }
    cudnnStatus_t execute(const Work& work, const CudnnPlan& plan);

    std::unique_ptr<Cudnn> m_library;
    TuningFile m_kept;
    std::atomic<ProductPolicy> m_policy{ProductPolicy{}};
    std::mutex m_mutex; ///< of the handle
    PlanCache<CudnnPlan> m_plans{512};
};

cudnnStatus_t CudnnImplementation::execute(const Work& work, const CudnnPlan& plan)
{
    const auto workspace =
        work.backend.workspace(work.stream, static_cast<std::size_t>(plan.workspaceBytes));
    void* address = workspace.get();
    CudnnDescriptor pack(*m_library, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, work.pointers.names);
    pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, work.pointers.addresses);
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, address);
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
    // Results go elsewhere meanwhile: the residual may be y itself.
    const auto memory = work.backend.workspace(work.stream, work.resultBytes);
    Work trial = work;
    for (std::size_t i = 0; i < trial.pointers.names.size(); ++i) {
        if (trial.pointers.names[i] == work.result)
            trial.pointers.addresses[i] = memory.get();
    }
    CudnnWishes wishes{kTimedCandidates, kMostWorkspace};
    const auto kept = work.convolution.isTimed ? m_kept.find(key) : std::nullopt;
    if (kept) {
        wishes.name = *kept;
        const auto plans = cudnnPlans(*m_library, work.convolution, wishes);
        if (!plans.empty() && runs(trial, *plans.front()))
            return plans.front();
        wishes.name.clear();
    }
    const auto plans = cudnnPlans(*m_library, work.convolution, wishes);
    if (plans.size() <= 1 || !work.convolution.isTimed) {
        const auto first = std::find_if(plans.begin(), plans.end(),
                                        [&](const auto& plan) { return runs(trial, *plan); });
        return first == plans.end() ? nullptr : *first;
    }
    const Plan chosen = fastest(trial, plans);
    if (!chosen)
        return nullptr;
    const std::string counts = m_kept.keep(key, chosen->name, kept.value_or(""));
    const auto theirs = std::find_if(plans.begin(), plans.end(),
                                     [&](const auto& plan) { return plan->name == counts; });
    return theirs != plans.end() && runs(trial, **theirs) ? *theirs : chosen;
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
    if (!work.pointers.areAligned())
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
    const ForwardCall call{backend, stream, p, x, w, y, options};
    return forwardAs(true, call) || ((options.bias || options.residual) && forwardAs(false, call));
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

    Pointers pointers;
    pointers.add(kTensorX, x.data());
    pointers.add(kTensorW, w.data());
    pointers.add(kTensorY, target);
    if (c.hasBias)
        pointers.add(kTensorBias, options.bias->data());
    if (c.hasResidual)
        pointers.add(kTensorResidual, options.residual->data());
    if (!run({backend, stream, c, pointers, kTensorY, y.bytes()}))
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
    Pointers pointers;
    pointers.add(kTensorX, gradX.data());
    pointers.add(kTensorW, w.data());
    pointers.add(kTensorY, gradY.data());
    return run({backend, stream, c, pointers, kTensorX, gradX.bytes()});
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
    Pointers pointers;
    pointers.add(kTensorX, x.data());
    pointers.add(kTensorW, isDirect ? gradW.data() : memory.get());
    pointers.add(kTensorY, gradY.data());
    if (!run({backend, stream, c, pointers, kTensorW, bytes}))
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
