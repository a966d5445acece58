#include <QtTest>

#include <cmath>
#include <random>

#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/compute/ops/norm.h"
#include "plugins/live_diffusion/engine/convolution.h"
#include "plugins/live_diffusion/engine/convolution_tuner.h"
#include "plugins/live_diffusion/engine/joined_norm_kernels.h"
#include "plugins/live_diffusion/engine/lowering.h"
#include "plugins/live_diffusion/engine/memory_planner.h"
#include "plugins/live_diffusion/engine/switches.h"
#include "plugins/live_diffusion/model/unet.h"
#include "tests/plugins/live_diffusion/has_winograd.h"
#include "tests/support/numbers.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::live;

namespace {

std::vector<float> randomNumbers(Index count, unsigned seed)
{
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values)
        value = normal(generator);
    return values;
}

/// The convolution of one image after the other in double, channels last.
std::vector<double> convolved(const ConvolutionShape& s, const std::vector<float>& x,
                              const std::vector<float>& w)
{
    const Index factor = s.upsamples ? 2 : 1, h = s.height * factor, wide = s.width * factor;
    const Shape out = s.outputShape();
    std::vector<double> y(static_cast<std::size_t>(elementCount(out)), 0.0);
    std::size_t at = 0;
    for (Index n = 0; n < s.images; ++n) {
        for (Index i = 0; i < out[1]; ++i) {
            for (Index j = 0; j < out[2]; ++j) {
                for (Index k = 0; k < s.outChannels; ++k, ++at) {
                    for (int r = 0; r < s.kernel; ++r) {
                        for (int c = 0; c < s.kernel; ++c) {
                            const Index yy = i * s.stride + r - s.padding;
                            const Index xx = j * s.stride + c - s.padding;
                            if (yy < 0 || xx < 0 || yy >= h || xx >= wide)
                                continue;
                            const float* pixel = &x[static_cast<std::size_t>(
                                ((n * s.height + yy / factor) * s.width + xx / factor) *
                                s.channels)];
                            const float* weights = &w[static_cast<std::size_t>(
                                ((k * s.kernel + r) * s.kernel + c) * s.channels)];
                            for (Index q = 0; q < s.channels; ++q)
                                y[at] += double{pixel[q]} * double{weights[q]};
                        }
                    }
                }
            }
        }
    }
    return y;
}

double largest(const std::vector<double>& values)
{
    double most = 0;
    for (const double value : values)
        most = std::max(most, std::abs(value));
    return most;
}

} // namespace

class TestLiveEngine : public QObject {
    Q_OBJECT

    std::shared_ptr<Device> m_device = makeCpuDevice(2);
    std::unique_ptr<Stream> m_stream = m_device->createStream();

    Tensor upload(const Shape& shape, const std::vector<float>& values)
    {
        return Tensor::fromHost<float>(*m_stream, m_device, shape, values);
    }

private Q_SLOTS:
    void planKeepsLiveBuffersApart()
    {
        std::mt19937 generator(7);
        for (int round = 0; round < 50; ++round) {
            constexpr int kOps = 40;
            std::vector<BufferLife> lives(60);
            for (BufferLife& life : lives) {
                life.bytes = generator() % 5000;
                life.first = static_cast<int>(generator() % kOps);
                life.last = std::min<int>(kOps - 1, life.first + static_cast<int>(generator() % 8));
            }
            const MemoryPlan plan = planMemory(lives, kOps);
            for (int op = 0; op < kOps; ++op) {
                std::vector<int> owner(plan.bytes, -1); // brute force: every byte has one owner
                std::size_t live = 0;
                for (std::size_t i = 0; i < lives.size(); ++i) {
                    if (op < lives[i].first || op > lives[i].last)
                        continue;
                    live += lives[i].bytes;
                    QVERIFY(plan.offsets[i] + lives[i].bytes <= plan.bytes);
                    for (std::size_t b = 0; b < lives[i].bytes; ++b) {
                        QVERIFY(owner[plan.offsets[i] + b] < 0);
                        owner[plan.offsets[i] + b] = static_cast<int>(i);
                    }
                }
                QCOMPARE(plan.liveBytes[static_cast<std::size_t>(op)], live);
            }
            for (const std::size_t offset : plan.offsets)
                QCOMPARE(offset % kArenaAlignment, std::size_t{0});
            QVERIFY(plan.bytes >= plan.mostLive);
        }
    }

