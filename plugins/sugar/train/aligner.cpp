#include "plugins/sugar/train/aligner.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "core/base/clock.h"
#include "plugins/sugar/compute/alignment/depth_normal.h"
#include "plugins/sugar/compute/alignment/surface_samples.h"
#include "plugins/sugar/spatial/neighbour_cache.h"
#include "plugins/sugar/train/schedule.h"

namespace vergence::sugar {

namespace {

constexpr double kTooManyBroken = 1e-3; ///< share of Gaussians without a finite gradient
constexpr Index kFewGaussians = 1'000;
constexpr Index kKeptShare = 10; ///< where fewer are left, this part of all stays at least

void clear(Stream& stream, const GaussianArrays& arrays)
{
    for (const Tensor& tensor : {arrays.position, arrays.logScale, arrays.rotation, arrays.opacity})
        stream.fillBytes(tensor.data(), 0, tensor.bytes());
}

/// Rows of the `count` highest logits, in their order; the lower row first among equals.
std::vector<std::uint32_t> mostOpaque(const std::vector<float>& logits, Index count)
{
    std::vector<std::uint32_t> rows(logits.size());
    std::iota(rows.begin(), rows.end(), 0U);
    std::stable_sort(rows.begin(), rows.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return logits[a] > logits[b]; });
    rows.resize(static_cast<std::size_t>(count));
    std::sort(rows.begin(), rows.end());
    return rows;
}

} // namespace

struct Aligner::Impl {
    std::shared_ptr<Device> device;
    AlignerSettings settings;
    AlignmentSchedule schedule;
    std::shared_ptr<TrainingPictures> pictures;
    std::vector<std::size_t> learnFrom;
    PictureOrder order;
    Rasteriser rasteriser, halfRasteriser;
    PhotometricLoss loss;
    DepthNormalLoss depthNormal;
    SurfaceSamples samples;
    TrainedGaussians state;
    GaussianArrays gradients; ///< of the terms, without harmonics
    Tensor gradColour;
    /// [N, 3] where Gaussians were when neighbours were last asked for; empty before.
    Tensor searchedPosition;
    bool hasNeighbours = false; ///< the samples' table is that of searchedPosition
    std::int64_t step = 0;

    Impl(std::shared_ptr<Device> on, AlignerSettings with,
         std::shared_ptr<TrainingPictures> learntPictures, std::vector<std::size_t> from)
        : device(std::move(on)),
          settings(std::move(with)),
          schedule(settings.schedule),
          pictures(std::move(learntPictures)),
          learnFrom(from),
          order(std::move(from), settings.seed),
          rasteriser(device),
          halfRasteriser(device),
          loss(settings.dssim),
          depthNormal(settings.dnMode),
          samples(device)
    {
    }

    void take(Stream& stream, Gaussians gaussians);
    bool findNeighbours(Stream& stream, const std::function<bool()>& stopRequested,
                        AlignmentReport& report);
    bool addDepthNormal(Stream& stream, const TrainingPicture& picture, double weight,
                        const std::function<bool()>& stopRequested, RasterImageGradients& image,
                        AlignmentReport& report);
    bool addTerms(Stream& stream, const TrainingPicture& picture, const RasterImages& images,
                  const std::function<bool()>& stopRequested, AlignmentReport& report);
    void update(Stream& stream, const RasterImageGradients& image, AlignmentReport& report);
    void afterUpdate(Stream& stream, AlignmentReport& report);
    void prune(Stream& stream, AlignmentReport& report);
    bool hasDepthNormal() const
    {
        return settings.mode == AlignerSettings::Mode::DepthNormal && settings.dnFactor != 0 &&
               schedule.depthNormalWeight(step) > 0;
    }
    bool hasSamples() const
    {
        return settings.samples > 0 && (settings.factor != 0 || settings.normalFactor != 0) &&
               schedule.samplesWeight(step) > 0;
    }
    bool hasEntropy() const { return settings.entropy != 0 && schedule.hasEntropy(step); }
    RasterSettings rasterSettings() const;
};

void Aligner::Impl::take(Stream& stream, Gaussians gaussians)
{
    state = trained(stream, std::move(gaussians), settings.moments);
    gradients = GaussianArrays::zeroShapes(stream, device, state.capacity());
    searchedPosition = Tensor();
    hasNeighbours = false;
}

