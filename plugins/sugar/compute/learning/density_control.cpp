#include "plugins/sugar/compute/learning/density_control.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "plugins/sugar/compute/learning/density_kernels.h"
#include "plugins/sugar/compute/learning/density_plan.h"
#include "plugins/sugar/compute/z_order.h"

namespace vergence::sugar {

namespace {

std::array<Tensor*, 6> arraysOf(GaussianArrays& arrays)
{
    return {&arrays.position, &arrays.logScale, &arrays.rotation,
            &arrays.opacity,  &arrays.shDc,     &arrays.shRest};
}

std::array<Tensor*, 4> arraysOf(DensityStatistics& statistics)
{
    return {&statistics.gradient, &statistics.absoluteGradient, &statistics.visible,
            &statistics.radius};
}

/// The rows in use, on the host. Waits for the stream.
std::vector<float> usedRows(Stream& stream, const Tensor& tensor, Index rows)
{
    return rows == 0 || tensor.isEmpty() ? std::vector<float>()
                                         : tensor.narrow(0, 0, rows).toHost<float>(stream);
}

void setUsedRows(Stream& stream, const Tensor& tensor, const std::vector<float>& values)
{
    stream.copy(tensor.data(), values.data(), values.size() * sizeof(float));
}

DensityColumns columnsOf(Stream& stream, const TrainedGaussians& trained, bool withStatistics)
{
    const Index count = trained.count();
    DensityColumns columns;
    columns.opacity = usedRows(stream, trained.gaussians.value.opacity, count);
    columns.logScale = usedRows(stream, trained.gaussians.value.logScale, count);
    if (withStatistics) {
        columns.gradient = usedRows(stream, trained.statistics.gradient, count);
        columns.absoluteGradient = usedRows(stream, trained.statistics.absoluteGradient, count);
        columns.visible = usedRows(stream, trained.statistics.visible, count);
        columns.radius = usedRows(stream, trained.statistics.radius, count);
    }
    return columns;
}

/// Builds new arrays row by row from old ones.
class Rearrangement {
public:
    Rearrangement(Stream& stream, const std::shared_ptr<Device>& device,
                  const std::vector<std::uint32_t>& source, const std::vector<std::uint8_t>& isNew,
                  Index capacity)
        : m_stream(stream),
          m_device(device),
          m_rows(static_cast<Index>(source.size())),
          m_capacity(capacity),
          m_source(Tensor::empty(device, {m_rows}, DType::I32)),
          m_isNew(Tensor::fromHost<std::uint8_t>(stream, device, {m_rows}, isNew))
    {
        stream.copy(m_source.data(), source.data(), source.size() * sizeof(std::uint32_t));
    }

