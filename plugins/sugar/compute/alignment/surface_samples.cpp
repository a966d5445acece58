#include "plugins/sugar/compute/alignment/surface_samples.h"

#include <algorithm>
#include <vector>

#include "plugins/sugar/compute/alignment/grouping.h"
#include "plugins/sugar/compute/alignment/sample_kernels.h"
#include "plugins/sugar/compute/camera_view.h"

namespace vergence::sugar {

namespace {

/// Groups of samples that are evaluated between two looks at the stop callback.
constexpr Index kGroupsPerSlice = 8'192;

const std::uint32_t* numbersOf(const Tensor& tensor)
{
    return static_cast<const std::uint32_t*>(tensor.data());
}

/// Without harmonics.
template <class T>
GaussianPointers<T> shapePointers(const GaussianArrays& arrays)
{
    GaussianPointers<T> to;
    to.position = arrays.position.flat<float>().data();
    to.logScale = arrays.logScale.flat<float>().data();
    to.rotation = arrays.rotation.flat<float>().data();
    to.opacity = arrays.opacity.flat<float>().data();
    return to;
}

/// At least `bytes`; what was in it is lost where it has to grow.
void* grown(Tensor& memory, const std::shared_ptr<Device>& device, Index bytes)
{
    if (memory.size() < bytes) {
        memory = Tensor(); // the old one goes first
        memory = Tensor::empty(device, {bytes}, DType::U8);
    }
    return memory.data();
}

} // namespace

struct SurfaceSamples::Impl {
    std::shared_ptr<Device> device;
    Tensor neighbours; ///< [count, k] I32
    int valid = 0;
    Tensor samples, values;
    // On the CPU:
    Grouping byParent, byGaussian;
    std::vector<std::uint32_t> recordOwners; ///< the Gaussian of each record
    Tensor records;

