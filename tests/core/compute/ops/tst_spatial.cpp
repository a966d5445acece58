#include "core/compute/ops/spatial.h"
#include "tests/core/compute/ops/ops_support.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;

namespace {

struct Image {
    Index n, c, h, w;
    Index count() const { return n * c * h * w; }
    Shape shape(bool channelsLast = false) const
    {
        return channelsLast ? Shape{n, h, w, c} : Shape{n, c, h, w};
    }
    std::size_t at(Index s, Index ch, Index y, Index x, bool channelsLast = false) const
    {
        return static_cast<std::size_t>(channelsLast ? ((s * h + y) * w + x) * c + ch
                                                     : ((s * c + ch) * h + y) * w + x);
    }
};

/// The patches of an image by the definition.
Numbers unfolded(const Image& image, const Numbers& x, Index p, Index columns)
{
    Numbers patches;
    for (Index s = 0; s < image.n; ++s) {
        for (Index py = 0; py < image.h / p; ++py) {
            for (Index px = 0; px < image.w / p; ++px) {
                const std::size_t first = patches.size();
                for (Index c = 0; c < image.c; ++c) {
                    for (Index y = 0; y < p; ++y) {
                        for (Index i = 0; i < p; ++i)
                            patches.push_back(x[image.at(s, c, py * p + y, px * p + i)]);
                    }
                }
                patches.resize(first + static_cast<std::size_t>(columns), 0);
            }
        }
    }
    return patches;
}

} // namespace

