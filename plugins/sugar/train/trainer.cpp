#include "plugins/sugar/train/trainer.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/clock.h"
#include "core/compute/rng.h"
#include "plugins/sugar/compute/learning/over_background.h"

namespace vergence::sugar {

namespace {

constexpr std::uint64_t kBackgroundStream = 0x5347'0002;
constexpr double kTooManyBroken = 1e-3; ///< share of Gaussians without a finite gradient

bool isMcmc(const TrainerSettings& settings)
{
    return settings.density.mode == DensitySettings::Mode::Mcmc;
}

} // namespace

Trainer::Trainer(std::shared_ptr<Device> device, TrainerSettings settings,
                 std::shared_ptr<TrainingPictures> pictures, std::vector<std::size_t> learnFrom)
    : m_device(std::move(device)),
      m_settings(std::move(settings)),
      m_schedule(m_settings.schedule),
      m_pictures(std::move(pictures)),
      m_learnFrom(learnFrom),
      m_order(std::move(learnFrom), m_settings.seed),
      m_rasteriser(m_device),
      m_pass(m_settings.dssim, m_settings.bandRows)
{
}

void Trainer::start(Stream& stream, const GaussianCloud& cloud)
{
    expects(cloud.count() > 0, "Trainer: there are no Gaussians to start from");
    const Index capacity = capacityFor(cloud.count());
    Gaussians gaussians = upload(stream, m_device, cloud, capacity, m_settings.schedule.degree);
    if (m_settings.mip && gaussians.filter.isEmpty())
        gaussians.filter = Tensor::zeros(stream, m_device, {capacity});
    m_state = trained(stream, std::move(gaussians), m_settings.moments);
    m_step = 0;
    if (m_settings.mip && !m_settings.keepsFilter)
        updateFilter(stream, m_state.gaussians, filterCameras(1), m_settings.near);
}

/// Rows for so many Gaussians: a quarter more to grow into, as far as the cap.
Index Trainer::capacityFor(Index count) const
{
    return m_settings.schedule.densifyEvery > 0
               ? std::clamp(m_settings.density.cap, count, count + count / 4)
               : count;
}

/// Cameras at the resolution of the step: the filter follows the pictures that are learnt from.
std::vector<Camera> Trainer::filterCameras(std::int64_t step) const
{
    const int level = m_schedule.levelAt(step);
    std::vector<Camera> cameras;
    for (const std::size_t i : m_learnFrom) {
        const Camera& full = m_pictures->source().cameras()[i];
        cameras.push_back(level == 0 ? full
                                     : resized(full, std::max(1, full.width >> level),
                                               std::max(1, full.height >> level)));
    }
    return cameras;
}

std::array<float, 3> Trainer::backgroundAt(std::int64_t step) const
{
    if (!m_settings.randomBackground)
        return m_settings.background;
    const Rng rng(m_settings.seed, kBackgroundStream);
    const auto first = static_cast<std::uint64_t>(3 * step);
    return {rng.uniform(first), rng.uniform(first + 1), rng.uniform(first + 2)};
}

RasterSettings Trainer::rasterSettings() const
{
    RasterSettings settings;
    settings.mip = m_settings.mip;
    settings.threeSigma = m_settings.threeSigma;
    settings.near = m_settings.near;
    settings.background = m_settings.background;
    settings.shDegree = m_schedule.degreeAt(std::max<std::int64_t>(1, m_step));
    return settings;
}

AdamStep Trainer::adamAt(std::int64_t step) const
{
    AdamStep adam;
    adam.learningRate =
        ratesAt(m_settings.rates, m_settings.extent, step, m_settings.schedule.iterations);
    adam.step = step;
    adam.sparse = m_settings.sparseAdam;
    adam.largestLogScale = static_cast<float>(std::log(10 * m_settings.extent));
    return adam;
}

/// Mean opacity and scale, so that Gaussians that help nowhere fade away; MCMC only.
const GaussianArrays* Trainer::regularise(Stream& stream)
{
    if (!isMcmc(m_settings) || (m_settings.mcmcOpacity == 0 && m_settings.mcmcScale == 0))
        return nullptr;
    if (m_regularised.capacity() != m_state.capacity()) {
        m_regularised = {}; // the old ones go first
        m_regularised = GaussianArrays::zeroShapes(stream, m_device, m_state.capacity());
    }
    for (const Tensor& tensor : {m_regularised.opacity, m_regularised.logScale})
        stream.fillBytes(tensor.data(), 0, tensor.bytes());
    addRegularisers(stream, m_state.gaussians, {m_settings.mcmcOpacity, m_settings.mcmcScale},
                    m_regularised);
    return &m_regularised;
}

DensityStatistics Trainer::wantedStatistics() const
{
    DensityStatistics wanted = m_state.statistics;
    if (m_settings.density.mode == DensitySettings::Mode::Classic)
        wanted.absoluteGradient = {};
    return wanted;
}

bool Trainer::step(Stream& stream, const std::function<bool()>& stopRequested, StepReport& report)
{
    const double start = steadySeconds();
    const std::int64_t step = m_step + 1;
    report = {};
    report.step = step;
    auto [number, picture] = m_pictures->next(stream, m_order, step, m_schedule.levelAt(step));
    report.picture = number;

    RasterSettings settings = rasterSettings();
    settings.shDegree = m_schedule.degreeAt(step);
    settings.background = backgroundAt(step);
    if (!picture.transparency.isEmpty())
        picture.photo =
            overBackground(stream, picture.photo, picture.transparency, settings.background);
    const bool gathers = m_schedule.gathers(step) && !isMcmc(m_settings);
    DensityStatistics statistics = wantedStatistics();
    const PhotometricPass::Result pass =
        m_pass.run(stream, m_rasteriser, m_state.gaussians, picture, settings,
                   gathers && !statistics.absoluteGradient.isEmpty(), stopRequested);
    if (pass.isStopped)
        return false;
    report.value = pass.value;
    report.lossSeconds = pass.lossSeconds;
    if (!std::isfinite(report.value.loss))
        throw NumericsError(fmt::format("The loss (train/loss) is not finite in step {}; lower the "
                                        "learning rates or check the poses.",
                                        step));
    report.notFinite = m_rasteriser.backwardAndUpdate(
        stream, m_state.gaussians, pass.gradients, regularise(stream), m_state.moment1,
        m_state.moment2, adamAt(step), gathers ? &statistics : nullptr);
    report.counts = m_rasteriser.counts();
    report.raster = m_rasteriser.seconds();
    if (static_cast<double>(report.notFinite) >
        kTooManyBroken * static_cast<double>(m_state.count()))
        throw NumericsError(fmt::format(
            "Gradients of {} of {} Gaussians are not finite in step {}; resume from the last "
            "checkpoint with lower learning rates.",
            report.notFinite, m_state.count(), step));
    m_step = step;
    afterUpdate(stream, report);
    report.seconds = steadySeconds() - start;
    return true;
}

void Trainer::afterUpdate(Stream& stream, StepReport& report)
{
    if (isMcmc(m_settings) && !isDone())
        addNoise(stream, m_state.gaussians,
                 positionRate(m_settings.rates, m_settings.extent, static_cast<double>(m_step),
                              static_cast<double>(m_settings.schedule.iterations)),
                 m_settings.seed, m_step);
    if (m_schedule.densifies(m_step))
        densify(stream, report);
    if (m_schedule.resetsOpacity(m_step) && !isMcmc(m_settings)) {
        resetOpacity(stream, m_state);
        report.resetOpacity = true;
    }
    if (m_settings.mip && m_schedule.updatesFilter(m_step + 1))
        updateFilter(stream, m_state.gaussians, filterCameras(m_step + 1), m_settings.near);
    if (m_schedule.normalisesRotations(m_step))
        normaliseRotations(stream, m_state.gaussians);
}

void Trainer::densify(Stream& stream, StepReport& report)
{
    report.densified = true;
    report.density =
        isMcmc(m_settings)
            ? relocate(stream, m_state, m_settings.density, m_settings.seed, m_step)
            : vergence::sugar::densify(stream, m_state, m_settings.density, m_settings.extent,
                                       m_schedule.hasReset(m_step), m_settings.seed, m_step);
    if (m_state.count() == 0)
        throw NumericsError(fmt::format(
            "No Gaussian is left after pruning in step {}: opacities are reset too often, or the "
            "poses do not fit the pictures.",
            m_step));
    if (m_settings.mip)
        updateFilter(stream, m_state.gaussians, filterCameras(m_step + 1), m_settings.near);
    if (m_schedule.endsDensification(m_step))
        sortByPlace(stream, m_state);
}

std::size_t Trainer::allocatedBytes() const
{
    std::size_t bytes = m_rasteriser.allocatedBytes() + m_pass.allocatedBytes();
    for (const GaussianArrays* arrays :
         {&m_state.gaussians.value, &m_state.moment1, &m_state.moment2, &m_regularised}) {
        for (const Tensor& tensor : arrays->groups())
            bytes += tensor.bytes();
    }
    return bytes + m_state.gaussians.filter.bytes() + 4 * m_state.statistics.gradient.bytes();
}

} // namespace vergence::sugar