    void planReusesWhatIsDead()
    {
        const std::vector<BufferLife> chain{{1024, 0, 1}, {1024, 1, 2}, {1024, 2, 3}, {1024, 3, 4}};
        QCOMPARE(planMemory(chain, 5).bytes, std::size_t{2048});
        const std::vector<BufferLife> wrong{{1, 3, 2}};
        VERGENCE_THROWS(ContractError, "outside", planMemory(wrong, 5));
        QCOMPARE(planMemory({}, 3).bytes, std::size_t{0});
    }

    void algorithmsComputeTheSameConvolution_data()
    {
        QTest::addColumn<int>("channels");
        QTest::addColumn<int>("outChannels");
        QTest::addColumn<int>("height");
        QTest::addColumn<int>("width");
        QTest::addColumn<int>("images");
        QTest::addColumn<bool>("upsamples");
        QTest::newRow("even") << 32 << 32 << 16 << 16 << 1 << false;
        QTest::newRow("many blocks") << 64 << 64 << 64 << 64 << 1 << false;
        QTest::newRow("odd extents") << 12 << 21 << 7 << 9 << 1 << false;
        QTest::newRow("one pixel") << 8 << 5 << 1 << 1 << 2 << false;
        QTest::newRow("batch") << 40 << 24 << 10 << 6 << 3 << false;
        QTest::newRow("upsampled") << 32 << 16 << 8 << 8 << 1 << true;
        QTest::newRow("upsampled, odd, batch") << 9 << 33 << 5 << 3 << 2 << true;
    }
    void algorithmsComputeTheSameConvolution()
    {
        QFETCH(int, channels);
        QFETCH(int, outChannels);
        QFETCH(int, height);
        QFETCH(int, width);
        QFETCH(int, images);
        QFETCH(bool, upsamples);
        ConvolutionShape shape{images, channels, height, width, outChannels, 3, 1, 1, upsamples};
        const auto x = randomNumbers(elementCount(shape.inputShape()), 1);
        auto w = randomNumbers(Index{9} * channels * outChannels, 2);
        for (float& value : w)
            value /= 3 * std::sqrt(static_cast<float>(channels));
        const auto bias = randomNumbers(Index{images} * outChannels, 3);
        const auto residual = randomNumbers(elementCount(shape.outputShape()), 4);
        auto want = convolved(shape, x, w);
        const double scale = largest(want);
        const bool collapses = upsamples;
        std::vector<ConvolutionAlgorithm> algorithms{ConvolutionAlgorithm::Library,
                                                     ConvolutionAlgorithm::Winograd};
        if (collapses)
            algorithms.push_back(ConvolutionAlgorithm::Collapsed);
        for (const auto algorithm : algorithms) {
            const bool adds = algorithm != ConvolutionAlgorithm::Collapsed;
            auto expected = want;
            const Index perImage = static_cast<Index>(want.size()) / images;
            for (std::size_t i = 0; i < want.size(); ++i) {
                const Index image = static_cast<Index>(i) / perImage;
                expected[i] += bias[static_cast<std::size_t>(image * outChannels +
                                                             static_cast<Index>(i) % outChannels)];
                expected[i] += adds ? residual[i] : 0.0f;
            }
            const Convolution convolution(*m_stream, m_device, shape, algorithm, w);
            const Tensor input = upload(shape.inputShape(), x),
                         b = upload({images, outChannels}, bias);
            const Tensor y = upload(shape.outputShape(), residual); // in place
            const Tensor between = Tensor::empty(m_device, {convolution.temporaryElements(images)});
            Convolution::Extras extras;
            extras.bias = static_cast<const float*>(b.data());
            extras.biasStride = outChannels;
            extras.residual = adds ? &y : nullptr;
            convolution(*m_stream, input, y, extras, between);
            // relative to the largest result; 1e-5 is asked of collapsed and of layouts
            const double bound = algorithm == ConvolutionAlgorithm::Winograd ? 6e-6 : 4e-6;
            const std::string wrong =
                test::difference(y.toHost<float>(*m_stream), expected, bound * scale, 0);
            QVERIFY2(wrong.empty(), (nameOf(algorithm) + ": " + wrong).c_str());
        }
    }

