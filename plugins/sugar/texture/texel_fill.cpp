#include "plugins/sugar/texture/texel_fill.h"

#include <algorithm>
#include <cmath>

#include "plugins/sugar/mesh/mesh_topology.h"
#include "plugins/sugar/mesh/mesh_vector.h"
#include "plugins/sugar/texture/coarser_fill.h"

namespace vergence::sugar {

FilledTexture::FilledTexture(int side, Index faces)
    : image(makeImage(side, side, 3)),
      m_state(static_cast<std::size_t>(side) * static_cast<std::size_t>(side), State::Outside),
      m_face(static_cast<std::size_t>(faces))
{
}

void FilledTexture::store(std::size_t at, const Colour& colour)
{
    for (std::size_t k = 0; k < 3; ++k) {
        const float value = std::clamp(255 * colour[k], 0.0F, 255.0F);
        image.pixels[3 * at + k] = static_cast<std::uint8_t>(std::lround(value));
    }
    m_state[at] = State::Filled;
}

void FilledTexture::see(int row, int column, std::uint32_t face, const Colour& colour)
{
    store(texel(row, column), colour);
    for (std::size_t k = 0; k < 3; ++k)
        m_face[face][k] += colour[k];
    m_face[face][3] += 1;
    ++m_seen;
}

void FilledTexture::miss(int row, int column)
{
    m_state[texel(row, column)] = State::Missed;
    ++m_missed;
}

double FilledTexture::seenShare() const
{
    const Index all = m_seen + m_missed;
    return all > 0 ? static_cast<double>(m_seen) / static_cast<double>(all) : 0;
}

void FilledTexture::colourUnseenFaces(const TriangleMesh& mesh, const Colour& otherwise)
{
    const MeshEdges edges = edgesOf(mesh);
    std::vector<std::size_t> open;
    for (std::size_t f = 0; f < m_face.size(); ++f) {
        auto& face = m_face[f];
        for (std::size_t k = 0; k < 3 && face[3] > 0; ++k)
            face[k] /= face[3];
        if (!(face[3] > 0))
            open.push_back(f);
    }
    const auto meanAround = [&](std::size_t f) {
        std::array<float, 4> sum{};
        for (std::size_t corner = 3 * f; corner < 3 * f + 3; ++corner) {
            for (const std::uint32_t other : edges.corners.of(edges.ofCorner[corner])) {
                const auto& face = m_face[other / 3];
                const auto weight =
                    static_cast<float>(face[3] > 0 ? norm(faceVector(mesh, other / 3)) : 0);
                for (std::size_t k = 0; k < 3; ++k)
                    sum[k] += weight * face[k];
                sum[3] += weight;
            }
        }
        for (std::size_t k = 0; k < 3 && sum[3] > 0; ++k)
            sum[k] /= sum[3];
        return sum;
    };
    for (std::size_t before = open.size() + 1; open.size() < before && !open.empty();) {
        before = open.size();
        std::vector<std::array<float, 4>> found(open.size());
        for (std::size_t i = 0; i < open.size(); ++i)
            found[i] = meanAround(open[i]);
        std::vector<std::size_t> left;
        for (std::size_t i = 0; i < open.size(); ++i) {
            m_face[open[i]] = found[i];
            if (!(found[i][3] > 0))
                left.push_back(open[i]);
        }
        open = std::move(left);
    }
    for (const std::size_t f : open)
        m_face[f] = {otherwise[0], otherwise[1], otherwise[2], 1};
}

/// Gives texels of `open` the mean of filled ones beside them that are alike, in rounds; what
/// stays open stays in the list.
template <class IsAlike>
void FilledTexture::grow(std::vector<std::uint32_t>& open, int reach, const IsAlike& isAlike)
{
    const int side = image.width;
    const auto meanBeside = [&](std::uint32_t at, Colour& mean) {
        const int row = static_cast<int>(at / static_cast<std::uint32_t>(side)),
                  column = static_cast<int>(at % static_cast<std::uint32_t>(side));
        int count = 0;
        for (int y = std::max(row - 1, 0); y <= std::min(row + 1, side - 1); ++y) {
            for (int x = std::max(column - 1, 0); x <= std::min(column + 1, side - 1); ++x) {
                const std::size_t other = texel(y, x);
                if (m_state[other] != State::Filled || !isAlike(at, y, x))
                    continue;
                for (std::size_t k = 0; k < 3; ++k)
                    mean[k] += image.pixels[3 * other + k];
                ++count;
            }
        }
        for (float& value : mean)
            value /= 255.0F * static_cast<float>(std::max(count, 1));
        return count > 0;
    };
    for (int round = 0; round < reach && !open.empty(); ++round) {
        std::vector<std::pair<std::uint32_t, Colour>> found;
        std::vector<std::uint32_t> left;
        for (const std::uint32_t at : open) {
            Colour mean{};
            if (meanBeside(at, mean))
                found.emplace_back(at, mean);
            else
                left.push_back(at);
        }
        for (const auto& [at, colour] : found)
            store(at, colour);
        open = std::move(left);
    }
}

void FilledTexture::fillFaces(const TexelOwners& owners, int reach)
{
    std::vector<std::uint32_t> open;
    for (int row = owners.begin; row < owners.end; ++row) {
        for (int column = 0; column < owners.side; ++column) {
            if (m_state[texel(row, column)] == State::Missed)
                open.push_back(static_cast<std::uint32_t>(texel(row, column)));
        }
    }
    const auto ownerOf = [&](std::uint32_t at) {
        const auto side = static_cast<std::uint32_t>(owners.side);
        return owners.face[owners.at(static_cast<int>(at / side), static_cast<int>(at % side))];
    };
    grow(open, reach, [&](std::uint32_t at, int y, int x) {
        return y >= owners.begin && y < owners.end && owners.face[owners.at(y, x)] == ownerOf(at);
    });
    for (const std::uint32_t at : open) {
        const auto& face = m_face[ownerOf(at)];
        store(at, {face[0], face[1], face[2]});
    }
}

void FilledTexture::dilate(int reach)
{
    std::vector<std::uint32_t> open;
    for (std::size_t at = 0; at < m_state.size(); ++at) {
        if (m_state[at] == State::Outside)
            open.push_back(static_cast<std::uint32_t>(at));
    }
    grow(open, reach, [](std::uint32_t, int, int) { return true; });
}

void FilledTexture::fillRest()
{
    std::vector<std::uint8_t> isKnown(m_state.size());
    std::transform(m_state.begin(), m_state.end(), isKnown.begin(),
                   [](State state) { return state == State::Filled ? 1 : 0; });
    fillFromCoarser(image, isKnown);
}

} // namespace vergence::sugar
