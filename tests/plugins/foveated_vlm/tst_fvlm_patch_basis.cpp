#include <cmath>

#include <QtTest>

#include "core/base/error.h"
#include "plugins/foveated_vlm/clips/patch_basis.h"
#include "plugins/foveated_vlm/clips/synthetic_clips.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::fvlm;
using test::isClose;

namespace {

const LatentStatistics kPlain;

std::vector<float> encoded(const std::vector<std::uint8_t>& frames, int height, int width,
                           const LatentStatistics& statistics = kPlain)
{
    const std::size_t count = frames.size() / (std::size_t(3) * height * width);
    std::vector<float> latents(count * 4 * std::size_t(height / 8) * (width / 8));
    encodePatchBasis(frames, height, width, statistics, latents);
    return latents;
}

SyntheticSettings fewClips()
{
    SyntheticSettings settings;
    settings.task = SyntheticTask::Next;
    settings.count = 12;
    settings.frames = 3;
    return settings;
}

} // namespace

/// Latents of the fixed projection.
class TestFvlmPatchBasis : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void rowsAreOrthonormal()
    {
        const auto& basis = patchBasis();
        for (std::size_t a = 0; a < 4; ++a)
            for (std::size_t b = 0; b < 4; ++b) {
                double product = 0;
                for (std::size_t i = 0; i < 192; ++i)
                    product += double(basis[a][i]) * basis[b][i];
                QVERIFY(isClose(product, a == b ? 1 : 0, 1e-6));
            }
    }

    void flatGreyIsItsValue()
    {
        for (const int grey : {0, 64, 127, 255}) {
            const std::vector<std::uint8_t> frame(std::size_t(3) * 16 * 24, std::uint8_t(grey));
            const std::vector<float> latents = encoded(frame, 16, 24);
            QCOMPARE(latents.size(), std::size_t(4 * 2 * 3));
            for (std::size_t i = 0; i < latents.size(); ++i)
                QVERIFY(isClose(latents[i], i < 6 ? grey / 127.5 - 1 : 0, 1e-5));
        }
    }

    void channelsAreColoursAndSlope()
    {
        std::vector<std::uint8_t> frame(192, 0);
        std::fill_n(frame.begin(), 64, std::uint8_t(255)); // all red: (1, −1, −1)
        const std::vector<float> red = encoded(frame, 8, 8);
        QVERIFY(isClose(red[0], -1.0 / 3, 1e-5));
        QVERIFY(isClose(red[1], 2 / std::sqrt(2.0) / std::sqrt(3.0), 1e-5)); // (R−B)/√2 · 8 / 8√3
        QVERIFY(isClose(red[2], 2 / std::sqrt(6.0) / std::sqrt(3.0), 1e-5));
        QVERIFY(isClose(red[3], 0, 1e-5));
        for (std::size_t i = 0; i < 192; ++i) // light at the top left
            frame[i] = std::uint8_t(255 - 15 * (i % 8) - 15 * (i / 8 % 8));
        const std::vector<float> slope = encoded(frame, 8, 8);
        QVERIFY(slope[3] > 0.1F);
        QVERIFY(isClose(slope[1], 0, 1e-5) && isClose(slope[2], 0, 1e-5));
    }

    void decodingIsTheTransposedBasis()
    {
        std::vector<float> latents = {0.2F, -0.1F, 0.15F, 0.1F};
        const std::vector<std::uint8_t> frame = decodePatchBasis(latents, 1, 1, kPlain);
        const auto& basis = patchBasis();
        for (std::size_t i = 0; i < 192; ++i) {
            double value = 0;
            for (std::size_t k = 0; k < 4; ++k)
                value += basis[k][i] * latents[k] * 8 * std::sqrt(3.0);
            QVERIFY(isClose(frame[i], (value + 1) * 127.5, 0.51));
        }
        const std::vector<float> again = encoded(frame, 8, 8);
        for (std::size_t k = 0; k < 4; ++k)
            QVERIFY(isClose(again[k], latents[k], 0.002)); // the frame is rounded to bytes
    }

    void blocksLieWhereTheyWere()
    {
        std::vector<std::uint8_t> frame(std::size_t(3) * 16 * 24, 0);
        for (std::size_t c = 0; c < 3; ++c)
            for (std::size_t y = 8; y < 16; ++y)
                for (std::size_t x = 16; x < 24; ++x)
                    frame[(c * 16 + y) * 24 + x] = 255;
        const std::vector<float> latents = encoded(frame, 16, 24);
        for (std::size_t i = 0; i < 6; ++i)
            QVERIFY(isClose(latents[i], i == 5 ? 1 : -1, 1e-5));
        QCOMPARE(decodePatchBasis(latents, 2, 3, kPlain), frame);
    }

    void unfilledBlocksAreLeftOut()
    {
        std::vector<std::uint8_t> frame(std::size_t(3) * 12 * 20, 100);
        const std::vector<float> before = encoded(frame, 12, 20);
        for (std::size_t c = 0; c < 3; ++c)
            for (std::size_t y = 0; y < 12; ++y)
                for (std::size_t x = 0; x < 20; ++x)
                    if (y >= 8 || x >= 16)
                        frame[(c * 12 + y) * 20 + x] = 7;
        QCOMPARE(encoded(frame, 12, 20), before);
        QCOMPARE(before.size(), std::size_t(4 * 1 * 2));
    }

    void statisticsStandardise()
    {
        const SyntheticClips clips(fewClips());
        const PatchBasisLatents latents(clips);
        QCOMPARE(latents.shape(), (std::array<Index, 3>{4, 8, 8}));
        QCOMPARE(latents.provider(), std::string("patch_basis"));
        double sum[4] = {}, squares[4] = {}, n = 0;
        std::vector<float> values(std::size_t(3) * 4 * 64);
        for (Index clip = 0; clip < clips.count(); ++clip) {
            latents.read(clip, values);
            for (std::size_t i = 0; i < values.size(); ++i) {
                sum[i / 64 % 4] += values[i];
                squares[i / 64 % 4] += double(values[i]) * values[i];
            }
            n += 3 * 64;
        }
        for (int k = 0; k < 4; ++k) {
            QVERIFY(isClose(sum[k] / n, 0, 1e-4));
            QVERIFY(isClose(squares[k] / n, 1, 1e-3));
        }
        const std::vector<std::uint8_t> frames = framesOf(clips, 5);
        latents.read(5, values);
        const std::vector<std::uint8_t> shown =
            decodePatchBasis(values, 8, 8, latents.statistics());
        std::vector<float> raw(values.size());
        encodePatchBasis(frames, 64, 64, kPlain, raw);
        double error = 0, energy = 0, kept = 0; // Pythagoras: what is lost is what is not projected
        for (std::size_t i = 0; i < frames.size(); ++i) {
            error += std::pow((int(frames[i]) - int(shown[i])) / 127.5, 2);
            energy += std::pow(frames[i] / 127.5 - 1, 2);
        }
        for (const float value : raw)
            kept += 192.0 * value * value;
        QVERIFY(isClose(error, energy - kept, 0.01 * error));
        QVERIFY(error < 0.25 * energy);
    }

    void constantChannelsStayFinite()
    {
        class Grey : public ClipSource {
        public:
            Index count() const override { return 2; }
            int height() const override { return 8; }
            int width() const override { return 8; }
            ClipInfo info(Index) const override { return {.frames = 1}; }
            void read(Index, std::span<std::uint8_t> out) const override
            {
                std::fill(out.begin(), out.end(), std::uint8_t(51));
            }
            std::string digest() const override { return "grey"; }
            std::span<const std::uint8_t> mapped() const override { return {}; }
        } const grey;
        const LatentStatistics statistics = measurePatchBasis(grey);
        QVERIFY(isClose(statistics.mean[0], -0.6, 1e-5));
        for (const float deviation : statistics.deviation)
            QCOMPARE(deviation, 1.0F);
        std::vector<float> values(4);
        PatchBasisLatents(grey).read(1, values);
        for (const float value : values)
            QVERIFY(isClose(value, 0, 1e-5));
    }

    void badExtentsAreRefused()
    {
        std::vector<float> latents(4);
        const std::vector<std::uint8_t> frame(192);
        QVERIFY_EXCEPTION_THROWN(encodePatchBasis(frame, 8, 7, kPlain, latents), ContractError);
        QVERIFY_EXCEPTION_THROWN(encodePatchBasis(frame, 8, 8, kPlain, std::span(latents).first(3)),
                                 ContractError);
        QVERIFY_EXCEPTION_THROWN(
            encodePatchBasis(std::span(frame).first(100), 8, 8, kPlain, latents), ContractError);
        QVERIFY_EXCEPTION_THROWN(decodePatchBasis(latents, 1, 2, kPlain), ContractError);
    }
};

VERGENCE_TEST(TestFvlmPatchBasis)
#include "tst_fvlm_patch_basis.moc"
