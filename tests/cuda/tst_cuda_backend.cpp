#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include <QTest>

#include "core/base/error.h"
#include "core/compute/dense.h"
#include "core/compute/dense/product_policy.h"
#include "core/compute/kernel.h"
#include "core/compute/rng.h"
#include "core/compute/tensor.h"
#include "tests/support/cuda_device.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;

/// The CUDA module: loading without a GPU, memory, copies, launch graphs, shared slots.
class TestCudaBackend : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void moduleSaysWhyThereIsNoDevice()
    {
        const DeviceList list = openDevices();
        QVERIFY(!list.devices.empty());
        QVERIFY(list.devices.front()->isCpu());
        QCOMPARE(list.devices.size() > 1, list.whyNoCuda.empty());
        if (list.devices.size() == 1) {
            QVERIFY(!QString::fromStdString(list.whyNoCuda).contains("built without CUDA"));
            try {
                list.select("cuda");
                QFAIL("selecting a missing device must throw");
            } catch (const DeviceError& error) {
                QCOMPARE(error.exitCode(), ExitCode::NoDevice);
                QVERIFY(QString(error.what()).contains("there is: cpu"));
            }
        }
    }

    void everyModuleResolvesItsSymbols_data()
    {
        QTest::addColumn<QString>("file");
        for (const auto& module : test::cudaModules(true))
            QTest::newRow(module.filename().c_str()) << QString::fromStdString(module.string());
    }
    void everyModuleResolvesItsSymbols()
    {
        QFETCH(QString, file);
        std::string reason;
        QVERIFY2(loadKernelModule(file.toStdString(), &reason), reason.c_str());
    }

    /// Operands of 10 bits: the products of 64 numbers of [−1, 1) differ in the fourth digit.
    void tf32RoundsOperandsAndNothingElse()
    {
        VERGENCE_CUDA_DEVICE(device);
        auto* choice = dynamic_cast<ProductChoice*>(&device->dense());
        QVERIFY(choice != nullptr);
        const auto stream = device->createStream();
        constexpr Index kSize = 64;
        std::vector<float> values(static_cast<std::size_t>(kSize * kSize));
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = 2 * Rng(3).uniform(i) - 1;
        const Tensor a = Tensor::fromHost<float>(*stream, device, {kSize, kSize}, values);
        const auto product = [&](const ProductPolicy& policy) {
            choice->setPolicy(policy);
            const Tensor y = Tensor::empty(device, {kSize, kSize});
            device->dense().matmul(*stream, a, a, y);
            return y.toHost<float>(*stream);
        };
        const auto full = product({}), rounded = product({.usesTf32 = true});
        const auto again = product({.usesTf32 = false, .isTimed = false});
        choice->setPolicy({});
        double most = 0, mostAgain = 0;
        for (std::size_t i = 0; i < full.size(); ++i) {
            most = std::max(most, std::abs(double(full[i]) - double(rounded[i])));
            mostAgain = std::max(mostAgain, std::abs(double(full[i]) - double(again[i])));
        }
        QVERIFY2(most > 1e-4 && most < 2e-2, qPrintable(QString::number(most)));
        QVERIFY2(mostAgain < 1e-5, qPrintable(QString::number(mostAgain)));
    }

    void returnedBlocksAreHandedOutAgain()
    {
        VERGENCE_CUDA_DEVICE(device);
        const std::size_t before = device->memory().usedByUs;
        void* first = device->allocate(1000);
        QCOMPARE(device->memory().usedByUs, before + 1024);
        device->deallocate(first, 1000);
        void* second = device->allocate(1000);
        QCOMPARE(second, first);
        device->deallocate(second, 1000);
        QCOMPARE(device->memory().usedByUs, before);
    }

    void streamsTakeTheirMemoryWithThem()
    {
        VERGENCE_CUDA_DEVICE(device);
        const auto used = [&] {
            const auto stream = device->createStream();
            const Tensor a = Tensor::zeros(*stream, device, {64, 64});
            device->dense().matmul(*stream, a, a, Tensor::empty(device, {64, 64}));
            stream->synchronize();
            return device->memory().usedByUs;
        };
        const std::size_t before = device->memory().usedByUs;
        QVERIFY(used() > before + 2 * 64 * 64 * sizeof(float)); // what products work in
        QCOMPARE(device->memory().usedByUs, before);
    }

    void exhaustionIsOutOfMemory()
    {
        VERGENCE_CUDA_DEVICE(device);
        try {
            device->allocate(device->info().totalBytes * 2);
            QFAIL("allocating twice the card must throw");
        } catch (const DeviceError& error) {
            QCOMPARE(error.exitCode(), ExitCode::OutOfMemory);
        }
    }

    void copiesRoundTrip()
    {
        VERGENCE_CUDA_DEVICE(device);
        const auto stream = device->createStream();
        std::vector<float> values(257);
        std::iota(values.begin(), values.end(), 0.0f);
        const Tensor tensor = Tensor::fromHost<float>(*stream, device, {257}, values);
        QCOMPARE(tensor.clone(*stream).toHost<float>(*stream), values);
    }

    void graphRepeatsWhatWasRecorded()
    {
        VERGENCE_CUDA_DEVICE(device);
        const auto stream = device->createStream();
        const std::vector<float> ones(64, 1.0f), twos(64, 2.0f);
        const Tensor source = Tensor::fromHost<float>(*stream, device, {64}, ones);
        const Tensor target = Tensor::zeros(*stream, device, {64});
        QVERIFY(stream->beginCapture());
        stream->copy(target.data(), source.data(), source.bytes());
        const auto graph = stream->endCapture();
        QCOMPARE(target.toHost<float>(*stream).front(), 0.0f);
        graph->replay(*stream);
        QCOMPARE(target.toHost<float>(*stream), ones);
        stream->copy(source.data(), twos.data(), source.bytes());
        graph->replay(*stream);
        QCOMPARE(target.toHost<float>(*stream), twos);
    }

    void graphKeepsHostValues()
    {
        VERGENCE_CUDA_DEVICE(device);
        const auto stream = device->createStream();
        const Tensor target = Tensor::zeros(*stream, device, {64});
        auto values = std::make_unique<std::vector<float>>(64, 3.0f);
        QVERIFY(stream->beginCapture());
        stream->copy(target.data(), values->data(), target.bytes());
        const auto graph = stream->endCapture();
        std::fill(values->begin(), values->end(), 9.0f);
        values.reset();
        graph->replay(*stream);
        QCOMPARE(target.toHost<float>(*stream), std::vector<float>(64, 3.0f));
    }

    void temporariesOfAGraphStayItsOwn()
    {
        VERGENCE_CUDA_DEVICE(device);
        const auto stream = device->createStream();
        const std::vector<float> ones(1000, 1.0f), twos(1000, 2.0f);
        const Tensor source = Tensor::fromHost<float>(*stream, device, {1000}, ones);
        const Tensor target = Tensor::zeros(*stream, device, {1000});
        QVERIFY(stream->beginCapture());
        {
            const Tensor temporary = Tensor::empty(device, {1000});
            stream->copy(temporary.data(), source.data(), source.bytes());
            stream->copy(target.data(), temporary.data(), source.bytes());
        }
        const auto graph = stream->endCapture();
        const Tensor other = Tensor::fromHost<float>(*stream, device, {1000}, twos);
        const Tensor another = Tensor::fromHost<float>(*stream, device, {1000}, twos);
        graph->replay(*stream);
        QCOMPARE(target.toHost<float>(*stream), ones);
        QCOMPARE(other.toHost<float>(*stream), twos);
        QCOMPARE(another.toHost<float>(*stream), twos);
    }

    void scratchOfAGraphOutlivesGrowth()
    {
        VERGENCE_CUDA_DEVICE(device);
        const auto stream = device->createStream();
        const std::vector<float> twos(64, 2.0f);
        void* scratch = stream->scratch(64 * sizeof(float));
        QVERIFY(stream->beginCapture());
        stream->fillBytes(scratch, 0, 64 * sizeof(float));
        const auto graph = stream->endCapture();
        stream->scratch(1 << 20);
        const Tensor later = Tensor::fromHost<float>(*stream, device, {64}, twos);
        graph->replay(*stream);
        QCOMPARE(later.toHost<float>(*stream), twos);
    }

    void recordingRefusesWhatCannotBeReplayed()
    {
        VERGENCE_CUDA_DEVICE(device);
        const auto stream = device->createStream(), other = device->createStream();
        const Tensor source = Tensor::zeros(*stream, device, {64});
        std::vector<float> values(64);
        QVERIFY(stream->beginCapture());
        VERGENCE_THROWS(ContractError, "to the host",
                        stream->copy(values.data(), source.data(), source.bytes()));
        VERGENCE_THROWS(ContractError, "must not grow", stream->scratch(1 << 20));
        VERGENCE_THROWS(ContractError, "nothing runs", stream->synchronize());
        const auto graph = stream->endCapture();
        VERGENCE_THROWS(ContractError, "that recorded it", graph->replay(*other));
        graph->replay(*stream);
        QCOMPARE(source.toHost<float>(*stream), values);
    }

    void abandonedRecordingDoesNoHarm()
    {
        VERGENCE_CUDA_DEVICE(device);
        device->createStream()->beginCapture();
        const auto stream = device->createStream();
        const Tensor tensor = Tensor::zeros(*stream, device, {64});
        QCOMPARE(tensor.toHost<float>(*stream), std::vector<float>(64));
        QVERIFY(stream->beginCapture());
        QVERIFY(stream->endCapture() != nullptr); // of nothing
    }

    void hostMemoryMayBeReusedAtOnce()
    {
        VERGENCE_CUDA_DEVICE(device);
        const auto stream = device->createStream();
        constexpr Index kCount = 1 << 22;
        std::vector<float> values(kCount);
        std::vector<Tensor> tensors;
        for (int i = 0; i < 8; ++i) {
            std::fill(values.begin(), values.end(), static_cast<float>(i));
            tensors.push_back(Tensor::fromHost<float>(*stream, device, {kCount}, values));
        }
        for (int i = 0; i < 8; ++i)
            QCOMPARE(tensors[static_cast<std::size_t>(i)].toHost<float>(*stream),
                     std::vector<float>(kCount, static_cast<float>(i)));
    }

    void slotsAreTakenUpAgain()
    {
        VERGENCE_CUDA_DEVICE(device);
        const auto stream = device->createStream();
        const Tensor pixels = Tensor::zeros(*stream, device, {1000}, DType::U8);
        auto slots = device->createSharedSlots(1000);
        const SharedPixels first = slots->write(*stream, pixels.data(), 1000);
        slots.reset(); // a viewer may have this memory open for long
        slots = device->createSharedSlots(900);
        const SharedPixels second = slots->write(*stream, pixels.data(), 900);
        QVERIFY(second.memoryHandle == first.memoryHandle);
        QVERIFY(second.offset != first.offset); // the newest picture is written over last
        QVERIFY(stream->beginCapture());
        VERGENCE_THROWS(ContractError, "launch graph", slots->write(*stream, pixels.data(), 1000));
        QVERIFY(stream->endCapture() != nullptr);
        stream->synchronize();
    }

    void slotsThatDoNotFitAreNoFailure()
    {
        VERGENCE_CUDA_DEVICE(device);
        QVERIFY(!device->createSharedSlots(device->info().totalBytes));
        const auto stream = device->createStream(); // and nobody is blamed for it later
        const Tensor tensor = Tensor::zeros(*stream, device, {64});
        QCOMPARE(tensor.toHost<float>(*stream), std::vector<float>(64));
    }

    void sharedSlotsRotate()
    {
        VERGENCE_CUDA_DEVICE(device);
        const auto stream = device->createStream();
        const auto slots = device->createSharedSlots(1000);
        QVERIFY(slots != nullptr);
        QCOMPARE(slots->slotBytes(), std::size_t(1024));
        const Tensor pixels = Tensor::zeros(*stream, device, {1000}, DType::U8);
        const auto next = [&] { return slots->write(*stream, pixels.data(), 1000).offset; };
        const std::uint64_t first = next(); // the block may have served others before
        for (std::uint64_t i = 1; i <= 3; ++i)
            QCOMPARE(next(), (first + i * 1024) % (3 * 1024));
        stream->synchronize();
    }
};

VERGENCE_TEST(TestCudaBackend)
#include "tst_cuda_backend.moc"
