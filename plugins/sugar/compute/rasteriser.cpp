#include "plugins/sugar/compute/rasteriser.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/base/error.h"
#include "plugins/sugar/compute/camera_view.h"
#include "plugins/sugar/compute/device_buffer.h"
#include "plugins/sugar/compute/raster_kernels.h"

namespace vergence::sugar {

namespace {

/// Adds the time since it was made to a stage.
class StageClock {
public:
    explicit StageClock(double& seconds)
        : m_seconds(seconds),
          m_start(std::chrono::steady_clock::now())
    {
    }
    ~StageClock()
    {
        m_seconds +=
            std::chrono::duration<double>(std::chrono::steady_clock::now() - m_start).count();
    }
    StageClock(const StageClock&) = delete;
    StageClock& operator=(const StageClock&) = delete;

private:
    double& m_seconds;
    std::chrono::steady_clock::time_point m_start;
};

template <class T>
GaussianPointers<T> pointersOf(const GaussianArrays& arrays)
{
    GaussianPointers<T> to;
    to.position = static_cast<T*>(arrays.position.data());
    to.logScale = static_cast<T*>(arrays.logScale.data());
    to.rotation = static_cast<T*>(arrays.rotation.data());
    to.opacity = static_cast<T*>(arrays.opacity.data());
    to.shDc = static_cast<T*>(arrays.shDc.data());
    to.shRest = static_cast<T*>(arrays.shRest.data());
    return to;
}

const float* floatsOf(const Tensor& tensor, Index size, const char* what)
{
    if (tensor.isEmpty())
        return nullptr;
    expects(tensor.size() == size && tensor.dtype() == DType::F32 && tensor.isContiguous(), what);
    return static_cast<const float*>(tensor.data());
}

float* sumsOf(const Tensor& tensor)
{
    return tensor.isEmpty() ? nullptr : static_cast<float*>(tensor.data());
}

void expectSameLayout(const GaussianArrays& a, const GaussianArrays& b, const char* what)
{
    expects(a.capacity() == b.capacity() && a.shRest.size() == b.shRest.size(), what);
}

/// Of gradients, whose harmonics may be missing.
void expectGradientLayout(const GaussianArrays& values, const GaussianArrays& gradients,
                          const char* what)
{
    const auto fits = [](const Tensor& a, const Tensor& b) {
        return b.isEmpty() || a.size() == b.size();
    };
    expects(values.capacity() == gradients.capacity() && fits(values.shDc, gradients.shDc) &&
                fits(values.shRest, gradients.shRest),
            what);
}

/// Entries of tile lists that are blended between two looks at the stop callback.
constexpr std::uint32_t kEntriesPerSlice = 1U << 20;
constexpr Index kGaussiansPerSlice = Index{1} << 19;

} // namespace

struct Rasteriser::Impl {
    std::shared_ptr<Device> device;
    std::function<bool()> stopRequested;

    // Per Gaussian.
    Buffer<Splat> splats;
    Buffer<SplatRecord> sums;   ///< over bands
    Buffer<std::uint32_t> seen; ///< 1 where a band showed it
    Buffer<TileBox> boxes;
    Buffer<std::uint32_t> keys, counts, slots, order, scratch;
    Buffer<std::uint64_t> masks;
    Buffer<std::uint8_t> visible;
    Tensor visibleTensor;
    // Per entry of a tile list.
    Buffer<std::uint32_t> gaussians, entrySlots;
    Buffer<std::uint64_t> reached;
    Buffer<SplatRecord> records;
    // Per tile and pixel.
    Buffer<std::uint32_t> starts, tileOrder;
    Buffer<std::int32_t> last;
    Buffer<Index> evaluations, skipped;
    Buffer<float> colour, transmittance, depth, normal;
    Buffer<std::int32_t> contributors;

