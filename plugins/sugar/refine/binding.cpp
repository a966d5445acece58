#include "plugins/sugar/refine/binding.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plugins/sugar/compute/sh_math.h"
#include "plugins/sugar/mesh/mesh_parts.h"
#include "plugins/sugar/mesh/mesh_topology.h"
#include "plugins/sugar/refine/binding_kernels.h"
#include "plugins/sugar/refine/binding_math.h"

namespace vergence::sugar {

namespace {

using Row = std::array<double, 3>;

/// `count` rows that put `apex` on one corner and the rest evenly on the others.
void addRows(BindingPattern& pattern, double apex)
{
    const double other = (1 - apex) / 2;
    for (std::size_t corner = 0; corner < 3; ++corner) {
        Row row{other, other, other};
        row[corner] = apex;
        pattern.barycentric[static_cast<std::size_t>(pattern.count++)] = row;
    }
}

float* floatsOf(const Tensor& tensor)
{
    return tensor.isEmpty() ? nullptr : tensor.flat<float>().data();
}

const std::int32_t* integersOf(const Tensor& tensor)
{
    return tensor.isEmpty() ? nullptr : tensor.flat<std::int32_t>().data();
}

Tensor integers(Stream& stream, const std::shared_ptr<Device>& device, Shape shape,
                const std::vector<std::uint32_t>& values)
{
    const std::vector<std::int32_t> numbers(values.begin(), values.end());
    return Tensor::fromHost<std::int32_t>(stream, device, std::move(shape), numbers);
}

/// Makes a tensor of that shape where it has another one.
void ensure(Tensor& tensor, const std::shared_ptr<Device>& device, const Shape& shape)
{
    if (tensor.shape() != shape)
        tensor = Tensor::empty(device, shape);
}

/// Faces across the edges of each face.
RaggedLists neighboursOf(const TriangleMesh& mesh)
{
    const MeshEdges edges = edgesOf(mesh);
    RaggedLists lists;
    for (Index f = 0; f < mesh.faces(); ++f) {
        for (int k = 0; k < 3; ++k) {
            const std::uint32_t edge = edges.ofCorner[static_cast<std::size_t>(3 * f + k)];
            for (const std::uint32_t corner : edges.corners.of(edge)) {
                if (static_cast<Index>(corner / 3) != f)
                    lists.value.push_back(corner / 3);
            }
        }
        lists.start.push_back(static_cast<std::uint32_t>(lists.value.size()));
    }
    return lists;
}

/// Vertices at the edges of each vertex.
RaggedLists vertexNeighboursOf(const TriangleMesh& mesh)
{
    const MeshEdges edges = edgesOf(mesh);
    RaggedLists lists;
    lists.start.assign(static_cast<std::size_t>(mesh.vertices()) + 1, 0);
    for (const auto& edge : edges.vertices) {
        for (const std::uint32_t v : edge)
            ++lists.start[v + 1];
    }
    for (std::size_t v = 0; v + 1 < lists.start.size(); ++v)
        lists.start[v + 1] += lists.start[v];
    lists.value.resize(lists.start.back());
    std::vector<std::uint32_t> next = lists.start;
    for (const auto& edge : edges.vertices) {
        lists.value[next[edge[0]]++] = edge[1];
        lists.value[next[edge[1]]++] = edge[0];
    }
    return lists;
}

PlacementRows rowsOf(const BindingPattern& pattern)
{
    PlacementRows rows;
    rows.count = pattern.count;
    for (std::size_t k = 0; k < static_cast<std::size_t>(pattern.count); ++k)
        std::transform(pattern.barycentric[k].begin(), pattern.barycentric[k].end(),
                       rows.barycentric[k], [](double b) { return static_cast<float>(b); });
    return rows;
}

void expectFits(const Binding& binding, const BoundArrays& arrays)
{
    expects(!arrays.vertex.isEmpty() && arrays.vertex.extent(0) == binding.vertices() &&
                arrays.gaussians() == binding.gaussians(),
            "binding: the arrays belong to another mesh");
}

/// Barycentric mean of the colours of a triangle's corners, 0 to 1.
Row colourAt(const TriangleMesh& mesh, Index f, const Row& barycentric)
{
    if (mesh.colour.empty())
        return {0.5, 0.5, 0.5};
    Row colour{};
    for (std::size_t k = 0; k < 3; ++k) {
        const std::size_t v = mesh.triangle[3 * static_cast<std::size_t>(f) + k];
        for (std::size_t channel = 0; channel < 3; ++channel)
            colour[channel] += barycentric[k] * mesh.colour[3 * v + channel] / 255;
    }
    return colour;
}

double shortestEdge(const TriangleMesh& mesh, Index f)
{
    double shortest = HUGE_VAL;
    for (std::size_t k = 0; k < 3; ++k) {
        const std::uint32_t* corners = mesh.triangle.data() + 3 * f;
        const float* a = mesh.position.data() + 3 * std::size_t{corners[k]};
        const float* b = mesh.position.data() + 3 * std::size_t{corners[(k + 1) % 3]};
        shortest = std::min(shortest, std::hypot(static_cast<double>(a[0] - b[0]),
                                                 static_cast<double>(a[1] - b[1]),
                                                 static_cast<double>(a[2] - b[2])));
    }
    return shortest;
}

} // namespace

BindingPattern bindingPattern(int perTriangle)
{
    const double root3 = std::sqrt(3.0);
    BindingPattern pattern;
    pattern.count = 0;
    if (perTriangle == 1 || perTriangle == 4)
        pattern.barycentric[static_cast<std::size_t>(pattern.count++)] = {1.0 / 3, 1.0 / 3,
                                                                          1.0 / 3};
    if (perTriangle == 1) {
        pattern.scale = 1 / (2 * root3);
    } else if (perTriangle == 3) {
        addRows(pattern, 1.0 / 2);
        pattern.scale = 1 / (2 * (root3 + 1));
    } else if (perTriangle == 4) {
        addRows(pattern, 2.0 / 3);
        pattern.scale = 1 / (4 * root3);
    } else if (perTriangle == 6) {
        addRows(pattern, 2.0 / 3);
        addRows(pattern, 1.0 / 6);
        pattern.scale = 1 / (4 + 2 * root3);
    } else {
        throw ContractError("bindingPattern: a triangle has 1, 3, 4 or 6 Gaussians");
    }
    return pattern;
}

int BoundArrays::degree() const
{
    const Index rest = shRest.isEmpty() ? 0 : shRest.extent(1);
    int degree = 0;
    while (restCoefficients(degree) < rest)
        ++degree;
    return degree;
}

std::vector<Tensor> BoundArrays::groups() const
{
    std::vector<Tensor> all{vertex, opacity, logScale, turn, shDc};
    if (!shRest.isEmpty())
        all.push_back(shRest);
    return all;
}

BoundArrays BoundArrays::zeros(Stream& stream, const std::shared_ptr<Device>& device,
                               Index vertices, Index gaussians, int degree)
{
    expects(degree >= 0 && degree <= 3, "BoundArrays: the degree must be 0 to 3");
    BoundArrays arrays;
    arrays.vertex = Tensor::zeros(stream, device, {vertices, 3});
    arrays.opacity = Tensor::zeros(stream, device, {gaussians});
    arrays.logScale = Tensor::zeros(stream, device, {gaussians, 2});
    arrays.turn = Tensor::zeros(stream, device, {gaussians, 2});
    arrays.shDc = Tensor::zeros(stream, device, {gaussians, 3});
    if (degree > 0)
        arrays.shRest = Tensor::zeros(stream, device, {gaussians, restCoefficients(degree), 3});
    return arrays;
}

Binding bindToMesh(Stream& stream, const std::shared_ptr<Device>& device, const TriangleMesh& mesh,
                   int perTriangle, double thickness)
{
    expects(thickness > 0, "bindToMesh: the thickness must be positive");
    if (mesh.faces() == 0)
        throw InputError("The mesh to refine has no triangles; build it again with a lower level "
                         "or a larger box.");
    expects(6 * mesh.faces() < std::numeric_limits<std::int32_t>::max(),
            "bindToMesh: more triangles than 32-bit rows can name");
    expectSound(mesh);
    Binding binding;
    binding.pattern = bindingPattern(perTriangle);
    binding.thickness = static_cast<float>(thickness);
    binding.triangle = integers(stream, device, {mesh.faces(), 3}, mesh.triangle);
    const RaggedLists corners = cornersOf(mesh), neighbours = neighboursOf(mesh);
    binding.cornerStart = integers(stream, device, {mesh.vertices() + 1}, corners.start);
    binding.corner = integers(stream, device, {3 * mesh.faces()}, corners.value);
    binding.neighbourStart = integers(stream, device, {mesh.faces() + 1}, neighbours.start);
    binding.neighbour =
        integers(stream, device, {static_cast<Index>(neighbours.value.size())}, neighbours.value);
    const Tensor vertex =
        Tensor::fromHost<float>(stream, device, {mesh.vertices(), 3}, mesh.position);
    binding.initialNormal = Tensor::empty(device, {mesh.faces(), 3});
    triangleNormals(stream, {mesh.faces(), integersOf(binding.triangle), floatsOf(vertex),
                             floatsOf(binding.initialNormal)});
    stream.synchronize(); // `vertex` ends here
    return binding;
}

BoundArrays initialParameters(Stream& stream, const Binding& binding, const TriangleMesh& mesh,
                              int degree, double opacity)
{
    expects(opacity > 0 && opacity < 1, "initialParameters: opacity lies between 0 and 1");
    expects(mesh.faces() == binding.triangles() && mesh.vertices() == binding.vertices(),
            "initialParameters: another mesh was bound");
    const std::shared_ptr<Device>& device = binding.triangle.device();
    const Index count = binding.gaussians();
    BoundArrays arrays = BoundArrays::zeros(stream, device, binding.vertices(), count, degree);
    const auto n = static_cast<std::size_t>(count);
    const std::vector<float> logits(n, static_cast<float>(std::log(opacity / (1 - opacity))));
    std::vector<float> scales, turns, colours;
    for (Index f = 0; f < mesh.faces(); ++f) {
        const double width = std::max(shortestEdge(mesh, f) * binding.pattern.scale,
                                      static_cast<double>(binding.thickness));
        for (int k = 0; k < binding.pattern.count; ++k) {
            scales.insert(scales.end(), 2, static_cast<float>(std::log(width)));
            turns.insert(turns.end(), {1.0F, 0.0F});
            const auto& row = binding.pattern.barycentric[static_cast<std::size_t>(k)];
            for (const double value : colourAt(mesh, f, row))
                colours.push_back(static_cast<float>((value - 0.5) / ShConstants<double>::c0));
        }
    }
    const auto fill = [&](const Tensor& tensor, const std::vector<float>& values) {
        stream.copy(tensor.data(), values.data(), values.size() * sizeof(float));
    };
    fill(arrays.vertex, mesh.position);
    fill(arrays.opacity, logits);
    fill(arrays.logScale, scales);
    fill(arrays.turn, turns);
    fill(arrays.shDc, colours);
    return arrays;
}

Gaussians boundGaussians(Stream& stream, const Binding& binding, const BoundArrays& parameters)
{
    expectFits(binding, parameters);
    const std::shared_ptr<Device>& device = binding.triangle.device();
    Gaussians gaussians;
    gaussians.count = binding.gaussians();
    gaussians.value.position = Tensor::empty(device, {gaussians.count, 3});
    gaussians.value.logScale = Tensor::empty(device, {gaussians.count, 3});
    gaussians.value.rotation = Tensor::empty(device, {gaussians.count, 4});
    gaussians.value.opacity = parameters.opacity;
    gaussians.value.shDc = parameters.shDc;
    gaussians.value.shRest = parameters.shRest;
    placeGaussians(stream, binding, parameters, gaussians);
    return gaussians;
}

void placeGaussians(Stream& stream, const Binding& binding, const BoundArrays& parameters,
                    Gaussians& gaussians)
{
    expectFits(binding, parameters);
    expects(gaussians.count == binding.gaussians(), "placeGaussians: another number of Gaussians");
    PlaceArguments arguments;
    arguments.triangles = binding.triangles();
    arguments.rows = rowsOf(binding.pattern);
    arguments.logThickness = std::log(binding.thickness);
    arguments.triangle = integersOf(binding.triangle);
    arguments.vertex = floatsOf(parameters.vertex);
    arguments.logScale = floatsOf(parameters.logScale);
    arguments.turn = floatsOf(parameters.turn);
    arguments.position = floatsOf(gaussians.value.position);
    arguments.logScales = floatsOf(gaussians.value.logScale);
    arguments.rotation = floatsOf(gaussians.value.rotation);
    placeBound(stream, arguments);
}

void placeGaussiansBackward(Stream& stream, const Binding& binding, const BoundArrays& parameters,
                            const Gaussians& placed, const GaussianArrays& given,
                            BoundArrays& gradients, Tensor& scratch,
                            const PlacementOptions& options)
{
    expectFits(binding, parameters);
    expectFits(binding, gradients);
    expects(placed.count == binding.gaussians() && given.capacity() >= placed.count,
            "placeGaussiansBackward: another number of Gaussians");
    constexpr float kLeastCosine = 0.2F;
    ensure(scratch, binding.triangle.device(), {binding.triangles(), 3, 3});
    PlaceBackwardArguments arguments;
    arguments.triangles = binding.triangles();
    arguments.rows = rowsOf(binding.pattern);
    arguments.triangle = integersOf(binding.triangle);
    arguments.vertex = floatsOf(parameters.vertex);
    arguments.turn = floatsOf(parameters.turn);
    arguments.initialNormal = options.flipGuard ? floatsOf(binding.initialNormal) : nullptr;
    arguments.leastCosine = kLeastCosine;
    arguments.rotation = floatsOf(placed.value.rotation);
    arguments.gradPosition = floatsOf(given.position);
    arguments.gradLogScales = floatsOf(given.logScale);
    arguments.gradRotation = floatsOf(given.rotation);
    arguments.gradLogScale = floatsOf(gradients.logScale);
    arguments.gradTurn = floatsOf(gradients.turn);
    arguments.gradCorner = floatsOf(scratch);
    placeBoundBackward(stream, arguments);
    gatherCorners(stream,
                  {binding.vertices(), integersOf(binding.cornerStart), integersOf(binding.corner),
                   floatsOf(scratch), false, floatsOf(gradients.vertex)});
}

double NormalConsistency::addGradient(Stream& stream, const Binding& binding, const Tensor& vertex,
                                      double weight, Tensor& gradVertex)
{
    expectSameShape(vertex, gradVertex);
    expects(vertex.extent(0) == binding.vertices(), "NormalConsistency: another mesh was bound");
    if (binding.pairs() == 0)
        return 0;
    const std::shared_ptr<Device>& device = binding.triangle.device();
    ensure(m_normal, device, {binding.triangles(), 3});
    ensure(m_corner, device, {binding.triangles(), 3, 3});
    triangleNormals(stream, {binding.triangles(), integersOf(binding.triangle), floatsOf(vertex),
                             floatsOf(m_normal)});
    double sum = 0;
    const auto pairs = static_cast<double>(binding.pairs());
    ConsistencyArguments arguments;
    arguments.triangles = binding.triangles();
    arguments.triangle = integersOf(binding.triangle);
    arguments.start = integersOf(binding.neighbourStart);
    arguments.neighbour = integersOf(binding.neighbour);
    arguments.vertex = floatsOf(vertex);
    arguments.normal = floatsOf(m_normal);
    arguments.factor = static_cast<float>(weight / pairs);
    arguments.gradCorner = floatsOf(m_corner);
    arguments.sum = &sum;
    normalConsistency(stream, arguments);
    gatherCorners(stream,
                  {binding.vertices(), integersOf(binding.cornerStart), integersOf(binding.corner),
                   floatsOf(m_corner), true, floatsOf(gradVertex)});
    return sum / (2 * pairs);
}

UniformSmoothing::UniformSmoothing(Stream& stream, const std::shared_ptr<Device>& device,
                                   const TriangleMesh& mesh)
{
    const RaggedLists neighbours = vertexNeighboursOf(mesh);
    m_start = integers(stream, device, {mesh.vertices() + 1}, neighbours.start);
    m_neighbour =
        integers(stream, device, {static_cast<Index>(neighbours.value.size())}, neighbours.value);
    m_direction = Tensor::empty(device, {mesh.vertices(), 4});
}

double UniformSmoothing::addGradient(Stream& stream, const Tensor& vertex, double weight,
                                     Tensor& gradVertex)
{
    expectSameShape(vertex, gradVertex);
    expects(vertex.extent(0) == m_direction.extent(0), "UniformSmoothing: made for another mesh");
    const auto vertices = static_cast<double>(vertex.extent(0));
    double sum = 0;
    SmoothingArguments arguments;
    arguments.vertices = vertex.extent(0);
    arguments.start = integersOf(m_start);
    arguments.neighbour = integersOf(m_neighbour);
    arguments.vertex = floatsOf(vertex);
    arguments.factor = static_cast<float>(weight / vertices);
    arguments.direction = floatsOf(m_direction);
    arguments.gradVertex = floatsOf(gradVertex);
    arguments.sum = &sum;
    uniformSmoothing(stream, arguments);
    return sum / vertices;
}

} // namespace vergence::sugar
