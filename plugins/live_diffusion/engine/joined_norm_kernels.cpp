#include "plugins/live_diffusion/engine/joined_norm_kernels.h"

#include <cmath>

#include "core/compute/ops/activation_math.h"
#include "core/compute/ops/column_loops.h"

namespace vergence::live {

namespace {

/// Mean and sum of squared differences from it, per channel of one chunk of pixels, in one pass
/// about the chunk's first pixel.
template <class T>
struct ChunkMoments {
    JoinedNormArguments p;
    PixelChunks chunks;
    float* means; ///< [images, chunks, channels]
    float* squares;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index item) const
    {
        const Index image = item / chunks.count, first = item % chunks.count * chunks.perChunk;
        const Index left = p.pixels - first;
        const Index count = left < chunks.perChunk ? left : chunks.perChunk;
        const Index out = item * p.channels();
        const Index pixel = image * p.pixels + first;
        part(team, static_cast<const T*>(p.a) + pixel * p.channelsA, p.channelsA, count, out);
        if (p.channelsB > 0)
            part(team, static_cast<const T*>(p.b) + pixel * p.channelsB, p.channelsB, count,
                 out + p.channelsA);
    }

private:
    template <class Group>
    VERGENCE_HD void part(const Group& team, const T* x, Index channels, Index count,
                          Index out) const
    {
#if defined(__CUDACC__)
        constexpr Index done = 0;
#else
        constexpr int N = kPackSize<T>;
        // packs side by side, so that a line of the cache is used up at once
        Index done = 0;
        for (; done + 4 * N <= channels; done += 4 * N)
            sums<4>(x, channels, count, done, out);
#endif
        team.template each<T>(channels - done, [&](auto at) VERGENCE_INLINE {
            using P = Pack<float, decltype(at)::kSize>;
            const T* from = x + done;
            const P start = load(from, at);
            P sum{}, square{};
            team.down(1, count, [&](Index i) VERGENCE_INLINE {
                const P d = load(from + i * channels, at) - start;
                sum += d;
                square += d * d;
            });
            sum = team.total(sum);
            square = team.total(square);
            if (team.isFirst())
                finish(at, start, sum, square, count, out + done);
        });
    }

#if !defined(__CUDACC__)
    template <int Packs>
    VERGENCE_HD void sums(const T* x, Index channels, Index count, Index first, Index out) const
    {
        constexpr int N = kPackSize<T>;
        using P = PackFor<T>;
        P start[Packs], sum[Packs]{}, square[Packs]{};
#pragma GCC unroll 4
        for (int k = 0; k < Packs; ++k)
            start[k] = load(x, Lanes<N, true>{first + k * N, N});
        for (Index i = 1; i < count; ++i) {
#pragma GCC unroll 4
            for (int k = 0; k < Packs; ++k) {
                const P d = load(x + i * channels, Lanes<N, true>{first + k * N, N}) - start[k];
                sum[k] += d;
                square[k] = multiplyAdd(d, d, square[k]);
            }
        }
#pragma GCC unroll 4
        for (int k = 0; k < Packs; ++k)
            finish(Lanes<N, true>{first + k * N, N}, start[k], sum[k], square[k], count, out);
    }
#endif

    template <class At, class P>
    VERGENCE_HD void finish(At at, const P& start, const P& sum, const P& square, Index count,
                            Index out) const
    {
        const float scale = 1.0f / static_cast<float>(count);
        store(means + out, at, start + sum * scale);
        store(squares + out, at, square - sum * sum * scale);
    }
};

/// y = x · factor + addend per channel, from the chunks of one group of one image.
struct GroupTables {
    JoinedNormArguments p;
    PixelChunks chunks;
    const float* means;
    const float* squares;
    float* factors; ///< [images, channels]
    float* addends;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index item) const
    {
        const Index image = item / p.groups, width = p.channels() / p.groups;
        const Index first = item % p.groups * width;
        const float total = static_cast<float>(p.pixels * width);
        float sum = 0;
        forChunks(team, image, first, width,
                  [&](Index at, float count) VERGENCE_INLINE { sum += means[at] * count; });
        const float mean = team.total(sum) / total;
        float square = 0;
        forChunks(team, image, first, width, [&](Index at, float count) VERGENCE_INLINE {
            const float d = means[at] - mean;
            square += squares[at] + count * d * d;
        });
        const float rstd =
            1.0f / std::sqrt(team.total(square) / total + static_cast<float>(p.epsilon));
        team.eachItem(width, [&](Index i) VERGENCE_INLINE {
            const Index c = first + i;
            const float factor = rstd * p.weight[c];
            factors[image * p.channels() + c] = factor;
            addends[image * p.channels() + c] = p.bias[c] - mean * factor;
        });
    }

private:
    VERGENCE_HD float pixelsOf(Index chunk) const
    {
        const Index left = p.pixels - chunk * chunks.perChunk;
        return static_cast<float>(left < chunks.perChunk ? left : chunks.perChunk);
    }

