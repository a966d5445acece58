#include "app/viewport/mesh/coarse_mesh.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace vergence {
namespace {

constexpr std::uint64_t kCellBits = 21; ///< of each of three numbers in a key of 64

std::uint64_t join(std::uint64_t a, std::uint64_t b, std::uint64_t c)
{
    return a << (2 * kCellBits) | b << kCellBits | c;
}

struct Cell {
    std::uint64_t number;
    std::array<float, 3> position; ///< of the first vertex in it
};

} // namespace

MeshSurface coarsen(const MeshSurface& surface, const QVector3D& lowest, const QVector3D& highest,
                    int cells)
{
    const QVector3D size = highest - lowest;
    const float longest = std::max({size.x(), size.y(), size.z(), 1e-30F});
    const float scale = static_cast<float>(cells) / longest;
    const auto keyOf = [&](const MeshCorner& corner) {
        std::array<std::uint64_t, 3> at;
        for (int axis = 0; axis < 3; ++axis) {
            const auto i = static_cast<std::size_t>(axis);
            at[i] = static_cast<std::uint64_t>((corner.position[i] - lowest[axis]) * scale);
        }
        return join(at[0], at[1], at[2]);
    };
    std::unordered_map<std::uint64_t, Cell> known;
    std::unordered_set<std::uint64_t> kept;
    MeshSurface coarse;
    for (const MeshBatch& batch : surface.batches) {
        MeshBatch reduced{coarse.triangleCount(), 0, batch.texture};
        for (std::size_t i = 0; i < batch.triangleCount; ++i) {
            std::array<MeshCorner, 3> triangle;
            std::array<std::uint64_t, 3> numbers;
            for (std::size_t k = 0; k < 3; ++k) {
                triangle[k] = surface.corners[3 * (batch.firstTriangle + i) + k];
                const Cell fresh{known.size(), triangle[k].position};
                const Cell& cell = known.emplace(keyOf(triangle[k]), fresh).first->second;
                triangle[k].position = cell.position;
                numbers[k] = cell.number;
            }
            std::sort(numbers.begin(), numbers.end());
            const bool isFlat = numbers[0] == numbers[1] || numbers[1] == numbers[2];
            if (isFlat || !kept.insert(join(numbers[0], numbers[1], numbers[2])).second)
                continue;
            coarse.corners.insert(coarse.corners.end(), triangle.begin(), triangle.end());
            ++reduced.triangleCount;
        }
        if (reduced.triangleCount > 0)
            coarse.batches.push_back(reduced);
    }
    return coarse;
}

} // namespace vergence
