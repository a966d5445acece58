#include "plugins/sugar/mesh/mesh_quality.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "plugins/sugar/mesh/mesh_parts.h"
#include "plugins/sugar/mesh/mesh_topology.h"
#include "plugins/sugar/mesh/mesh_vector.h"
#include "plugins/sugar/mesh/self_intersection.h"

namespace vergence::sugar {

namespace {

constexpr double kLowAspect = 0.3;

void measureTopology(const TriangleMesh& mesh, const MeshEdges& edges, MeshQuality& quality)
{
    quality.faces = mesh.faces();
    quality.edges = edges.count();
    quality.eulerNumber = eulerNumber(mesh, edges);
    quality.vertices = quality.eulerNumber + quality.edges - quality.faces;
    quality.components = static_cast<Index>(componentsOf(mesh, edges).faces.size());
    quality.boundaryLoops = static_cast<Index>(boundaryLoops(mesh, edges).size());
    quality.nonManifoldEdges = static_cast<Index>(nonManifoldEdges(edges).size());
    quality.nonManifoldVertices = static_cast<Index>(nonManifoldVertices(mesh, edges).size());
    quality.windingConflicts = windingConflicts(mesh, edges);
    std::vector<std::size_t> valence(static_cast<std::size_t>(mesh.vertices()), 0);
    for (Index e = 0; e < edges.count(); ++e) {
        quality.boundaryEdges += edges.facesAt(e) == 1;
        for (const std::uint32_t v : edges.vertices[static_cast<std::size_t>(e)])
            ++valence[v];
    }
    for (const std::size_t edgesAtVertex : valence) {
        if (edgesAtVertex > 0)
            ++quality.valence[std::clamp<std::size_t>(edgesAtVertex, 3, 12) - 3];
    }
}

void measureEdges(const TriangleMesh& mesh, const MeshEdges& edges, MeshQuality& quality)
{
    double sum = 0, squares = 0;
    for (const auto& [a, b] : edges.vertices) {
        const double length = norm(vertexOf(mesh, b) - vertexOf(mesh, a));
        sum += length;
        squares += length * length;
    }
    const auto count = static_cast<double>(edges.count());
    quality.meanEdge = sum / count;
    const double variance = squares / count - quality.meanEdge * quality.meanEdge;
    if (quality.meanEdge > 0)
        quality.edgeUniformity = 1 - std::sqrt(std::max(variance, 0.0)) / quality.meanEdge;
}

void measureFaces(const TriangleMesh& mesh, MeshQuality& quality)
{
    quality.low.fill(std::numeric_limits<double>::infinity());
    quality.high.fill(-std::numeric_limits<double>::infinity());
    Index lowFaces = 0;
    double aspects = 0;
    for (std::size_t f = 0; f < static_cast<std::size_t>(mesh.faces()); ++f) {
        double squares = 0;
        for (std::size_t k = 0; k < 3; ++k) {
            const Point3 p = vertexOf(mesh, mesh.triangle[3 * f + k]);
            const Point3 side = vertexOf(mesh, mesh.triangle[3 * f + (k + 1) % 3]) - p;
            squares += dot(side, side);
            for (std::size_t axis = 0; axis < 3; ++axis) {
                quality.low[axis] = std::min(quality.low[axis], p[axis]);
                quality.high[axis] = std::max(quality.high[axis], p[axis]);
            }
        }
        const double area = faceArea(mesh, f);
        const double aspect = squares > 0 ? 4 * std::numbers::sqrt3 * area / squares : 0;
        quality.area += area;
        aspects += aspect;
        lowFaces += aspect < kLowAspect;
    }
    quality.meanAspect = aspects / static_cast<double>(mesh.faces());
    quality.lowAspectShare = static_cast<double>(lowFaces) / static_cast<double>(mesh.faces());
}

double scoreOf(const MeshQuality& quality)
{
    const auto faults = static_cast<double>(quality.nonManifoldEdges + quality.windingConflicts);
    const double penalty = std::min(1.0, 10 * faults / static_cast<double>(quality.edges) +
                                             0.1 * static_cast<double>(quality.components - 1));
    return 40 * quality.meanAspect + 20 * (1 - quality.lowAspectShare) +
           20 * std::clamp(quality.edgeUniformity, 0.0, 1.0) + 20 * (1 - penalty);
}

std::string labelOf(double score)
{
    return score >= 90 ? "excellent" : score >= 75 ? "good" : score >= 60 ? "usable" : "poor";
}

} // namespace

MeshQuality measured(const TriangleMesh& mesh, Index samples)
{
    expectSound(mesh);
    for (const std::uint32_t v : mesh.triangle) {
        const Point3 p = vertexOf(mesh, v);
        expects(std::isfinite(p.x + p.y + p.z), "measured: a position is not finite");
    }
    MeshQuality quality;
    if (mesh.faces() > 0) {
        const MeshEdges edges = edgesOf(mesh);
        measureTopology(mesh, edges, quality);
        measureEdges(mesh, edges, quality);
        measureFaces(mesh, quality);
        if (quality.isClosed() && quality.windingConflicts == 0)
            quality.volume = signedVolume(mesh);
        const SelfIntersections cuts = selfIntersections(mesh, samples);
        quality.sampledFaces = cuts.sampled;
        quality.intersectingFaces = cuts.intersecting;
        quality.score = scoreOf(quality);
    }
    quality.label = labelOf(quality.score);
    return quality;
}

nlohmann::json toJson(const MeshQuality& quality)
{
    return {{"vertices", quality.vertices},
            {"edges", quality.edges},
            {"faces", quality.faces},
            {"euler_number", quality.eulerNumber},
            {"components", quality.components},
            {"boundary_loops", quality.boundaryLoops},
            {"boundary_edges", quality.boundaryEdges},
            {"non_manifold_edges", quality.nonManifoldEdges},
            {"non_manifold_vertices", quality.nonManifoldVertices},
            {"winding_conflicts", quality.windingConflicts},
            {"area", quality.area},
            {"volume", quality.volume},
            {"low", quality.low},
            {"high", quality.high},
            {"mean_edge", quality.meanEdge},
            {"edge_uniformity", quality.edgeUniformity},
            {"mean_aspect", quality.meanAspect},
            {"low_aspect_share", quality.lowAspectShare},
            {"valence", quality.valence},
            {"sampled_faces", quality.sampledFaces},
            {"intersecting_faces", quality.intersectingFaces},
            {"score", quality.score},
            {"label", quality.label}};
}

MeshQuality meshQualityFromJson(const nlohmann::json& json)
{
    MeshQuality quality;
    json.at("vertices").get_to(quality.vertices);
    json.at("edges").get_to(quality.edges);
    json.at("faces").get_to(quality.faces);
    json.at("euler_number").get_to(quality.eulerNumber);
    json.at("components").get_to(quality.components);
    json.at("boundary_loops").get_to(quality.boundaryLoops);
    json.at("boundary_edges").get_to(quality.boundaryEdges);
    json.at("non_manifold_edges").get_to(quality.nonManifoldEdges);
    json.at("non_manifold_vertices").get_to(quality.nonManifoldVertices);
    json.at("winding_conflicts").get_to(quality.windingConflicts);
    json.at("area").get_to(quality.area);
    json.at("volume").get_to(quality.volume);
    json.at("low").get_to(quality.low);
    json.at("high").get_to(quality.high);
    json.at("mean_edge").get_to(quality.meanEdge);
    json.at("edge_uniformity").get_to(quality.edgeUniformity);
    json.at("mean_aspect").get_to(quality.meanAspect);
    json.at("low_aspect_share").get_to(quality.lowAspectShare);
    json.at("valence").get_to(quality.valence);
    json.at("sampled_faces").get_to(quality.sampledFaces);
    json.at("intersecting_faces").get_to(quality.intersectingFaces);
    json.at("score").get_to(quality.score);
    json.at("label").get_to(quality.label);
    return quality;
}

} // namespace vergence::sugar
