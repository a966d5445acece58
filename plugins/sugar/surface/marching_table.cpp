#include "plugins/sugar/surface/marching_table.h"

#include <algorithm>

namespace vergence::sugar {

namespace {

constexpr int kNone = -1;
using Ring = std::vector<std::uint8_t>; ///< edges

int edgeBetween(int a, int b)
{
    for (int edge = 0; edge < 12; ++edge) {
        const auto [first, second] = cornersOfEdge(edge);
        if ((first == a && second == b) || (first == b && second == a))
            return edge;
    }
    return kNone;
}

/// Corners of a face, counter-clockwise seen from outside the cell.
std::array<int, 4> cornersOfFace(int face)
{
    const int axis = face / 2, side = face % 2, b = (axis + 1) % 3, c = (axis + 2) % 3;
    const int base = side << axis;
    std::array<int, 4> corners{base, base | 1 << b, base | 1 << b | 1 << c, base | 1 << c};
    if (side == 0)
        std::reverse(corners.begin(), corners.end());
    return corners;
}

/// For each edge that is cut, the next one of its ring; kNone for the others. On each face, a run
/// of inside corners is cut off by a line from the edge before it to the edge after it.
std::array<int, 12> followersOf(int inside)
{
    std::array<int, 12> follower;
    follower.fill(kNone);
    for (int face = 0; face < 6; ++face) {
        const auto corner = cornersOfFace(face);
        const auto isInside = [&](int i) { return (inside >> corner[i & 3] & 1) != 0; };
        for (int i = 0; i < 4; ++i) {
            if (isInside(i + 3) || !isInside(i))
                continue; // no run begins here
            int last = i;
            while (isInside(last + 1))
                ++last;
            follower[static_cast<std::size_t>(edgeBetween(corner[(i + 3) & 3], corner[i & 3]))] =
                edgeBetween(corner[last & 3], corner[(last + 1) & 3]);
        }
    }
    return follower;
}

bool shareFace(int edgeA, int edgeB)
{
    const auto a = cornersOfEdge(edgeA), b = cornersOfEdge(edgeB);
    for (int axis = 0; axis < 3; ++axis) {
        const int side = a[0] >> axis & 1;
        if ((a[1] >> axis & 1) == side && (b[0] >> axis & 1) == side && (b[1] >> axis & 1) == side)
            return true;
    }
    return false;
}

/// Would a fan over the ring have a diagonal in a face of the cell, where the neighbour may have
/// the same one?
bool needsMiddle(const Ring& ring)
{
    for (std::size_t i = 0; i < ring.size(); ++i) {
        for (std::size_t j = i + 2; j < ring.size(); ++j) {
            const bool isNext = i == 0 && j + 1 == ring.size();
            if (!isNext && shareFace(ring[i], ring[j]))
                return true;
        }
    }
    return false;
}

void close(const Ring& ring, CellCut& cut)
{
    if (needsMiddle(ring)) {
        const auto middle = static_cast<std::uint8_t>(12 + cut.middles.size());
        for (std::size_t i = 0; i < ring.size(); ++i)
            cut.triangles.push_back({ring[i], ring[(i + 1) % ring.size()], middle});
        cut.middles.push_back(ring);
        return;
    }
    for (std::size_t i = 1; i + 1 < ring.size(); ++i)
        cut.triangles.push_back({ring[0], ring[i], ring[i + 1]});
}

CellCut cutOf(int inside)
{
    CellCut cut;
    std::array<int, 12> follower = followersOf(inside);
    for (int first = 0; first < 12; ++first) {
        Ring ring;
        for (int edge = first; follower[static_cast<std::size_t>(edge)] != kNone;) {
            ring.push_back(static_cast<std::uint8_t>(edge));
            const int next = follower[static_cast<std::size_t>(edge)];
            follower[static_cast<std::size_t>(edge)] = kNone;
            edge = next;
        }
        if (!ring.empty())
            close(ring, cut);
    }
    return cut;
}

} // namespace

std::array<int, 2> cornersOfEdge(int edge)
{
    const int axis = edge / 4, b = (axis + 1) % 3, c = (axis + 2) % 3;
    // The two other axes in ascending order, so that starts ascend.
    const int low = std::min(b, c), high = std::max(b, c), i = edge % 4;
    const int start = (i & 1) << low | (i >> 1) << high;
    return {start, start | 1 << axis};
}

const std::array<CellCut, 256>& cellCuts()
{
    static const std::array<CellCut, 256> cuts = [] {
        std::array<CellCut, 256> all;
        for (int inside = 0; inside < 256; ++inside)
            all[static_cast<std::size_t>(inside)] = cutOf(inside);
        return all;
    }();
    return cuts;
}

} // namespace vergence::sugar
