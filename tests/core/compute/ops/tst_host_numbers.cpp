#include <QTest>

#include "core/compute/ops/host_numbers.h"
#include "core/compute/ops/pointwise.h"
#include "tests/support/device_table.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;

/// Numbers of tensors as the host reads them.
class TestHostNumbers : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyTypeIsRead_data() { addDeviceRows(); }
    void everyTypeIsRead()
    {
        VERGENCE_ROW_DEVICE(device);
        const auto stream = device->createStream();
        const std::vector<float> numbers{0, -1.5f, 0.25f, 96, -0.0078125f}; // exact in all types
        const Tensor single = Tensor::fromHost<float>(*stream, device, {5}, numbers);
        for (const DType type : {DType::F32, DType::F64, DType::F16, DType::BF16}) {
            const Tensor tensor = Tensor::empty(device, {5}, type);
            cast(*stream, single, tensor);
            QCOMPARE(toFloats(*stream, tensor), numbers);
            QCOMPARE(toDoubles(*stream, tensor),
                     std::vector<double>(numbers.begin(), numbers.end()));
        }
    }

    void doublesKeepTheirBits_data() { addDeviceRows(); }
    void doublesKeepTheirBits()
    {
        VERGENCE_ROW_DEVICE(device);
        const auto stream = device->createStream();
        const std::vector<double> thirds{1.0 / 3, -2.0 / 3};
        const Tensor tensor = Tensor::fromHost<double>(*stream, device, {2}, thirds);
        QCOMPARE(toDoubles(*stream, tensor), thirds);
        QCOMPARE(toFloats(*stream, tensor), (std::vector<float>{1.0f / 3, -2.0f / 3}));
    }

    void nothingIsReadFromNothing_data() { addDeviceRows(); }
    void nothingIsReadFromNothing()
    {
        VERGENCE_ROW_DEVICE(device);
        const auto stream = device->createStream();
        QVERIFY(toFloats(*stream, Tensor()).empty());
        QVERIFY(toDoubles(*stream, Tensor::empty(device, {0, 3}, DType::BF16)).empty());
    }
};

VERGENCE_TEST(TestHostNumbers)
#include "tst_host_numbers.moc"
