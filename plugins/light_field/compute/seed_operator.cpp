#include "plugins/light_field/compute/seed_operator.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "plugins/light_field/compute/operator_storage.h"
#include "plugins/light_field/compute/seed_kernels.h"

namespace vergence::light_field {

namespace {

int lanesOf(const Tensor& tensor, Index count, const char* what)
{
    const Index lanes = count > 0 ? tensor.size() / count : 1;
    expects(lanes * count == tensor.size() && (lanes == 1 || lanes == 4 || lanes == 16), what);
    return static_cast<int>(lanes);
}

/// A ray that arrives, as an entry of the matrix.
struct Entry {
    int pixel, texel; ///< texel: compact number
    float weight;
};

/// Entries by pixel, then plane, then sample; texels are numbered in order of first touch.
struct Lists {
    std::vector<Entry> entries;
    std::vector<int> texelOf;
};

Lists collect(const std::vector<int>& texels, int samples, int planes, int resolution, int panel,
              SeedCounts& counts)
{
    const auto pixels = static_cast<std::size_t>(resolution) * static_cast<std::size_t>(resolution);
    const auto perPlane = static_cast<std::size_t>(panel) * static_cast<std::size_t>(panel);
    std::vector<int> number(perPlane * static_cast<std::size_t>(planes), -1);
    Lists lists;
    counts.raysPerPlane.assign(static_cast<std::size_t>(planes), 0);
    for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
        const std::size_t before = lists.entries.size();
        for (std::size_t k = 0; k < static_cast<std::size_t>(planes); ++k) {
            const std::size_t first = lists.entries.size();
            for (std::size_t m = 0; m < static_cast<std::size_t>(samples); ++m) {
                const int texel =
                    texels[(m * static_cast<std::size_t>(planes) + k) * pixels + pixel];
                if (texel < 0)
                    continue;
                int& compact = number[k * perPlane + static_cast<std::size_t>(texel)];
                if (compact < 0) {
                    compact = static_cast<int>(lists.texelOf.size());
                    lists.texelOf.push_back(static_cast<int>(k * perPlane) + texel);
                }
                lists.entries.push_back({static_cast<int>(pixel), compact, 1.0f});
            }
            // The seed takes the mean over the rays that arrive.
            const std::size_t valid = lists.entries.size() - first;
            for (std::size_t n = first; n < lists.entries.size(); ++n)
                lists.entries[n].weight = 1.0f / static_cast<float>(valid);
            counts.raysPerPlane[k] += static_cast<Index>(valid);
        }
        counts.litPixels += lists.entries.size() > before ? 1 : 0;
    }
    counts.validRays = static_cast<Index>(lists.entries.size());
    counts.activeTexels = static_cast<Index>(lists.texelOf.size());
    return lists;
}

/// Compressed lists sorted by `key`, keeping the order within a key.
struct Compressed {
    std::vector<int> start, index;
    std::vector<float> weight;

    Compressed(const std::vector<Entry>& entries, std::size_t keys, int Entry::*key,
               int Entry::*value)
        : start(keys + 1, 0),
          index(entries.size()),
          weight(entries.size())
    {
        for (const Entry& entry : entries)
            ++start[static_cast<std::size_t>(entry.*key) + 1];
        for (std::size_t k = 0; k < keys; ++k)
            start[k + 1] += start[k];
        std::vector<int> next(start.begin(), start.end() - 1);
        for (const Entry& entry : entries) {
            const auto to = static_cast<std::size_t>(next[static_cast<std::size_t>(entry.*key)]++);
            index[to] = entry.*value;
            weight[to] = entry.weight;
        }
    }
};

template <class T>
Tensor upload(Stream& stream, const std::shared_ptr<Device>& device, const std::vector<T>& values)
{
    return Tensor::fromHost<T>(stream, device, {static_cast<Index>(values.size())}, values);
}

/// The lists in packs of rows. Rows after the last whole pack are in none.
void addPacks(Stream& stream, const std::shared_ptr<Device>& device, const Compressed& lists,
              SeedLists& uploaded)
{
    const std::size_t packs = (lists.start.size() - 1) / kPackRows;
    std::vector<int> start(packs + 1, 0), index;
    std::vector<float> weight;
    for (std::size_t pack = 0; pack < packs; ++pack) {
        const int* rows = &lists.start[pack * kPackRows];
        int slots = 0;
        for (int row = 0; row < kPackRows; ++row)
            slots = std::max(slots, rows[row + 1] - rows[row]);
        start[pack + 1] = start[pack] + slots;
        for (int slot = 0; slot < slots; ++slot) {
            for (int row = 0; row < kPackRows; ++row) {
                const bool isUsed = rows[row] + slot < rows[row + 1];
                const auto at = static_cast<std::size_t>(rows[row] + slot);
                index.push_back(isUsed ? lists.index[at] : -1);
                weight.push_back(isUsed ? lists.weight[at] : 0.0f);
            }
        }
    }
    uploaded.packStart = upload(stream, device, start);
    uploaded.packIndex = upload(stream, device, index);
    if (!uploaded.weight.isEmpty())
        uploaded.packWeight = upload(stream, device, weight);
}

SeedLists uploadLists(Stream& stream, const std::shared_ptr<Device>& device,
                      const Compressed& lists, bool isWeighted)
{
    SeedLists uploaded;
    uploaded.start = upload(stream, device, lists.start);
    uploaded.index = upload(stream, device, lists.index);
    if (isWeighted)
        uploaded.weight = upload(stream, device, lists.weight);
    if (device->isCpu())
        addPacks(stream, device, lists, uploaded);
    return uploaded;
}

template <class T>
const T* dataOrNull(const Tensor& tensor)
{
    return tensor.isEmpty() ? nullptr : dataOf<const T>(tensor);
}

SparseView sparse(const SeedLists& lists)
{
    return {dataOf<const int>(lists.start),     dataOf<const int>(lists.index),
            dataOrNull<float>(lists.weight),    lists.start.size() - 1,
            dataOrNull<int>(lists.packStart),   dataOrNull<int>(lists.packIndex),
            dataOrNull<float>(lists.packWeight)};
}

} // namespace

