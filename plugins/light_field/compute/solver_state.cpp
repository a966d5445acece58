#include "plugins/light_field/compute/solver_state.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "plugins/light_field/compute/operator_storage.h"

namespace vergence::light_field {

namespace {

/// Texels that a subset hardly sees would be thrown about by it; below this share of the average
/// they are skipped.
constexpr float kLeastSubsetShare = 0.02f;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

LaneValues everyLane(double value)
{
    LaneValues values;
    std::fill(std::begin(values.value), std::end(values.value), static_cast<float>(value));
    return values;
}

void combine(Stream& stream, const LaneValues& a, const Tensor& x, const LaneValues& b, Tensor& y,
             int lanes)
{
    CombineArguments arguments;
    arguments.x = dataOf<const float>(x);
    arguments.y = dataOf<float>(y);
    arguments.count = y.size() / lanes;
    arguments.lanes = lanes;
    arguments.a = a;
    arguments.b = b;
    combineKernel(stream, arguments);
}

std::array<double, kMaxLanes> dot(Stream& stream, const Tensor& x, const Tensor& y,
                                  const Tensor& weights, int lanes)
{
    std::array<double, kMaxLanes> sums{};
    DotArguments arguments;
    arguments.x = dataOf<const float>(x);
    arguments.y = dataOf<const float>(y);
    arguments.w = weights.isEmpty() ? nullptr : dataOf<const float>(weights);
    arguments.count = x.size() / lanes;
    arguments.lanes = lanes;
    arguments.sums = sums.data();
    dotKernel(stream, arguments);
    return sums;
}

void divide(Stream& stream, const Tensor* x, const Tensor& d, Tensor& out, int lanes)
{
    DivideArguments arguments;
    arguments.x = x ? dataOf<const float>(*x) : nullptr;
    arguments.d = dataOf<const float>(d);
    arguments.out = dataOf<float>(out);
    arguments.count = d.size();
    arguments.lanes = lanes;
    divideKernel(stream, arguments);
}

bool isAdam(SolverKind kind)
{
    return kind == SolverKind::Adam || kind == SolverKind::AdamW;
}

bool isSirt(SolverKind kind)
{
    return kind == SolverKind::Sirt || kind == SolverKind::OsSirt;
}

} // namespace

Solver::State::State(Stream& stream, std::shared_ptr<const LinearOperator> op, Targets given,
                     SolverSettings wanted)
    : linear(std::move(op)),
      targets(std::move(given)),
      settings(wanted)
{
    checkArguments();
    lanes = targets.lanes();
    const auto& device = linear->device();
    const Shape unknowns{linear->unknowns(), lanes};
    x = Tensor::empty(device, unknowns);
    if (settings.kind == SolverKind::Pga)
        z = Tensor::empty(device, unknowns);
    if (isAdam(settings.kind) || settings.kind == SolverKind::Cg) {
        first = Tensor::empty(device, unknowns);
        second = Tensor::empty(device, unknowns);
    }
    if (settings.kind == SolverKind::Cg)
        product = Tensor::empty(device, unknowns);
    if (settings.smoothness > 0)
        laplacian = Tensor::empty(device, unknowns);
    images = Tensor::zeros(stream, device, targets.radiance.shape());
    residual = Tensor::zeros(stream, device, targets.radiance.shape());
    reset(stream);
    makeWeights(stream);
    makeDiagonals(stream);
    stream.synchronize();
}

void Solver::State::checkArguments() const
{
    expects(linear != nullptr && linear->elementType() == DType::F32,
            "solver: an operator of type F32 is needed");
    expects(targets.radiance.rank() == 4 && targets.states() == linear->states() &&
                targets.resolution() == linear->resolution(),
            "solver: the targets must have the states and the resolution of the operator");
    expects(settings.iterations >= 1 && settings.subsets >= 1,
            "solver: iterations and subsets must be at least 1");
    expects(settings.smoothness >= 0 && settings.roiWeight >= 0 && settings.backgroundWeight >= 0,
            "solver: weights must not be negative");
    const Index texels = static_cast<Index>(linear->planes()) * linear->panelResolution() *
                         linear->panelResolution();
    expects(settings.smoothness == 0 || (linear->unknowns() == texels && !isSirt(settings.kind) &&
                                         settings.kind != SolverKind::Cg),
            "solver: smoothness needs the physical profile and pga, adam or adamw");
}

void Solver::State::makeWeights(Stream& stream)
{
    const auto& device = linear->device();
    if (isSirt(settings.kind)) {
        const Tensor rows = linear->rowSums(stream);
        weights = Tensor::empty(device, {linear->measurements()});
        divide(stream, nullptr, rows, weights, 1);
    } else if (settings.roiWeight != 1 || settings.backgroundWeight != 1) {
        weights = Tensor::empty(device, {linear->measurements()});
        WeightArguments arguments;
        arguments.mask = dataOf<const float>(targets.roi);
        arguments.roi = static_cast<float>(settings.roiWeight);
        arguments.background = static_cast<float>(settings.backgroundWeight);
        arguments.weights = dataOf<float>(weights);
        arguments.count = linear->measurements();
        weightKernel(stream, arguments);
    }
}

void Solver::State::makeDiagonals(Stream& stream)
{
    const auto& device = linear->device();
    const bool needsMajoriser = settings.kind == SolverKind::Pga || settings.kind == SolverKind::Cg;
    diagonal = needsMajoriser ? linear->majoriser(stream, weights) : linear->columnSums(stream);
    if (settings.smoothness > 0) {
        const Tensor ones = Tensor::fromHost<float>(
            stream, device, {linear->unknowns()},
            std::vector<float>(static_cast<std::size_t>(linear->unknowns()), 1.0f));
        combine(stream, everyLane(8 * settings.smoothness), ones, everyLane(1), diagonal, 1);
    }
    for (const float d : diagonal.toHost<float>(stream))
        reachable += d > 0 ? 1 : 0;
    if (settings.kind == SolverKind::OsSirt) {
        const auto all = diagonal.toHost<float>(stream);
        for (int subset = 0; subset < settings.subsets; ++subset) {
            auto values =
                linear->columnSums(stream, {settings.subsets, subset}).toHost<float>(stream);
            for (std::size_t i = 0; i < values.size(); ++i) {
                if (values[i] < kLeastSubsetShare * all[i] / static_cast<float>(settings.subsets))
                    values[i] = 0;
            }
            subsetDiagonals.push_back(
                Tensor::fromHost<float>(stream, device, {linear->unknowns()}, values));
        }
    }
}

void Solver::State::reset(Stream& stream)
{
    for (Tensor* tensor : {&x, &z, &first, &second, &product}) {
        if (!tensor->isEmpty())
            stream.fillBytes(tensor->data(), 0, tensor->bytes());
    }
    theta.fill(1.0);
    lastLoss = 0;
    iteration = 0;
    flatIterations = 0;
}

double Solver::State::meanOver() const
{
    return static_cast<double>(linear->measurements());
}

void Solver::State::smoothness(Stream& stream, const Tensor& point, TexelUpdate& update)
{
    if (settings.smoothness == 0)
        return;
    LaplacianArguments arguments;
    arguments.z = dataOf<const float>(point);
    arguments.out = dataOf<float>(laplacian);
    arguments.texels = linear->unknowns();
    arguments.panel = linear->panelResolution();
    arguments.lanes = lanes;
    arguments.lambda = static_cast<float>(settings.smoothness);
    laplacianKernel(stream, arguments);
    update.smoothness = laplacian.data();
}

Solver::State::Pass Solver::State::updateAt(Stream& stream, const Tensor& point,
                                            const TexelUpdate& update, RowSubset rows)
{
    Pass pass;
    const double start = steadySeconds();
    pass.residual =
        linear->residual(stream, point, targets.radiance, weights, images, residual, rows);
    const double middle = steadySeconds();
    pass.update = linear->adjointUpdate(stream, residual, lanes, update, rows);
    pass.forwardSeconds = middle - start;
    pass.adjointSeconds = steadySeconds() - middle;
    return pass;
}

Solver::State::Pass Solver::State::pga(Stream& stream)
{
    TexelUpdate update;
    update.kind = UpdateKind::Projected;
    update.x = x.data();
    update.z = z.data();
    update.diagonal = diagonal.data();
    smoothness(stream, z, update);
    std::array<double, kMaxLanes> next{};
    for (int lane = 0; lane < lanes; ++lane) {
        const auto l = static_cast<std::size_t>(lane);
        next[l] = (1 + std::sqrt(1 + 4 * theta[l] * theta[l])) / 2;
        update.momentum[lane] =
            settings.accelerated ? static_cast<float>((theta[l] - 1) / next[l]) : 0.0f;
    }
    Pass pass = updateAt(stream, z, update);
    const double updated = steadySeconds();
    // The update extrapolated before it knew the restart test. A restart means no extrapolation: z
    // = x for that lane.
    LaneValues fromX = everyLane(0), fromZ = everyLane(1);
    bool restarts = false;
    for (int lane = 0; lane < lanes; ++lane) {
        const auto l = static_cast<std::size_t>(lane);
        theta[l] = next[l];
        if (pass.update.restart[l] > 0) {
            restarts = true;
            theta[l] = (1 + std::sqrt(5.0)) / 2;
            fromX.value[lane] = 1;
            fromZ.value[lane] = 0;
        }
    }
    if (restarts)
        combine(stream, fromX, x, fromZ, z, lanes);
    pass.adjointSeconds += steadySeconds() - updated;
    return pass;
}

Solver::State::Pass Solver::State::adam(Stream& stream)
{
    TexelUpdate update;
    update.kind = UpdateKind::Adam;
    update.x = x.data();
    update.first = first.data();
    update.second = second.data();
    update.diagonal = diagonal.data();
    // The loss is a mean over three channels also where one channel stands for all three.
    update.gradientScale = static_cast<float>(2 / (3 * meanOver()));
    update.learningRate = static_cast<float>(settings.learningRate);
    update.decay =
        static_cast<float>(settings.kind == SolverKind::AdamW ? settings.weightDecay : 0.0);
    update.epsilon = static_cast<float>(settings.epsilon);
    update.correction1 = static_cast<float>(1 - std::pow(0.9, iteration + 1));
    update.correction2 = static_cast<float>(1 - std::pow(0.999, iteration + 1));
    smoothness(stream, x, update);
    return updateAt(stream, x, update);
}

Solver::State::Pass Solver::State::backprojected(Stream& stream, const Tensor& sums, RowSubset rows)
{
    TexelUpdate update;
    update.kind = UpdateKind::Projected;
    update.x = x.data();
    update.z = x.data();
    update.diagonal = sums.data();
    return updateAt(stream, x, update, rows);
}

Solver::State::Pass Solver::State::sirt(Stream& stream)
{
    return backprojected(stream, diagonal, {});
}

Solver::State::Pass Solver::State::orderedSubsets(Stream& stream)
{
    Pass pass = backprojected(stream, subsetDiagonals[0], {settings.subsets, 0});
    for (int subset = 1; subset < settings.subsets; ++subset) {
        const Pass part = backprojected(stream, subsetDiagonals[static_cast<std::size_t>(subset)],
                                        {settings.subsets, subset});
        for (std::size_t i = 0; i < part.residual.squared.size(); ++i) {
            pass.residual.squared[i] += part.residual.squared[i];
            pass.residual.weighted[i] += part.residual.weighted[i];
        }
        pass.forwardSeconds += part.forwardSeconds;
        pass.adjointSeconds += part.adjointSeconds;
    }
    // A subset's are of its own rays and texels.
    pass.update.gradientSquared = pass.update.atZero = pass.update.atOne = kUnknown;
    return pass;
}

void Solver::State::startCg(Stream& stream)
{
    // first = Aᵀ Ω (y − A x), second = M first.
    linear->residual(stream, x, targets.radiance, weights, images, residual);
    linear->adjoint(stream, residual, first);
    combine(stream, everyLane(0), x, everyLane(-1), first, lanes);
    divide(stream, &first, diagonal, second, lanes);
    theta = dot(stream, first, second, {}, lanes);
}

Solver::State::Pass Solver::State::cg(Stream& stream)
{
    Pass pass;
    if (iteration == 0)
        startCg(stream);
    const double start = steadySeconds();
    pass.residual = linear->residual(stream, x, targets.radiance, weights, images, residual);
    // Ω A p comes as the residual of p against 0.
    const Tensor zeros = Tensor::zeros(stream, linear->device(), images.shape());
    Tensor directionImages = Tensor::empty(linear->device(), images.shape());
    Tensor weighted = Tensor::empty(linear->device(), images.shape());
    linear->residual(stream, second, zeros, weights, directionImages, weighted);
    const double middle = steadySeconds();
    linear->adjoint(stream, weighted, product);
    const auto curvature = dot(stream, second, product, {}, lanes);
    LaneValues step = everyLane(0), minusStep = everyLane(0);
    for (int lane = 0; lane < lanes; ++lane) {
        const auto l = static_cast<std::size_t>(lane);
        const double alpha = curvature[l] > 0 ? theta[l] / curvature[l] : 0.0;
        step.value[lane] = static_cast<float>(alpha);
        minusStep.value[lane] = static_cast<float>(-alpha);
    }
    const auto gradient = dot(stream, first, first, {}, lanes);
    combine(stream, step, second, everyLane(1), x, lanes);
    combine(stream, minusStep, product, everyLane(1), first, lanes);
    divide(stream, &first, diagonal, product, lanes);
    const auto rho = dot(stream, first, product, {}, lanes);
    LaneValues beta = everyLane(0);
    for (int lane = 0; lane < lanes; ++lane) {
        const auto l = static_cast<std::size_t>(lane);
        beta.value[lane] = static_cast<float>(theta[l] > 0 ? rho[l] / theta[l] : 0.0);
    }
    theta = rho;
    combine(stream, everyLane(1), product, beta, second, lanes);
    pass.update.restart.assign(static_cast<std::size_t>(lanes), 0.0);
    pass.update.gradientSquared = std::accumulate(gradient.begin(), gradient.begin() + lanes, 0.0);
    pass.update.atZero = pass.update.atOne = kUnknown; // no bounds hold its texels
    pass.forwardSeconds = middle - start;
    pass.adjointSeconds = steadySeconds() - middle;
    return pass;
}

IterationRecord Solver::State::record(const Pass& pass)
{
    IterationRecord r;
    r.iteration = ++iteration;
    const int channels = targets.channels;
    double squared = 0;
    for (int lane = 0; lane < channels; ++lane) {
        const auto l = static_cast<std::size_t>(lane);
        r.laneMse.push_back(pass.residual.squared[l] / meanOver());
        squared += pass.residual.squared[l];
        r.loss += pass.residual.weighted[l] / 2;
    }
    r.mse = squared / meanOver() / channels;
    r.psnr = r.mse > 0 ? -10 * std::log10(r.mse) : HUGE_VAL;
    if (!std::isfinite(r.loss))
        throw NumericsError("The loss of iteration " + std::to_string(r.iteration) +
                            " is not finite; lower the learning rate or check the targets.");
    const double scale = 2 / (3 * meanOver());
    r.gradientNorm = scale * std::sqrt(pass.update.gradientSquared * 3 / channels);
    const double values = std::max(1.0, reachable * channels);
    const double unused = reachable * (lanes - channels);
    r.shareAtZero = (std::max(pass.update.atZero, unused) - unused) / values; // unknown stays so
    r.shareAtOne = pass.update.atOne / values;
    r.forwardSeconds = pass.forwardSeconds;
    r.adjointSeconds = pass.adjointSeconds;
    const double seconds = pass.forwardSeconds + pass.adjointSeconds;
    r.raysPerSecond = seconds > 0 ? 2 * linear->raysPerPass() / seconds : 0;
    const double before = std::exchange(lastLoss, r.loss);
    const bool flat =
        iteration > 1 && std::abs(before - r.loss) < settings.tolerance * std::abs(before);
    flatIterations = flat ? flatIterations + 1 : 0;
    return r;
}

NamedTensors Solver::State::tensors()
{
    NamedTensors tensors;
    const std::pair<const char*, Tensor*> all[] = {
        {"x", &x}, {"z", &z}, {"first", &first}, {"second", &second}, {"product", &product}};
    for (const auto& [name, tensor] : all) {
        if (!tensor->isEmpty())
            tensors.emplace_back(name, *tensor);
    }
    return tensors;
}

} // namespace vergence::light_field
