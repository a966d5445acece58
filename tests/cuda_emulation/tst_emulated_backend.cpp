#include <cmath>
#include <thread>

#include <QTemporaryDir>

#include "core/compute/backend.h"
#include "core/compute/dense/product_policy.h"
#include "core/compute/dense/workspace.h"
#include "core/compute/ops/pointwise.h"
#include "core/compute/rng.h"
#include "core/compute/tensor.h"
#include "cuda/backend/cudnn_conv.h"
#include "tests/support/cuda_emulation/engine/findings.h"
#include "tests/support/cuda_emulation/engine/settings.h"
#include "tests/support/test_program.h"

using namespace vergence;

extern "C" DeviceBackend* vergenceDeviceBackend();

namespace {

/// Memory as convolutions want it, and no product: none of them is to be unfolded.
class NoProducts final : public ProductBackend {
public:
    explicit NoProducts(Device& device) : m_workspace(device) {}
    void product(Stream&, const MatmulProblem&) override { QFAIL("a product was wanted"); }
    std::shared_ptr<void> workspace(Stream&, std::size_t bytes) override
    {
        return m_workspace.take(bytes);
    }

private:
    Workspace m_workspace;
};

constexpr Index kImages = 2, kIn = 8, kOut = 16, kSize = 6;

std::vector<float> drawn(Index count, std::uint64_t seed)
{
    std::vector<float> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = 2 * Rng(seed).uniform(i) - 1;
    return values;
}

/// One 3×3 convolution with bias and residual.
struct Case {
    Tensor x, w, y, bias, residual;
    Conv2dOptions options;

    Case(Stream& stream, const std::shared_ptr<Device>& device, ImageLayout layout, DType type,
         bool isOdd)
    {
        const bool nhwc = layout == ImageLayout::Nhwc;
        const auto shape = [&](Index n, Index c, Index extent) {
            return nhwc ? Shape{n, extent, extent, c} : Shape{n, c, extent, extent};
        };
        const auto tensor = [&](const Shape& extents, std::uint64_t seed) {
            const Index count = elementCount(extents);
            const Tensor wide =
                Tensor::fromHost<float>(stream, device, {count}, drawn(count, seed));
            const Tensor room = Tensor::empty(device, {count + 1}, type);
            const Tensor values = room.narrow(0, isOdd ? 1 : 0, count);
            cast(stream, wide, values);
            return values.reshaped(extents);
        };
        x = tensor(shape(kImages, kIn, kSize), 1);
        w = tensor(shape(kOut, kIn, 3), 2);
        y = tensor(shape(kImages, kOut, kSize), 3);
        bias = tensor({kOut}, 4);
        residual = tensor(shape(kImages, kOut, kSize), 5);
        options.layout = layout;
        options.padding = 1;
        options.bias = &bias;
        options.residual = &residual;
    }
    Case(const Case&) = delete;
    Case& operator=(const Case&) = delete;

    ConvProblem problem(Stream& stream) const
    {
        return describeConv(stream, "conv2d", x, w, y, options);
    }
    std::vector<float> result(Stream& stream) const
    {
        const Tensor wide = Tensor::empty(x.device(), {y.size()}, DType::F32);
        cast(stream, y.reshaped({y.size()}), wide);
        return wide.toHost<float>(stream);
    }
};

double apart(const std::vector<float>& a, const std::vector<float>& b)
{
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        most = std::max(most, std::abs(double(a[i]) - double(b[i])));
    return most;
}

} // namespace

/// The backend's convolutions on the emulated cuDNN.
class TestEmulatedBackend : public QObject {
    Q_OBJECT

    QTemporaryDir m_cache;
    std::shared_ptr<Device> m_cpu, m_device;
    std::unique_ptr<Stream> m_host, m_stream;
    std::unique_ptr<CudnnConvolutions> m_convolutions;

private Q_SLOTS:
    void initTestCase()
    {
        qputenv("XDG_CACHE_HOME", m_cache.path().toUtf8());
        qputenv("VERGENCE_MODULE_PATH",
                VERGENCE_BINARY_DIR "/lib/emulated/exact:" VERGENCE_BINARY_DIR "/lib/emulated");
        m_cpu = openDevices().devices[0]; // and the bodies of the engine's kernels
        std::string reason;
        const auto devices = vergenceDeviceBackend()->devices(reason);
        QVERIFY2(!devices.empty(), reason.c_str());
        m_device = devices[0];
        m_host = m_cpu->createStream();
        m_stream = m_device->createStream();
        m_convolutions = CudnnConvolutions::open(m_device->info(), reason);
        QVERIFY2(m_convolutions != nullptr, reason.c_str());
    }
    void cleanupTestCase()
    {
        m_convolutions.reset();
        m_stream.reset();
    }