    void hugeWeightsAreNotTransformed()
    {
        ConvolutionTuner tuner(m_device);
        ConvolutionShape shape;
        shape.channels = shape.outChannels = 1024;
        shape.height = shape.width = 8;
        QCOMPARE(tuner.best(*m_stream, shape, {}), ConvolutionAlgorithm::Library);
        QCOMPARE(tuner.peakBytes(), std::size_t{0}); // nothing was timed
        shape.channels = shape.outChannels = 16;
        QCOMPARE(tuner.best(*m_stream, shape, {.tuned = false}), ConvolutionAlgorithm::Library);
        const auto first = tuner.best(*m_stream, shape, {});
        QCOMPARE(tuner.peakBytes() > 0, hasWinograd(m_device));
        QCOMPARE(tuner.best(*m_stream, shape, {}), first); // timed once
        shape.upsamples = true;
        QCOMPARE(tuner.best(*m_stream, shape, {.tuned = false}), ConvolutionAlgorithm::Collapsed);
        QCOMPARE(tuner.best(*m_stream, shape, {.tuned = false, .collapses = false}),
                 ConvolutionAlgorithm::Library);
    }

    void whatWasFastestIsKept()
    {
        const test::Scratch scratch;
        const auto file = scratch / "deep" / "fastest.json";
        ConvolutionShape shape{1, 16, 8, 8, 16};
        const auto fresh = [&] {
            return ConvolutionTuner(m_device, std::make_shared<TunedChoices>(file));
        };
        ConvolutionTuner first = fresh();
        const auto found = first.best(*m_stream, shape, {});
        QVERIFY(!std::filesystem::exists(file));
        first.rest();
        ConvolutionTuner second = fresh();
        QCOMPARE(second.best(*m_stream, shape, {}), found);
        QCOMPARE(second.peakBytes(), std::size_t{0}); // nothing was timed
        // It is the file that decides, by shape and by machine.
        const auto kept = nlohmann::json::parse(readFile(file));
        const auto writeWord = [&](const std::string& word) {
            auto changed = kept;
            for (auto& [machine, words] : changed["choices"].items())
                for (auto& entry : words)
                    entry = word;
            writeFileAtomic(file, changed.dump());
        };
        for (const auto algorithm :
             {ConvolutionAlgorithm::Library, ConvolutionAlgorithm::Winograd}) {
            writeWord(nameOf(algorithm));
            QCOMPARE(fresh().best(*m_stream, shape, {}), algorithm);
        }
        for (const std::string& word :
             {nameOf(ConvolutionAlgorithm::Collapsed), std::string("?")}) {
            writeWord(word); // no candidate here: timed again
            ConvolutionTuner tuner = fresh();
            tuner.best(*m_stream, shape, {});
            QCOMPARE(tuner.peakBytes() > 0, hasWinograd(m_device));
        }
        shape.width = 6;
        ConvolutionTuner other = fresh();
        other.best(*m_stream, shape, {});
        QCOMPARE(other.peakBytes() > 0, hasWinograd(m_device));
    }

    void damagedChoicesAreTimedAgain()
    {
        const test::Scratch scratch;
        const auto file = scratch / "fastest.json";
        for (const char* text :
             {"", "{", "[]", "{\"format\":1}", "{\"format\":9,\"choices\":{}}",
              "{\"format\":1,\"choices\":{\"m\":{\"k\":7}}}", "{\"format\":1,\"choices\":[1]}"}) {
            writeFileAtomic(file, std::string_view(text));
            TunedChoices choices(file);
            QVERIFY2(!choices.find("m", "k"), text);
            choices.set("m", "k", "word");
            choices.save();
            QCOMPARE(TunedChoices(file).find("m", "k").value_or(""), std::string("word"));
        }
        // Two processes add to what the other has written.
        TunedChoices one(file), two(file);
        one.set("m", "a", "1");
        two.set("m", "b", "2");
        one.save();
        two.save();
        one.set("m", "a", "3");
        one.stopKeeping();
        one.set("m", "c", "4"); // in this process alone
        QCOMPARE(one.find("m", "c").value_or(""), std::string("4"));
        one.save();
        const TunedChoices all(file);
        QCOMPARE(all.find("m", "a").value_or(""), std::string("3"));
        QCOMPARE(all.find("m", "b").value_or(""), std::string("2"));
        QCOMPARE(all.find("m", "k").value_or(""), std::string("word"));
        QVERIFY(!all.find("m", "c") && !all.find("other", "a"));
        // A place that cannot be written changes nothing else.
        TunedChoices nowhere(file / "below");
        nowhere.set("m", "k", "word");
        nowhere.save();
        QVERIFY(TunedChoices({}).find("m", "k") == std::nullopt);
    }

