#include <cmath>
#include <limits>

#include <QtTest>

#include "core/base/error.h"
#include "core/view/frame.h"
#include "core/view/frame_publisher.h"
#include "core/view/view_input.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;

namespace {

/// IEC 61966-2-1, rounded to 8 bits, in more digits than floats have.
int encodedSlowly(float linear)
{
    const long double x = linear;
    const long double encoded =
        x <= 0.0031308L ? 12.92L * x : 1.055L * std::pow(x, 1 / 2.4L) - 0.055L;
    return static_cast<int>(std::floor(encoded * 255 + 0.5L));
}

} // namespace

class TestFrame : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyStreamKindComesBackFromItsName()
    {
        for (const StreamKind kind :
             {StreamKind::Image, StreamKind::ImageStack, StreamKind::Splats, StreamKind::Mesh,
              StreamKind::HeatMap, StreamKind::Scatter, StreamKind::Gallery,
              StreamKind::FrameStream, StreamKind::Diagram})
            QCOMPARE(streamKindFromName(nameOf(kind)), kind);
        VERGENCE_THROWS(ContractError, "`picture`; there is: image, ",
                        streamKindFromName("picture"));
    }

    void pixelBytesCountFormatAndLayers()
    {
        FrameInfo info;
        info.width = 7;
        info.height = 5;
        info.layers = 3;
        QCOMPARE(info.pixelBytes(), std::size_t{7 * 5 * 3 * 4});
        info.format = PixelFormat::Rgba16F;
        QCOMPARE(info.pixelBytes(), std::size_t{7 * 5 * 3 * 8});
        info.format = PixelFormat::R32F;
        QCOMPARE(info.pixelBytes(), std::size_t{7 * 5 * 3 * 4});
    }

    void everyEncodedValueComesBack()
    {
        for (int value = 0; value < 256; ++value)
            QCOMPARE(int{encodeSrgb8(decodeSrgb8(static_cast<std::uint8_t>(value)))}, value);
        QCOMPARE(decodeSrgb8(0), 0.0f);
        QCOMPARE(decodeSrgb8(255), 1.0f);
        QVERIFY(std::abs(decodeSrgb8(128) - 0.21586050f) < 1e-7f);
    }

    void encodingIsRoundedExactly()
    {
        for (int i = 0; i <= 1'000'000; ++i) {
            const float linear = static_cast<float>(i) / 1e6f;
            if (encodeSrgb8(linear) != encodedSlowly(linear))
                QFAIL(qPrintable(QString("at %1").arg(linear)));
        }
        // On both sides of each of the 255 steps.
        for (int code = 0; code < 255; ++code) {
            const double encoded = (code + 0.5) / 255;
            const double step =
                encoded <= 0.04045 ? encoded / 12.92 : std::pow((encoded + 0.055) / 1.055, 2.4);
            const auto near = static_cast<float>(step);
            for (const float x : {std::nextafter(near, 0.0f), near, std::nextafter(near, 1.0f)})
                QCOMPARE(int{encodeSrgb8(x)}, encodedSlowly(x));
        }
    }

    void valuesOutsideAreClamped()
    {
        QCOMPARE(int{encodeSrgb8(-1)}, 0);
        QCOMPARE(int{encodeSrgb8(std::numeric_limits<float>::quiet_NaN())}, 0);
        QCOMPARE(int{encodeSrgb8(std::nextafter(1.0f, 0.0f))}, 255);
        QCOMPARE(int{encodeSrgb8(1.0f)}, 255);
        QCOMPARE(int{encodeSrgb8(std::numeric_limits<float>::infinity())}, 255);
    }

    void laterInputWinsKeyByKey()
    {
        ViewInput input{3, {{"eye", {1, 2}}, {"focus", {0.5}}}, {{"pointer_stream", "a"}}};
        input.merge({5, {{"focus", {0.75}}}, {{"board", "n26"}}});
        QCOMPARE(input.sequence, std::uint64_t{5});
        QCOMPARE(input.scalar("focus").value(), 0.75);
        QCOMPARE(input.scalar("eye").value(), 1.0);
        QVERIFY(!input.scalar("none"));
        QCOMPARE(input.texts.size(), std::size_t{2});
        input.merge({4, {{"eye", {}}}, {}});
        QCOMPARE(input.sequence, std::uint64_t{5});
        QVERIFY(!input.scalar("eye"));
    }
};

VERGENCE_TEST(TestFrame)
#include "tst_frame.moc"
