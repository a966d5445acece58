#include <QTest>

#include <limits>

#include "plugins/sugar/compute/adam_math.h"
#include "plugins/sugar/compute/learning/optimiser.h"
#include "tests/plugins/sugar/learning_support.h"
#include "tests/plugins/sugar/moment_rows.h"
#include "tests/support/environment.h"
#include "tests/support/instruction_sets.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::fixtures;
using namespace vergence::test;

namespace {

constexpr double kExtent = 2;

AdamStep stepNumber(std::int64_t step, bool sparse = false)
{
    AdamStep adam;
    adam.learningRate = ratesAt({}, kExtent, step, 30'000);
    adam.step = step;
    adam.sparse = sparse;
    return adam;
}

/// Gaussians with moments; gradients are another made-up cloud, 1e-4 times its numbers.
struct Trained {
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream = device->createStream();
    Gaussians gaussians;
    GaussianArrays gradients, moment1, moment2;

    Trained(const std::shared_ptr<Device>& on, Index n, int degree, Index spare = 3,
            bool isCompact = false)
        : device(on)
    {
        gaussians = upload(*stream, device, madeUpCloud(n, degree), n + spare, degree);
        gradients = gradientsOf(n, degree, n + spare, 0);
        AdamMoments moments = zeroMoments(*stream, device, n + spare, degree, formatOf(isCompact));
        moment1 = moments.first;
        moment2 = moments.second;
    }

    GaussianArrays gradientsOf(Index n, int degree, Index capacity, std::uint64_t seed)
    {
        GaussianCloud cloud = madeUpCloud(n, degree, 40 + seed);
        for (auto* column : {&cloud.position, &cloud.logScale, &cloud.rotation, &cloud.opacity,
                             &cloud.shDc, &cloud.shRest}) {
            for (float& value : *column)
                value *= 1e-4F;
        }
        return upload(*stream, device, cloud, capacity, degree).value;
    }

    Index update(const AdamStep& adam, const std::vector<std::uint8_t>& visible = {})
    {
        const Tensor flags =
            visible.empty() ? Tensor()
                            : Tensor::fromHost<std::uint8_t>(
                                  *stream, device, {static_cast<Index>(visible.size())}, visible);
        return adamUpdate(*stream, gaussians, gradients, moment1, moment2, adam, flags, kExtent);
    }

    std::vector<std::vector<float>> values()
    {
        auto all = columnsOf(download(*stream, gaussians));
        for (const GaussianArrays* moments : {&moment1, &moment2}) {
            for (auto& column : columnsOf(*stream, *moments, gaussians.count))
                all.push_back(std::move(column));
        }
        return all;
    }
};

/// Steps of a group from moments of 0: what `value` becomes, and moments as they are stored.
template <class First, class Second>
void follow(int group, int steps, const std::vector<float>& gradient, std::vector<float>& value,
            std::vector<float>& moment1, std::vector<float>& moment2)
{
    std::vector<First> first(gradient.size(), First());
    std::vector<Second> second(gradient.size(), Second());
    for (int step = 1; step <= steps; ++step)
        adamGroup(adamFactors<float>(stepNumber(step), kExtent), group,
                  static_cast<int>(gradient.size()), gradient.data(), first.data(), second.data(),
                  value.data());
    moment1.assign(first.begin(), first.end());
    moment2.assign(second.begin(), second.end());
}

/// The formula, number by number, on what a Trained holds at the start.
std::vector<std::vector<float>> expected(Trained& trained, int steps, bool isCompact = false)
{
    auto all = trained.values();
    const auto gradients =
        columnsOf(downloaded(*trained.stream, trained.gradients, trained.gaussians.count));
    const std::size_t groups = gradients.size();
    for (std::size_t i = 0; i < groups; ++i) {
        const auto group = static_cast<int>(i);
        auto &value = all[i], &first = all[groups + i], &second = all[2 * groups + i];
        if (!isCompact)
            follow<float, float>(group, steps, gradients[i], value, first, second);
        else if (group == kShRest)
            follow<BFloat16, std::uint8_t>(group, steps, gradients[i], value, first, second);
        else
            follow<BFloat16, BFloat16>(group, steps, gradients[i], value, first, second);
    }
    return all;
}

} // namespace

class SugarOptimiserTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void positionRatesAreThoseOfTheSpecification()
    {
        QVERIFY(std::abs(positionRate({}, 1, 0, 30'000) - 1.6e-4) < 1e-16);
        QVERIFY(std::abs(positionRate({}, 1, 7'000, 30'000) - 5.463278e-5) < 5e-12);
        QVERIFY(std::abs(positionRate({}, 3, 15'000, 30'000) - 4.8e-5) < 1e-16);
        QVERIFY(std::abs(positionRate({}, 1, 50'000, 30'000) - 1.6e-6) < 1e-16);
    }

    void ratesAreInTheOrderOfTheArrays()
    {
        const auto rates = ratesAt({}, 3, 15'000, 30'000);
        const std::array<float, 6> wanted{4.8e-5F, 5e-3F, 1e-3F, 5e-2F, 2.5e-3F, 1.25e-4F};
        for (std::size_t i = 0; i < 6; ++i)
            QCOMPARE(rates[i], wanted[i]);
    }

    /// f(x) = x², from 1: against the recurrence written out, in double.
    void threeStepsFollowTheRecurrence()
    {
        double x = 1, m = 0, v = 0, y = 1, first = 0, second = 0;
        for (int t = 1; t <= 3; ++t) {
            AdamFactors<double> factors{};
            factors.beta1 = 0.9;
            factors.beta2 = 0.999;
            factors.epsilon = 1e-15;
            factors.secondScale = 1 / std::sqrt(1 - std::pow(0.999, t));
            for (double& size : factors.stepSize)
                size = 0.1 / (1 - std::pow(0.9, t));
            const double gradient = 2 * x;
            adamGroup(factors, kPosition, 1, &gradient, &m, &v, &x);

            first = 0.9 * first + 0.1 * 2 * y;
            second = 0.999 * second + 0.001 * 4 * y * y;
            y -= 0.1 * (first / (1 - std::pow(0.9, t))) /
                 (std::sqrt(second / (1 - std::pow(0.999, t))) + 1e-15);
            QVERIFY(std::abs(x - y) < 1e-12);
            if (t == 1)
                QVERIFY(std::abs(x - 0.9) < 1e-12);
        }
    }

    void firstStepIsTheRateTimesTheSign_data() { addDeviceRows(); }
    void firstStepIsTheRateTimesTheSign()
    {
        VERGENCE_ROW_DEVICE(device)
        Trained trained(device, 40, 1);
        const auto before = trained.values();
        const auto gradients = columnsOf(downloaded(*trained.stream, trained.gradients, 40));
        QCOMPARE(trained.update(stepNumber(1)), 0);
        const auto after = trained.values();
        for (std::size_t group = 0; group < gradients.size(); ++group) {
            const float rate = stepNumber(1).learningRate[group];
            for (std::size_t i = 0; i < gradients[group].size(); ++i) {
                const float moved = before[group][i] - after[group][i];
                const float wanted = gradients[group][i] > 0 ? rate : -rate;
                QVERIFY(std::abs(moved - wanted) < 1e-3F * rate + 5e-7F);
            }
        }
    }

    void updateIsTheFormulaBitForBit_data() { addDeviceAndMomentRows(); }
    void updateIsTheFormulaBitForBit()
    {
        VERGENCE_ROW_DEVICE(device)
        QFETCH(bool, isCompact);
        for (const Index size : {0, 1, 127, 128, 129, 700}) {
            for (const int degree : {0, 3}) {
                Trained trained(device, size, degree, 3, isCompact);
                const auto wanted = expected(trained, 3, isCompact);
                for (int step = 1; step <= 3; ++step)
                    QCOMPARE(trained.update(stepNumber(step)), 0);
                const auto got = trained.values();
                const std::size_t groups = got.size() / 3;
                // A GPU contracts products and sums. A compact moment may then be rounded to the
                // neighbour, which changes the length of the next step.
                for (std::size_t i = 0; i < wanted.size(); ++i) {
                    const bool isByte = isCompact && degree > 0 && i + 1 == wanted.size();
                    const double tolerance = device->isCpu() ? 0
                                             : !isCompact    ? 2e-6
                                             : i < groups    ? 1e-3
                                                             : 1e-2;
                    VERGENCE_AGREES(difference(
                        got[i], wanted[i], isByte && !device->isCpu() ? 1 : tolerance, tolerance));
                }
            }
        }
    }

    void sparseEqualsDenseWhereAllIsVisible_data() { addDeviceAndMomentRows(); }
    void sparseEqualsDenseWhereAllIsVisible()
    {
        VERGENCE_ROW_DEVICE(device)
        QFETCH(bool, isCompact);
        Trained dense(device, 300, 2, 3, isCompact), sparse(device, 300, 2, 3, isCompact);
        for (int step = 1; step <= 3; ++step) {
            dense.update(stepNumber(step));
            sparse.update(stepNumber(step, true), std::vector<std::uint8_t>(303, 1));
        }
        QCOMPARE(sparse.values(), dense.values());
    }

    void sparseLeavesTheUnseenAlone_data() { addDeviceAndMomentRows(); }
    void sparseLeavesTheUnseenAlone()
    {
        VERGENCE_ROW_DEVICE(device)
        QFETCH(bool, isCompact);
        Trained dense(device, 300, 1, 3, isCompact), sparse(device, 300, 1, 3, isCompact);
        const auto before = sparse.values();
        std::vector<std::uint8_t> visible(303, 0);
        for (std::size_t i = 0; i < visible.size(); ++i)
            visible[i] = i % 7 == 0 || i > 250;
        dense.update(stepNumber(1));
        QCOMPARE(sparse.update(stepNumber(1, true), visible), 0);
        const auto moved = dense.values(), got = sparse.values();
        for (std::size_t group = 0; group < got.size(); ++group) {
            const std::size_t width = got[group].size() / 300;
            for (std::size_t i = 0; i < got[group].size(); ++i)
                QCOMPARE(got[group][i], (visible[i / width] ? moved : before)[group][i]);
        }
    }

    void rowsWithoutFiniteGradientAreLeftAndCounted_data() { addDeviceAndMomentRows(); }
    void rowsWithoutFiniteGradientAreLeftAndCounted()
    {
        VERGENCE_ROW_DEVICE(device)
        QFETCH(bool, isCompact);
        Trained trained(device, 300, 1, 3, isCompact), clean(device, 300, 1, 3, isCompact);
        const auto poison = [&](const Tensor& tensor, Index at, float value) {
            trained.stream->copy(tensor.flat<float>().data() + at, &value, sizeof(value));
        };
        poison(trained.gradients.position, 3 * 5, std::numeric_limits<float>::infinity());
        poison(trained.gradients.opacity, 130, std::numeric_limits<float>::quiet_NaN());
        poison(trained.gradients.shRest, 9 * 299 + 8, -std::numeric_limits<float>::infinity());
        poison(trained.gradients.opacity, 301, std::numeric_limits<float>::quiet_NaN()); // unused
        const auto before = trained.values();
        clean.update(stepNumber(1));
        QCOMPARE(trained.update(stepNumber(1)), 3);
        const auto moved = clean.values(), got = trained.values();
        for (std::size_t group = 0; group < got.size(); ++group) {
            const std::size_t width = got[group].size() / 300;
            for (std::size_t i = 0; i < got[group].size(); ++i) {
                const std::size_t row = i / width;
                const bool isLeft = row == 5 || row == 130 || row == 299;
                QCOMPARE(got[group][i], (isLeft ? before : moved)[group][i]);
            }
        }
    }

    void scalesAndLogitsStayInTheirRange_data() { addDeviceRows(); }
    void scalesAndLogitsStayInTheirRange()
    {
        VERGENCE_ROW_DEVICE(device)
        Trained trained(device, 2, 0, 0);
        const std::vector<float> scales{-19.999F, 2.9957F, 0, 2.9957F, -19.999F, 0};
        const std::vector<float> logits{11.99F, -11.99F}, up(6, -1.0F), down(6, 1.0F);
        Stream& stream = *trained.stream;
        for (const bool isUp : {true, false}) {
            const auto& gradient = isUp ? up : down;
            stream.copy(trained.gaussians.value.logScale.data(), scales.data(), 24);
            stream.copy(trained.gaussians.value.opacity.data(), logits.data(), 8);
            stream.copy(trained.gradients.logScale.data(), gradient.data(), 24);
            stream.copy(trained.gradients.opacity.data(), gradient.data(), 8);
            trained.update(stepNumber(1));
            const GaussianCloud cloud = download(stream, trained.gaussians);
            const float most = static_cast<float>(std::log(10 * kExtent));
            QCOMPARE(cloud.opacity[isUp ? 0 : 1], isUp ? 12.0F : -12.0F);
            QCOMPARE(cloud.logScale[isUp ? 1 : 0], isUp ? most : -20.0F);
            QCOMPARE(cloud.logScale[isUp ? 3 : 4], isUp ? most : -20.0F);
            QVERIFY(std::abs(cloud.logScale[2]) < 0.02F);
            // A fresh start for the other direction.
            trained.moment1 = GaussianArrays::zeros(stream, device, 2, 0);
            trained.moment2 = GaussianArrays::zeros(stream, device, 2, 0);
        }
    }

    void fusedUpdateIsTheSame_data() { addDeviceAndMomentRows(); }
    void fusedUpdateIsTheSame()
    {
        VERGENCE_ROW_DEVICE(device)
        QFETCH(bool, isCompact);
        constexpr Index kRows = 333;
        const Camera camera = lookingAt({0.5, 0, -2}, {0, 0, 0}, {0, 1, 0}, 60, 48, 32);
        Trained apart(device, kRows, 2, 3, isCompact), fused(device, kRows, 2, 3, isCompact);
        Rasteriser first(device), second(device);
        Stream& stream = *apart.stream;
        fused.stream->synchronize(); // from here on both are of one stream
        RasterImageGradients image;
        image.colour =
            Tensor::fromHost<float>(stream, device, {3, 32, 48}, uniformNumbers(4608, -1, 1, 5));
        for (int step = 1; step <= 4; ++step) {
            AdamStep adam = stepNumber(step, step % 2 == 0);
            adam.largestLogScale = -2.5F;
            first.render(stream, apart.gaussians, camera, {}, true);
            first.backward(stream, apart.gaussians, image, apart.gradients, nullptr);
            adamUpdate(stream, apart.gaussians, apart.gradients, apart.moment1, apart.moment2, adam,
                       first.visible(), kExtent);
            second.render(stream, fused.gaussians, camera, {}, true);
            second.backwardAndUpdate(stream, fused.gaussians, image, nullptr, fused.moment1,
                                     fused.moment2, adam, nullptr);
        }
        QVERIFY(first.counts().visible > 50);
        stream.synchronize();
        const auto got = fused.values(), wanted = apart.values();
        if (device->isCpu())
            QCOMPARE(got, wanted);
        for (std::size_t i = 0; i < wanted.size(); ++i) { // sums on a GPU have no order
            const bool isByte = isCompact && i + 1 == wanted.size();
            VERGENCE_AGREES(difference(got[i], wanted[i],
                                       isByte      ? 1
                                       : isCompact ? 5e-3
                                                   : 1e-3,
                                       isCompact ? 1e-2 : 1e-3));
        }
    }

    void resultDoesNotDependOnThreadsOrInstructions_data()
    {
        QTest::addColumn<bool>("isCompact");
        QTest::newRow("fp32") << false;
        QTest::newRow("compact") << true;
    }
    void resultDoesNotDependOnThreadsOrInstructions()
    {
        QFETCH(bool, isCompact);
        Trained one(makeCpuDevice(1), 5000, 1, 3, isCompact),
            three(makeCpuDevice(3), 5000, 1, 3, isCompact);
        std::vector<std::uint8_t> visible(5003);
        for (std::size_t i = 0; i < visible.size(); ++i)
            visible[i] = i % 3 != 0;
        const auto steps = [&](Trained& trained) {
            for (int step = 1; step <= 2; ++step)
                trained.update(stepNumber(step, step == 2),
                               step == 2 ? visible : std::vector<std::uint8_t>());
        };
        steps(one);
        steps(three);
        QCOMPARE(one.values(), three.values());
        for (const char* isa : instructionSets()) {
            const ScopedVariable chosen("VERGENCE_ISA", isa);
            Trained other(makeCpuDevice(2), 5000, 1, 3, isCompact);
            steps(other);
            QCOMPARE(other.values(), one.values());
        }
    }

    void rotationsBecomeUnitQuaternions_data() { addDeviceRows(); }
    void rotationsBecomeUnitQuaternions()
    {
        VERGENCE_ROW_DEVICE(device)
        Trained trained(device, 50, 0);
        const auto before = download(*trained.stream, trained.gaussians).rotation;
        const std::vector<float> none(4, 0.0F);
        trained.stream->copy(trained.gaussians.value.rotation.data(), none.data(), 16);
        normaliseRotations(*trained.stream, trained.gaussians);
        const auto after = download(*trained.stream, trained.gaussians).rotation;
        QCOMPARE(after[0], 1.0F);
        QCOMPARE(after[1], 0.0F);
        for (std::size_t row = 1; row < 50; ++row) {
            double squares = 0, product = 0, length = 0;
            for (std::size_t i = 4 * row; i < 4 * row + 4; ++i) {
                squares += std::pow(static_cast<double>(after[i]), 2);
                product += static_cast<double>(after[i]) * static_cast<double>(before[i]);
                length += std::pow(static_cast<double>(before[i]), 2);
            }
            QVERIFY(std::abs(squares - 1) < 1e-6);
            QVERIFY(std::abs(product / std::sqrt(length) - 1) < 1e-6);
        }
    }

    void badInputIsRefused()
    {
        Trained trained(devices().devices[0], 10, 1);
        VERGENCE_THROWS(ContractError, "count from 1", trained.update(stepNumber(0)));
        VERGENCE_THROWS(ContractError, "what was visible", trained.update(stepNumber(1, true)));
        const std::vector<std::uint8_t> tooFew(4, 1);
        VERGENCE_THROWS(ContractError, "each Gaussian",
                        trained.update(stepNumber(1, true), tooFew));
        trained.moment2 = GaussianArrays::zeros(*trained.stream, trained.device, 13, 0);
        VERGENCE_THROWS(ContractError, "shaped like", trained.update(stepNumber(1)));
        trained.moment1 =
            zeroMoments(*trained.stream, trained.device, 13, 1, MomentFormat::Compact).first;
        VERGENCE_THROWS(ContractError, "must be F32, or BF16", trained.update(stepNumber(1)));
    }
};

VERGENCE_TEST(SugarOptimiserTest)
#include "tst_sugar_optimiser.moc"