    void planarConvolutionIsTheSame()
    {
        for (const bool upsamples : {false, true}) {
            ConvolutionShape shape{2, 12, 6, 5, 10, 3, 1, 1, upsamples};
            const auto x = randomNumbers(elementCount(shape.inputShape()), 1);
            const auto w = randomNumbers(9 * 12 * 10, 2);
            const auto want = convolved(shape, x, w);
            ConvolutionShape planar = shape;
            planar.channelsLast = false;
            for (const auto algorithm :
                 {ConvolutionAlgorithm::Library, ConvolutionAlgorithm::Collapsed}) {
                if (!upsamples && algorithm == ConvolutionAlgorithm::Collapsed)
                    continue;
                const Convolution convolution(*m_stream, m_device, planar, algorithm, w);
                std::vector<float> turned(x.size());
                for (Index n = 0; n < 2; ++n)
                    for (Index p = 0; p < 30; ++p)
                        for (Index c = 0; c < 12; ++c)
                            turned[static_cast<std::size_t>((n * 12 + c) * 30 + p)] =
                                x[static_cast<std::size_t>((n * 30 + p) * 12 + c)];
                const Tensor input = upload(planar.inputShape(), turned);
                const Tensor y = Tensor::empty(m_device, planar.outputShape());
                const Tensor between = Tensor::empty(m_device, {convolution.temporaryElements(2)});
                convolution(*m_stream, input, y, {}, between);
                const auto got = y.toHost<float>(*m_stream);
                const Index pixels = y.extent(2) * y.extent(3);
                std::vector<float> back(got.size());
                for (Index n = 0; n < 2; ++n)
                    for (Index p = 0; p < pixels; ++p)
                        for (Index c = 0; c < 10; ++c)
                            back[static_cast<std::size_t>((n * pixels + p) * 10 + c)] =
                                got[static_cast<std::size_t>((n * 10 + c) * pixels + p)];
                const std::string wrong = test::difference(back, want, 2e-6 * largest(want), 0);
                QVERIFY2(wrong.empty(), (nameOf(algorithm) + ": " + wrong).c_str());
            }
        }
    }

    void normOfTwoIsNormOfTheirConcatenation()
    {
        constexpr Index kImages = 2, kPixels = 300;
        for (const auto& [a, b] : {std::pair<Index, Index>{8, 24}, {64, 64}, {5, 0}, {48, 3}}) {
            const Index all = a + b, groups = all % 4 == 0 ? 4 : 1;
            const auto first = randomNumbers(kImages * kPixels * a, 1);
            const auto second = randomNumbers(kImages * kPixels * b, 2);
            std::vector<float> joined;
            for (Index p = 0; p < kImages * kPixels; ++p) {
                joined.insert(joined.end(), first.begin() + p * a, first.begin() + (p + 1) * a);
                joined.insert(joined.end(), second.begin() + p * b, second.begin() + (p + 1) * b);
            }
            const Tensor x = upload({kImages, kPixels, 1, all}, joined);
            const Tensor weight = upload({all}, randomNumbers(all, 3));
            const Tensor bias = upload({all}, randomNumbers(all, 4));
            for (const bool silu : {false, true}) {
                const Tensor want = Tensor::empty(m_device, x.shape());
                GroupNormArgs args;
                args.weight = &weight;
                args.bias = &bias;
                args.groups = static_cast<int>(groups);
                args.silu = silu;
                groupNorm(*m_stream, x, want, args);
                const Tensor ta = upload({kImages * kPixels * a}, first);
                const Tensor tb = upload({kImages * kPixels * b}, second);
                const Tensor got = Tensor::empty(m_device, x.shape());
                const Tensor room =
                    Tensor::empty(m_device, {joinedNormRoom(kImages, kPixels, all)});
                JoinedNormArguments p;
                p.images = kImages;
                p.pixels = kPixels;
                p.channelsA = a;
                p.channelsB = b;
                p.a = ta.data();
                p.b = tb.data();
                p.y = got.data();
                p.weight = static_cast<const float*>(weight.data());
                p.bias = static_cast<const float*>(bias.data());
                p.groups = groups;
                p.silu = silu;
                p.room = static_cast<float*>(room.data());
                joinedNorm(*m_stream, p);
                const std::string wrong = test::difference(
                    got.toHost<float>(*m_stream), want.toHost<float>(*m_stream), 2e-6, 2e-6);
                QVERIFY2(wrong.empty(), wrong.c_str());
            }
        }
    }