    /// Where cuDNN knows no graph of the whole, bias and residual follow.
    void noneIsUnfolded_data()
    {
        QTest::addColumn<int>("layout");
        QTest::addColumn<int>("type");
        QTest::addColumn<double>("tolerance");
        const int nhwc = static_cast<int>(ImageLayout::Nhwc);
        const int nchw = static_cast<int>(ImageLayout::Nchw);
        const int f32 = static_cast<int>(DType::F32), f16 = static_cast<int>(DType::F16);
        QTest::newRow("NHWC, F32") << nhwc << f32 << 1e-5;
        QTest::newRow("NCHW, F32") << nchw << f32 << 1e-5;
        QTest::newRow("NHWC, F16") << nhwc << f16 << 2e-2;
        QTest::newRow("NCHW, F16") << nchw << f16 << 2e-2;
    }
    void noneIsUnfolded()
    {
        QFETCH(int, layout);
        QFETCH(int, type);
        QFETCH(double, tolerance);
        const auto order = static_cast<ImageLayout>(layout);
        const Case want(*m_host, m_cpu, order, static_cast<DType>(type), false);
        m_cpu->dense().conv2d(*m_host, want.x, want.w, want.y, want.options);
        const Case got(*m_stream, m_device, order, static_cast<DType>(type), false);
        NoProducts backend(*m_device);
        QVERIFY(m_convolutions->forward(backend, *m_stream, got.problem(*m_stream), got.x, got.w,
                                        got.y, got.options));
        QVERIFY(apart(got.result(*m_stream), want.result(*m_host)) < tolerance);
    }

    /// Plans of cuDNN may load 16 bytes at once there, whatever alignment they are told.
    void oddAddressesAreUnfolded()
    {
        const Case got(*m_stream, m_device, ImageLayout::Nhwc, DType::F16, true);
        NoProducts backend(*m_device);
        QVERIFY(!m_convolutions->forward(backend, *m_stream, got.problem(*m_stream), got.x, got.w,
                                         got.y, got.options));
    }

    /// A replay needs its plan also when so many others came that nobody else keeps it.
    void graphsKeepTheirPlans()
    {
        constexpr Index kMostPlans = 512;
        const Case c(*m_stream, m_device, ImageLayout::Nhwc, DType::F32, false);
        NoProducts backend(*m_device);
        const ProductPolicyScope policy({.isTimed = false});
        const auto convolve = [&] {
            return m_convolutions->forward(backend, *m_stream, c.problem(*m_stream), c.x, c.w, c.y,
                                           c.options);
        };
        QVERIFY(convolve());
        const auto want = c.result(*m_stream);
        QVERIFY(m_stream->beginCapture());
        QVERIFY(convolve());
        const auto graph = m_stream->endCapture();
        const Tensor w = Tensor::zeros(*m_stream, m_device, {kOut, 1, 1, kIn});
        for (Index height = 1; height <= kMostPlans; ++height) {
            const Tensor x = Tensor::zeros(*m_stream, m_device, {1, height, 1, kIn});
            const Tensor y = Tensor::empty(m_device, {1, height, 1, kOut});
            QVERIFY(m_convolutions->forward(
                backend, *m_stream, describeConv(*m_stream, "conv2d", x, w, y, {}), x, w, y, {}));
        }
        fill(*m_stream, c.y, 0);
        graph->replay(*m_stream);
        QVERIFY(c.result(*m_stream) == want);
        const auto findings = emulation::takeFindings();
        QVERIFY2(findings.empty(), findings.empty() ? "" : findings[0].text.c_str());
    }

    /// 10 bits of the operands change the fourth digit, and nothing is rounded unasked.
    void tf32IsThePolicys()
    {
        const auto result = [&](bool usesTf32) {
            const Case c(*m_stream, m_device, ImageLayout::Nhwc, DType::F32, false);
            NoProducts backend(*m_device);
            const ProductPolicyScope policy({.usesTf32 = usesTf32, .isTimed = false});
            if (!m_convolutions->forward(backend, *m_stream, c.problem(*m_stream), c.x, c.w, c.y,
                                         c.options))
                return std::vector<float>{};
            return c.result(*m_stream);
        };
        const auto full = result(false), rounded = result(true), again = result(false);
        QVERIFY(!full.empty() && !rounded.empty());
        QVERIFY(apart(full, rounded) > 1e-5 && apart(full, rounded) < 1e-2);
        QVERIFY(full == again);
    }