    Index count() const { return neighbours.isEmpty() ? 0 : neighbours.extent(0); }
    FieldView field(const Gaussians& gaussians, const SampleSettings& settings) const;
    Index draw(Stream& stream, const FieldView& field, const SampledView& view,
               const SampleSettings& settings);
    bool evaluateByParent(Stream& stream, SampleTermArguments& a,
                          const std::function<bool()>& stop);
};

FieldView SurfaceSamples::Impl::field(const Gaussians& gaussians,
                                      const SampleSettings& settings) const
{
    expects(gaussians.count == count(), "SurfaceSamples: the table is that of other Gaussians");
    expects(!settings.useFilter || !gaussians.filter.isEmpty(),
            "SurfaceSamples: the Gaussians have no filter");
    FieldView field;
    field.values = shapePointers<const float>(gaussians.value);
    field.filter = settings.useFilter ? gaussians.filter.flat<float>().data() : nullptr;
    field.neighbours = numbersOf(neighbours);
    field.k = static_cast<int>(neighbours.extent(1));
    field.valid = valid;
    return field;
}

/// How many samples count.
Index SurfaceSamples::Impl::draw(Stream& stream, const FieldView& field, const SampledView& view,
                                 const SampleSettings& settings)
{
    DrawArguments a;
    a.field = field;
    a.visible = numbersOf(view.visible);
    a.visibleCount = view.visible.size();
    a.samples = settings.samples;
    a.seed = settings.seed;
    a.step = settings.step;
    a.isDistance = settings.isDistance;
    if (settings.isDistance) {
        expects(!view.depth.isEmpty() && view.depth.shape() == view.transmittance.shape() &&
                    view.depth.extent(0) == view.camera.height &&
                    view.depth.extent(1) == view.camera.width,
                "SurfaceSamples: signed distances need the depth that the camera saw");
        a.camera = cameraView<float>(view.camera, static_cast<double>(view.near), 1e30);
        a.picture = {view.depth.flat<float>().data(), view.transmittance.flat<float>().data(),
                     view.depth.extent(0), view.depth.extent(1)};
    }
    a.to = static_cast<FieldSample*>(
        grown(samples, device, settings.samples * static_cast<Index>(sizeof(FieldSample))));
    drawSamples(stream, a);
    Index counted = settings.samples;
    if (settings.isDistance)
        countSamples(stream, a.to, settings.samples, &counted);
    return counted;
}

/// The CPU's way: records of gradients by parent, gathered by Gaussian. False where told to stop.
bool SurfaceSamples::Impl::evaluateByParent(Stream& stream, SampleTermArguments& a,
                                            const std::function<bool()>& stop)
{
    const auto keys = static_cast<std::size_t>(count());
    byParent.build(static_cast<std::uint32_t>(a.count), keys, kNoParent,
                   [&](std::uint32_t i) { return a.samples[i].parent; });
    const auto groups = static_cast<Index>(byParent.groups());
    a.order = byParent.items().data();
    a.starts = byParent.starts().data();
    a.records = static_cast<float*>(grown(
        records, device, groups * valid * kRecordNumbers * static_cast<Index>(sizeof(float))));
    for (Index first = 0; first < groups; first += kGroupsPerSlice) {
        if (stop && stop())
            return false;
        a.firstGroup = first;
        a.lastGroup = std::min(groups, first + kGroupsPerSlice);
        sampleTerms(stream, a);
    }

    recordOwners.clear();
    for (const std::uint32_t parent : byParent.keys()) {
        const std::uint32_t* row = a.field.neighbours + static_cast<Index>(parent) * a.field.k;
        recordOwners.insert(recordOwners.end(), row, row + valid);
    }
    byGaussian.build(static_cast<std::uint32_t>(recordOwners.size()), keys, kNoParent,
                     [&](std::uint32_t record) { return recordOwners[record]; });
    GatherRecordsArguments gather;
    gather.field = a.field;
    gather.rows = static_cast<Index>(byGaussian.groups());
    gather.gaussians = byGaussian.keys().data();
    gather.starts = byGaussian.starts().data();
    gather.entries = byGaussian.items().data();
    gather.records = a.records;
    gather.gradients = a.gradients;
    gatherRecords(stream, gather);
    return true;
}

SurfaceSamples::SurfaceSamples(std::shared_ptr<Device> device) : m_impl(std::make_unique<Impl>())
{
    expects(device != nullptr, "SurfaceSamples: a device is needed");
    m_impl->device = std::move(device);
}
SurfaceSamples::~SurfaceSamples() = default;
SurfaceSamples::SurfaceSamples(SurfaceSamples&&) noexcept = default;
SurfaceSamples& SurfaceSamples::operator=(SurfaceSamples&&) noexcept = default;

void SurfaceSamples::setNeighbours(Stream& stream, std::span<const std::uint32_t> index,
                                   Index count, int k, int valid)
{
    expects(count > 0 && k > 0 && static_cast<Index>(index.size()) == count * k,
            "SurfaceSamples: the table must be [count, k]");
    expects(valid >= 1 && valid <= k && valid <= kMostFieldNeighbours,
            "SurfaceSamples: 1 to 32 neighbours of a row must count");
    const Shape shape{count, k};
    if (m_impl->neighbours.shape() != shape) {
        m_impl->neighbours = Tensor();
        m_impl->neighbours = Tensor::empty(m_impl->device, shape, DType::I32);
    }
    stream.copy(m_impl->neighbours.data(), index.data(), index.size_bytes());
    m_impl->valid = valid;
}

SampleValues SurfaceSamples::add(Stream& stream, const Gaussians& gaussians,
                                 const SampledView& view, const SampleSettings& settings,
                                 GaussianArrays& gradients, const std::function<bool()>& stop)
{
    expects(gradients.capacity() == gaussians.value.capacity(),
            "SurfaceSamples: gradients of another number of Gaussians");
    expects(settings.samples < Index{1} << 26 && settings.extent > 0,
            "SurfaceSamples: fewer than 2^26 samples and an extent above 0 are needed");
    const FieldView field = m_impl->field(gaussians, settings);
    if (settings.samples <= 0 || view.visible.isEmpty())
        return {};
    SampleValues means;
    means.samples = m_impl->draw(stream, field, view, settings);
    if (means.samples == 0)
        return means;
    const auto counted = static_cast<double>(means.samples);
    double sums[2] = {};
    SampleTermArguments a;
    a.field = field;
    a.samples = static_cast<const FieldSample*>(m_impl->samples.data());
    a.count = settings.samples;
    a.isDistance = settings.isDistance;
    a.isDetached = settings.isDetached;
    a.extent = static_cast<float>(settings.extent);
    a.factor = static_cast<float>(settings.weight / counted);
    a.normalFactor = static_cast<float>(settings.normalWeight / counted);
    a.values = static_cast<float*>(
        grown(m_impl->values, m_impl->device, 2 * a.count * static_cast<Index>(sizeof(float))));
    a.sums = sums;
    a.gradients = shapePointers<float>(gradients);
    if (!m_impl->device->isCpu()) {
        sampleTerms(stream, a);
    } else if (!m_impl->evaluateByParent(stream, a, stop)) {
        means.isStopped = true;
        return means;
    }
    means.field = sums[0] / counted;
    means.normal = sums[1] / counted;
    return means;
}

std::size_t SurfaceSamples::allocatedBytes() const
{
    return m_impl->neighbours.bytes() + m_impl->samples.bytes() + m_impl->values.bytes() +
           m_impl->records.bytes() + m_impl->byParent.bytes() + m_impl->byGaussian.bytes() +
           m_impl->recordOwners.capacity() * sizeof(std::uint32_t);
}

double addOpacityEntropy(Stream& stream, const Gaussians& gaussians, const Tensor& visible,
                         double weight, GaussianArrays& gradients)
{
    expects(gradients.capacity() == gaussians.value.capacity(),
            "addOpacityEntropy: gradients of another number of Gaussians");
    if (visible.isEmpty())
        return 0;
    const auto count = static_cast<double>(visible.size());
    double sum = 0;
    EntropyArguments a;
    a.visible = numbersOf(visible);
    a.visibleCount = visible.size();
    a.logit = gaussians.value.opacity.flat<float>().data();
    a.factor = static_cast<float>(weight / count);
    a.gradient = gradients.opacity.flat<float>().data();
    a.sum = &sum;
    opacityEntropies(stream, a);
    return sum / count;
}

} // namespace vergence::sugar
