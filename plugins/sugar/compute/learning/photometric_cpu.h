#pragma once

// The CPU driver of the photometric loss, included by photometric_kernels.cpp. A task is one
// channel of a strip of a band: it walks down the rows with the last eleven of both pictures at
// hand, blurs their moments across them and then along the row, and does the same with the
// derivatives. Loops are written so that the compiler vectorises them; no operation depends on the
// width of vectors or on how the picture was cut.

#include <algorithm>
#include <cmath>

#include "core/compute/launch.h"
#include "plugins/sugar/compute/learning/photometric_kernels.h"

namespace vergence::sugar {

namespace {

constexpr int kStrip = 256;      ///< columns of a task
constexpr Index kLeastBand = 64; ///< rows of a task; beyond its ends, work is done twice
constexpr Index kTasks = 24;     ///< wanted, so that threads share them evenly
constexpr int kLanes = 16;       ///< numbers summed side by side
constexpr int kRowSpace = kStrip + 4 * kSsimReach + kLanes;
constexpr int kTaps = kSsimWindow;

/// Floats of one row of a strip with its halo.
struct alignas(64) StripRow {
    float at[kRowSpace];
};

/// to[j] = Σ w from[j … j + 10].
inline __attribute__((always_inline)) void blurAlong(const float* __restrict from,
                                                     float* __restrict to, int n)
{
    constexpr float w0 = ssimWeight<float>(0), w1 = ssimWeight<float>(1), w2 = ssimWeight<float>(2),
                    w3 = ssimWeight<float>(3), w4 = ssimWeight<float>(4), w5 = ssimWeight<float>(5);
    for (int j = 0; j < n; ++j) {
        const float* p = from + j + kSsimReach;
        to[j] = w0 * p[0] + w1 * (p[-1] + p[1]) + w2 * (p[-2] + p[2]) +
                (w3 * (p[-3] + p[3]) + w4 * (p[-4] + p[4]) + w5 * (p[-5] + p[5]));
    }
}

/// The last eleven rows of `Maps` maps.
template <int Maps>
struct RowRing {
    StripRow row[kTaps][Maps];

    /// Row that is `age` rows old when row number `newest` was the last.
    const float* aged(Index newest, int map, int age) const
    {
        return row[(newest + kTaps - age) % kTaps][map].at;
    }

    /// Blurs a map across its rows.
    void blurAcross(Index newest, int map, float* __restrict to, int n) const
    {
        constexpr float w0 = ssimWeight<float>(0), w1 = ssimWeight<float>(1),
                        w2 = ssimWeight<float>(2), w3 = ssimWeight<float>(3),
                        w4 = ssimWeight<float>(4), w5 = ssimWeight<float>(5);
        const float *r0 = aged(newest, map, 0), *r1 = aged(newest, map, 1),
                    *r2 = aged(newest, map, 2), *r3 = aged(newest, map, 3),
                    *r4 = aged(newest, map, 4), *r5 = aged(newest, map, 5),
                    *r6 = aged(newest, map, 6), *r7 = aged(newest, map, 7),
                    *r8 = aged(newest, map, 8), *r9 = aged(newest, map, 9),
                    *r10 = aged(newest, map, 10);
#pragma GCC ivdep
        for (int j = 0; j < n; ++j) {
            to[j] = w0 * r5[j] + w1 * (r4[j] + r6[j]) + w2 * (r3[j] + r7[j]) +
                    (w3 * (r2[j] + r8[j]) + w4 * (r1[j] + r9[j]) + w5 * (r0[j] + r10[j]));
        }
    }
};

/// The last eleven rows of picture and photograph.
struct PictureRing {
    struct Row {
        StripRow x, y;
    };
    Row row[kTaps];

    const Row& aged(Index newest, int age) const { return row[(newest + kTaps - age) % kTaps]; }

