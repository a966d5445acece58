#include "plugins/light_field/compute/table_operator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>
#include <utility>

#include "core/base/error.h"
#include "plugins/light_field/compute/operator_storage.h"

namespace vergence::light_field {

template <class Real>
void OperatorTables::invertAxis(Stream& stream, const TableOperator& op, AxisTables& axis)
{
    const auto w = static_cast<std::size_t>(op.resolution()),
               r = static_cast<std::size_t>(op.panelResolution());
    const auto first = axis.first.toHost<int>(stream);
    const auto alpha = axis.alpha.toHost<Real>(stream);
    const auto distance2 = axis.lenslet2.toHost<Real>(stream);
    const std::size_t groups = first.size() / w;
    std::vector<int> start(groups * (r + 1), 0), pixel(2 * first.size(), 0);
    std::vector<Real> weight(2 * first.size(), 0);
    for (std::size_t g = 0; g < groups; ++g) {
        int* begin = &start[g * (r + 1)];
        for (std::size_t i = 0; i < w; ++i) {
            const auto at = static_cast<std::size_t>(first[g * w + i]);
            if (std::isfinite(distance2[g * w + i])) {
                begin[at + 1] += alpha[g * w + i] < 1 ? 1 : 0;
                begin[at + 2] += alpha[g * w + i] > 0 ? 1 : 0;
            }
        }
        for (std::size_t t = 0; t < r; ++t)
            begin[t + 1] += begin[t];
        std::vector<int> next(begin, begin + r);
        for (std::size_t i = 0; i < w; ++i) {
            const std::size_t at = g * w + i;
            if (!std::isfinite(distance2[at]))
                continue;
            for (const int side : {0, 1}) {
                const Real share = side == 0 ? 1 - alpha[at] : alpha[at];
                if (share == 0)
                    continue;
                const auto to = 2 * g * w + static_cast<std::size_t>(
                                                next[static_cast<std::size_t>(first[at] + side)]++);
                pixel[to] = static_cast<int>(i);
                weight[to] = share;
            }
        }
    }
    axis.start =
        Tensor::fromHost<int>(stream, op.device(), {static_cast<Index>(start.size())}, start);
    axis.pixel =
        Tensor::fromHost<int>(stream, op.device(), {static_cast<Index>(pixel.size())}, pixel);
    axis.weight =
        Tensor::fromHost<Real>(stream, op.device(), {static_cast<Index>(weight.size())}, weight);
}

template void OperatorTables::invertAxis<float>(Stream&, const TableOperator&, AxisTables&);
template void OperatorTables::invertAxis<double>(Stream&, const TableOperator&, AxisTables&);

void OperatorTables::makeStrips(Stream& stream, const TableOperator& op)
{
    const auto w = static_cast<std::size_t>(op.resolution());
    const int strips = (op.panelResolution() + kStripTexels - 1) / kStripTexels;
    const auto first = x.first.toHost<int>(stream);
    const auto alpha = x.alpha.toHost<float>(stream);
    const auto distance2 = x.lenslet2.toHost<float>(stream);
    const auto aperture2 = x.aperture2.toHost<float>(stream);
    std::vector<int> start;
    std::vector<StripEntry> entries;
    for (std::size_t g = 0; g < first.size() / w; ++g) {
        for (int strip = 0; strip < strips; ++strip) {
            start.push_back(static_cast<int>(entries.size()));
            for (std::size_t j = 0; j < w; ++j) {
                const std::size_t at = g * w + j;
                const int texel = first[at] - strip * kStripTexels;
                if (std::isfinite(distance2[at]) && texel >= -1 && texel < kStripTexels)
                    entries.push_back(
                        {static_cast<int>(j), texel, alpha[at], distance2[at], aperture2[at]});
            }
        }
        start.push_back(static_cast<int>(entries.size()));
    }
    stripStart =
        Tensor::fromHost<int>(stream, op.device(), {static_cast<Index>(start.size())}, start);
    stripEntries = uploadBytes(stream, op.device(), std::span<const StripEntry>(entries));
}

void OperatorTables::makeRoom(const TableOperator& op, int lanes)
{
    slotCount = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 2, 64);
    const Index room =
        op.states() * bundleCount(op.resolution(), lanes) * op.resolution() * kMaxLanes;
    if (bundled.size() < room)
        bundled = Tensor::empty(op.device(), {room});
    const Index strip = static_cast<Index>(op.panelResolution()) * kStripTexels * lanes;
    if (slots.size() < slotCount * strip)
        slots = Tensor::empty(op.device(), {slotCount * strip});
}