    /// `clearsNew`: rows that are new become 0.
    void apply(Tensor& tensor, bool clearsNew) const
    {
        if (tensor.isEmpty())
            return;
        Shape shape = tensor.shape();
        const Index width = tensor.size() / shape[0];
        shape[0] = m_capacity;
        const Tensor next = Tensor::empty(m_device, shape, tensor.dtype());
        const std::size_t size = sizeOf(tensor.dtype());
        if (m_rows > 0)
            gatherRows(m_stream,
                       {m_rows, static_cast<int>(width), static_cast<int>(size), tensor.data(),
                        next.data(), static_cast<const std::uint32_t*>(m_source.data()),
                        clearsNew ? m_isNew.flat<std::uint8_t>().data() : nullptr});
        const std::size_t used = static_cast<std::size_t>(m_rows * width) * size;
        m_stream.fillBytes(static_cast<std::byte*>(next.data()) + used, 0, next.bytes() - used);
        m_stream.synchronize(); // the old array goes
        tensor = next;
    }

private:
    Stream& m_stream;
    std::shared_ptr<Device> m_device;
    Index m_rows, m_capacity;
    Tensor m_source, m_isNew;
};

void clear(Stream& stream, const Tensor& tensor)
{
    if (!tensor.isEmpty())
        stream.fillBytes(tensor.data(), 0, tensor.bytes());
}

void splitChildren(Stream& stream, Gaussians& gaussians, Index first, bool revisedOpacity,
                   std::uint64_t seed, std::int64_t step)
{
    const GaussianArrays& value = gaussians.value;
    if (first < gaussians.count)
        splitRows(stream, {first, gaussians.count - first, value.position.flat<float>().data(),
                           value.logScale.flat<float>().data(), value.rotation.flat<float>().data(),
                           value.opacity.flat<float>().data(), revisedOpacity, seed, step});
}

void expectSettings(const DensitySettings& settings, double extent)
{
    expects(extent > 0, "densify: the extent of the scene must be positive");
    expects(settings.gradient > 0 && settings.absoluteGradient > 0,
            "densify: thresholds of gradients must be positive");
    expects(settings.mode != DensitySettings::Mode::Mcmc,
            "densify: Gaussians of a Markov chain are relocated, not densified");
}

} // namespace

TrainedGaussians trained(Stream& stream, Gaussians gaussians, MomentFormat format)
{
    const std::shared_ptr<Device> device = gaussians.device();
    const Index capacity = gaussians.value.capacity();
    TrainedGaussians result;
    AdamMoments moments = zeroMoments(stream, device, capacity, gaussians.value.degree(), format);
    result.moment1 = std::move(moments.first);
    result.moment2 = std::move(moments.second);
    for (Tensor* tensor : arraysOf(result.statistics))
        *tensor = Tensor::zeros(stream, device, {capacity});
    result.gaussians = std::move(gaussians);
    return result;
}

void rearrange(Stream& stream, TrainedGaussians& trained, const std::vector<std::uint32_t>& source,
               const std::vector<std::uint8_t>& isNew, Index cap)
{
    const auto rows = static_cast<Index>(source.size());
    expects(isNew.size() == source.size(), "rearrange: a flag for each row is needed");
    for (const std::uint32_t row : source)
        expects(row < trained.count(), "rearrange: a row that does not exist");
    if (trained.capacity() == 0)
        return;
    const Index old = trained.capacity();
    const Index capacity = rows <= old ? old : std::max(rows, std::min(cap, old + (old + 3) / 4));
    const Rearrangement rearrangement(stream, trained.gaussians.device(), source, isNew, capacity);
    for (Tensor* tensor : arraysOf(trained.gaussians.value))
        rearrangement.apply(*tensor, false);
    rearrangement.apply(trained.gaussians.filter, false);
    for (GaussianArrays* moments : {&trained.moment1, &trained.moment2}) {
        for (Tensor* tensor : arraysOf(*moments))
            rearrangement.apply(*tensor, true);
    }
    for (Tensor* tensor : arraysOf(trained.statistics))
        rearrangement.apply(*tensor, true);
    trained.gaussians.count = rows;
}

DensityReport densify(Stream& stream, TrainedGaussians& trained, const DensitySettings& settings,
                      double extent, bool afterReset, std::uint64_t seed, std::int64_t step)
{
    expectSettings(settings, extent);
    const RowPlan plan =
        planDensification(columnsOf(stream, trained, true), settings, extent, afterReset);
    rearrange(stream, trained, plan.source, plan.isNew, settings.cap);
    splitChildren(stream, trained.gaussians, plan.firstChild, settings.revisedOpacity, seed, step);
    for (Tensor* tensor : arraysOf(trained.statistics))
        clear(stream, *tensor);
    return plan.report;
}

DensityReport relocate(Stream& stream, TrainedGaussians& trained, const DensitySettings& settings,
                       std::uint64_t seed, std::int64_t step)
{
    const RelocationPlan plan =
        planRelocation(columnsOf(stream, trained, false), settings, seed, step);
    if (plan.rows.report.relocated + plan.rows.report.born == 0)
        return plan.rows.report;
    rearrange(stream, trained, plan.rows.source, plan.rows.isNew, settings.cap);
    setUsedRows(stream, trained.gaussians.value.opacity, plan.opacity);
    setUsedRows(stream, trained.gaussians.value.logScale, plan.logScale);
    return plan.rows.report;
}

void addNoise(Stream& stream, Gaussians& gaussians, double positionRate, std::uint64_t seed,
              std::int64_t step)
{
    const GaussianArrays& value = gaussians.value;
    if (gaussians.count > 0)
        noiseOfRows(stream,
                    {gaussians.count, value.position.flat<float>().data(),
                     value.logScale.flat<float>().data(), value.rotation.flat<float>().data(),
                     value.opacity.flat<float>().data(), static_cast<float>(positionRate * 5e5),
                     seed, step});
}

void resetOpacity(Stream& stream, TrainedGaussians& trained, double limit)
{
    expects(limit > 0 && limit < 1, "resetOpacity: the limit must lie between 0 and 1");
    const Gaussians& gaussians = trained.gaussians;
    if (gaussians.count > 0)
        limitOpacity(stream,
                     {gaussians.count, gaussians.value.opacity.flat<float>().data(),
                      gaussians.value.logScale.flat<float>().data(),
                      gaussians.filter.isEmpty() ? nullptr : gaussians.filter.flat<float>().data(),
                      static_cast<float>(limit)});
    clear(stream, trained.moment1.opacity);
    clear(stream, trained.moment2.opacity);
}

Index pruneByOpacity(Stream& stream, TrainedGaussians& trained, double opacity)
{
    const std::vector<float> logits =
        usedRows(stream, trained.gaussians.value.opacity, trained.count());
    std::vector<std::uint32_t> source;
    for (std::size_t row = 0; row < logits.size(); ++row) {
        if (isAtLeast(logits[row], opacity))
            source.push_back(static_cast<std::uint32_t>(row));
    }
    const Index pruned = trained.count() - static_cast<Index>(source.size());
    if (pruned > 0)
        rearrange(stream, trained, source, std::vector<std::uint8_t>(source.size(), 0));
    return pruned;
}

void sortByPlace(Stream& stream, TrainedGaussians& trained)
{
    const auto order = zOrder(usedRows(stream, trained.gaussians.value.position, trained.count()));
    rearrange(stream, trained, order, std::vector<std::uint8_t>(order.size(), 0));
}

RegulariserValue addRegularisers(Stream& stream, const Gaussians& gaussians,
                                 const RegulariserWeights& weights, GaussianArrays& gradients)
{
    if (gaussians.count == 0)
        return {};
    const auto count = static_cast<double>(gaussians.count);
    double values[2] = {};
    RegulariserArguments arguments;
    arguments.rows = gaussians.count;
    arguments.opacity = gaussians.value.opacity.flat<float>().data();
    arguments.logScale = gaussians.value.logScale.flat<float>().data();
    if (weights.opacity != 0)
        arguments.gradOpacity = gradients.opacity.flat<float>().data();
    if (weights.scale != 0)
        arguments.gradLogScale = gradients.logScale.flat<float>().data();
    arguments.opacityWeight = static_cast<float>(weights.opacity / count);
    arguments.scaleWeight = static_cast<float>(weights.scale / (3 * count));
    arguments.values = values;
    regulariseRows(stream, arguments);
    return {values[0], values[1]};
}

} // namespace vergence::sugar
