#include "plugins/sugar/mesh/mesh_cleaning.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/base/error.h"
#include "plugins/sugar/mesh/mesh_parts.h"
#include "plugins/sugar/mesh/mesh_topology.h"
#include "plugins/sugar/mesh/mesh_vector.h"

namespace vergence::sugar {

namespace {

std::vector<std::uint8_t> allFaces(const TriangleMesh& mesh)
{
    return std::vector<std::uint8_t>(static_cast<std::size_t>(mesh.faces()), 1);
}

/// Keeps the marked faces; returns how many went.
Index keep(TriangleMesh& mesh, const std::vector<std::uint8_t>& isKept)
{
    const Index before = mesh.faces();
    mesh = keptFaces(mesh, isKept);
    return before - mesh.faces();
}

bool usesOneTwice(const std::uint32_t* v)
{
    return v[0] == v[1] || v[1] == v[2] || v[2] == v[0];
}

} // namespace

Index removeSparse(TriangleMesh& mesh, const std::vector<float>& density, double quantile)
{
    expects(quantile >= 0 && quantile <= 1, "removeSparse: the quantile must be 0 to 1");
    if (density.empty() || quantile == 0)
        return 0;
    expects(density.size() == static_cast<std::size_t>(mesh.vertices()),
            "removeSparse: there must be a density per vertex");
    std::vector<float> sorted = density;
    const auto rank = static_cast<std::size_t>(quantile * static_cast<double>(sorted.size() - 1));
    const auto threshold = sorted.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(sorted.begin(), threshold, sorted.end());
    std::vector<std::uint8_t> isKept = allFaces(mesh);
    for (std::size_t corner = 0; corner < mesh.triangle.size(); ++corner) {
        if (density[mesh.triangle[corner]] < *threshold)
            isKept[corner / 3] = 0;
    }
    return keep(mesh, isKept);
}

Index removeSmallComponents(TriangleMesh& mesh, double share, Index least)
{
    const MeshComponents parts = componentsOf(mesh, edgesOf(mesh));
    if (parts.faces.empty())
        return 0;
    const Index largest = *std::max_element(parts.faces.begin(), parts.faces.end());
    const double bound =
        std::min(std::max(share * static_cast<double>(mesh.faces()), static_cast<double>(least)),
                 static_cast<double>(largest));
    std::vector<std::uint8_t> isKept = allFaces(mesh);
    for (std::size_t f = 0; f < isKept.size(); ++f)
        isKept[f] = static_cast<double>(parts.faces[parts.ofFace[f]]) >= bound;
    return keep(mesh, isKept);
}

Index mergeDuplicateVertices(TriangleMesh& mesh)
{
    expectSound(mesh);
    const auto place = [&](std::uint32_t v) {
        const float* p = &mesh.position[3 * static_cast<std::size_t>(v)];
        return std::array<float, 3>{p[0], p[1], p[2]};
    };
    std::vector<std::uint32_t> order;
    for (std::uint32_t v = 0; v < static_cast<std::uint32_t>(mesh.vertices()); ++v) {
        const auto p = place(v);
        if (std::isfinite(p[0]) && std::isfinite(p[1]) && std::isfinite(p[2]))
            order.push_back(v);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return place(a) < place(b); });
    std::vector<std::uint32_t> firstOf(static_cast<std::size_t>(mesh.vertices()));
    std::iota(firstOf.begin(), firstOf.end(), 0U);
    for (std::size_t i = 1; i < order.size(); ++i) {
        if (place(order[i]) == place(order[i - 1]))
            firstOf[order[i]] = firstOf[order[i - 1]];
    }
    for (std::uint32_t& v : mesh.triangle)
        v = firstOf[v];
    std::vector<std::uint8_t> isKept = allFaces(mesh);
    for (std::size_t f = 0; f < isKept.size(); ++f)
        isKept[f] = !usesOneTwice(&mesh.triangle[3 * f]);
    return keep(mesh, isKept);
}

Index removeDuplicateFaces(TriangleMesh& mesh)
{
    expectSound(mesh);
    std::vector<std::array<std::uint32_t, 4>> faces; // sorted vertices, then the face
    for (std::uint32_t f = 0; f < static_cast<std::uint32_t>(mesh.faces()); ++f) {
        const std::uint32_t* v = &mesh.triangle[3 * static_cast<std::size_t>(f)];
        faces.push_back({v[0], v[1], v[2], f});
        std::sort(faces.back().begin(), faces.back().begin() + 3);
    }
    std::sort(faces.begin(), faces.end());
    std::vector<std::uint8_t> isKept = allFaces(mesh);
    for (std::size_t i = 1; i < faces.size(); ++i)
        isKept[faces[i][3]] =
            !std::equal(faces[i].begin(), faces[i].begin() + 3, faces[i - 1].begin());
    return keep(mesh, isKept);
}