    /// The four moments of SsimMoments, blurred across the rows.
    void blurAcross(Index newest, StripRow* __restrict moments, int n) const
    {
        const Row* r[kTaps];
        for (int age = 0; age < kTaps; ++age)
            r[age] = &aged(newest, age);
        const Row *r0 = r[0], *r1 = r[1], *r2 = r[2], *r3 = r[3], *r4 = r[4], *r5 = r[5],
                  *r6 = r[6], *r7 = r[7], *r8 = r[8], *r9 = r[9], *r10 = r[10];
#pragma GCC ivdep
        for (int j = 0; j < n; ++j) {
            const Sums centre = sums(r5, r5, j);
            const float w0 = 0.5F * ssimWeight<float>(0);
            Sums all{w0 * centre.x, w0 * centre.y, w0 * centre.squares, w0 * centre.product};
            all.add(1, sums(r4, r6, j));
            all.add(2, sums(r3, r7, j));
            all.add(3, sums(r2, r8, j));
            all.add(4, sums(r1, r9, j));
            all.add(5, sums(r0, r10, j));
            moments[0].at[j] = all.x;
            moments[1].at[j] = all.y;
            moments[2].at[j] = all.squares;
            moments[3].at[j] = all.product;
        }
    }

private:
    struct Sums {
        float x, y, squares, product;
        VERGENCE_HD void add(int offset, const Sums& other)
        {
            const float w = ssimWeight<float>(offset);
            x += w * other.x;
            y += w * other.y;
            squares += w * other.squares;
            product += w * other.product;
        }
    };
    /// Of the same column of two rows.
    VERGENCE_HD static Sums sums(const Row* a, const Row* b, int j)
    {
        const float ax = a->x.at[j], ay = a->y.at[j], bx = b->x.at[j], by = b->y.at[j];
        return {ax + bx, ay + by, (ax * ax + ay * ay) + (bx * bx + by * by), ax * ay + bx * by};
    }
};

/// Sum in lanes, then in double.
inline __attribute__((always_inline)) double sumOfRow(const float* values, int n)
{
    float lanes[kLanes] = {};
    int j = 0;
    for (; j + kLanes <= n; j += kLanes) {
        for (int lane = 0; lane < kLanes; ++lane)
            lanes[lane] += values[j + lane];
    }
    double sum = 0;
    for (const float lane : lanes)
        sum += static_cast<double>(lane);
    for (; j < n; ++j)
        sum += static_cast<double>(values[j]);
    return sum;
}

/// One channel of one strip of one band. Column j of a row of the strip with halo h is column
/// first − h + j of the image.
template <bool Measures>
class PhotometricStrip {
public:
    /// `rowSums` of the rows of the band are overwritten.
    PhotometricStrip(const PhotometricArguments& arguments, int ofChannel, Index firstColumn,
                     int columns, PhotometricSums* sums)
        : p(arguments),
          channel(ofChannel),
          first(firstColumn),
          width(columns),
          rowSums(sums)
    {
    }

    __attribute__((noinline)) void run(Index begin, Index end)
    {
        const Index halo = Measures ? kReach : 2 * kReach, start = begin - halo;
        for (Index row = start; row < end + halo; ++row) {
            const Index n = row - start; // rows are numbered from 0 in the rings
            readRow(row, n);
            if (n >= 2 * kReach)
                compareRow(row - kReach, n, begin, end);
            if (!Measures && n >= 4 * kReach)
                differentiateRow(row - 2 * kReach, n);
        }
    }

private:
    static constexpr int kReach = kSsimReach;
    const PhotometricArguments& p;
    int channel;
    Index first;
    int width;
    PhotometricSums* rowSums;
    PictureRing pictures;
    RowRing<3> derivatives;
    StripRow weights;
    StripRow blurred[4], mapped[4];

    /// Reads a row of both pictures, 0 outside of the image.
    void readRow(Index row, Index n)
    {
        const int space = width + 4 * kReach;
        float* __restrict picture = pictures.row[n % kTaps].x.at;
        float* __restrict photo = pictures.row[n % kTaps].y.at;
        std::fill_n(picture, space, 0.0F);
        std::fill_n(photo, space, 0.0F);
        if (row >= 0 && row < p.height)
            readInside(row, picture, photo);
    }