RasterSettings Aligner::Impl::rasterSettings() const
{
    RasterSettings raster;
    raster.mip = settings.mip;
    raster.threeSigma = settings.threeSigma;
    raster.near = settings.near;
    raster.background = settings.background;
    raster.shDegree = settings.shDegree;
    return raster;
}

/// The table that the samples of this step need; false where told to stop.
bool Aligner::Impl::findNeighbours(Stream& stream, const std::function<bool()>& stopRequested,
                                   AlignmentReport& report)
{
    if (hasNeighbours)
        return true;
    const double start = steadySeconds();
    const std::vector<float> position = searchedPosition.toHost<float>(stream);
    const NeighbourTable table =
        settings.cacheFolder.empty()
            ? nearestNeighbours(position, settings.knn, stopRequested)
            : cachedNeighbours(settings.cacheFolder, position, settings.knn, stopRequested);
    if (table.count == 0)
        return false;
    samples.setNeighbours(stream, table.index, table.count, table.k, table.valid);
    hasNeighbours = true;
    report.searchedNeighbours = true;
    report.neighbourSeconds = steadySeconds() - start;
    return true;
}

/// Depth against normals of a picture at half the size; its gradients become those of the terms.
/// False where told to stop.
bool Aligner::Impl::addDepthNormal(Stream& stream, const TrainingPicture& picture, double weight,
                                   const std::function<bool()>& stopRequested,
                                   RasterImageGradients& image, AlignmentReport& report)
{
    RasterSettings raster = rasterSettings();
    raster.geometry = true;
    const Camera half = resized(picture.camera, std::max(1, picture.camera.width / 2),
                                std::max(1, picture.camera.height / 2));
    halfRasteriser.setStop(stopRequested);
    const RasterImages& images = halfRasteriser.render(stream, state.gaussians, half, raster, true);
    if (stopRequested && stopRequested())
        return false;
    halfRasteriser.setStop({});
    report.depthNormal = depthNormal.evaluate(stream, half, images, weight, image).mean;
    halfRasteriser.backward(stream, state.gaussians, image, gradients, nullptr);
    image = {};
    return true;
}

/// Entropy and samples of the field; false where told to stop.
bool Aligner::Impl::addTerms(Stream& stream, const TrainingPicture& picture,
                             const RasterImages& images, const std::function<bool()>& stopRequested,
                             AlignmentReport& report)
{
    const Tensor visible = rasteriser.visibleList();
    if (hasEntropy())
        report.entropy =
            addOpacityEntropy(stream, state.gaussians, visible, settings.entropy, gradients);
    if (!hasSamples())
        return true;
    const double weight = schedule.samplesWeight(step);
    SampleSettings sampling;
    sampling.samples = settings.samples;
    sampling.isDistance = settings.mode == AlignerSettings::Mode::Sdf;
    sampling.isDetached = settings.detachSamples;
    sampling.useFilter = settings.useFilter && !state.gaussians.filter.isEmpty();
    sampling.weight = weight * settings.factor;
    sampling.normalWeight = weight * settings.normalFactor;
    sampling.extent = settings.extent;
    sampling.seed = settings.seed;
    sampling.step = step;
    const SampledView view{visible, picture.camera, settings.near, images.depth,
                           images.transmittance};
    const SampleValues values =
        samples.add(stream, state.gaussians, view, sampling, gradients, stopRequested);
    report.samples = values.samples;
    if (values.samples > 0 && !values.isStopped) {
        (sampling.isDistance ? report.sdf : report.density) = values.field;
        report.betterNormal = values.normal;
    }
    return !values.isStopped;
}

void Aligner::Impl::update(Stream& stream, const RasterImageGradients& image,
                           AlignmentReport& report)
{
    AdamStep adam;
    // s runs to the number of steps, so the first step has the whole rate.
    adam.learningRate = ratesAt(settings.rates, settings.extent, step, settings.schedule.steps);
    adam.step = step + 1;
    adam.sparse = settings.sparseAdam;
    adam.keepsExtra = true;
    adam.largestLogScale = static_cast<float>(std::log(10 * settings.extent));
    const bool hasTerms = report.entropy || report.samples > 0 || report.depthNormal;
    report.notFinite = rasteriser.backwardAndUpdate(stream, state.gaussians, image,
                                                    hasTerms ? &gradients : nullptr, state.moment1,
                                                    state.moment2, adam, nullptr);
    if (static_cast<double>(report.notFinite) > kTooManyBroken * static_cast<double>(state.count()))
        throw NumericsError(fmt::format(
            "Gradients of {} of {} Gaussians are not finite in step {} of the alignment; resume "
            "from the last checkpoint with lower learning rates.",
            report.notFinite, state.count(), report.step));
}