    RasterView view;
    RasterTotals totals;
    BlendArguments blend;
    RasterImages images;
    RasterCounts counted;
    RasterSeconds seconds;
    bool isStopped = false, canGoBack = false;
    bool isSummed = false;  ///< the pixels' backward pass is done: `sums` has its results
    Index gaussianRoom = 0; ///< rows of the Gaussians' arrays: buffers beside them have as many

    bool stop()
    {
        isStopped = isStopped || (stopRequested && stopRequested());
        return isStopped;
    }
    /// Lists of entries differ from picture to picture: they leave room to grow.
    Index entryRoom() const { return totals.instances + totals.instances / 4; }
    Index tiles() const { return static_cast<Index>(view.tilesX) * (view.lastRow - view.firstRow); }
    /// Rows of the images: of the picture, or of a band.
    Index rows() const
    {
        return std::min<Index>(view.camera.height, static_cast<Index>(view.lastRow) * kTile) -
               static_cast<Index>(view.firstRow) * kTile;
    }

    void look(const Gaussians& from, const Camera& camera, const RasterSettings& settings);
    void begin();
    void renderRows(Stream& stream, const RasterSettings& settings, bool keep);
    void renderInBands(Stream& stream, const RasterSettings& settings, const RasterBands& bands,
                       const BandLoss& loss);
    void sumBand(Stream& stream);
    void project(Stream& stream);
    void sort(Stream& stream, bool keep);
    void blendAll(Stream& stream, const RasterSettings& settings, bool keep);
    void shapeImages(bool geometry);
    template <class Run>
    void forEachSlice(const Run& run);
    bool blendBackward(Stream& stream, const RasterImageGradients& image, bool absolute);
    bool goBack(Stream& stream, const RasterImageGradients& image,
                const DensityStatistics* statistics);
    GaussianBackwardArguments backwardArguments(const Gaussians& from,
                                                const DensityStatistics* statistics) const;
    std::size_t bytes() const;
};

void Rasteriser::Impl::look(const Gaussians& from, const Camera& camera,
                            const RasterSettings& settings)
{
    expects(from.count <= from.value.capacity(), "render: more Gaussians than rows");
    expects(from.count == 0 || from.device() == device,
            "render: the Gaussians lie on another device");
    expects(camera.width > 0 && camera.height > 0 && camera.fx > 0 && camera.fy > 0,
            "render: the camera's size and focal lengths must be positive");
    expects(settings.shDegree >= 0, "render: the degree must not be negative");
    expects(settings.near > 0 && settings.far > settings.near, "render: 0 < near < far must hold");
    view = {};
    view.values = pointersOf<const float>(from.value);
    view.filter = from.filter.isEmpty() ? nullptr : static_cast<const float*>(from.filter.data());
    view.count = from.count;
    gaussianRoom = from.value.capacity();
    view.restCount = restCoefficients(from.value.degree());
    view.shDegree = std::min(settings.shDegree, from.value.degree());
    view.camera = cameraView<float>(camera, static_cast<double>(settings.near),
                                    static_cast<double>(settings.far));
    view.threeSigma = settings.threeSigma;
    view.blur = screenFilter<float>(settings.mip);
    view.tilesX = (camera.width + kTile - 1) / kTile;
    view.lastRow = (camera.height + kTile - 1) / kTile;
    expects(view.tilesX < 65536 && view.lastRow < 65536, "render: the picture is too large");
}

void Rasteriser::Impl::project(Stream& stream)
{
    const StageClock clock(seconds.project);
    const Index n = view.count;
    ProjectArguments a;
    a.view = view;
    a.splats = splats.reserve(device, n, gaussianRoom);
    a.boxes = boxes.reserve(device, n, gaussianRoom);
    a.keys = keys.reserve(device, n, gaussianRoom);
    a.counts = counts.reserve(device, n, gaussianRoom);
    a.masks = device->isCpu() ? masks.reserve(device, n, gaussianRoom) : nullptr;
    a.visible = visible.reserve(device, n, gaussianRoom);
    for (a.first = 0; a.first < n && !stop(); a.first = a.last) {
        a.last = device->isCpu() ? std::min(n, a.first + kGaussiansPerSlice) : n;
        projectGaussians(stream, a);
    }
}

void Rasteriser::Impl::sort(Stream& stream, bool keep)
{
    const StageClock clock(seconds.sort);
    const Index n = view.count;
    OrderArguments byDepth;
    byDepth.count = n;
    byDepth.keys = keys.data();
    byDepth.counts = counts.data();
    byDepth.slots = slots.reserve(device, n, gaussianRoom);
    byDepth.order = order.reserve(device, n, gaussianRoom);
    byDepth.scratch = scratch.reserve(device, 4 * n, 4 * gaussianRoom);
    byDepth.totals = &totals;
    orderGaussians(stream, byDepth);
    expects(totals.instances < Index{1} << 32, "render: more than 2^32 entries in tile lists");
    if (stop())
        return;
    ListArguments list;
    list.totals = totals;
    list.tilesX = view.tilesX;
    list.firstRow = view.firstRow;
    list.lastRow = view.lastRow;
    list.order = byDepth.order;
    list.slots = byDepth.slots;
    list.counts = byDepth.counts;
    list.splats = splats.data();
    list.boxes = boxes.data();
    list.masks = masks.data();
    list.starts = starts.reserve(device, tiles() + 1);
    list.gaussians = gaussians.reserve(device, totals.instances, entryRoom());
    list.entrySlots = keep ? entrySlots.reserve(device, totals.instances, entryRoom()) : nullptr;
    list.tileOrder = tileOrder.reserve(device, tiles());
    listTiles(stream, list);
}

void Rasteriser::Impl::shapeImages(bool geometry)
{
    const Index h = rows(), w = view.camera.width, pixels = h * w;
    BlendImages& to = blend.images;
    to.colour = colour.reserve(device, 3 * pixels);
    to.transmittance = transmittance.reserve(device, pixels);
    to.contributors = contributors.reserve(device, pixels);
    to.depth = geometry ? depth.reserve(device, pixels) : nullptr;
    to.normal = geometry ? normal.reserve(device, 3 * pixels) : nullptr;
    images.colour = colour.as({3, h, w}, DType::F32);
    images.transmittance = transmittance.as({h, w}, DType::F32);
    images.contributors = contributors.as({h, w}, DType::I32);
    images.depth = geometry ? depth.as({h, w}, DType::F32) : Tensor();
    images.normal = geometry ? normal.as({3, h, w}, DType::F32) : Tensor();
}

/// Calls run(first, last) for runs of tiles with a bounded number of entries, until told to stop.
template <class Run>
void Rasteriser::Impl::forEachSlice(const Run& run)
{
    if (!device->isCpu())
        return run(Index{0}, tiles());
    Index first = 0;
    while (first < tiles() && !stop()) {
        std::uint32_t entries = 0;
        Index end = first;
        while (end < tiles() && (end == first || entries < kEntriesPerSlice)) {
            const std::uint32_t tile = tileOrder.data()[end++];
            entries += starts.data()[tile + 1] - starts.data()[tile];
        }
        run(first, end);
        first = end;
    }
}

void Rasteriser::Impl::blendAll(Stream& stream, const RasterSettings& settings, bool keep)
{
    const StageClock clock(seconds.blend);
    blend.width = view.camera.width;
    blend.height = static_cast<int>(rows());
    blend.tilesX = view.tilesX;
    blend.firstRow = view.firstRow;
    blend.starts = starts.data();
    blend.tileOrder = tileOrder.data();
    blend.gaussians = gaussians.data();
    blend.splats = splats.data();
    std::copy(settings.background.begin(), settings.background.end(), blend.background);
    blend.reached =
        keep && device->isCpu() ? reached.reserve(device, totals.instances, entryRoom()) : nullptr;
    blend.last = keep ? last.reserve(device, tiles() * kTilePixels) : nullptr;
    blend.evaluations = device->isCpu() ? evaluations.reserve(device, 2 * tiles()) : nullptr;
    forEachSlice([&](Index from, Index to) {
        blend.firstTile = from;
        blend.lastTile = to;
        blendTiles(stream, blend);
    });
}

void Rasteriser::Impl::begin()
{
    isStopped = canGoBack = isSummed = false;
    counted = {};
    totals = {};
    seconds = {};
}

/// Images of the rows that the view names.
void Rasteriser::Impl::renderRows(Stream& stream, const RasterSettings& settings, bool keep)
{
    blend = {};
    shapeImages(settings.geometry);
    project(stream);
    visibleTensor = visible.as({view.count}, DType::U8);
    if (!isStopped)
        sort(stream, keep);
    if (!isStopped)
        blendAll(stream, settings, keep);
    if (isStopped)
        return;
    canGoBack = keep;
    counted.visible = totals.visible;
    counted.instances += totals.instances;
    for (Index tile = 0; blend.evaluations && tile < tiles(); ++tile) {
        counted.evaluations += blend.evaluations[2 * tile];
        counted.lanes += blend.evaluations[2 * tile + 1];
    }
}

void Rasteriser::Impl::renderInBands(Stream& stream, const RasterSettings& settings,
                                     const RasterBands& bands, const BandLoss& loss)
{
    const auto tileRows = [](Index pixels) {
        return static_cast<int>((pixels + kTile - 1) / kTile);
    };
    const int all = view.lastRow, step = tileRows(bands.rows), halo = tileRows(bands.halo);
    stream.fillBytes(sums.reserve(device, view.count, gaussianRoom), 0,
                     static_cast<std::size_t>(view.count) * sizeof(SplatRecord));
    stream.fillBytes(seen.reserve(device, view.count, gaussianRoom), 0,
                     static_cast<std::size_t>(view.count) * sizeof(std::uint32_t));
    for (int first = 0; first < all; first += step) {
        const int end = std::min(first + step, all);
        view.firstRow = std::max(first - halo, 0);
        view.lastRow = std::min(end + halo, all);
        renderRows(stream, settings, true);
        if (isStopped)
            return;
        const RasterBand band{static_cast<Index>(view.firstRow) * kTile,
                              static_cast<Index>(first) * kTile,
                              std::min<Index>(static_cast<Index>(end) * kTile, view.camera.height)};
        if (!blendBackward(stream, loss(images, band), bands.absolute))
            return;
        sumBand(stream);
    }
    view.firstRow = 0;
    isSummed = true;
}

/// Adds the records of a band to what those above it left.
void Rasteriser::Impl::sumBand(Stream& stream)
{
    const StageClock clock(seconds.gaussianBackward);
    RecordSumArguments a;
    a.count = view.count;
    a.counts = counts.data();
    a.slots = slots.data();
    a.records = records.data();
    a.sums = sums.data();
    a.seen = seen.data();
    a.visible = visible.data();
    a.visibleCount = &counted.visible;
    sumRecords(stream, a);
}

/// Records of all entries; false where told to stop.
bool Rasteriser::Impl::blendBackward(Stream& stream, const RasterImageGradients& image,
                                     bool absolute)
{
    const StageClock clock(seconds.blendBackward);
    const Index pixels = rows() * view.camera.width;
    BlendBackwardArguments a;
    a.forward = blend;
    a.gradColour = floatsOf(image.colour, 3 * pixels, "backward: colour must be [3, H, W] F32");
    a.gradCoverage = floatsOf(image.coverage, pixels, "backward: coverage must be [H, W] F32");
    a.gradDepth = floatsOf(image.depth, pixels, "backward: depth must be [H, W] F32");
    a.gradNormal = floatsOf(image.normal, 3 * pixels, "backward: normal must be [3, H, W] F32");
    expects(blend.images.depth || (!a.gradDepth && !a.gradNormal),
            "backward: the picture was rendered without geometry");
    a.entrySlots = entrySlots.data();
    a.records = records.reserve(device, totals.instances, entryRoom());
    a.instances = totals.instances;
    a.absolute = absolute;
    forEachSlice([&](Index from, Index to) {
        a.forward.firstTile = from;
        a.forward.lastTile = to;
        blendTilesBackward(stream, a);
    });
    return !isStopped;
}

/// Records of the last picture, unless its bands have them summed already; false where told to
/// stop.
bool Rasteriser::Impl::goBack(Stream& stream, const RasterImageGradients& image,
                              const DensityStatistics* statistics)
{
    if (!isSummed)
        return blendBackward(stream, image, statistics && !statistics->absoluteGradient.isEmpty());
    expects(image.colour.isEmpty() && image.coverage.isEmpty() && image.depth.isEmpty() &&
                image.normal.isEmpty(),
            "backward: the bands' gradients were taken already");
    return true;
}

GaussianBackwardArguments
Rasteriser::Impl::backwardArguments(const Gaussians& from,
                                    const DensityStatistics* statistics) const
{
    expects(from.count == view.count && from.value.position.data() == view.values.position,
            "backward: these are not the Gaussians of the last picture");
    GaussianBackwardArguments a;
    a.view = view;
    a.last = view.count;
    a.boxes = boxes.data();
    a.counts = isSummed ? seen.data() : counts.data();
    a.slots = isSummed ? nullptr : slots.data();
    a.records = isSummed ? sums.data() : records.data();
    if (statistics) {
        expects(statistics->gradient.size() >= view.count &&
                    statistics->visible.size() >= view.count &&
                    statistics->radius.size() >= view.count,
                "backward: the statistics have fewer rows than there are Gaussians");
        a.statistics = {sumsOf(statistics->gradient), sumsOf(statistics->absoluteGradient),
                        sumsOf(statistics->visible), sumsOf(statistics->radius)};
    }
    return a;
}

std::size_t Rasteriser::Impl::bytes() const
{
    std::size_t sum = 0;
    const auto add = [&](const auto&... buffer) { sum += (buffer.bytes() + ...); };
    add(sums, seen, splats, boxes, keys, counts, slots, order, scratch, masks, visible);
    add(gaussians, entrySlots, reached, records, starts, tileOrder, last);
    add(evaluations, skipped, colour, transmittance, depth, normal, contributors);
    return sum;
}

Rasteriser::Rasteriser(std::shared_ptr<Device> device) : m_impl(std::make_unique<Impl>())
{
    expects(device != nullptr, "Rasteriser: a device is needed");
    m_impl->device = std::move(device);
}
Rasteriser::~Rasteriser() = default;
Rasteriser::Rasteriser(Rasteriser&&) noexcept = default;
Rasteriser& Rasteriser::operator=(Rasteriser&&) noexcept = default;

void Rasteriser::setStop(std::function<bool()> stopRequested)
{
    m_impl->stopRequested = std::move(stopRequested);
}

const RasterImages& Rasteriser::render(Stream& stream, const Gaussians& gaussians,
                                       const Camera& camera, const RasterSettings& settings,
                                       bool keepForBackward)
{
    m_impl->look(gaussians, camera, settings);
    m_impl->begin();
    m_impl->renderRows(stream, settings, keepForBackward);
    return m_impl->images;
}

Tensor Rasteriser::depthPicture(Stream& stream, Depth kind)
{
    Impl& d = *m_impl;
    expects(d.blend.images.colour && d.blend.firstRow == 0 && d.rows() == d.view.camera.height &&
                !d.isSummed,
            "depthPicture: render a picture first");
    Tensor depth = Tensor::zeros(stream, d.device, {d.view.camera.height, d.view.camera.width});
    if (d.isStopped || d.view.count == 0)
        return depth;
    PixelDepthArguments a;
    a.blend = d.blend;
    a.camera = d.view.camera;
    a.depth = static_cast<float*>(depth.data());
    Buffer<RayGaussian> gaussians;
    if (kind == Depth::Ray) {
        RayGaussianArguments form;
        form.view = d.view;
        form.counts = d.counts.data();
        form.gaussians = gaussians.reserve(d.device, d.view.count);
        formRayGaussians(stream, form);
        a.gaussians = form.gaussians;
    }
    pixelDepth(stream, a);
    stream.synchronize(); // what was formed for the rays must outlive the kernel
    return depth;
}

void Rasteriser::renderInBands(Stream& stream, const Gaussians& gaussians, const Camera& camera,
                               const RasterSettings& settings, const RasterBands& bands,
                               const BandLoss& loss)
{
    expects(bands.rows > 0 && bands.halo >= 0, "renderInBands: a band must have rows");
    m_impl->look(gaussians, camera, settings);
    m_impl->begin();
    m_impl->renderInBands(stream, settings, bands, loss);
}

void Rasteriser::backward(Stream& stream, const Gaussians& gaussians,
                          const RasterImageGradients& image, GaussianArrays& gradients,
                          DensityStatistics* statistics)
{
    if (m_impl->isStopped)
        return;
    expects(m_impl->canGoBack, "backward: render with keepForBackward first");
    expectGradientLayout(gaussians.value, gradients, "backward: gradients of another layout");
    if (!m_impl->goBack(stream, image, statistics))
        return;
    const StageClock clock(m_impl->seconds.gaussianBackward);
    GaussianBackwardArguments a = m_impl->backwardArguments(gaussians, statistics);
    a.gradients = pointersOf<float>(gradients);
    gaussianBackward(stream, a);
}

Index Rasteriser::backwardAndUpdate(Stream& stream, Gaussians& gaussians,
                                    const RasterImageGradients& image, const GaussianArrays* extra,
                                    GaussianArrays& moment1, GaussianArrays& moment2,
                                    const AdamStep& adam, DensityStatistics* statistics)
{
    Impl& impl = *m_impl;
    if (impl.isStopped)
        return 0;
    expects(impl.canGoBack, "backwardAndUpdate: render with keepForBackward first");
    expects(adam.step >= 1, "backwardAndUpdate: steps count from 1");
    expectSameLayout(gaussians.value, moment1, "backwardAndUpdate: moments of another layout");
    expectSameLayout(gaussians.value, moment2, "backwardAndUpdate: moments of another layout");
    if (extra)
        expectGradientLayout(gaussians.value, *extra,
                             "backwardAndUpdate: gradients of another layout");
    if (!impl.goBack(stream, image, statistics))
        return 0;
    const StageClock clock(impl.seconds.gaussianBackward);
    GaussianBackwardArguments a = impl.backwardArguments(gaussians, statistics);
    if (extra)
        a.extra = pointersOf<const float>(*extra);
    a.values = pointersOf<float>(gaussians.value);
    a.moment1 = pointersOf<void>(moment1);
    a.moment2 = pointersOf<void>(moment2);
    a.compactMoments = formatOf(moment1, moment2) == MomentFormat::Compact;
    a.adam = adamFactors<float>(adam);
    a.sparse = adam.sparse;
    a.keepsExtra = adam.keepsExtra;
    const Index blocks = (a.last + kBlock - 1) / kBlock;
    a.skipped = impl.skipped.reserve(impl.device, blocks);
    gaussianUpdate(stream, a);
    impl.canGoBack = false; // the picture is no longer that of these Gaussians
    std::vector<Index> skipped(static_cast<std::size_t>(blocks));
    stream.copy(skipped.data(), a.skipped, skipped.size() * sizeof(Index));
    stream.synchronize();
    Index sum = 0;
    for (const Index count : skipped)
        sum += count;
    return sum;
}

const Tensor& Rasteriser::visible() const
{
    return m_impl->visibleTensor;
}

Tensor Rasteriser::visibleList() const
{
    return m_impl->order.as({m_impl->totals.visible}, DType::I32);
}

RasterCounts Rasteriser::counts() const
{
    return m_impl->counted;
}

RasterSeconds Rasteriser::seconds() const
{
    return m_impl->seconds;
}

std::size_t Rasteriser::allocatedBytes() const
{
    return m_impl->bytes();
}

} // namespace vergence::sugar
