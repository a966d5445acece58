#include <cmath>
#include <numeric>

#include <QTest>

#include "core/base/error.h"
#include "plugins/live_diffusion/diffusion/similarity.h"
#include "plugins/live_diffusion/quality/drift_meter.h"
#include "plugins/live_diffusion/quality/frame_quality.h"
#include "plugins/live_diffusion/scenes/degradation.h"
#include "plugins/live_diffusion/scenes/scene.h"
#include "tests/plugins/live_diffusion/apart.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::live;
using namespace vergence::test;

namespace {

using Picture = std::vector<float>;
struct Frame {
    Picture input, target;
};

/// A 16×16 picture of every frequency.
Picture testPicture()
{
    Picture picture;
    for (int i = 0; i < 3 * 16 * 16; ++i)
        picture.push_back(
            static_cast<float>(0.6 * std::sin(0.7 * i) + 0.3 * std::cos(0.05 * i * i)));
    return picture;
}

} // namespace

class TestLiveScenes : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void framesAreOfAnySize_data();
    void framesAreOfAnySize();
    void interferenceByTheFormula();
    void checkerByTheFormula();
    void orbitsAreAnExactLoop();
    void orbitsMoveAndDiffer();
    void orbitsInputIsGreySteps();
    void edgesAreSoft();
    void staticNoiseIsAlmostStill();
    void cutsAreSeen();
    void badScenesAreRefused();

    void blurIsAMean();
    void degradationsAreDrawnAsSaid();
    void degradationsSpoil();

    void qualityOfKnownPictures();
    void slopes();
    void identityIsStable();
    void lostContrastCollapses();
    void colourBiasDrifts();
    void notFiniteCollapses();
    void repetitionAndTime();

private:
    Frame draw(SceneKind kind, Index t, std::uint32_t seed = 1, int height = 64, int width = 64)
    {
        const auto scene = makeScene({kind, height, width, seed});
        Frame frame{Picture(static_cast<std::size_t>(scene->values())),
                    Picture(static_cast<std::size_t>(scene->values()))};
        scene->draw(*m_stream, t, frame.input, frame.target);
        return frame;
    }

    std::shared_ptr<Device> m_device = makeCpuDevice(1);
    std::unique_ptr<Stream> m_stream = m_device->createStream();
};

void TestLiveScenes::framesAreOfAnySize_data()
{
    QTest::addColumn<int>("kind");
    for (int kind = 0; kind <= static_cast<int>(SceneKind::Cuts); ++kind)
        QTest::newRow(std::string(nameOf(static_cast<SceneKind>(kind))).c_str()) << kind;
}

void TestLiveScenes::framesAreOfAnySize()
{
    QFETCH(int, kind);
    for (const auto& [height, width] : {std::pair{8, 8}, {31, 57}, {64, 64}, {130, 65}}) {
        const auto scene = makeScene({static_cast<SceneKind>(kind), height, width, 3});
        const auto size = static_cast<std::size_t>(scene->values());
        QCOMPARE(static_cast<int>(size), 3 * height * width);
        Picture input(size, 9.0f), target(size, 9.0f), again(size), alone(size);
        scene->draw(*m_stream, 71, input, target);
        for (const Picture& picture : {input, target}) {
            for (const float value : picture)
                QVERIFY(value >= -1 && value <= 1);
        }
        QCOMPARE(input == target, !scene->isPaired());
        scene->draw(*m_stream, 71, again, {});
        scene->draw(*m_stream, 71, {}, alone);
        QVERIFY(again == input && alone == target);
    }
}

void TestLiveScenes::interferenceByTheFormula()
{
    const int height = 9, width = 13;
    const Index t = 7;
    const Picture picture = draw(SceneKind::Interference, t, 0, height, width).input;
    const auto p = [&](Index y, Index x) {
        y = (y % height + height) % height;
        x = (x % width + width) % width;
        const double atX = 4 * M_PI * static_cast<double>(x) / (width - 1);
        const double atY = 4 * M_PI * static_cast<double>(y) / (height - 1);
        return 0.5 * std::sin(atX + 0.5 * t) * std::cos(atY + 0.3 * t);
    };
    std::vector<double> want;
    for (int colour = 0; colour < 3; ++colour) {
        for (Index y = 0; y < height; ++y) {
            for (Index x = 0; x < width; ++x)
                want.push_back(p(colour == 1 ? y - 2 * t : y, colour == 2 ? x - 3 * t : x));
        }
    }
    QCOMPARE(apart(picture, want, 1e-6, 0), QString());
}

