#include "plugins/light_field/compute/solver.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "plugins/light_field/compute/operator_storage.h"
#include "plugins/light_field/compute/solver_state.h"

namespace vergence::light_field {

namespace {

constexpr int kFlatIterations = 5;

bool usesStopRule(SolverKind kind)
{
    return kind == SolverKind::Pga || kind == SolverKind::Sirt || kind == SolverKind::Cg;
}

/// Scalars of a checkpoint: iteration, flat iterations, last loss, then θ per lane.
constexpr Index kScalars = 3 + kMaxLanes;

} // namespace

Solver::Solver(Stream& stream, std::shared_ptr<const LinearOperator> op, Targets targets,
               SolverSettings settings)
    : m_state(std::make_unique<State>(stream, std::move(op), std::move(targets), settings))
{
}

Solver::~Solver() = default;

void Solver::initialise(Stream& stream, InitMode mode, const Tensor& planes)
{
    State& s = *m_state;
    s.reset(stream);
    if (mode == InitMode::Given) {
        expects(planes.rank() == 4 && planes.extent(3) == s.lanes,
                "initialise: the planes must be [K, R, R, L]");
        s.x = s.linear->gatherPlanes(stream, planes);
        expects(s.x.size() == s.linear->unknowns() * s.lanes,
                "initialise: the planes must be [K, R, R, L]");
    } else if (mode == InitMode::MidGrey) {
        std::vector<float> grey(static_cast<std::size_t>(s.x.size()));
        for (std::size_t i = 0; i < grey.size(); ++i)
            grey[i] = static_cast<int>(i % static_cast<std::size_t>(s.lanes)) < s.targets.channels
                          ? 0.5f
                          : 0.0f;
        stream.copy(s.x.data(), grey.data(), s.x.bytes());
    }
    if (!s.z.isEmpty())
        stream.copy(s.z.data(), s.x.data(), s.x.bytes());
    stream.synchronize();
}

IterationRecord Solver::iterate(Stream& stream)
{
    State& s = *m_state;
    State::Pass pass;
    switch (s.settings.kind) {
    case SolverKind::Pga:
        pass = s.pga(stream);
        break;
    case SolverKind::Adam:
    case SolverKind::AdamW:
        pass = s.adam(stream);
        break;
    case SolverKind::Sirt:
        pass = s.sirt(stream);
        break;
    case SolverKind::OsSirt:
        pass = s.orderedSubsets(stream);
        break;
    case SolverKind::Cg:
        pass = s.cg(stream);
        break;
    }
    return s.record(pass);
}

int Solver::iteration() const
{
    return m_state->iteration;
}

bool Solver::isDone() const
{
    const State& s = *m_state;
    return s.iteration >= s.settings.iterations ||
           (usesStopRule(s.settings.kind) && s.settings.tolerance > 0 &&
            s.flatIterations >= kFlatIterations);
}

Tensor Solver::planes(Stream& stream) const
{
    const State& s = *m_state;
    if (s.settings.kind != SolverKind::Cg)
        return s.linear->expandPlanes(stream, s.x, 0.0f);
    // Conjugate gradients know no bounds; the result is projected.
    std::vector<float> values = s.x.toHost<float>(stream);
    for (float& value : values)
        value = std::clamp(value, 0.0f, 1.0f);
    return s.linear->expandPlanes(
        stream, Tensor::fromHost<float>(stream, s.x.device(), s.x.shape(), values), 0.0f);
}

const Tensor& Solver::preview() const
{
    return m_state->images;
}

Tensor Solver::seenWeight(Stream& stream) const
{
    const State& s = *m_state;
    const Tensor seen = s.linear->expandPlanes(stream, s.linear->columnSums(stream), 0.0f);
    return seen.reshaped(
        {s.linear->planes(), s.linear->panelResolution(), s.linear->panelResolution()});
}

NamedTensors Solver::state() const
{
    State& s = *m_state;
    NamedTensors tensors = s.tensors();
    std::vector<double> scalars{static_cast<double>(s.iteration),
                                static_cast<double>(s.flatIterations), s.lastLoss};
    scalars.insert(scalars.end(), s.theta.begin(), s.theta.end());
    const auto device = s.x.device();
    const auto stream = device->createStream();
    tensors.emplace_back("scalars", Tensor::fromHost<double>(*stream, device, {kScalars}, scalars));
    stream->synchronize();
    return tensors;
}

void Solver::restore(Stream& stream, const NamedTensors& tensors)
{
    State& s = *m_state;
    const auto find = [&](const std::string& name, Index size, DType type) -> const Tensor& {
        const auto found = std::find_if(tensors.begin(), tensors.end(),
                                        [&](const auto& entry) { return entry.first == name; });
        expects(found != tensors.end(),
                "The checkpoint holds no tensor " + name + "; it belongs to another solver.");
        expects(found->second.size() == size && found->second.dtype() == type,
                "The tensor " + name +
                    " of the checkpoint has another size; it belongs to another display.");
        return found->second;
    };
    for (auto& [name, own] : s.tensors()) {
        const Tensor& saved = find(name, own.size(), own.dtype());
        stream.copy(own.data(), saved.data(), own.bytes());
    }
    const auto scalars = find("scalars", kScalars, DType::F64).toHost<double>(stream);
    s.iteration = static_cast<int>(scalars[0]);
    s.flatIterations = static_cast<int>(scalars[1]);
    s.lastLoss = scalars[2];
    std::copy(scalars.begin() + 3, scalars.end(), s.theta.begin());
    stream.synchronize();
}

std::size_t Solver::allocatedBytes() const
{
    const State& s = *m_state;
    std::size_t bytes = s.linear->bytes();
    for (const Tensor* tensor :
         {&s.x, &s.z, &s.first, &s.second, &s.product, &s.images, &s.residual, &s.weights,
          &s.diagonal, &s.laplacian, &s.targets.radiance, &s.targets.depth, &s.targets.coverage,
          &s.targets.roi})
        bytes += tensor->bytes();
    for (const Tensor& diagonal : s.subsetDiagonals)
        bytes += diagonal.bytes();
    return bytes;
}

} // namespace vergence::light_field