    void normOfTheSpecification()
    {
        // C = 4, G = 2, two pixels: channels {1, 2}, {3, 4}, {5, 6}, {7, 8}
        const Tensor x = upload({8}, {1, 3, 5, 7, 2, 4, 6, 8});
        const Tensor weight = upload({4}, {1, 1, 1, 1}), bias = upload({4}, {0, 0, 0, 0});
        const Tensor y = Tensor::empty(m_device, {8});
        const Tensor room = Tensor::empty(m_device, {joinedNormRoom(1, 2, 4)});
        JoinedNormArguments p;
        p.images = 1;
        p.pixels = 2;
        p.channelsA = 4;
        p.a = x.data();
        p.y = y.data();
        p.weight = static_cast<const float*>(weight.data());
        p.bias = static_cast<const float*>(bias.data());
        p.groups = 2;
        p.silu = true;
        p.room = static_cast<float*>(room.data());
        joinedNorm(*m_stream, p);
        const std::vector<double> want{-0.27804219, 0.27278852, -0.27804219, 0.27278852,
                                       -0.17442329, 1.06359323, -0.17442329, 1.06359323};
        const std::string wrong = test::difference(y.toHost<float>(*m_stream), want, 2e-6, 0);
        QVERIFY2(wrong.empty(), wrong.c_str());
    }

    void kernelsPerEvaluation_data()
    {
        QTest::addColumn<int>("size");
        QTest::addColumn<int>("fused");
        QTest::addColumn<int>("plain");
        QTest::newRow("S") << static_cast<int>(Size::S) << 300 << 593;
        QTest::newRow("L") << static_cast<int>(Size::L) << 300 << 593;
        QTest::newRow("XL") << static_cast<int>(Size::XL) << 507 << 909;
    }
    /// Within a tenth of the counts that the layout was designed for.
    void kernelsPerEvaluation()
    {
        QFETCH(int, size);
        QFETCH(int, fused);
        QFETCH(int, plain);
        const Program program = buildUnet(unetSettings(static_cast<Size>(size), 64));
        const auto count = [&](bool fusion, AttentionKind attention) {
            LoweringSettings settings;
            settings.fusion = fusion;
            settings.runs = [](const ProgramOp& op) { return op.rate == Rate::Evaluation; };
            int kernels = 0;
            for (const Step& step : lowerProgram(program, settings).steps)
                kernels += kernelsOf(program, step, attention);
            return kernels;
        };
        const int best = count(true, AttentionKind::Flash);
        const int worst = count(false, AttentionKind::Naive);
        QVERIFY2(std::abs(best - fused) <= fused / 10, std::to_string(best).c_str());
        QVERIFY2(std::abs(worst - plain) <= plain / 10, std::to_string(worst).c_str());
    }

    void fusedStepsMaterialiseNoConcatenation()
    {
        const Program program = buildUnet(unetSettings(Size::S, 64));
        LoweringSettings settings;
        settings.runs = [](const ProgramOp& op) { return op.rate == Rate::Evaluation; };
        for (const bool fusion : {true, false}) {
            settings.fusion = fusion;
            int concats = 0, silus = 0, adds = 0, joined = 0;
            for (const Step& step : lowerProgram(program, settings).steps) {
                concats += step.kind == StepKind::Concat ? 1 : 0;
                silus += step.kind == StepKind::Silu ? 1 : 0;
                adds += step.kind == StepKind::Add ? 1 : 0;
                joined += step.kind == StepKind::JoinedLinear ? 1 : 0;
            }
            QCOMPARE(concats, fusion ? 0 : 13); // 12 blocks of the decoder, and the input
            QCOMPARE(silus, fusion ? 0 : 45);   // two in each of 22 blocks, one in the head
            QCOMPARE(adds, fusion ? 0 : 54);    // 22 blocks, two in each of 16 attentions
            QCOMPARE(joined, fusion ? 12 : 0);
        }
    }

    void switchesSayWhatADeviceLacks()
    {
        Switches wanted;
        wanted.precision = Precision::Tf32;
        wanted.layout = Layout::Blocked;
        std::vector<std::string> changes;
        const Switches found = availableSwitches(*m_device, wanted, &changes);
        QCOMPARE(found.precision, Precision::Fp32);
        QCOMPARE(found.layout, Layout::Nhwc);
        QVERIFY(!found.graph);
        QCOMPARE(changes.size(), std::size_t{3});
        QVERIFY2(changes.front().ends_with(". Products are computed in fp32."),
                 changes.front().c_str());
        int greyed = 0;
        for (const SwitchChoice& choice : switchChoices(*m_device)) {
            QCOMPARE(choice.isAvailable, choice.reason.empty());
            greyed += choice.isAvailable ? 0 : 1;
        }
        QVERIFY(greyed >= 4); // tf32, fp16, blocked, graph
        QVERIFY(availableSwitches(*m_device, baselineSwitches()) == baselineSwitches());
    }
};

VERGENCE_TEST(TestLiveEngine)
#include "tst_live_engine.moc"
