#include <numeric>

#include <QtTest>

#include "core/compute/tensor.h"
#include "tests/support/device_table.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;

namespace {

std::vector<float> ramp(Index count)
{
    std::vector<float> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), 0.0f);
    return values;
}

} // namespace

class TestTensor : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void typesHaveSizesAndNames()
    {
        QCOMPARE(sizeOf(DType::F32), std::size_t{4});
        QCOMPARE(sizeOf(DType::BF16), std::size_t{2});
        QCOMPARE(sizeOf(DType::I64), std::size_t{8});
        QCOMPARE(sizeOf(DType::U8), std::size_t{1});
        QVERIFY(nameOf(DType::BF16) == "BF16" && nameOf(DType::F16) == "F16" &&
                nameOf(DType::U16) == "U16");
    }

    void viewsAddressRowMajor()
    {
        float data[24];
        const View<float, 3> view(data, 2, 3, 4);
        QCOMPARE(view.size(), Index{24});
        QCOMPARE(view.extent(1), Index{3});
        QCOMPARE(&view(1, 2, 3) - data, std::ptrdiff_t{23});
        QCOMPARE(&view(0, 2, 1) - data, std::ptrdiff_t{9});
        QCOMPARE(&view[7] - data, std::ptrdiff_t{7});
        QCOMPARE((View<float, 2>().size()), Index{0});
    }

    void shapesAreCountedAndPrinted()
    {
        QCOMPARE(elementCount({}), Index{1});
        QCOMPARE(elementCount({3, 0, 5}), Index{0});
        QCOMPARE(elementCount({3, 4, 5}), Index{60});
        QCOMPARE(toString({3, 256, 1}), std::string("[3, 256, 1]"));
        VERGENCE_THROWS(ContractError, "negative", elementCount({2, -1}));
        VERGENCE_THROWS(ContractError, "too many", elementCount({Index{1} << 40, Index{1} << 40}));
    }

    void valuesComeBackFromEveryDevice_data()
    {
        vergence::test::addDeviceAndSizeRows({0, 1, 31, 32, 33, 257, 5000});
    }
    void valuesComeBackFromEveryDevice()
    {
        VERGENCE_ROW_DEVICE(device);
        QFETCH(int, size);
        const auto stream = device->createStream();
        const auto values = ramp(size);
        const Tensor tensor = Tensor::fromHost<float>(*stream, device, {size}, values);
        QVERIFY(tensor.toHost<float>(*stream) == values);
        QCOMPARE(tensor.isEmpty(), size == 0);
        QCOMPARE(reinterpret_cast<std::uintptr_t>(tensor.data()) % 256, std::uintptr_t{0});
        const Tensor zero = Tensor::zeros(*stream, device, {size, 2}, DType::I32);
        QVERIFY(zero.toHost<std::int32_t>(*stream) ==
                std::vector<std::int32_t>(static_cast<std::size_t>(size) * 2));
    }

    void handlesShareAndClonesDoNot_data() { vergence::test::addDeviceRows(); }
    void handlesShareAndClonesDoNot()
    {
        VERGENCE_ROW_DEVICE(device);
        const auto stream = device->createStream();
        const Tensor tensor = Tensor::fromHost<float>(*stream, device, {2, 3}, ramp(6));
        const Tensor clone = tensor.clone(*stream), flat = tensor.reshaped({6}),
                     row = tensor.slice(1);
        QVERIFY((row.shape() == Shape{3}));
        QVERIFY((row.toHost<float>(*stream) == std::vector<float>{3, 4, 5}));
        stream->fillBytes(row.data(), 0, row.bytes());
        QVERIFY((flat.toHost<float>(*stream) == std::vector<float>{0, 1, 2, 0, 0, 0}));
        QVERIFY(clone.toHost<float>(*stream) == ramp(6));
        VERGENCE_THROWS(ContractError, "[4] does not have the elements of [2, 3]",
                        tensor.reshaped({4}));
        VERGENCE_THROWS(ContractError, "entry 2 of [2, 3]", tensor.slice(2));
        VERGENCE_THROWS(ContractError, "entry 0 of []",
                        tensor.reshaped({1, 6}).slice(0).slice(0).slice(0));
    }

    void memoryIsCountedAndGivenBack_data() { vergence::test::addDeviceRows(); }
    void memoryIsCountedAndGivenBack()
    {
        VERGENCE_ROW_DEVICE(device);
        const std::size_t before = device->memory().usedByUs;
        {
            const Tensor tensor = Tensor::empty(device, {1000, 1000});
            const Tensor part = tensor.slice(3);
            // A pool rounds sizes up, by an eighth at most.
            const std::size_t used = device->memory().usedByUs - before;
            QVERIFY(used >= 4'000'000 && used < 4'500'000);
        }
        QCOMPARE(device->memory().usedByUs, before);
        QVERIFY(device->memory().peakUsedByUs >= before + 4'000'000);
        QVERIFY(device->memory().total > 0);
    }

    void tooLargeTensorsSayWhatIsFree_data() { vergence::test::addDeviceRows(); }
    void tooLargeTensorsSayWhatIsFree()
    {
        VERGENCE_ROW_DEVICE(device);
        try {
            Tensor::empty(device, {Index{1} << 46});
            QFAIL("no error");
        } catch (const DeviceError& error) {
            QCOMPARE(error.exitCode(), ExitCode::OutOfMemory);
            QVERIFY2(QString(error.what()).contains("MiB"), error.what());
        }
    }

    void typesAndRanksAreChecked()
    {
        const auto device = makeCpuDevice(1);
        const auto stream = device->createStream();
        const Tensor tensor = Tensor::zeros(*stream, device, {2, 3});
        VERGENCE_THROWS(ContractError, "element type differs", (tensor.view<double, 2>()));
        VERGENCE_THROWS(ContractError, "rank differs", (tensor.view<float, 1>()));
        VERGENCE_THROWS(ContractError, "element type differs", tensor.flat<std::int32_t>());
        VERGENCE_THROWS(ContractError, "element type differs", tensor.toHost<double>(*stream));
        VERGENCE_THROWS(ContractError, "value count",
                        Tensor::fromHost<float>(*stream, device, {7}, ramp(6)));
        VERGENCE_THROWS(ContractError, "no device", Tensor::empty(nullptr, {1}));
        VERGENCE_THROWS(ContractError, "6 dimensions",
                        Tensor::empty(device, {1, 1, 1, 1, 1, 1, 1}));
        VERGENCE_THROWS(ContractError, "[2, 3] and [3, 2]",
                        expectSameShape(tensor, tensor.reshaped({3, 2})));
        QVERIFY(Tensor().isEmpty() && Tensor().clone(*stream).isEmpty());
    }

    void devicesAreChosenByName()
    {
        const DeviceList& list = vergence::test::devices();
        QVERIFY(list.devices.at(0)->isCpu());
        QCOMPARE(list.select("cpu"), list.devices[0]);
        QCOMPARE(list.devices.size() > 1, list.whyNoCuda.empty());
        VERGENCE_THROWS(DeviceError, "No device cuda:99 here; there is: cpu",
                        list.select("cuda:99"));
    }
};

VERGENCE_TEST(TestTensor)
#include "tst_tensor.moc"