    void readInside(Index row, float* __restrict picture, float* __restrict photo)
    {
        const Index left = std::max<Index>(first - 2 * kReach, 0);
        const Index right = std::min<Index>(first + width + 2 * kReach, p.width);
        const auto offset = static_cast<int>(left - (first - 2 * kReach));
        const auto n = static_cast<int>(right - left);
        const float* from = p.x + (channel * p.rows + row - p.top) * p.width + left;
        const std::uint8_t* bytes = p.photo + (row * p.width + left) * 3 + channel;
        for (int j = 0; j < n; ++j) {
            const float value = from[j];
            picture[offset + j] = Measures ? std::min(std::max(value, 0.0F), 1.0F) : value;
        }
        for (int j = 0; j < n; ++j)
            photo[offset + j] = static_cast<float>(bytes[3 * j]) / 255.0F;
    }

    /// Similarity of a row and, blurred along it, its derivatives.
    void compareRow(Index row, Index n, Index begin, Index end)
    {
        const int outputs = width + 2 * kReach;
        pictures.blurAcross(n, mapped, width + 4 * kReach);
        for (int map = 0; map < 4; ++map)
            blurAlong(mapped[map].at, blurred[map].at, outputs);
        readWeights(row, outputs);
        similarities(outputs);
        if (row >= begin && row < end)
            sumRow(row, n, rowSums[row - begin]);
        if constexpr (!Measures) {
            for (int map = 0; map < 3; ++map)
                blurAlong(mapped[map].at, derivatives.row[n % kTaps][map].at, width);
        }
    }

    /// Weights of the pixels of a row, 0 outside of the image.
    void readWeights(Index row, int outputs)
    {
        float* __restrict to = weights.at;
        std::fill_n(to, outputs, 0.0F);
        if (row < 0 || row >= p.height)
            return;
        const Index left = std::max<Index>(first - kReach, 0);
        const Index right = std::min<Index>(first + width + kReach, p.width);
        const auto offset = static_cast<int>(left - (first - kReach));
        const auto n = static_cast<int>(right - left);
        if (!p.mask) {
            std::fill_n(to + offset, n, 1.0F);
            return;
        }
        const std::uint8_t* from = p.mask + row * p.width + left;
        for (int j = 0; j < n; ++j)
            to[offset + j] = static_cast<float>(from[j]);
    }

    void similarities(int outputs)
    {
        const float factor = p.ssimFactor;
        const float *__restrict x0 = blurred[0].at, *__restrict y0 = blurred[1].at,
                    *__restrict s0 = blurred[2].at, *__restrict p0 = blurred[3].at,
                    *__restrict w = weights.at;
        float *__restrict byMean = mapped[0].at, *__restrict bySquare = mapped[1].at,
              *__restrict byProduct = mapped[2].at, *__restrict value = mapped[3].at;
        for (int j = 0; j < outputs; ++j) {
            const SsimPoint<float> point =
                ssimPoint(SsimMoments<float>{x0[j], y0[j], s0[j], p0[j]});
            const float gradient = factor * w[j];
            byMean[j] = gradient * point.byMean;
            bySquare[j] = gradient * point.bySquare;
            byProduct[j] = gradient * point.byProduct;
            value[j] = w[j] * point.value;
        }
    }

    /// Sums over the columns of the strip; the row is kReach rows old in the rings.
    void sumRow(Index row, Index n, PhotometricSums& sums)
    {
        sums = {};
        sums.ssim = sumOfRow(mapped[3].at + kReach, width);
        const float* __restrict picture = pictures.aged(n, kReach).x.at + 2 * kReach;
        const float* __restrict photo = pictures.aged(n, kReach).y.at + 2 * kReach;
        const float* __restrict weight = weights.at + kReach;
        float* __restrict error = blurred[0].at;
        for (int j = 0; j < width; ++j)
            error[j] = weight[j] * std::abs(picture[j] - photo[j]);
        sums.l1 = sumOfRow(error, width);
        if constexpr (Measures)
            sumSquares(row, picture, photo, weight, sums);
    }