/// Faint Gaussians go. Where hardly any are opaque, the most opaque tenth of all stays.
void Aligner::Impl::prune(Stream& stream, AlignmentReport& report)
{
    const Index before = state.count();
    const std::vector<float> logits =
        state.gaussians.value.opacity.narrow(0, 0, before).toHost<float>(stream);
    const double limit = settings.pruneOpacity;
    const auto opaque =
        static_cast<Index>(std::count_if(logits.begin(), logits.end(), [&](float logit) {
            return 1 / (1 + std::exp(-static_cast<double>(logit))) >= limit;
        }));
    const Index least = (before + kKeptShare - 1) / kKeptShare;
    report.pruned = true;
    report.keptFaint = opaque < std::min(kFewGaussians, least);
    if (report.keptFaint) {
        const std::vector<std::uint32_t> rows = mostOpaque(logits, least);
        rearrange(stream, state, rows, std::vector<std::uint8_t>(rows.size(), 0));
    } else {
        pruneByOpacity(stream, state, limit);
    }
    report.prunedCount = before - state.count();
}

void Aligner::Impl::afterUpdate(Stream& stream, AlignmentReport& report)
{
    if (schedule.prunes(step))
        prune(stream, report);
    if (schedule.refreshesNeighbours(step)) {
        searchedPosition = state.gaussians.value.position.narrow(0, 0, state.count()).clone(stream);
        hasNeighbours = false;
    }
    if (schedule.normalisesRotations(step))
        normaliseRotations(stream, state.gaussians);
}

Aligner::Aligner(std::shared_ptr<Device> device, AlignerSettings settings,
                 std::shared_ptr<TrainingPictures> pictures, std::vector<std::size_t> learnFrom)
{
    expects(settings.knn >= 2 && settings.knn <= 32, "Aligner: 2 to 32 neighbours are needed");
    expects(settings.extent > 0, "Aligner: the extent of the scene must be positive");
    expects(settings.pruneOpacity >= 0 && settings.pruneOpacity < 1,
            "Aligner: the opacity to prune by must lie in [0, 1)");
    m_impl = std::make_unique<Impl>(std::move(device), std::move(settings), std::move(pictures),
                                    std::move(learnFrom));
}
Aligner::~Aligner() = default;
Aligner::Aligner(Aligner&&) noexcept = default;
Aligner& Aligner::operator=(Aligner&&) noexcept = default;

void Aligner::start(Stream& stream, const GaussianCloud& cloud)
{
    expects(cloud.count() > 0, "Aligner: there are no Gaussians to start from");
    Impl& impl = *m_impl;
    const AlignerSettings& settings = impl.settings;
    Gaussians gaussians = upload(stream, impl.device, cloud, cloud.count(), settings.shDegree);
    if (!settings.mip)
        gaussians.filter = Tensor();
    else if (gaussians.filter.isEmpty())
        gaussians.filter = Tensor::zeros(stream, impl.device, {cloud.count()});
    impl.take(stream, std::move(gaussians));
    impl.step = 0;
    if (!settings.mip || settings.keepsFilter)
        return;
    std::vector<Camera> cameras;
    for (const std::size_t i : impl.learnFrom)
        cameras.push_back(impl.pictures->source().cameras()[i]);
    updateFilter(stream, impl.state.gaussians, cameras, settings.near);
}

