#include "plugins/live_diffusion/engine/winograd_kernels.h"

#include "core/compute/launch.h"

#if !defined(__CUDACC__)

#include "core/compute/ops/attention_product_cpu.h"

namespace vergence::live {

namespace {

using attention_cpu::Matrix;
using lanes::kLanes;
using F = lanes::Vector<float>;
constexpr int kWidth = kLanes<float>;
constexpr int kMostPanel = attention_cpu::kMostVectors * kWidth;

constexpr float kA = 0.625f, kB = 1.5f; // points of m = 4
constexpr float kA2 = kA * kA, kB2 = kB * kB;

VERGENCE_HD F times(float factor, const F& x)
{
    return lanes::spread(factor) * x;
}
/// a + factor · b
VERGENCE_HD F plus(const F& a, float factor, const F& b)
{
    return lanes::multiplyAdd(lanes::spread(factor), b, a);
}

/// Bᵀ d in one direction; numbers `step` apart.
template <int M>
VERGENCE_HD void patchTransform(const F* d, int step, F* t, int out)
{
    const F d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step];
    if constexpr (M == 2) {
        t[0] = d2 - d0;
        t[out] = d1 + d2;
        t[2 * out] = d2 - d1;
        t[3 * out] = d3 - d1;
    } else {
        const F d4 = d[4 * step], d5 = d[5 * step];
        const F even = plus(d4, -kB2, d2), odd = times(kA, plus(d3, -kB2, d1));
        const F even2 = plus(d4, -kA2, d2), odd2 = times(kB, plus(d3, -kA2, d1));
        t[0] = plus(plus(d4, -(kA2 + kB2), d2), kA2 * kB2, d0);
        t[out] = even + odd;
        t[2 * out] = even - odd;
        t[3 * out] = even2 + odd2;
        t[4 * out] = even2 - odd2;
        t[5 * out] = plus(plus(d5, -(kA2 + kB2), d3), kA2 * kB2, d1);
    }
}

/// Aᵀ m in one direction.
template <int M>
VERGENCE_HD void resultTransform(const F* m, int step, F* y, int out)
{
    if constexpr (M == 2) {
        y[0] = m[0] + m[step] + m[2 * step];
        y[out] = m[step] - m[2 * step] + m[3 * step];
    } else {
        const F sum = m[step] + m[2 * step], difference = m[step] - m[2 * step];
        const F sum2 = m[3 * step] + m[4 * step], difference2 = m[3 * step] - m[4 * step];
        y[0] = m[0] + sum + sum2;
        y[out] = plus(times(kA, difference), kB, difference2);
        y[2 * out] = plus(times(kA2, sum), kB2, sum2);
        y[3 * out] = plus(plus(m[5 * step], kA2 * kA, difference), kB2 * kB, difference2);
    }
}

/// G g in one direction, in double.
template <int M>
void weightTransform(const double* g, int step, double* u, int out)
{
    const double g0 = g[0], g1 = g[step], g2 = g[2 * step];
    if constexpr (M == 2) {
        u[0] = -g0;
        u[out] = (g0 + g1 + g2) / 2;
        u[2 * out] = (g0 - g1 + g2) / 2;
        u[3 * out] = g2;
    } else {
        constexpr double a = kA, b = kB, a2 = a * a, b2 = b * b;
        constexpr double forA = 1 / (2 * a2 * (a2 - b2)), forB = 1 / (2 * b2 * (b2 - a2));
        u[0] = g0 / (a2 * b2);
        u[out] = (g0 + a * g1 + a2 * g2) * forA;
        u[2 * out] = (g0 - a * g1 + a2 * g2) * forA;
        u[3 * out] = (g0 + b * g1 + b2 * g2) * forB;
        u[4 * out] = (g0 - b * g1 + b2 * g2) * forB;
        u[5 * out] = g2;
    }
}

/// Output channels of a panel: whole vectors, at most kMostPanel, wasting the fewest.
Index panelWidth(Index outChannels)
{
    Index best = kMostPanel, least = -1;
    for (Index width = kMostPanel; width >= kWidth; width -= kWidth) {
        const Index padded = (outChannels + width - 1) / width * width;
        if (least < 0 || padded < least) {
            best = width;
            least = padded;
        }
    }
    return best;
}

template <int M>
void transformWeights(Stream& stream, const WinogradWeights& w)
{
    constexpr int n = M + 2;
    const Index panel = panelWidth(w.outChannels);
    const Index panels = (w.outChannels + panel - 1) / panel;
    forEach(
        stream, panels * panel,
        [=](Index k) {
            for (Index c = 0; c < w.channels; ++c) {
                double g[9] = {}, half[n * 3], u[n * n];
                for (int i = 0; i < 9 && k < w.outChannels; ++i)
                    g[i] = w.weight[(k * 9 + i) * w.channels + c];
                for (int j = 0; j < 3; ++j)
                    weightTransform<M>(g + j, 3, half + j, 3);
                for (int i = 0; i < n; ++i)
                    weightTransform<M>(half + i * 3, 1, u + i * n, 1);
                // [panel][point][channel][column]
                float* to =
                    w.transformed + k / panel * n * n * w.channels * panel + c * panel + k % panel;
                for (int i = 0; i < n * n; ++i)
                    to[i * w.channels * panel] = static_cast<float>(u[i]);
            }
        },
        1);
}

/// rows · lanes of one panel: rows a multiple of 4.
template <int Vectors>
void panelProduct(Index rows, Index count, const Matrix<const float>& a,
                  const Matrix<const float>& b, const Matrix<float>& c)
{
    constexpr int kRows = attention_cpu::kTileRows<Vectors, false>;
    Index r = 0;
    for (; (rows - r) % kRows != 0 && r < rows; r += 4)
        attention_cpu::tile<float, Vectors, 4, false>(count, a.at(r, 0), b, c.at(r, 0), false);
    for (; r < rows; r += kRows)
        attention_cpu::tile<float, Vectors, kRows, false>(count, a.at(r, 0), b, c.at(r, 0), false);
}

/// One block of tiles of a convolution: its patches, then panel after panel of results.
template <int M>
class TileBlock {
public:
    static constexpr int n = M + 2, kPoints = n * n;

