#include <cstdlib>

#include <QTest>

#include "core/compute/rng.h"
#include "core/view/frame_publisher.h"
#include "plugins/light_field/compute/pack_pixels.h"
#include "tests/support/cuda_device.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::light_field;

/// Packing of pictures on the device against the host's sRGB table.
class TestLightFieldPack : public QObject {
    Q_OBJECT

    static void compare(const std::shared_ptr<Device>& device, Index size, int channels,
                        Index lanes)
    {
        const auto stream = device->createStream();
        std::vector<float> values(static_cast<std::size_t>(size * size * lanes));
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = 1.2f * Rng(5).uniform(i) - 0.1f;
        const Tensor image = Tensor::fromHost<float>(*stream, device, {size, size, lanes}, values);
        const Tensor packed = Tensor::zeros(*stream, device, {size, size, 4}, DType::U8);
        packSrgb(*stream, image, channels, packed);
        const auto bytes = packed.toHost<std::uint8_t>(*stream);
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            const std::size_t pixel = i / 4, c = i % 4;
            const std::size_t lane = channels == 3 ? c : 0;
            const int expected =
                c == 3 ? 255 : encodeSrgb8(values[pixel * static_cast<std::size_t>(lanes) + lane]);
            QVERIFY(std::abs(bytes[i] - expected) <=
                    1); // powf differs between devices in the last place
        }
    }
    static void addRows()
    {
        QTest::addColumn<int>("size");
        QTest::addColumn<int>("channels");
        QTest::addColumn<int>("lanes");
        QTest::newRow("grey") << 33 << 1 << 1;
        QTest::newRow("colour") << 31 << 3 << 4;
        QTest::newRow("one pixel") << 1 << 1 << 16;
    }

private Q_SLOTS:
    void cpuMatchesTheTable_data() { addRows(); }
    void cpuMatchesTheTable()
    {
        QFETCH(int, size);
        QFETCH(int, channels);
        QFETCH(int, lanes);
        compare(makeCpuDevice(), size, channels, lanes);
    }

    void cudaMatchesTheTable_data() { addRows(); }
    void cudaMatchesTheTable()
    {
        VERGENCE_CUDA_DEVICE(device);
        QFETCH(int, size);
        QFETCH(int, channels);
        QFETCH(int, lanes);
        compare(device, size, channels, lanes);
    }
};

VERGENCE_TEST(TestLightFieldPack)
#include "tst_light_field_pack.moc"