bool Aligner::step(Stream& stream, const std::function<bool()>& stopRequested,
                   AlignmentReport& report)
{
    Impl& impl = *m_impl;
    const double start = steadySeconds();
    report = {};
    report.step = impl.step + 1;
    const auto [number, picture] = impl.pictures->next(stream, impl.order, report.step, 0);
    report.picture = number;
    if (impl.hasSamples() && !impl.findNeighbours(stream, stopRequested, report))
        return false;

    const AlignerSettings& settings = impl.settings;
    const bool hasDepthNormal = impl.hasDepthNormal();
    const bool isDistance = settings.mode == AlignerSettings::Mode::Sdf && impl.hasSamples();
    RasterSettings raster = rasterSettings();
    raster.geometry = isDistance || (hasDepthNormal && !settings.dnHalf);
    impl.rasteriser.setStop(stopRequested);
    const RasterImages& images =
        impl.rasteriser.render(stream, impl.state.gaussians, picture.camera, raster, true);
    if (stopRequested && stopRequested())
        return false;
    impl.rasteriser.setStop({});

    if (impl.gradColour.shape() != images.colour.shape())
        impl.gradColour = Tensor::empty(impl.device, images.colour.shape());
    const double lossStart = steadySeconds();
    report.value =
        impl.loss.evaluate(stream, images.colour, picture.photo, picture.mask, impl.gradColour);
    const double termStart = steadySeconds();
    report.lossSeconds = termStart - lossStart;
    if (!std::isfinite(report.value.loss))
        throw NumericsError(fmt::format("The loss is not finite in step {} of the alignment; lower "
                                        "the learning rates or check the poses.",
                                        report.step));
    clear(stream, impl.gradients);
    RasterImageGradients image;
    const double dnWeight = settings.dnFactor * impl.schedule.depthNormalWeight(impl.step);
    if (hasDepthNormal && settings.dnHalf) {
        if (!impl.addDepthNormal(stream, picture, dnWeight, stopRequested, image, report))
            return false;
    } else if (hasDepthNormal) {
        report.depthNormal =
            impl.depthNormal.evaluate(stream, picture.camera, images, dnWeight, image).mean;
    }
    if (!impl.addTerms(stream, picture, images, stopRequested, report))
        return false;
    report.termSeconds = steadySeconds() - termStart;
    image.colour = impl.gradColour;
    impl.update(stream, image, report);
    report.counts = impl.rasteriser.counts();
    report.raster = impl.rasteriser.seconds();
    impl.afterUpdate(stream, report);
    ++impl.step;
    report.seconds = steadySeconds() - start;
    return true;
}

std::int64_t Aligner::stepsDone() const
{
    return m_impl->step;
}

const AlignerSettings& Aligner::settings() const
{
    return m_impl->settings;
}

const TrainedGaussians& Aligner::state() const
{
    return m_impl->state;
}

RasterSettings Aligner::rasterSettings() const
{
    return m_impl->rasterSettings();
}

std::size_t Aligner::allocatedBytes() const
{
    const Impl& impl = *m_impl;
    std::size_t bytes = impl.rasteriser.allocatedBytes() + impl.halfRasteriser.allocatedBytes() +
                        impl.depthNormal.allocatedBytes() + impl.samples.allocatedBytes() +
                        impl.gradColour.bytes() + impl.searchedPosition.bytes();
    for (const GaussianArrays* arrays :
         {&impl.state.gaussians.value, &impl.state.moment1, &impl.state.moment2, &impl.gradients}) {
        for (const Tensor& tensor : arrays->groups())
            bytes += tensor.bytes();
    }
    return bytes + impl.state.gaussians.filter.bytes() + 4 * impl.state.statistics.gradient.bytes();
}

std::vector<Aligner::Named> Aligner::tensors() const
{
    const TrainedGaussians& state = m_impl->state;
    const Index count = state.count();
    std::vector<Named> all;
    addNamed(all, "value.", state.gaussians.value, count);
    addNamed(all, "moment1.", state.moment1, count);
    addNamed(all, "moment2.", state.moment2, count);
    if (!state.gaussians.filter.isEmpty())
        addNamed(all, "filter", state.gaussians.filter, count);
    if (!m_impl->searchedPosition.isEmpty())
        addNamed(all, "neighbours.position", m_impl->searchedPosition, count);
    return all;
}

void Aligner::restore(Stream& stream, std::int64_t step, Index count, int degree,
                      const NamedReader& read)
{
    expects(count > 0, "Aligner: a checkpoint without Gaussians cannot be resumed");
    Impl& impl = *m_impl;
    Gaussians gaussians;
    gaussians.count = count;
    gaussians.value = GaussianArrays::zeros(stream, impl.device, count, degree);
    if (impl.settings.mip)
        gaussians.filter = Tensor::zeros(stream, impl.device, {count});
    impl.take(stream, std::move(gaussians));
    readNamed(stream, impl.state.gaussians.value, count, "value.", read);
    readNamed(stream, impl.state.moment1, count, "moment1.", read);
    readNamed(stream, impl.state.moment2, count, "moment2.", read);
    if (impl.settings.mip)
        readNamed(stream, impl.state.gaussians.filter, count, "filter", read);
    if (step > impl.settings.schedule.phase1) {
        impl.searchedPosition = Tensor::zeros(stream, impl.device, {count, 3});
        readNamed(stream, impl.searchedPosition, count, "neighbours.position", read);
    }
    impl.step = step;
}

} // namespace vergence::sugar
