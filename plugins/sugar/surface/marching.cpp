#include "plugins/sugar/surface/marching.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include <tbb/parallel_for.h>

#include "plugins/sugar/mesh/mesh_parts.h"
#include "plugins/sugar/surface/marching_table.h"

namespace vergence::sugar {

namespace {

constexpr int kPadded = kBlockSide + 1;
constexpr std::size_t kWords = 3 * kBlockNodes / 64; ///< a bit per node and axis
constexpr Index kBatch = 128;                        ///< blocks between looks at the stop
constexpr double kEdgeMargin = 1e-3;                 ///< keeps vertices of different edges apart

/// Nodes of a block and of the first layer behind it; NaN where there are none.
struct PaddedBlock {
    std::array<float, kPadded * kPadded * kPadded> value;

    PaddedBlock(const BlockGrid& grid, const std::array<Index, 8>& neighbours)
    {
        for (int z = 0; z < kPadded; ++z) {
            for (int y = 0; y < kPadded; ++y) {
                for (int x = 0; x < kPadded; ++x) {
                    const Index from = neighbours[static_cast<std::size_t>(
                        x / kBlockSide | y / kBlockSide << 1 | z / kBlockSide << 2)];
                    at(x, y, z) = from < 0 ? std::numeric_limits<float>::quiet_NaN()
                                           : grid.values(from)[BlockGrid::offsetOf(
                                                 x % kBlockSide, y % kBlockSide, z % kBlockSide)];
                }
            }
        }
    }
    float& at(int x, int y, int z)
    {
        return value[static_cast<std::size_t>((z * kPadded + y) * kPadded + x)];
    }
};

/// Which edges of a block's nodes are crossed, and the number of its first vertex.
struct Crossings {
    std::array<std::uint64_t, kWords> bits{};
    std::array<std::uint16_t, kWords> before{}; ///< crossings in earlier words
    std::uint32_t count = 0, first = 0;

    void mark(std::size_t bit) { bits[bit / 64] |= std::uint64_t{1} << bit % 64; }
    void finish()
    {
        for (std::size_t word = 0; word < kWords; ++word) {
            before[word] = static_cast<std::uint16_t>(count);
            count += static_cast<std::uint32_t>(std::popcount(bits[word]));
        }
    }
    std::uint32_t vertexOf(std::size_t bit) const
    {
        const std::uint64_t below = bits[bit / 64] & ((std::uint64_t{1} << bit % 64) - 1);
        return first + before[bit / 64] + static_cast<std::uint32_t>(std::popcount(below));
    }
};

std::size_t bitOf(int x, int y, int z, int axis)
{
    return 3 * BlockGrid::offsetOf(x, y, z) + static_cast<std::size_t>(axis);
}

template <class Body>
void forEachNode(const Body& body)
{
    for (int z = 0; z < kBlockSide; ++z) {
        for (int y = 0; y < kBlockSide; ++y) {
            for (int x = 0; x < kBlockSide; ++x)
                body(x, y, z);
        }
    }
}

class March {
public:
    March(const BlockGrid& grid, const EdgePlacer& place)
        : m_grid(grid),
          m_place(place),
          m_crossings(static_cast<std::size_t>(grid.blocks())),
          m_pieces(static_cast<std::size_t>(grid.blocks()))
    {
    }

    void findCrossings(Index block);
    void numberVertices();
    void placeVertices(Index block);
    void makeTriangles(Index block);
    TriangleMesh mesh();

private:
    /// Triangles of a block; vertices from kMiddleBase on are its own middles of rings.
    struct Piece {
        std::vector<std::uint32_t> triangle;
        std::vector<float> middle; ///< [M, 3]
    };
    static constexpr std::uint32_t kMiddleBase = 1U << 31;

    const BlockGrid& m_grid;
    const EdgePlacer& m_place;
    std::vector<Crossings> m_crossings;
    std::vector<Piece> m_pieces;
    std::vector<float> m_position;