class TestSpatial : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void patchesFollowTheDefinition_data() { addPlaceAndTypeRows(); }
    void patchesFollowTheDefinition()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        for (const Image& image : {Image{2, 3, 9, 14}, Image{1, 1, 4, 4}, Image{1, 3, 31, 33},
                                   Image{0, 3, 8, 8}, Image{1, 2, 3, 3}}) {
            for (const int patch : {1, 4}) {
                for (const Index padding : {Index{0}, Index{5}}) {
                    bench.misaligned = padding > 0;
                    const Index columns = image.c * patch * patch + padding;
                    const Index count = image.h / patch * (image.w / patch);
                    const Numbers x = roundedTo(kind.type, randomNumbers(image.count(), 1));
                    const Tensor patches = bench.result({image.n, count, columns});
                    unfoldPatches(bench.stream(), bench.tensor(image.shape(), x), patch, patches);
                    QCOMPARE(bench.numbers(patches), unfolded(image, x, patch, columns));
                    // The derivative is the transposed map: ⟨g, U x⟩ = ⟨Uᵀ g, x⟩ entry by entry.
                    const Numbers g =
                        roundedTo(kind.type, randomNumbers(image.n * count * columns, 2));
                    const Tensor grad = bench.result(image.shape());
                    unfoldPatchesBackward(bench.stream(),
                                          bench.tensor({image.n, count, columns}, g), patch, grad);
                    Numbers places(x.size()), want(x.size(), 0);
                    for (std::size_t i = 0; i < x.size(); ++i)
                        places[i] = static_cast<double>(i) + 1;
                    const Numbers moved = unfolded(image, places, patch, columns);
                    for (std::size_t i = 0; i < moved.size(); ++i) {
                        if (moved[i] > 0)
                            want[static_cast<std::size_t>(moved[i]) - 1] = g[i];
                    }
                    QCOMPARE(bench.numbers(grad), want);
                }
            }
        }
    }

    void pixelsAreNormalised_data() { addPlaceAndTypeRows(); }
    void pixelsAreNormalised()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        PixelNormalisation how;
        const float means[3] = {0.485f, 0.456f, 0.406f}, deviations[3] = {0.229f, 0.224f, 0.225f};
        std::copy(means, means + 3, how.mean);
        std::copy(deviations, deviations + 3, how.deviation);
        // One pixel of 0 and one of 255: the published extremes.
        const Tensor two = bench.tensor({2, 3, 1, 1}, {0, 0, 0, 255, 255, 255}, DType::U8);
        const Tensor ends = bench.result({2, 1, 3});
        unfoldPixels(bench.stream(), two, 1, how, ends);
        VERGENCE_AGREES(
            difference(bench.numbers(ends),
                       Numbers{-2.1179039, -2.0357143, -1.8044444, 2.2489083, 2.4285714, 2.64},
                       1e-6, kind.type == DType::F64 ? 1e-6 : kind.accuracy));
        const Image image{2, 3, 9, 14};
        const Numbers pixels =
            mapped(randomNumbers(image.count(), 3, 0, 255), [](double v) { return std::floor(v); });
        Numbers last(pixels.size()), normal(pixels.size());
        for (Index s = 0; s < 2; ++s) {
            for (Index c = 0; c < 3; ++c) {
                for (Index y = 0; y < 9; ++y) {
                    for (Index x = 0; x < 14; ++x) {
                        const double value = pixels[image.at(s, c, y, x)];
                        last[image.at(s, c, y, x, true)] = value;
                        normal[image.at(s, c, y, x)] =
                            (value / 255 - static_cast<double>(means[c])) /
                            static_cast<double>(deviations[c]);
                    }
                }
            }
        }
        const Numbers want = unfolded(image, normal, 4, 50);
        const Tensor patches = bench.result({2, 6, 50});
        unfoldPixels(bench.stream(), bench.tensor(image.shape(), pixels, DType::U8), 4, how,
                     patches);
        VERGENCE_AGREES(difference(bench.numbers(patches), want, kind.accuracy, kind.accuracy));
        how.channelsLast = true;
        unfoldPixels(bench.stream(), bench.tensor(image.shape(true), last, DType::U8), 4, how,
                     patches);
        VERGENCE_AGREES(difference(bench.numbers(patches), want, kind.accuracy, kind.accuracy));
    }

    void resamplingTapsAreThePublishedOnes()
    {
        const auto taps = [](Index to, double offset, Index row) {
            const auto rows = cubicResampling(37, to, offset);
            return std::vector<double>(rows.begin() + row * 37, rows.begin() + (row + 1) * 37);
        };
        // Index 0 reaches beyond the border: the first two taps meet on row 0.
        const auto agrees = [](const std::vector<double>& row, std::size_t first,
                               const Numbers& want) {
            const Numbers got(row.begin() + static_cast<std::ptrdiff_t>(first),
                              row.begin() + static_cast<std::ptrdiff_t>(first + want.size()));
            return difference(got, want, 1e-6, 0);
        };
        VERGENCE_AGREES(
            agrees(taps(18, 0, 0), 0, {-0.08826839 + 0.55702911, 0.62989219, -0.09865291}));
        VERGENCE_AGREES(
            agrees(taps(18, 0, 5), 9, {-0.02284272, 0.19335670, 0.92412016, -0.09463413}));
        VERGENCE_AGREES(
            agrees(taps(18, 0.1, 0), 0, {-0.08943130 + 0.56457482, 0.62255889, -0.09770241}));
        VERGENCE_AGREES(
            agrees(taps(16, 0, 0), 0, {-0.05815888 + 0.38428497, 0.78490448, -0.11103058}));
    }

    void antialiasedTapsAreThoseOfImageLibraries()
    {
        // 37 to 16 samples, rows 0 and 5, as a current PyTorch gives them.
        const auto rows = cubicResampling(37, 16, 0, true);
        const Numbers first(rows.begin(), rows.begin() + 6);
        VERGENCE_AGREES(
            difference(first,
                       Numbers{0.38718637869485817, 0.44145066486798995, 0.20925618753957545,
                               -0.003056488542613014, -0.03181696170470497, -0.003019780855105485},
                       1e-12, 0));
        const Numbers fifth(rows.begin() + 5 * 37 + 8, rows.begin() + 5 * 37 + 17);
        VERGENCE_AGREES(
            difference(fifth,
                       Numbers{-0.005505618037534887, -0.03136263645884474, 0.010153002668694627,
                               0.22731435962810245, 0.423694398411494, 0.3343601514805996,
                               0.0875307284409579, -0.027885909965067165, -0.018298476168401565},
                       1e-12, 0));
        const auto larger = cubicResampling(37, 50, 0, true);
        const Numbers grown(larger.begin() + 5 * 37 + 2, larger.begin() + 5 * 37 + 6);
        VERGENCE_AGREES(
            difference(grown, Numbers{-0.0526965, 0.4655395, 0.6570105, -0.0698535}, 1e-9, 0));
    }

    void everyResamplingRowSumsToOne()
    {
        for (const Index from : {Index{1}, Index{2}, Index{37}}) {
            for (const Index to : {Index{0}, Index{1}, Index{5}, Index{37}, Index{80}}) {
                for (const bool antialias : {false, true}) {
                    const auto rows = cubicResampling(from, to, 0, antialias);
                    QCOMPARE(rows.size(), static_cast<std::size_t>(from * to));
                    for (Index i = 0; i < to; ++i) {
                        double sum = 0;
                        for (Index k = 0; k < from; ++k)
                            sum += rows[static_cast<std::size_t>(i * from + k)];
                        QVERIFY(std::abs(sum - 1) < 1e-12);
                        if (from == to)
                            QCOMPARE(rows[static_cast<std::size_t>(i * from + i)], 1.0);
                    }
                }
            }
        }
        VERGENCE_THROWS(ContractError, "from 0 to 3", cubicResampling(0, 3));
    }

    void nearestUpsamplingAndItsGradient_data() { addPlaceAndTypeRows(); }
    void nearestUpsamplingAndItsGradient()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        for (const bool channelsLast : {true, false}) {
            for (const Image& small :
                 {Image{2, 3, 5, 7}, Image{1, 33, 1, 1}, Image{0, 2, 3, 3}, Image{1, 31, 2, 3},
                  Image{2, 32, 3, 1}, Image{1, 257, 2, 2}, Image{1, 1, 31, 33}}) {
                bench.misaligned = small.c % 2 == 1;
                const Image large{small.n, small.c, 2 * small.h, 2 * small.w};
                const Numbers x = roundedTo(kind.type, randomNumbers(small.count(), 1));
                const Numbers g = roundedTo(kind.type, randomNumbers(large.count(), 2));
                Numbers want(g.size()), sums(x.size(), 1);
                for (Index s = 0; s < large.n; ++s) {
                    for (Index c = 0; c < large.c; ++c) {
                        for (Index y = 0; y < large.h; ++y) {
                            for (Index i = 0; i < large.w; ++i) {
                                const auto from = small.at(s, c, y / 2, i / 2, channelsLast);
                                const auto to = large.at(s, c, y, i, channelsLast);
                                want[to] = x[from];
                                sums[from] += g[to];
                            }
                        }
                    }
                }
                const Tensor y = bench.result(large.shape(channelsLast));
                upsampleNearest2(bench.stream(), bench.tensor(small.shape(channelsLast), x),
                                 channelsLast, y);
                QCOMPARE(bench.numbers(y), want);
                const Tensor grad = bench.tensor(small.shape(channelsLast), Numbers(x.size(), 1));
                upsampleNearest2Backward(bench.stream(), bench.tensor(large.shape(channelsLast), g),
                                         channelsLast, grad, true);
                VERGENCE_AGREES(
                    difference(bench.numbers(grad), sums, 2 * kind.accuracy, kind.accuracy));
            }
        }
    }

    void pixelShuffleFollowsTheDefinition_data() { addPlaceAndTypeRows(); }
    void pixelShuffleFollowsTheDefinition()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        for (const bool channelsLast : {true, false}) {
            for (const auto& [p, c, n] : std::vector<std::array<Index, 3>>{{1, 5, 2},
                                                                           {2, 5, 2},
                                                                           {3, 5, 2},
                                                                           {2, 31, 1},
                                                                           {2, 32, 1},
                                                                           {2, 33, 1},
                                                                           {2, 257, 1},
                                                                           {2, 4, 0}}) {
                bench.misaligned = c % 2 == 1;
                const Image large{n, c, 4 * p, 3 * p}, small{n, c * p * p, 4, 3};
                const Numbers x = roundedTo(kind.type, randomNumbers(large.count(), 1));
                Numbers want(x.size());
                for (Index s = 0; s < n; ++s) {
                    for (Index k = 0; k < c; ++k) {
                        for (Index y = 0; y < large.h; ++y) {
                            for (Index i = 0; i < large.w; ++i)
                                want[small.at(s, k * p * p + y % p * p + i % p, y / p, i / p,
                                              channelsLast)] =
                                    x[large.at(s, k, y, i, channelsLast)];
                        }
                    }
                }
                const Tensor tx = bench.tensor(large.shape(channelsLast), x);
                const Tensor y = bench.result(small.shape(channelsLast));
                pixelUnshuffle(bench.stream(), tx, static_cast<int>(p), channelsLast, y);
                QCOMPARE(bench.numbers(y), want);
                const Tensor back = bench.result(large.shape(channelsLast));
                pixelShuffle(bench.stream(), y, static_cast<int>(p), channelsLast, back);
                QCOMPARE(bench.numbers(back), x);
            }
        }
    }

    void badOperandsAreNamed()
    {
        const Bench bench(makeCpuDevice(1));
        Stream& stream = bench.stream();
        const Tensor image = bench.result({1, 3, 8, 8});
        VERGENCE_THROWS(ContractError, "[1, 4, 40] instead of [1, 4, 48]",
                        unfoldPatches(stream, image, 4, bench.result({1, 4, 40})));
        VERGENCE_THROWS(ContractError, "a patch of 0 pixels",
                        unfoldPatches(stream, image, 0, bench.result({1, 4, 48})));
        VERGENCE_THROWS(ContractError, "F32 instead of U8",
                        unfoldPixels(stream, image, 4, {}, bench.result({1, 4, 48})));
        VERGENCE_THROWS(ContractError, "4 channels instead of 3",
                        unfoldPixels(stream, bench.result({1, 4, 8, 8}, DType::U8), 4, {},
                                     bench.result({1, 4, 64})));
        VERGENCE_THROWS(ContractError, "[1, 3, 8, 8] instead of [1, 3, 16, 16]",
                        upsampleNearest2(stream, image, false, image));
        VERGENCE_THROWS(ContractError, "cannot be cut by 3",
                        pixelUnshuffle(stream, image, 3, false, image));
        VERGENCE_THROWS(ContractError, "[1, 3, 8, 8] instead of [1, 12, 4, 4]",
                        pixelUnshuffle(stream, image, 2, false, image));
    }
};

VERGENCE_TEST(TestSpatial)
#include "tst_spatial.moc"