void TestLiveScenes::checkerByTheFormula()
{
    for (const Index t : {0, 1, 2}) {
        const Picture picture = draw(SceneKind::Checker, t, 0, 24, 17).input;
        for (Index i = 0; i < 24; ++i) {
            for (Index j = 0; j < 17; ++j)
                QCOMPARE(
                    picture[static_cast<std::size_t>(17 * i + j)],
                    static_cast<float>(0.8 * static_cast<double>((i / 8 + j / 8 + t) % 2) - 0.4));
        }
    }
}

void TestLiveScenes::orbitsAreAnExactLoop()
{
    for (const Index t : {0, 1, 239}) {
        const Frame first = draw(SceneKind::Orbits, t), later = draw(SceneKind::Orbits, t + 480);
        QVERIFY(first.input == later.input && first.target == later.target);
    }
}

void TestLiveScenes::orbitsMoveAndDiffer()
{
    const Frame a = draw(SceneKind::Orbits, 0), b = draw(SceneKind::Orbits, 1);
    QVERIFY(psnr(a.target, b.target) < 35 && psnr(a.target, b.target) > 15);
    const Frame other = draw(SceneKind::Orbits, 0, 2);
    QVERIFY(psnr(a.target, other.target) < 20);
    // The same film at another size is the same film.
    const Picture large = draw(SceneKind::Orbits, 0, 1, 128, 128).target;
    Picture halved(a.target.size());
    for (std::size_t i = 0; i < halved.size(); ++i) {
        const std::size_t plane = i / 4096, y = i / 64 % 64, x = i % 64;
        const std::size_t at = plane * 16384 + 2 * y * 128 + 2 * x;
        halved[i] = (large[at] + large[at + 1] + large[at + 128] + large[at + 129]) / 4;
    }
    QVERIFY(psnr(a.target, halved) > 30);
}

void TestLiveScenes::orbitsInputIsGreySteps()
{
    const Frame frame = draw(SceneKind::Orbits, 12);
    const std::span<const float> red(frame.input.data(), 4096);
    QVERIFY(std::equal(red.begin(), red.end(), frame.input.begin() + 4096));
    QVERIFY(std::equal(red.begin(), red.end(), frame.input.begin() + 8192));
    // Values gather about −1, −⅓, ⅓, 1 with deviation 0.1 (the outer ones are cut at ±1), and agree
    // with the blurred luminance to half a step, but for the noise.
    Picture grey(4096);
    for (std::size_t i = 0; i < 4096; ++i)
        grey[i] = 0.299f * frame.target[i] + 0.587f * frame.target[4096 + i] +
                  0.114f * frame.target[8192 + i];
    blur(1, 1, 64, 64, grey);
    double squares = 0;
    int inner = 0, levels[4] = {};
    for (std::size_t i = 0; i < 4096; ++i) {
        const int level = static_cast<int>(std::lround((static_cast<double>(grey[i]) + 1) * 1.5));
        const double noise = static_cast<double>(red[i]) - (level * 2.0 / 3 - 1);
        QVERIFY(std::abs(noise) < 0.6);
        ++levels[level];
        if (level == 1 || level == 2) {
            squares += noise * noise;
            ++inner;
        }
    }
    QVERIFY(std::abs(std::sqrt(squares / inner) - 0.1) < 0.01);
    for (const int count : levels)
        QVERIFY(count > 20); // all four steps occur
}