    /// The block and those behind it, bit k of the index for a step along axis k.
    std::array<Index, 8> blocksBehind(Index block) const
    {
        std::array<Index, 8> result{};
        for (int i = 0; i < 8; ++i) {
            BlockGrid::Place place = m_grid.place(block);
            for (std::size_t axis = 0; axis < 3; ++axis)
                place[axis] += i >> axis & 1;
            result[static_cast<std::size_t>(i)] = m_grid.find(place);
        }
        return result;
    }
    std::uint32_t vertexOn(const std::array<Index, 8>& blocks, int x, int y, int z, int edge) const;
    void cutCell(const std::array<Index, 8>& blocks, PaddedBlock& nodes, int x, int y, int z,
                 Piece& piece) const;
};

void March::findCrossings(Index block)
{
    PaddedBlock nodes(m_grid, blocksBehind(block));
    Crossings& crossings = m_crossings[static_cast<std::size_t>(block)];
    forEachNode([&](int x, int y, int z) {
        const float here = nodes.at(x, y, z);
        const float behind[3] = {nodes.at(x + 1, y, z), nodes.at(x, y + 1, z),
                                 nodes.at(x, y, z + 1)};
        for (int axis = 0; axis < 3; ++axis) {
            const bool isKnown = !std::isnan(here) && !std::isnan(behind[axis]);
            if (isKnown && (here < 0) != (behind[axis] < 0))
                crossings.mark(bitOf(x, y, z, axis));
        }
    });
    crossings.finish();
}

void March::numberVertices()
{
    std::uint32_t next = 0;
    for (Crossings& crossings : m_crossings) {
        crossings.first = next;
        next += crossings.count;
    }
    m_position.resize(3 * static_cast<std::size_t>(next));
}

void March::placeVertices(Index block)
{
    const Crossings& crossings = m_crossings[static_cast<std::size_t>(block)];
    if (crossings.count == 0)
        return;
    PaddedBlock nodes(m_grid, blocksBehind(block));
    forEachNode([&](int x, int y, int z) {
        for (int axis = 0; axis < 3; ++axis) {
            const std::size_t bit = bitOf(x, y, z, axis);
            if ((crossings.bits[bit / 64] >> bit % 64 & 1) == 0)
                continue;
            const int end[3] = {x + (axis == 0), y + (axis == 1), z + (axis == 2)};
            auto outside = m_grid.position(m_grid.place(block), x, y, z);
            auto inside = m_grid.position(m_grid.place(block), end[0], end[1], end[2]);
            double valueOutside = nodes.at(x, y, z);
            double valueInside = nodes.at(end[0], end[1], end[2]);
            if (valueOutside < 0) {
                std::swap(outside, inside);
                std::swap(valueOutside, valueInside);
            }
            const double share =
                m_place ? m_place(outside.data(), inside.data(), valueOutside, valueInside)
                        : valueOutside / (valueOutside - valueInside);
            const double kept = std::clamp(share, kEdgeMargin, 1 - kEdgeMargin);
            float* position = &m_position[3 * static_cast<std::size_t>(crossings.vertexOf(bit))];
            for (std::size_t k = 0; k < 3; ++k)
                position[k] = static_cast<float>(outside[k] + kept * (inside[k] - outside[k]));
        }
    });
}

std::uint32_t March::vertexOn(const std::array<Index, 8>& blocks, int x, int y, int z,
                              int edge) const
{
    const int start = cornersOfEdge(edge)[0];
    const int at[3] = {x + (start & 1), y + (start >> 1 & 1), z + (start >> 2)};
    const Index block = blocks[static_cast<std::size_t>(
        at[0] / kBlockSide | at[1] / kBlockSide << 1 | at[2] / kBlockSide << 2)];
    return m_crossings[static_cast<std::size_t>(block)].vertexOf(
        bitOf(at[0] % kBlockSide, at[1] % kBlockSide, at[2] % kBlockSide, edge / 4));
}

void March::cutCell(const std::array<Index, 8>& blocks, PaddedBlock& nodes, int x, int y, int z,
                    Piece& piece) const
{
    unsigned inside = 0;
    for (int corner = 0; corner < 8; ++corner) {
        const float value = nodes.at(x + (corner & 1), y + (corner >> 1 & 1), z + (corner >> 2));
        if (std::isnan(value))
            return;
        inside |= value < 0 ? 1U << corner : 0U;
    }
    const CellCut& cut = cellCuts()[inside];
    const auto firstMiddle = static_cast<std::uint32_t>(piece.middle.size() / 3);
    for (const auto& triangle : cut.triangles) {
        for (const std::uint8_t point : triangle)
            piece.triangle.push_back(point < 12 ? vertexOn(blocks, x, y, z, point)
                                                : kMiddleBase + firstMiddle + point - 12);
    }
    for (const auto& ring : cut.middles) {
        std::array<float, 3> sum{};
        for (const std::uint8_t edge : ring) {
            const std::size_t from = 3 * static_cast<std::size_t>(vertexOn(blocks, x, y, z, edge));
            for (std::size_t k = 0; k < 3; ++k)
                sum[k] += m_position[from + k];
        }
        for (const float axis : sum)
            piece.middle.push_back(axis / static_cast<float>(ring.size()));
    }
}

void March::makeTriangles(Index block)
{
    const auto blocks = blocksBehind(block);
    PaddedBlock nodes(m_grid, blocks);
    Piece& piece = m_pieces[static_cast<std::size_t>(block)];
    forEachNode([&](int x, int y, int z) { cutCell(blocks, nodes, x, y, z, piece); });
}

TriangleMesh March::mesh()
{
    TriangleMesh all;
    all.position = std::move(m_position);
    for (Piece& piece : m_pieces) {
        const auto base = static_cast<std::uint32_t>(all.vertices());
        for (const std::uint32_t v : piece.triangle)
            all.triangle.push_back(v < kMiddleBase ? v : base + (v - kMiddleBase));
        all.position.insert(all.position.end(), piece.middle.begin(), piece.middle.end());
        piece = {};
    }
    // Edges whose cells have unknown nodes left vertices behind that no triangle uses.
    return keptFaces(all, std::vector<std::uint8_t>(static_cast<std::size_t>(all.faces()), 1));
}

} // namespace

TriangleMesh marched(const BlockGrid& grid, const EdgePlacer& place,
                     const std::function<bool()>& stop)
{
    March march(grid, place);
    const auto forEachBlock = [&](const auto& body) { // false where stopped
        for (Index first = 0; first < grid.blocks(); first += kBatch) {
            if (stop && stop())
                return false;
            tbb::parallel_for(first, std::min(first + kBatch, grid.blocks()), body);
        }
        return true;
    };
    if (!forEachBlock([&](Index block) { march.findCrossings(block); }))
        return {};
    march.numberVertices();
    if (!forEachBlock([&](Index block) { march.placeVertices(block); }) ||
        !forEachBlock([&](Index block) { march.makeTriangles(block); }))
        return {};
    return march.mesh();
}

} // namespace vergence::sugar