    void sumSquares(Index row, const float* picture, const float* photo, const float* weight,
                    PhotometricSums& sums)
    {
        const std::uint8_t* bytes = p.photo + (row * p.width + first) * 3 + channel;
        for (int j = 0; j < width; ++j) {
            const auto m = static_cast<double>(weight[j]), value = static_cast<double>(picture[j]);
            const double error = value - static_cast<double>(photo[j]);
            const double error8 = (std::floor(255 * value + 0.5) - bytes[3 * j]) / 255;
            sums.square += m * error * error;
            sums.square8 += m * error8 * error8;
        }
    }

    /// The gradient of a row, 2 kReach rows old in the rings of pictures.
    void differentiateRow(Index row, Index n)
    {
        for (int map = 0; map < 3; ++map)
            derivatives.blurAcross(n, map, blurred[map].at, width);
        readWeights(row, width + 2 * kReach);
        const float *__restrict a = blurred[0].at, *__restrict b = blurred[1].at,
                    *__restrict c = blurred[2].at, *__restrict w = weights.at + kReach;
        const float* __restrict picture = pictures.aged(n, 2 * kReach).x.at + 2 * kReach;
        const float* __restrict photo = pictures.aged(n, 2 * kReach).y.at + 2 * kReach;
        float* __restrict to = p.gradX + (channel * p.rows + row - p.top) * p.width + first;
        const float l1Factor = p.l1Factor;
        for (int j = 0; j < width; ++j) {
            to[j] = a[j] + 2.0F * picture[j] * b[j] + photo[j] * c[j] +
                    l1Factor * w[j] * signOf(picture[j] - photo[j]);
        }
    }
};

/// Cuts a picture into channels, bands and strips. The cut changes no result.
struct StripPlan {
    Index strips, bands, bandRows;

    explicit StripPlan(const PhotometricArguments& p) : strips((p.width + kStrip - 1) / kStrip)
    {
        const Index rows = p.end - p.begin, wanted = (kTasks + 3 * strips - 1) / (3 * strips);
        const Index most = (rows + kLeastBand - 1) / kLeastBand;
        bandRows = (rows + std::min(wanted, most) - 1) / std::min(wanted, most);
        bands = (rows + bandRows - 1) / bandRows;
    }
    Index tasks() const { return 3 * bands * strips; }
};

template <bool Measures>
struct PhotometricTask {
    PhotometricArguments p;
    StripPlan plan;
    PhotometricSums* rowSums; ///< [3, strips, rows of the band]

    void operator()(Index task) const
    {
        const Index strip = task / plan.bands % plan.strips, rows = p.end - p.begin;
        const Index channel = task / (plan.bands * plan.strips);
        const Index begin = p.begin + task % plan.bands * plan.bandRows, first = strip * kStrip;
        PhotometricSums* sums = rowSums + (channel * plan.strips + strip) * rows;
        PhotometricStrip<Measures> work(p, static_cast<int>(channel), first,
                                        static_cast<int>(std::min<Index>(kStrip, p.width - first)),
                                        sums + (begin - p.begin));
        work.run(begin, std::min(begin + plan.bandRows, p.end));
    }
};

inline std::size_t scratchBytes(const PhotometricArguments& p)
{
    const Index rows = p.end - p.begin;
    return static_cast<std::size_t>(3 * StripPlan(p).strips * rows) * sizeof(PhotometricSums);
}

template <bool Measures>
void runPhotometric(Stream& stream, const PhotometricArguments& p)
{
    const StripPlan plan(p);
    auto* rowSums = static_cast<PhotometricSums*>(p.scratch);
    forEach(stream, plan.tasks(), PhotometricTask<Measures>{p, plan, rowSums}, 1);
    *p.sums = {};
    for (Index i = 0; i < 3 * plan.strips * (p.end - p.begin); ++i) {
        p.sums->l1 += rowSums[i].l1;
        p.sums->ssim += rowSums[i].ssim;
        p.sums->square += rowSums[i].square;
        p.sums->square8 += rowSums[i].square8;
    }
}

} // namespace

} // namespace vergence::sugar
