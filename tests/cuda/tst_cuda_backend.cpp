#include <filesystem>
#include <numeric>

#include <QTest>

#include "core/base/error.h"
#include "core/compute/kernel.h"
#include "core/compute/tensor.h"
#include "tests/support/cuda_device.h"

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
        for (const auto& entry : std::filesystem::directory_iterator(VERGENCE_BINARY_DIR "/lib")) {
            const QString name = QString::fromStdString(entry.path().filename().string());
            if (name.startsWith("libvergence-kernels-") || name.startsWith("libvergence-cuda"))
                QTest::newRow(qPrintable(name)) << QString::fromStdString(entry.path().string());
        }
    }
    void everyModuleResolvesItsSymbols()
    {
        QFETCH(QString, file);
        std::string reason;
        QVERIFY2(loadKernelModule(file.toStdString(), &reason), reason.c_str());
    }

    void returnedBlocksAreHandedOutAgain()
    {
        VERGENCE_CUDA_DEVICE(device);
        void* first = device->allocate(1000);
        QCOMPARE(device->memory().usedByUs, std::size_t(1024));
        device->deallocate(first, 1000);
        void* second = device->allocate(1000);
        QCOMPARE(second, first);
        device->deallocate(second, 1000);
        QCOMPARE(device->memory().usedByUs, std::size_t(0));
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

    void sharedSlotsRotate()
    {
        VERGENCE_CUDA_DEVICE(device);
        const auto stream = device->createStream();
        const auto slots = device->createSharedSlots(1000);
        QVERIFY(slots != nullptr);
        QCOMPARE(slots->slotBytes(), std::size_t(1024));
        const Tensor pixels = Tensor::zeros(*stream, device, {1000}, DType::U8);
        QCOMPARE(slots->write(*stream, pixels.data(), 1000).offset, std::uint64_t(0));
        QCOMPARE(slots->write(*stream, pixels.data(), 1000).offset, std::uint64_t(1024));
        QCOMPARE(slots->write(*stream, pixels.data(), 1000).offset, std::uint64_t(2048));
        QCOMPARE(slots->write(*stream, pixels.data(), 1000).offset, std::uint64_t(0));
        stream->synchronize();
    }
};

QTEST_GUILESS_MAIN(TestCudaBackend)
#include "tst_cuda_backend.moc"