TableOperator::TableOperator(Stream& stream, std::shared_ptr<Device> device, Optics optics,
                             std::vector<EyeState> states, int raysPerPixel, DType type)
    : LinearOperator(std::move(device)),
      m_optics(std::move(optics)),
      m_raysPerPixel(raysPerPixel),
      m_type(type),
      m_tables(std::make_unique<OperatorTables>())
{
    checkOptics(m_optics);
    expects(!states.empty(), "operator: at least one eye state is needed");
    expects(raysPerPixel >= 1, "operator: at least one ray per pixel is needed");
    expects(type == DType::F32 || type == DType::F64,
            "operator: the element type must be F32 or F64");
    // Narrower panels than a vector go through the plain drivers.
    m_plain = type == DType::F64 || m_optics.panelResolution < 16;
    const Index entries =
        static_cast<Index>(states.size()) * planes() * raysPerPixel * resolution();
    m_tables->x.allocate(m_device, entries, type);
    m_tables->y.allocate(m_device, entries, type);
    if (m_optics.missing == MissingPolicy::Renormalise) {
        const Index pixels = static_cast<Index>(resolution()) * resolution();
        const Index layers = static_cast<Index>(states.size()) * planes();
        m_tables->gain = Tensor::empty(m_device, {layers * pixels}, type);
    }
    m_tables->sums = Tensor::empty(m_device, {2 * kMaxLanes}, DType::F64);
    m_tables->texelSums =
        Tensor::empty(m_device, {static_cast<Index>(sizeof(TexelSums))}, DType::U8);
    setEyeStates(stream, std::move(states));
}

TableOperator::~TableOperator() = default;

void TableOperator::setEyeStates(Stream& stream, std::vector<EyeState> states)
{
    expects(m_states.empty() || states.size() == m_states.size(),
            "operator: the number of eye states is fixed");
    m_states = std::move(states);
    m_tables->forgetLists();
    build(stream);
}

void TableOperator::usePlainDrivers(bool plain)
{
    m_plain = plain || m_type == DType::F64 || m_optics.panelResolution < 16;
}

void TableOperator::build(Stream& stream)
{
    const auto pattern = samplePattern(m_raysPerPixel, m_optics.pupilDiameter);
    std::vector<double> inverseFocals;
    for (const double focal : m_optics.focalLengths)
        inverseFocals.push_back(1 / focal);
    const Tensor stateData = uploadBytes(stream, m_device, std::span<const EyeState>(m_states));
    const Tensor sampleData = uploadBytes(stream, m_device, std::span<const RaySample>(pattern));
    const Tensor focalData = uploadBytes(stream, m_device, std::span<const double>(inverseFocals));
    BuildArguments arguments;
    arguments.axis = axisOptics(m_optics);
    arguments.states = dataOf<const EyeState>(stateData);
    arguments.samples = dataOf<const RaySample>(sampleData);
    arguments.inverseFocals = dataOf<const double>(focalData);
    arguments.slopeExtent = m_optics.slopeExtent();
    arguments.squareLenslets = m_optics.lensletShape == LensletShape::Square;
    arguments.floorsTexels = m_optics.sampling == TexelSampling::NearestFloor;
    if (m_type == DType::F64)
        buildTablesF64(stream, arguments, m_tables->view<double>(*this));
    else
        buildTablesF32(stream, arguments, m_tables->view<float>(*this));
    if (!m_tables->gain.isEmpty() && m_type == DType::F64)
        buildGainsF64(stream, m_tables->view<double>(*this));
    else if (!m_tables->gain.isEmpty())
        buildGainsF32(stream, m_tables->view<float>(*this));
    stream.synchronize();
}

Index TableOperator::unknowns() const
{
    return static_cast<Index>(planes()) * panelResolution() * panelResolution();
}

Index TableOperator::measurements() const
{
    return static_cast<Index>(states()) * resolution() * resolution();
}

double TableOperator::raysPerPass() const
{
    return static_cast<double>(measurements()) * m_raysPerPixel * planes();
}

std::size_t TableOperator::bytes() const
{
    const OperatorTables& t = *m_tables;
    return t.x.bytes() + t.y.bytes() + t.gain.bytes() + t.stripStart.bytes() +
           t.stripEntries.bytes() + t.bundled.bytes() + t.slots.bytes();
}

namespace {

/// Lanes of `tensor` as [count, L]; throws where that is none of 1, 4, 16.
int lanesOf(const Tensor& tensor, Index count, const char* what)
{
    const Index lanes = tensor.size() / count;
    expects(lanes * count == tensor.size() && (lanes == 1 || lanes == 4 || lanes == 16), what);
    return static_cast<int>(lanes);
}

template <class Real>
void callForward(Stream& stream, const ForwardArguments<Real>& arguments, bool plain)
{
    if constexpr (std::is_same_v<Real, double>)
        forwardPlainF64(stream, arguments);
    else if (plain)
        forwardPlainF32(stream, arguments);
    else
        forwardTiles(stream, arguments);
}

template <class Real>
void callAdjoint(Stream& stream, const AdjointArguments<Real>& arguments, bool plain)
{
    if constexpr (std::is_same_v<Real, double>)
        adjointPlainF64(stream, arguments);
    else if (plain)
        adjointPlainF32(stream, arguments);
    else
        adjointTiles(stream, arguments);
}

/// images = A x over all planes.
template <class Real>
ForwardArguments<Real> forwardArguments(const TableOperator& op, const OperatorTables& tables,
                                        const Tensor& x, const Tensor& images, int lanes)
{
    ForwardArguments<Real> a;
    a.tables = tables.view<Real>(op);
    a.x = dataOf<const Real>(x);
    a.images = dataOf<Real>(images);
    a.lanes = lanes;
    a.planeCount = op.planes();
    a.tileRays = op.tileRays();
    return a;
}

/// Calls body(Real{}) for the element type.
template <class Body>
auto withReal(DType type, const Body& body)
{
    return type == DType::F64 ? body(double{}) : body(float{});
}

} // namespace

