#include "plugins/sugar/refine/refiner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/base/clock.h"
#include "plugins/sugar/compute/learning/adam_kernels.h"

namespace vergence::sugar {

namespace {

constexpr double kThickness = 1e-6;      ///< of the extent
constexpr double kFixedOpacity = 0.9999; ///< of opaque surfaces
constexpr double kTooManyBroken = 1e-3;  ///< share of rows without a finite gradient
constexpr std::int64_t kBandSteps = 1'000;

/// One group of rows for Adam.
AdamColumns columnsOf(const Tensor& value, const Tensor& gradient, const Tensor& moment1,
                      const Tensor& moment2)
{
    if (value.isEmpty())
        return {};
    return {static_cast<int>(value.size() / value.extent(0)), gradient.flat<float>().data(),
            moment1.flat<float>().data(), moment2.flat<float>().data(), value.flat<float>().data()};
}

/// Gradients of Gaussians that share those of opacity and harmonics.
GaussianArrays gradientsSharing(Stream& stream, const std::shared_ptr<Device>& device,
                                const BoundArrays& gradient)
{
    const Index count = gradient.gaussians();
    GaussianArrays arrays;
    arrays.position = Tensor::zeros(stream, device, {count, 3});
    arrays.logScale = Tensor::zeros(stream, device, {count, 3});
    arrays.rotation = Tensor::zeros(stream, device, {count, 4});
    arrays.opacity = gradient.opacity;
    arrays.shDc = gradient.shDc;
    arrays.shRest = gradient.shRest;
    return arrays;
}

} // namespace

Refiner::Refiner(std::shared_ptr<Device> device, RefinerSettings settings,
                 std::shared_ptr<TrainingPictures> pictures, std::vector<std::size_t> learnFrom)
    : m_device(std::move(device)),
      m_settings(std::move(settings)),
      m_pictures(std::move(pictures)),
      m_order(std::move(learnFrom), m_settings.seed),
      m_rasteriser(m_device),
      m_pass(m_settings.dssim, m_settings.bandRows)
{
    expects(m_settings.steps > 0, "Refiner: there must be steps");
    expects(m_settings.extent > 0, "Refiner: the extent of the scene must be positive");
}

void Refiner::start(Stream& stream, const TriangleMesh& mesh)
{
    m_start = mesh;
    m_start.normal.clear();
    m_binding = bindToMesh(stream, m_device, m_start, m_settings.perTriangle,
                           kThickness * m_settings.extent);
    m_smoothing.reset();
    if (m_settings.smoothingWeight > 0)
        m_smoothing.emplace(stream, m_device, m_start);
    m_value = initialParameters(stream, m_binding, m_start, m_settings.degree,
                                m_settings.fixedOpacity ? kFixedOpacity : m_settings.opacity);
    const auto zeros = [&] {
        return BoundArrays::zeros(stream, m_device, m_binding.vertices(), m_binding.gaussians(),
                                  m_settings.degree);
    };
    m_gradient = zeros();
    m_moment1 = zeros();
    m_moment2 = zeros();
    m_gaussians = boundGaussians(stream, m_binding, m_value);
    m_gradGaussians = gradientsSharing(stream, m_device, m_gradient);
    m_step = 0;
}

int Refiner::degreeAt(std::int64_t step) const
{
    const std::int64_t every = m_settings.degreeEvery > 0
                                   ? m_settings.degreeEvery
                                   : std::clamp<std::int64_t>(m_settings.steps / 7, 1, kBandSteps);
    return static_cast<int>(std::min<std::int64_t>(m_settings.degree, (step - 1) / every));
}

RasterSettings Refiner::rasterSettings() const
{
    RasterSettings settings;
    settings.mip = m_settings.mip;
    settings.threeSigma = m_settings.threeSigma;
    settings.near = m_settings.near;
    settings.background = m_settings.background;
    settings.shDegree = degreeAt(std::max<std::int64_t>(1, m_step));
    return settings;
}

/// Source of the vertices' rate: SuGaR (2024), its implementation: 10 radii over the root of the
/// number of vertices take the place of the extent.
AdamStep Refiner::adamAt(std::int64_t step) const
{
    const double radius = m_settings.boxRadius > 0 ? m_settings.boxRadius : m_settings.extent;
    const double reach = 10 * radius / std::sqrt(static_cast<double>(m_binding.vertices()));
    const std::int64_t span = m_settings.rateSpan > 0 ? m_settings.rateSpan : m_settings.steps;
    AdamStep adam;
    adam.learningRate = ratesAt(m_settings.rates, reach, step, span);
    if (m_settings.fixedOpacity)
        adam.learningRate[kOpacity] = 0;
    adam.step = step;
    return adam;
}

bool Refiner::step(Stream& stream, const std::function<bool()>& stopRequested, RefineReport& report)
{
    expects(m_gaussians.count > 0, "Refiner: start() comes first");
    const double start = steadySeconds();
    const std::int64_t step = m_step + 1;
    report = {};
    report.step = step;
    const auto [number, picture] = m_pictures->next(stream, m_order, step, 0);
    report.picture = number;

    RasterSettings settings = rasterSettings();
    settings.shDegree = degreeAt(step);
    const PhotometricPass::Result pass =
        m_pass.run(stream, m_rasteriser, m_gaussians, picture, settings, false, stopRequested);
    if (pass.isStopped)
        return false;
    report.value = pass.value;
    report.lossSeconds = pass.lossSeconds;
    m_rasteriser.backward(stream, m_gaussians, pass.gradients, m_gradGaussians, nullptr);
    report.counts = m_rasteriser.counts();
    report.raster = m_rasteriser.seconds();

    const double bindingStart = steadySeconds();
    placeGaussiansBackward(stream, m_binding, m_value, m_gaussians, m_gradGaussians, m_gradient,
                           m_scratch, {m_settings.flipGuard});
    regularise(stream, report);
    if (!std::isfinite(report.loss))
        throw NumericsError(fmt::format("The loss of refinement is not finite in step {}; lower "
                                        "the learning rates or check the mesh.",
                                        step));
    m_step = step;
    update(stream, report);
    report.bindingSeconds = steadySeconds() - bindingStart;
    report.seconds = steadySeconds() - start;
    return true;
}

void Refiner::regularise(Stream& stream, RefineReport& report)
{
    report.normal = m_consistency.addGradient(stream, m_binding, m_value.vertex,
                                              m_settings.normalWeight, m_gradient.vertex);
    if (m_smoothing)
        report.smoothing = m_smoothing->addGradient(stream, m_value.vertex,
                                                    m_settings.smoothingWeight, m_gradient.vertex);
    report.loss = report.value.loss + m_settings.normalWeight * report.normal +
                  m_settings.smoothingWeight * report.smoothing;
}

/// Adam for Gaussians and vertices, and the Gaussians where they are now.
void Refiner::update(Stream& stream, RefineReport& report)
{
    AdamArguments gaussians;
    gaussians.factors = adamFactors<float>(adamAt(m_step), m_settings.extent);
    gaussians.rows = m_gaussians.count;
    const auto group = [&](AdamArguments& arguments, AdamGroup at, Tensor BoundArrays::*which) {
        arguments.group[at] =
            columnsOf(m_value.*which, m_gradient.*which, m_moment1.*which, m_moment2.*which);
    };
    group(gaussians, kLogScale, &BoundArrays::logScale);
    group(gaussians, kRotation, &BoundArrays::turn);
    group(gaussians, kOpacity, &BoundArrays::opacity);
    group(gaussians, kShDc, &BoundArrays::shDc);
    group(gaussians, kShRest, &BoundArrays::shRest);
    AdamArguments vertices;
    vertices.factors = gaussians.factors;
    vertices.rows = m_binding.vertices();
    group(vertices, kPosition, &BoundArrays::vertex);

    unsigned long long skipped = 0;
    auto* counter = static_cast<unsigned long long*>(stream.scratch(sizeof(skipped)));
    stream.fillBytes(counter, 0, sizeof(skipped));
    gaussians.skipped = vertices.skipped = counter;
    adamRows(stream, gaussians);
    adamRows(stream, vertices);
    stream.copy(&skipped, counter, sizeof(skipped));
    stream.synchronize();
    report.notFinite = static_cast<Index>(skipped);
    const Index rows = gaussians.rows + vertices.rows;
    if (static_cast<double>(report.notFinite) > kTooManyBroken * static_cast<double>(rows))
        throw NumericsError(fmt::format(
            "Gradients of {} of {} Gaussians and vertices are not finite in step {} of refinement; "
            "resume from the last checkpoint with lower learning rates.",
            report.notFinite, rows, m_step));
    placeGaussians(stream, m_binding, m_value, m_gaussians);
}

TriangleMesh Refiner::mesh(Stream& stream) const
{
    TriangleMesh mesh = m_start;
    mesh.position = m_value.vertex.toHost<float>(stream);
    return mesh;
}

std::size_t Refiner::allocatedBytes() const
{
    std::size_t bytes = m_rasteriser.allocatedBytes() + m_scratch.bytes() + m_pass.allocatedBytes();
    for (const BoundArrays* arrays : {&m_value, &m_gradient, &m_moment1, &m_moment2}) {
        for (const Tensor& tensor : arrays->groups())
            bytes += tensor.bytes();
    }
    for (const GaussianArrays* arrays : {&m_gaussians.value, &m_gradGaussians})
        bytes += arrays->position.bytes() + arrays->logScale.bytes() + arrays->rotation.bytes();
    for (const Tensor* tensor :
         {&m_binding.triangle, &m_binding.corner, &m_binding.cornerStart, &m_binding.neighbour,
          &m_binding.neighbourStart, &m_binding.initialNormal})
        bytes += tensor->bytes();
    return bytes;
}

namespace {

const char* const kGroups[] = {"vertex", "opacity", "log_scale", "turn", "sh_dc", "sh_rest"};

} // namespace

std::vector<Refiner::Named> Refiner::tensors() const
{
    std::vector<Named> all;
    const auto add = [&](const std::string& prefix, const BoundArrays& arrays) {
        const std::vector<Tensor> groups = arrays.groups();
        for (std::size_t i = 0; i < groups.size(); ++i)
            all.push_back({prefix + kGroups[i], groups[i]});
    };
    add("value.", m_value);
    add("moment1.", m_moment1);
    add("moment2.", m_moment2);
    return all;
}

void Refiner::restore(Stream& stream, const TriangleMesh& mesh, std::int64_t step,
                      const std::function<std::vector<float>(const std::string&)>& read)
{
    start(stream, mesh);
    for (const Named& named : tensors()) {
        const std::vector<float> values = read(named.name);
        if (static_cast<Index>(values.size()) != named.tensor.size())
            throw InputError(fmt::format("The checkpoint is damaged: {} has {} numbers where the "
                                         "mesh to refine asks for {}.",
                                         named.name, values.size(), named.tensor.size()));
        stream.copy(named.tensor.data(), values.data(), values.size() * sizeof(float));
    }
    placeGaussians(stream, m_binding, m_value, m_gaussians);
    m_step = step;
}

} // namespace vergence::sugar