void TestLiveScenes::edgesAreSoft()
{
    // A pixel between two flat colours of its row lies between them; were edges hard, it would be
    // one of them.
    const Picture target = draw(SceneKind::Orbits, 30, 5, 256, 256).target;
    int edges = 0, between = 0;
    for (std::size_t i = 2; i + 2 < 65536; ++i) {
        const float step = target[i + 1] - target[i - 1];
        const bool isInside = i % 256 >= 2 && i % 256 < 254;
        const bool isEdge = isInside && std::abs(step) > 0.3f &&
                            std::abs(target[i - 1] - target[i - 2]) < 0.01f &&
                            std::abs(target[i + 2] - target[i + 1]) < 0.01f;
        const float part = (target[i] - target[i - 1]) / step;
        edges += isEdge ? 1 : 0;
        between += isEdge && part > 0.02f && part < 0.98f ? 1 : 0;
    }
    QVERIFY(edges > 200);
    QVERIFY2(between > 0.8 * edges, qPrintable(QString("%1 of %2").arg(between).arg(edges)));
}

void TestLiveScenes::staticNoiseIsAlmostStill()
{
    const Frame a = draw(SceneKind::StaticNoise, 0), b = draw(SceneKind::StaticNoise, 1);
    QVERIFY(a.target == b.target);
    QVERIFY(a.input != b.input);
    const double error = meanSquaredError(a.input, a.target);
    QVERIFY(std::abs(std::sqrt(error) - 0.01) < 5e-4);
    QVERIFY(cosineSimilarity(a.input, b.input) > 0.998); // the filter would skip nine in ten
}

void TestLiveScenes::cutsAreSeen()
{
    for (const std::uint32_t seed : {1u, 2u, 7u, 40u}) {
        const auto scene = makeScene({SceneKind::Cuts, 64, 64, seed});
        Picture before(12288), now(12288);
        scene->draw(*m_stream, 0, before, {});
        for (Index t = 1; t < 200; ++t) {
            scene->draw(*m_stream, t, now, {});
            const bool isCut = t % 60 == 0;
            const double cosine = cosineSimilarity(before, now);
            QVERIFY2((cosine < 0.5) == isCut,
                     qPrintable(QString("seed %1 frame %2: %3").arg(seed).arg(t).arg(cosine)));
            before.swap(now);
        }
    }
}

void TestLiveScenes::badScenesAreRefused()
{
    VERGENCE_THROWS(ContractError, "too few", makeScene({SceneKind::Orbits, 7, 64, 0}));
    const auto scene = makeScene({});
    Picture small(12);
    VERGENCE_THROWS(ContractError, "12 values", scene->draw(*m_stream, 0, small, {}));
    VERGENCE_THROWS(ContractError, "frame -1", scene->draw(*m_stream, -1, {}, {}));
}

void TestLiveScenes::blurIsAMean()
{
    Picture flat(3 * 9 * 11, 0.3f);
    blur(1.7, 3, 9, 11, flat);
    for (const float value : flat)
        QVERIFY(std::abs(value - 0.3f) < 1e-6f);
    // A point becomes the Gaussian, σ² along both axes.
    Picture point(41 * 41);
    point[20 * 41 + 20] = 1;
    blur(2, 1, 41, 41, point);
    double sum = 0, xx = 0, yy = 0;
    for (int y = 0; y < 41; ++y) {
        for (int x = 0; x < 41; ++x) {
            const double value = static_cast<double>(point[static_cast<std::size_t>(41 * y + x)]);
            sum += value;
            xx += value * (x - 20) * (x - 20);
            yy += value * (y - 20) * (y - 20);
        }
    }
    QVERIFY(std::abs(sum - 1) < 1e-5);
    QVERIFY(std::abs(xx - 4) < 0.12 && std::abs(yy - 4) < 0.12); // cut at 3σ
}

void TestLiveScenes::degradationsAreDrawnAsSaid()
{
    // Each kind with chance 0.3, and one of them where all stay away (0.343/3 more): 0.414.
    int counts[3] = {};
    for (std::uint32_t clip = 0; clip < 4000; ++clip) {
        const Degradation d = randomDegradation(5, clip);
        QVERIFY(!d.isNone());
        QVERIFY(d.blurSigma >= 0 && d.blurSigma <= 2 && d.noise >= 0 && d.noise <= 0.15);
        counts[0] += d.blurSigma > 0;
        counts[1] += d.noise > 0;
        counts[2] += d.quantisesBlocks;
    }
    for (const int count : counts)
        QVERIFY2(std::abs(count / 4000.0 - (0.3 + 0.343 / 3)) < 0.04,
                 qPrintable(QString::number(count)));
}