void TableOperator::forward(Stream& stream, const Tensor& x, Tensor& images) const
{
    forwardPlanes(stream, x, 0, planes(), images);
}

void TableOperator::forwardPlanes(Stream& stream, const Tensor& x, int first, int count,
                                  Tensor& images) const
{
    const int lanes =
        lanesOf(x, unknowns(), "forward: the planes must be [K, R, R, L] with 1, 4 or 16 lanes");
    expects(images.size() == measurements() * lanes, "forward: the images must be [S, W, W, L]");
    expects(x.dtype() == m_type && images.dtype() == m_type,
            "forward: element types differ from the operator's");
    expects(first >= 0 && count >= 0 && first + count <= planes(), "forward: no such planes");
    withReal(m_type, [&](auto real) {
        auto a = forwardArguments<decltype(real)>(*this, *m_tables, x, images, lanes);
        a.firstPlane = first;
        a.planeCount = count;
        callForward(stream, a, m_plain);
    });
}

ResidualSums TableOperator::residual(Stream& stream, const Tensor& x, const Tensor& target,
                                     const Tensor& weights, Tensor& images, Tensor& residual,
                                     RowSubset rows) const
{
    const int lanes =
        lanesOf(x, unknowns(), "residual: the planes must be [K, R, R, L] with 1, 4 or 16 lanes");
    const Index values = measurements() * lanes;
    expects(target.size() == values && images.size() == values && residual.size() == values,
            "residual: target, images and residual must be [S, W, W, L]");
    expects(weights.isEmpty() || weights.size() == measurements(),
            "residual: the weights must be [S, W, W]");
    expects(x.dtype() == m_type && target.dtype() == m_type && images.dtype() == m_type &&
                residual.dtype() == m_type,
            "residual: element types differ from the operator's");
    withReal(m_type, [&](auto real) {
        using Real = decltype(real);
        auto a = forwardArguments<Real>(*this, *m_tables, x, images, lanes);
        a.target = dataOf<const Real>(target);
        a.weights = weights.isEmpty() ? nullptr : dataOf<const Real>(weights);
        a.residual = dataOf<Real>(residual);
        a.sums = dataOf<double>(m_tables->sums);
        a.rows = rows;
        callForward(stream, a, m_plain);
    });
    const auto sums = m_tables->sums.toHost<double>(stream);
    return {{sums.begin(), sums.begin() + lanes}, {sums.begin() + lanes, sums.begin() + 2 * lanes}};
}

UpdateSums TableOperator::adjointUpdate(Stream& stream, const Tensor& residual, int lanes,
                                        const TexelUpdate& update, RowSubset rows) const
{
    expects(residual.size() == measurements() * lanes && (lanes == 1 || lanes == 4 || lanes == 16),
            "adjoint: the residual must be [S, W, W, L] with 1, 4 or 16 lanes");
    expects(residual.dtype() == m_type, "adjoint: element types differ from the operator's");
    const bool strips = !m_plain && m_device->isCpu();
    if (strips && m_tables->stripStart.isEmpty())
        m_tables->makeStrips(stream, *this);
    if (strips)
        m_tables->makeRoom(*this, lanes);
    withReal(m_type, [&](auto real) {
        using Real = decltype(real);
        if (!strips)
            m_tables->invert<Real>(stream, *this);
        AdjointArguments<Real> a;
        a.tables = m_tables->view<Real>(*this);
        a.columns = m_tables->x.inverted<Real>();
        a.lines = m_tables->y.inverted<Real>();
        a.strips = {dataOf<const int>(m_tables->stripStart),
                    dataOf<const StripEntry>(m_tables->stripEntries)};
        a.bundled = dataOf<float>(m_tables->bundled);
        a.slots = dataOf<float>(m_tables->slots);
        a.slotCount = m_tables->slotCount;
        a.residual = dataOf<const Real>(residual);
        a.update = update;
        a.sums = dataOf<TexelSums>(m_tables->texelSums);
        a.lanes = lanes;
        a.rows = rows;
        a.tileRays = m_tileRays;
        callAdjoint(stream, a, m_plain);
    });
    return toUpdateSums(stream, m_tables->texelSums, lanes);
}

Tensor TableOperator::expandPlanes(Stream& stream, const Tensor& x, float) const
{
    const int lanes = lanesOf(x, unknowns(), "expandPlanes: the unknowns must be [N, L]");
    return x.clone(stream).reshaped({planes(), panelResolution(), panelResolution(), lanes});
}

Tensor TableOperator::gatherPlanes(Stream& stream, const Tensor& panelImages) const
{
    const int lanes =
        lanesOf(panelImages, unknowns(), "gatherPlanes: the planes must be [K, R, R, L]");
    return panelImages.clone(stream).reshaped({unknowns(), lanes});
}

} // namespace vergence::light_field