Index removeDegenerateFaces(TriangleMesh& mesh, double leastArea)
{
    expectSound(mesh);
    std::vector<std::uint8_t> isKept = allFaces(mesh);
    for (std::size_t f = 0; f < isKept.size(); ++f) {
        const double area = faceArea(mesh, f); // NaN where a position is not finite
        isKept[f] = !usesOneTwice(&mesh.triangle[3 * f]) && std::isfinite(area) &&
                    area >= leastArea && area > 0;
    }
    return keep(mesh, isKept);
}

Index removeNonManifoldEdges(TriangleMesh& mesh)
{
    const MeshEdges edges = edgesOf(mesh);
    std::vector<std::uint8_t> isKept = allFaces(mesh);
    std::vector<std::uint32_t> corners; // of the faces at an edge, small ones first
    for (const std::uint32_t e : nonManifoldEdges(edges)) {
        corners.clear();
        for (const std::uint32_t corner : edges.corners.of(e)) {
            if (isKept[corner / 3] != 0)
                corners.push_back(corner);
        }
        if (corners.size() < 3)
            continue;
        std::stable_sort(corners.begin(), corners.end(), [&](std::uint32_t a, std::uint32_t b) {
            return faceArea(mesh, a / 3) < faceArea(mesh, b / 3);
        });
        const std::uint32_t largest = corners.back();
        corners.pop_back();
        const auto partner = std::find_if(corners.rbegin(), corners.rend(), [&](std::uint32_t c) {
            return mesh.triangle[c] != mesh.triangle[largest];
        });
        corners.erase(partner == corners.rend() ? corners.end() - 1 : partner.base() - 1);
        for (const std::uint32_t corner : corners)
            isKept[corner / 3] = 0;
    }
    return keep(mesh, isKept);
}

Index splitNonManifoldVertices(TriangleMesh& mesh)
{
    const MeshEdges edges = edgesOf(mesh);
    const std::vector<std::uint32_t> fans = fansOf(mesh, edges);
    const RaggedLists corners = cornersOf(mesh);
    const auto copyRow = [](auto& values, std::uint32_t row) {
        if (values.empty())
            return;
        for (std::size_t k = 0; k < 3; ++k)
            values.push_back(values[3 * static_cast<std::size_t>(row) + k]);
    };
    Index added = 0;
    for (const std::uint32_t v : nonManifoldVertices(mesh, edges)) {
        std::vector<std::array<std::uint32_t, 2>> vertexOfFan; // fan, vertex
        for (const std::uint32_t corner : corners.of(v)) {
            auto known = std::find_if(vertexOfFan.begin(), vertexOfFan.end(),
                                      [&](const auto& entry) { return entry[0] == fans[corner]; });
            if (known == vertexOfFan.end()) {
                std::uint32_t vertex = v;
                if (!vertexOfFan.empty()) {
                    vertex = static_cast<std::uint32_t>(mesh.vertices());
                    copyRow(mesh.position, v);
                    copyRow(mesh.normal, v);
                    copyRow(mesh.colour, v);
                    ++added;
                }
                known = vertexOfFan.insert(vertexOfFan.end(), {fans[corner], vertex});
            }
            mesh.triangle[corner] = (*known)[1];
        }
    }
    return added;
}

CleaningReport clean(TriangleMesh& mesh, const std::vector<float>& density,
                     const CleaningSettings& settings, const std::function<bool()>& isStopped)
{
    CleaningReport report;
    const auto step = [&](Index& count, auto&& work) {
        if (!isStopped || !isStopped())
            count += work();
    };
    step(report.sparse, [&] { return removeSparse(mesh, density, settings.quantile); });
    step(report.duplicates, [&] { return mergeDuplicateVertices(mesh); });
    step(report.duplicates, [&] { return removeDuplicateFaces(mesh); });
    step(report.degenerate, [&] { return removeDegenerateFaces(mesh, settings.leastArea); });
    step(report.nonManifold, [&] { return removeNonManifoldEdges(mesh); });
    step(report.splitVertices, [&] { return splitNonManifoldVertices(mesh); });
    step(report.smallParts,
         [&] { return removeSmallComponents(mesh, settings.smallShare, settings.smallFaces); });
    return report;
}

} // namespace vergence::sugar