void TestLiveScenes::degradationsSpoil()
{
    const Picture clean = draw(SceneKind::Orbits, 3, 1, 33, 50).target;
    const auto spoil = [&](const Degradation& d) {
        Picture spoilt(clean.size());
        degrade(*m_stream, d, 33, 50, 2, 7, clean, spoilt);
        Picture inPlace = clean;
        degrade(*m_stream, d, 33, 50, 2, 7, inPlace, inPlace);
        if (inPlace != spoilt)
            qFatal("in place differs");
        return spoilt;
    };
    QCOMPARE(spoil({}), clean);
    const Picture noisy = spoil({0, 0.1, false});
    QVERIFY(psnr(noisy, clean) > 24 && psnr(noisy, clean) < 28); // 26 dB less what is clamped
    const Picture blurred = spoil({1.5, 0, false});
    QVERIFY(meanGradient(blurred, 33, 50) < 0.8 * meanGradient(clean, 33, 50));
    const Picture blocks = spoil({0, 0, true});
    QVERIFY(psnr(blocks, clean) > 18 && psnr(blocks, clean) < 45);
    // Coarse steps: quantising what is quantised changes little beside the first time.
    Picture twice(clean.size());
    degrade(*m_stream, {0, 0, true}, 33, 50, 2, 7, blocks, twice);
    QVERIFY(meanSquaredError(twice, blocks) < 0.2 * meanSquaredError(blocks, clean));
}

void TestLiveScenes::qualityOfKnownPictures()
{
    const Picture picture = testPicture();
    Picture shifted = picture, halved = picture;
    for (float& value : shifted)
        value += 0.02f;
    for (float& value : halved)
        value = 0.5f * value + 0.1f;
    QCOMPARE(psnr(picture, picture), kMostPsnr);
    QVERIFY(std::abs(psnr(shifted, picture) - 10 * std::log10(4 / 0.0004)) < 1e-3);
    QVERIFY(std::abs(meanColourDistance(shifted, picture) - 0.02 * std::sqrt(3.0)) < 1e-6);
    QVERIFY(std::abs(contrastRatio(shifted, picture) - 1) < 1e-6);
    QVERIFY(std::abs(contrastRatio(halved, picture) - 0.5) < 1e-6);
    QVERIFY(std::abs(detailRatio(halved, picture, 16, 16) - 0.5) < 1e-6);
    QCOMPARE(contrastRatio(Picture(48, 0.5f), Picture(48, 0.2f)), 1.0);
    QVERIFY(std::isinf(contrastRatio(picture, Picture(picture.size(), 0.2f))));

    // Ramp of slope 0.1 across: |∇| = 0.1 everywhere; both ways: 0.1·√2.
    Picture ramp(3 * 5 * 6), both(3 * 5 * 6);
    for (std::size_t i = 0; i < ramp.size(); ++i) {
        ramp[i] = 0.1f * static_cast<float>(i % 6);
        both[i] = ramp[i] + 0.1f * static_cast<float>(i / 6 % 5);
    }
    QVERIFY(std::abs(meanGradient(ramp, 5, 6) - 0.1) < 1e-6);
    QVERIFY(std::abs(meanGradient(both, 5, 6) - 0.1 * std::sqrt(2.0)) < 1e-6);
    QVERIFY(std::abs(temporalError(shifted, picture, picture, picture) - 0.02) < 1e-6);
    QCOMPARE(temporalError(shifted, picture, shifted, picture), 0.0);
    QVERIFY(std::isnan(psnr(Picture(3, NAN), Picture(3))));
    VERGENCE_THROWS(ContractError, "one size", psnr(Picture(3), Picture(6)));
}

void TestLiveScenes::slopes()
{
    std::vector<double> line;
    for (int i = 0; i < 200; ++i)
        line.push_back(30 - 0.02 * i + (i < 50 ? 5 : 0));
    QVERIFY(std::abs(slopePer100(line, 50) + 2) < 1e-12);
    QVERIFY(slopePer100(line) < -2);
    QCOMPARE(slopePer100(std::vector<double>(300, 0.1), 50), 0.0);
    QCOMPARE(slopePer100(std::vector<double>{1, 2}, 1), 0.0);
    QCOMPARE(slopePer100(std::vector<double>{1}, 5), 0.0);
}