    TileBlock(const WinogradArguments& arguments, Index first, Index count, float* patches)
        : p(arguments),
          m_first(first),
          m_count(count),
          m_rows((count + 3) / 4 * 4),
          m_stride(winogradPointStride(m_rows, arguments.channels)),
          m_patches(patches)
    {
    }

    void transformPatches(Index firstChannel, Index lastChannel) const
    {
        for (Index t = 0; t < m_rows; ++t) {
            const Place place(p, m_first + (t < m_count ? t : m_count - 1));
            Index c = firstChannel;
            for (; c + kWidth <= lastChannel; c += kWidth)
                transformPatch<true>(place, t, c, kWidth);
            if (c < lastChannel)
                transformPatch<false>(place, t, c, lastChannel - c);
        }
    }

    void multiplyPanels(Index firstPanel, Index lastPanel) const
    {
        const Index panel = panelWidth(p.outChannels);
        alignas(64) float products[kPoints * (kWinogradRows * kMostPanel + kLine)];
        const Index stride = winogradPointStride(m_rows, panel);
        for (Index k = firstPanel; k < lastPanel; ++k) {
            const float* weights = p.weights + k * kPoints * p.channels * panel;
            for (int point = 0; point < kPoints; ++point) {
                const Matrix<const float> a{m_patches + point * m_stride, p.channels};
                const Matrix<const float> b{weights + point * p.channels * panel, panel};
                const Matrix<float> c{products + point * stride, panel};
                multiply(panel, a, b, c);
            }
            for (Index t = 0; t < m_count; ++t) {
                const Place place(p, m_first + t);
                for (Index column = 0; column < panel; column += kWidth) {
                    if (k * panel + column < p.outChannels)
                        writeTile(place, k * panel + column, products + t * panel + column, stride);
                }
            }
        }
    }

    static constexpr Index kLine = 16; ///< numbers of a cache line

private:
    /// Where a tile lies.
    struct Place {
        Index image, y, x; ///< of its first result
        Place(const WinogradArguments& a, Index tile)
        {
            const Index perImage = a.tilesHigh() * a.tilesWide();
            image = tile / perImage;
            y = tile % perImage / a.tilesWide() * M;
            x = tile % a.tilesWide() * M;
        }
    };

    void multiply(Index panel, const Matrix<const float>& a, const Matrix<const float>& b,
                  const Matrix<float>& c) const
    {
        const Index vectors = panel / kWidth;
        if (vectors == 1)
            panelProduct<1>(m_rows, p.channels, a, b, c);
        else if (vectors == 2)
            panelProduct<2>(m_rows, p.channels, a, b, c);
        if constexpr (attention_cpu::kMostVectors == 4) {
            if (vectors == 3)
                panelProduct<3>(m_rows, p.channels, a, b, c);
            else if (vectors == 4)
                panelProduct<4>(m_rows, p.channels, a, b, c);
        }
    }

    template <bool isWhole>
    static F loadSome(const float* from, Index count)
    {
        if constexpr (isWhole)
            return lanes::load(from);
        F value{};
        for (Index i = 0; i < count; ++i)
            value[i] = from[i];
        return value;
    }