    /// A block may go from one of a thread's streams to another while the first still works in it.
    void streamsOfAThreadShareBlocks_data()
    {
        QTest::addColumn<bool>("records");
        QTest::newRow("at once") << false;
        QTest::newRow("while the first is recorded") << true;
    }
    void streamsOfAThreadShareBlocks()
    {
        QFETCH(bool, records);
        constexpr Index kCount = 1000;
        const std::vector<float> ones(kCount, 1);
        for (unsigned seed = 1; seed <= 16; ++seed) {
            emulation::settings().seed = seed;
            const auto first = m_device->createStream(), second = m_device->createStream();
            const Tensor kept = Tensor::zeros(*first, m_device, {kCount});
            first->synchronize();
            Tensor x = Tensor::fromHost<float>(*first, m_device, {kCount}, ones);
            const void* block = x.data();
            first->copy(kept.data(), x.data(), x.bytes());
            x = {};
            if (records)
                QVERIFY(first->beginCapture());
            const Tensor y = Tensor::empty(m_device, {kCount});
            QCOMPARE(y.data(), block);
            second->fillBytes(y.data(), 0, y.bytes());
            if (records)
                first->endCapture();
            second->synchronize();
            QVERIFY(kept.toHost<float>(*first) == ones);
        }
        emulation::settings().seed = 2;
    }
    /// Each thread has its own stream, and each stream its graph.
    void threadsRecordSideBySide()
    {
        const std::vector<float> ones(100, 1), twos(100, 2);
        const Tensor mine = Tensor::zeros(*m_stream, m_device, {100});
        const Tensor other = Tensor::zeros(*m_stream, m_device, {100});
        m_stream->synchronize();
        const auto record = [&](Stream& stream, const std::vector<float>& values,
                                const Tensor& target) {
            const Tensor part = Tensor::fromHost<float>(stream, m_device, {100}, values);
            stream.copy(target.data(), part.data(), part.bytes());
        };
        QVERIFY(m_stream->beginCapture());
        record(*m_stream, ones, mine);
        const auto stream = m_device->createStream();
        std::unique_ptr<LaunchGraph> theirs;
        std::string refusal;
        std::thread([&] {
            try {
                stream->beginCapture();
                record(*stream, twos, other);
                theirs = stream->endCapture();
            } catch (const Error& error) {
                refusal = error.what();
            }
        }).join();
        const auto graph = m_stream->endCapture();
        QVERIFY2(refusal.empty(), refusal.c_str());
        theirs->replay(*stream);
        graph->replay(*m_stream);
        stream->synchronize();
        QVERIFY(mine.toHost<float>(*m_stream) == ones);
        QVERIFY(other.toHost<float>(*m_stream) == twos);
    }
    /// What a process timed another one takes as it is, and so comes to the same bits.
    void choicesOutliveTheProcess()
    {
        const auto results = [] {
            std::string reason;
            const auto device =
                vergenceDeviceBackend()->devices(reason).at(0); // as a process has it
            const auto stream = device->createStream();
            const Tensor a = Tensor::fromHost<float>(*stream, device, {64, 64}, drawn(64 * 64, 1));
            const Tensor y = Tensor::empty(device, {64, 64});
            device->dense().matmul(*stream, a, a, y);
            const Case c(*stream, device, ImageLayout::Nhwc, DType::F32, false);
            device->dense().conv2d(*stream, c.x, c.w, c.y, c.options);
            return std::pair{y.toHost<float>(*stream), c.result(*stream)};
        };
        const auto first = results();
        emulation::settings().failure = "cudaEventElapsedTime:1:999";
        const auto second = results();
        emulation::settings().failure.clear();
        QVERIFY(first == second);
    }
    /// Outer batches are products of their own, of which cuBLASLt may refuse a later one.
    void aRefusedBatchLeavesNoneDoneTwice()
    {
        constexpr Index kOuter = 2, kInner = 3,
                        kSize = 4; // the outer matrices lie at odd addresses
        const auto product = [&](Stream& stream, const std::shared_ptr<Device>& device) {
            const auto tensor = [&](std::uint64_t seed) {
                return Tensor::fromHost<float>(stream, device, {kInner, kOuter, kSize, kSize},
                                               drawn(kInner * kOuter * kSize * kSize, seed));
            };
            const Tensor a = tensor(1), b = tensor(2), y = tensor(3);
            MatmulOptions options;
            options.beta = 1;
            device->dense().matmul(stream, a.permuted({1, 0, 2, 3}), b.permuted({1, 0, 2, 3}),
                                   y.permuted({1, 0, 2, 3}), options);
            return y.toHost<float>(stream);
        };
        const auto want = product(*m_host, m_cpu);
        emulation::settings().failure = "cublasLtMatmulAlgoGetHeuristic:2:15";
        const auto got = product(*m_stream, m_device);
        emulation::settings().failure.clear();
        QVERIFY(apart(got, want) < 1e-5);
    }
};

VERGENCE_TEST(TestEmulatedBackend)
#include "tst_emulated_backend.moc"