void TestLiveScenes::identityIsStable()
{
    const auto scene = makeScene({SceneKind::Orbits, 16, 16, 4});
    DriftMeter meter(16, 16);
    Picture target(768);
    for (Index t = 0; t < 120; ++t) {
        scene->draw(*m_stream, t, {}, target);
        meter.add(target, target);
    }
    QCOMPARE(meter.slope(), 0.0);
    QCOMPARE(meter.verdict(), DriftVerdict::Stable);
    QCOMPARE(meter.meanPsnr(), kMostPsnr);
    QCOMPARE(meter.frames().back().repetition, 0.0);
    QCOMPARE(meter.frames().back().temporalError, 0.0);
    QVERIFY(!meter.collapsedAt());
}

void TestLiveScenes::lostContrastCollapses()
{
    // 0.99^k < 0.1 from k = 230 on; ten such frames end at 239.
    const Picture target = testPicture();
    DriftMeter meter(16, 16);
    Picture picture(target.size());
    for (int k = 0; k < 250; ++k) {
        for (std::size_t i = 0; i < target.size(); ++i)
            picture[i] = static_cast<float>(static_cast<double>(target[i]) * std::pow(0.99, k));
        const FrameQuality& quality = meter.add(picture, target);
        QCOMPARE(quality.contrastRatio < 0.1, k >= 230);
        QCOMPARE(meter.verdict() == DriftVerdict::Collapsed, k >= 239);
    }
    QCOMPARE(meter.collapsedAt(), std::optional<Index>(239));
}

void TestLiveScenes::colourBiasDrifts()
{
    const Picture target = testPicture();
    DriftMeter meter(16, 16);
    Picture picture = target;
    std::vector<double> distances;
    for (int k = 0; k < 300; ++k) {
        for (std::size_t i = 0; i < target.size(); ++i)
            picture[i] = target[i] + 0.001f * static_cast<float>(k);
        distances.push_back(meter.add(picture, target).meanColourDistance);
    }
    QVERIFY(std::abs(slopePer100(distances) - 0.1 * std::sqrt(3.0)) < 1e-4);
    QVERIFY(meter.slope() < -1);
    QCOMPARE(meter.verdict(), DriftVerdict::Drifting);
    QVERIFY(std::abs(meter.frames().back().contrastRatio - 1) < 1e-4);
}

void TestLiveScenes::notFiniteCollapses()
{
    const Picture target = testPicture();
    DriftMeter meter(16, 16);
    meter.add(target, target);
    Picture picture = target;
    picture[5] = INFINITY;
    QVERIFY(!meter.add(picture, target).isFinite);
    QCOMPARE(meter.verdict(), DriftVerdict::Collapsed);
    QCOMPARE(meter.collapsedAt(), std::optional<Index>(1));
}

void TestLiveScenes::repetitionAndTime()
{
    // A stream that stands still while the target moves repeats itself.
    const auto scene = makeScene({SceneKind::Interference, 16, 16, 0});
    DriftMeter meter(16, 16);
    const Picture still = testPicture();
    Picture target(768);
    double wanted = -1;
    std::vector<Picture> last;
    for (Index t = 0; t < 8; ++t) {
        scene->draw(*m_stream, t, {}, target);
        const FrameQuality& quality = meter.add(still, target);
        wanted = -1;
        for (std::size_t i = last.size() > 5 ? last.size() - 5 : 0; i < last.size(); ++i)
            wanted = std::max(wanted, cosineSimilarity(target, last[i]));
        if (t > 0) {
            QVERIFY(std::abs(quality.repetition - (1 - wanted)) < 1e-12);
            double change = 0;
            for (std::size_t i = 0; i < 768; ++i)
                change += std::abs(static_cast<double>(target[i] - last.back()[i]));
            QVERIFY(std::abs(quality.temporalError - change / 768) < 1e-9);
        }
        last.push_back(target);
    }
    QVERIFY(meter.frames().back().repetition > 0.3);
}

VERGENCE_TEST(TestLiveScenes)
#include "tst_live_scenes.moc"