    template <bool isWhole>
    void transformPatch(const Place& place, Index t, Index channel, Index count) const
    {
        F half[kPoints], patch[n];
        const int shift = p.upsamples ? 1 : 0;
        const Index rowsX = p.height >> shift, columnsX = p.width >> shift;
        const float* image = p.x + place.image * rowsX * columnsX * p.channels + channel;
        for (int j = 0; j < n; ++j) {
            const Index x = place.x + j - 1;
            const bool isInside = x >= 0 && x < p.width;
            for (int i = 0; i < n; ++i) {
                const Index y = place.y + i - 1;
                patch[i] =
                    isInside && y >= 0 && y < p.height
                        ? loadSome<isWhole>(
                              image + ((y >> shift) * columnsX + (x >> shift)) * p.channels, count)
                        : F{};
            }
            patchTransform<M>(patch, 1, half + j, n);
        }
        float* to = m_patches + t * p.channels + channel;
        for (int i = 0; i < n; ++i) {
            F row[n];
            patchTransform<M>(half + i * n, 1, row, 1);
            for (int j = 0; j < n; ++j, to += m_stride)
                storeSome<isWhole>(to, row[j], count);
        }
    }

    template <bool isWhole>
    static void storeSome(float* to, const F& value, Index count)
    {
        if constexpr (isWhole) {
            lanes::store(to, value);
        } else {
            for (Index i = 0; i < count; ++i)
                to[i] = value[i];
        }
    }

    /// The results of one tile in the channels [k, k + lanes) from their products, `stride` apart.
    void writeTile(const Place& place, Index k, const float* from, Index stride) const
    {
        F half[M * n], column[n], result[M];
        for (int j = 0; j < n; ++j) {
            for (int i = 0; i < n; ++i)
                column[i] = lanes::load(from + (i * n + j) * stride);
            resultTransform<M>(column, 1, half + j, n);
        }
        const Index left = p.outChannels - k;
        const bool isWhole = left >= kWidth;
        const float* biases = p.bias ? p.bias + place.image * p.biasStride + k : nullptr;
        const F bias = !biases   ? F{}
                       : isWhole ? lanes::load(biases)
                                 : loadSome<false>(biases, left);
        for (int i = 0; i < M && place.y + i < p.height; ++i) {
            resultTransform<M>(half + i * n, 1, result, 1);
            for (int j = 0; j < M && place.x + j < p.width; ++j) {
                const Index at = ((place.image * p.height + place.y + i) * p.width + place.x + j) *
                                     p.outChannels +
                                 k;
                F value = result[j] + bias;
                if (isWhole) {
                    if (p.residual)
                        value += lanes::load(p.residual + at);
                    lanes::store(p.y + at, value);
                } else {
                    if (p.residual)
                        value += loadSome<false>(p.residual + at, left);
                    storeSome<false>(p.y + at, value, left);
                }
            }
        }
    }

    const WinogradArguments& p;
    Index m_first, m_count, m_rows, m_stride;
    float* m_patches;
};

template <int M>
void convolve(Stream& stream, const WinogradArguments& p)
{
    using Block = TileBlock<M>;
    const Index perBlock = winogradBlockTiles(p);
    const Index blocks = (p.tiles() + perBlock - 1) / perBlock;
    const Index blockRoom = Block::kPoints * winogradPointStride(perBlock, p.channels);
    const auto blockAt = [&p, perBlock, blockRoom](Index i) {
        const Index first = i * perBlock, left = p.tiles() - first;
        return Block(p, first, left < perBlock ? left : perBlock, p.room + i * blockRoom);
    };
    const Index panel = panelWidth(p.outChannels);
    const Index panels = (p.outChannels + panel - 1) / panel;
    constexpr Index kEnoughBlocks = 8;
    if (blocks >= kEnoughBlocks) {
        forEach(
            stream, blocks,
            [&](Index i) {
                const Block block = blockAt(i);
                block.transformPatches(0, p.channels);
                block.multiplyPanels(0, panels);
            },
            1);
        return;
    }
    constexpr Index kSlice = 32; // channels
    const Index slices = (p.channels + kSlice - 1) / kSlice;
    forEach(
        stream, blocks * slices,
        [&](Index item) {
            const Index first = item % slices * kSlice, last = first + kSlice;
            blockAt(item / slices).transformPatches(first, last < p.channels ? last : p.channels);
        },
        4);
    forEach(
        stream, blocks * panels,
        [&](Index item) {
            blockAt(item / panels).multiplyPanels(item % panels, item % panels + 1);
        },
        1);
}

void transformBody(Stream& stream, const WinogradWeights& w)
{
    w.tile == 2 ? transformWeights<2>(stream, w) : transformWeights<4>(stream, w);
}

void convolutionBody(Stream& stream, const WinogradArguments& p)
{
    p.tile == 2 ? convolve<2>(stream, p) : convolve<4>(stream, p);
}

} // namespace

VERGENCE_REGISTER_KERNEL(winogradTransform, transformBody)
VERGENCE_REGISTER_KERNEL(winogradConvolution, convolutionBody)

} // namespace vergence::live

#endif