std::size_t SeedLists::bytes() const
{
    return start.bytes() + index.bytes() + weight.bytes() + packStart.bytes() + packIndex.bytes() +
           packWeight.bytes();
}

SeedOptics seedOpticsOf(const Optics& optics, double eyeFocalLength)
{
    expects(eyeFocalLength > 0, "seed profile: the focal length of the eye must be positive");
    SeedOptics seed;
    seed.retinaDistance = static_cast<float>(optics.retinaDistance);
    seed.retinaSize = static_cast<float>(optics.retinaSize);
    seed.eyeFocal = static_cast<float>(eyeFocalLength);
    seed.tunableZ = static_cast<float>(optics.tunableZ);
    seed.lensletZ = static_cast<float>(optics.lensletZ);
    seed.panelZ = static_cast<float>(optics.panelZ());
    seed.lensletPitch = static_cast<float>(optics.lensletPitch);
    seed.lensletFocal = static_cast<float>(optics.lensletFocal);
    seed.panelSize = static_cast<float>(optics.panelSize);
    seed.panelResolution = optics.panelResolution;
    seed.resolution = optics.renderResolution;
    return seed;
}

SeedOperator::SeedOperator(Stream& stream, std::shared_ptr<Device> device, Optics optics,
                           double eyeFocalLength, int raysPerPixel)
    : LinearOperator(std::move(device)),
      m_optics(std::move(optics))
{
    checkOptics(m_optics);
    expects(m_optics.renderResolution >= 2,
            "seed profile: the render resolution must be at least 2");
    const auto pattern = seedSamplePattern(raysPerPixel, m_optics.pupilDiameter);
    const std::vector<float> focals(m_optics.focalLengths.begin(), m_optics.focalLengths.end());
    const Tensor sampleData = uploadBytes(stream, m_device, std::span<const RaySample>(pattern));
    const Tensor focalData = upload(stream, m_device, focals);
    const Tensor texels =
        Tensor::empty(m_device, {raysPerPixel, planes(), resolution(), resolution()}, DType::I32);
    SeedTraceArguments trace;
    trace.optics = seedOpticsOf(m_optics, eyeFocalLength);
    trace.focals = dataOf<const float>(focalData);
    trace.samples = dataOf<const RaySample>(sampleData);
    trace.planes = planes();
    trace.sampleCount = raysPerPixel;
    trace.texels = dataOf<int>(texels);
    seedTrace(stream, trace);
    const Lists lists = collect(texels.toHost<int>(stream), raysPerPixel, planes(), resolution(),
                                panelResolution(), m_counts);
    const Compressed rows(lists.entries, static_cast<std::size_t>(measurements()), &Entry::pixel,
                          &Entry::texel);
    const Compressed columns(lists.entries, lists.texelOf.size(), &Entry::texel, &Entry::pixel);
    for (std::size_t n = 0; n < lists.texelOf.size(); ++n)
        m_counts.touchedMost =
            std::max<Index>(m_counts.touchedMost, columns.start[n + 1] - columns.start[n]);
    m_rows = uploadLists(stream, m_device, rows, raysPerPixel > 1);
    m_columns = uploadLists(stream, m_device, columns, raysPerPixel > 1);
    m_texelOf = upload(stream, m_device, lists.texelOf);
    m_sums = Tensor::empty(m_device, {2 * kMaxLanes}, DType::F64);
    m_texelSums = Tensor::empty(m_device, {static_cast<Index>(sizeof(TexelSums))}, DType::U8);
}