    template <class Group, class Body>
    VERGENCE_HD void forChunks(const Group& team, Index image, Index first, Index width,
                               const Body& body) const
    {
        const Index start = image * chunks.count * p.channels() + first;
#if defined(__CUDACC__)
        // a few channels of a few chunks at a time
        team.eachItem(chunks.count * width, [&](Index i) {
            const auto each = static_cast<unsigned>(i), across = static_cast<unsigned>(width);
            const Index chunk = each / across;
            body(start + chunk * p.channels() + each % across, pixelsOf(chunk));
        });
#else
        (void)team;
        for (Index chunk = 0; chunk < chunks.count; ++chunk) {
            const float count = pixelsOf(chunk);
            const Index row = start + chunk * p.channels();
            for (Index i = row; i < row + width; ++i)
                body(i, count);
        }
#endif
    }
};

template <class T, bool silu>
struct ApplyTables {
    JoinedNormArguments p;
    const float* factors;
    const float* addends;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index pixel) const
    {
        const Index table = pixel / p.pixels * p.channels();
        T* y = static_cast<T*>(p.y) + pixel * p.channels();
        part(team, static_cast<const T*>(p.a) + pixel * p.channelsA, p.channelsA, table, y);
        if (p.channelsB > 0)
            part(team, static_cast<const T*>(p.b) + pixel * p.channelsB, p.channelsB,
                 table + p.channelsA, y + p.channelsA);
    }

private:
    template <class Group>
    VERGENCE_HD void part(const Group& team, const T* x, Index channels, Index table, T* y) const
    {
        team.template each<T>(channels, [&](auto at) VERGENCE_INLINE {
            auto value =
                multiplyAdd(load(x, at), load(factors + table, at), load(addends + table, at));
            if constexpr (silu)
                value = swish(value, 1.0f);
            store(y, at, value);
        });
    }
};

template <class T>
void normAs(Stream& stream, const JoinedNormArguments& p)
{
    const PixelChunks chunks(p.pixels, p.channels());
    const Index partials = p.images * chunks.count * p.channels();
    float* means = p.room;
    float* squares = means + partials;
    float* factors = squares + partials;
    float* addends = factors + p.images * p.channels();
    const Index widest = p.channelsA > p.channelsB ? p.channelsA : p.channelsB;
    forEachColumn<T>(stream, p.images * chunks.count, chunks.perChunk, widest,
                     ChunkMoments<T>{p, chunks, means, squares});
    forEachRow<float>(stream, p.images * p.groups, chunks.count * p.channels() / p.groups,
                      GroupTables{p, chunks, means, squares, factors, addends});
    const Index rows = p.images * p.pixels;
    if (p.silu)
        forEachRow<T>(stream, rows, p.channels(), ApplyTables<T, true>{p, factors, addends});
    else
        forEachRow<T>(stream, rows, p.channels(), ApplyTables<T, false>{p, factors, addends});
}

void joinedNormBody(Stream& stream, const JoinedNormArguments& p)
{
    withFloatType(p.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        if constexpr (!std::is_same_v<T, double>)
            normAs<T>(stream, p);
    });
}

} // namespace

VERGENCE_REGISTER_KERNEL(joinedNorm, joinedNormBody)

} // namespace vergence::live