SeedOperator::~SeedOperator() = default;

Index SeedOperator::measurements() const
{
    return static_cast<Index>(resolution()) * resolution();
}

std::size_t SeedOperator::bytes() const
{
    return m_rows.bytes() + m_columns.bytes() + m_texelOf.bytes();
}

void SeedOperator::forward(Stream& stream, const Tensor& x, Tensor& images) const
{
    SeedForwardArguments a;
    a.lanes = lanesOf(x, unknowns(), "forward: the unknowns must be [N, L] with 1, 4 or 16 lanes");
    expects(images.size() == measurements() * a.lanes, "forward: the images must be [W, W, L]");
    a.matrix = sparse(m_rows);
    a.x = dataOf<const float>(x);
    a.images = dataOf<float>(images);
    a.resolution = resolution();
    a.tileRays = m_tileRays;
    seedForward(stream, a);
}

ResidualSums SeedOperator::residual(Stream& stream, const Tensor& x, const Tensor& target,
                                    const Tensor& weights, Tensor& images, Tensor& residual,
                                    RowSubset rows) const
{
    SeedForwardArguments a;
    a.lanes = lanesOf(x, unknowns(), "residual: the unknowns must be [N, L] with 1, 4 or 16 lanes");
    const Index values = measurements() * a.lanes;
    expects(target.size() == values && images.size() == values && residual.size() == values,
            "residual: target, images and residual must be [W, W, L]");
    expects(weights.isEmpty() || weights.size() == measurements(),
            "residual: the weights must be [W, W]");
    a.matrix = sparse(m_rows);
    a.x = dataOf<const float>(x);
    a.images = dataOf<float>(images);
    a.target = dataOf<const float>(target);
    a.weights = weights.isEmpty() ? nullptr : dataOf<const float>(weights);
    a.residual = dataOf<float>(residual);
    a.sums = dataOf<double>(m_sums);
    a.resolution = resolution();
    a.subsetCount = rows.count;
    a.subsetIndex = rows.index;
    a.tileRays = m_tileRays;
    seedForward(stream, a);
    const auto sums = m_sums.toHost<double>(stream);
    return {{sums.begin(), sums.begin() + a.lanes},
            {sums.begin() + a.lanes, sums.begin() + 2 * a.lanes}};
}

UpdateSums SeedOperator::adjointUpdate(Stream& stream, const Tensor& residual, int lanes,
                                       const TexelUpdate& update, RowSubset rows) const
{
    expects(residual.size() == measurements() * lanes && (lanes == 1 || lanes == 4 || lanes == 16),
            "adjoint: the residual must be [W, W, L] with 1, 4 or 16 lanes");
    Tensor masked = residual;
    if (rows.count > 1) {
        masked = residual.clone(stream);
        seedMask(stream, {dataOf<float>(masked), resolution(), Index{resolution()} * lanes,
                          rows.count, rows.index});
    }
    SeedAdjointArguments a;
    a.matrix = sparse(m_columns);
    a.residual = dataOf<const float>(masked);
    a.update = update;
    a.sums = dataOf<TexelSums>(m_texelSums);
    a.lanes = lanes;
    a.tileRays = m_tileRays;
    seedAdjoint(stream, a);
    return toUpdateSums(stream, m_texelSums, lanes);
}

Tensor SeedOperator::expandPlanes(Stream& stream, const Tensor& x, float fill) const
{
    SeedScatterArguments a;
    a.lanes = lanesOf(x, unknowns(), "expandPlanes: the unknowns must be [N, L]");
    const Index texels = static_cast<Index>(planes()) * panelResolution() * panelResolution();
    const Shape shape{planes(), panelResolution(), panelResolution(), a.lanes};
    Tensor full = fill == 0 ? Tensor::zeros(stream, m_device, shape)
                            : filled(stream, texels * a.lanes, fill).reshaped(shape);
    a.texelOf = dataOf<const int>(m_texelOf);
    a.count = unknowns();
    a.planes = dataOf<float>(full);
    a.x = dataOf<float>(x);
    seedScatter(stream, a);
    return full;
}

Tensor SeedOperator::gatherPlanes(Stream& stream, const Tensor& panelImages) const
{
    const Index texels = static_cast<Index>(planes()) * panelResolution() * panelResolution();
    SeedScatterArguments a;
    a.lanes = lanesOf(panelImages, texels, "gatherPlanes: the planes must be [K, R, R, L]");
    Tensor x = Tensor::zeros(stream, m_device, {unknowns(), a.lanes});
    a.texelOf = dataOf<const int>(m_texelOf);
    a.count = unknowns();
    a.toPlanes = false;
    a.planes = dataOf<float>(panelImages);
    a.x = dataOf<float>(x);
    seedScatter(stream, a);
    return x;
}

} // namespace vergence::light_field
