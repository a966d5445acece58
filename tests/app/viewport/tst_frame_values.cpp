#include <cmath>
#include <limits>

#include <QtTest>

#include "app/viewport/frame_values.h"
#include "app/viewport/overlay.h"
#include "core/base/error.h"
#include "tests/app/viewport/synthetic_frames.h"
#include "tests/support/test_program.h"

using namespace vergence;

namespace {

double lightness(QRgb colour)
{
    const auto linear = [](int c) {
        const double v = c / 255.0;
        return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(qRed(colour)) + 0.7152 * linear(qGreen(colour)) +
           0.0722 * linear(qBlue(colour));
}

} // namespace

class FrameValuesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void probeReadsStoredBytes()
    {
        Frame frame = test::makePlain("a", 4, 3, {10, 20, 30});
        test::setPixel(frame, 0, 2, 1, {200, 100, 50});
        QCOMPARE(pixelText(frame, 0, 2, 1), QStringLiteral("(2, 1)  200 100 50"));
    }

    void probeReadsNumbers()
    {
        Frame frame = test::makeNumbers("e", 4);
        const float value = -0.125F;
        std::memcpy(frame.pixels.data() + 4 * (1 * 4 + 3), &value, 4);
        QCOMPARE(pixelText(frame, 0, 3, 1), QStringLiteral("(3, 1)  -0.125"));
    }

    void probeOutsideTheFrameIsRefused()
    {
        const Frame frame = test::makePlain("a", 4, 3, {});
        QVERIFY_EXCEPTION_THROWN(pixelAt(frame, 0, 4, 0), ContractError);
        QVERIFY_EXCEPTION_THROWN(pixelAt(frame, 1, 0, 0), ContractError);
    }

    void frameOfTheWrongSizeIsRefused()
    {
        Frame frame = test::makePlain("a", 4, 3, {});
        frame.pixels.pop_back();
        QVERIFY_EXCEPTION_THROWN(makeShownFrame(frame, 1), ContractError);
    }

    void metaOfAStackFillsWhatIsMissing()
    {
        Frame frame = test::makeRgba("s", 2, 2, 3);
        frame.info.meta = R"({"labels":["near"],"distance_mm":[10,20,30]})";
        const auto shown = makeShownFrame(frame, 1);
        QCOMPARE(shown->meta.labels,
                 (QStringList{QStringLiteral("near"), QStringLiteral("2"), QStringLiteral("3")}));
        QCOMPARE(shown->meta.depth, (std::vector<double>{10, 20, 30}));
        QCOMPARE(shown->meta.width, (std::vector<double>{1, 1, 1}));
        QVERIFY(!shown->meta.knowsWidth);
        QCOMPARE(shown->meta.depthTitle, QStringLiteral("distance in mm"));
        frame.info.meta = R"({"width_mm":[4,5,6]})";
        QCOMPARE(makeShownFrame(frame, 1)->meta.widthTitle, QStringLiteral("width in mm"));
        frame.info.meta = R"({"width":[4,5,6],"width_title":"angle in °"})";
        QCOMPARE(makeShownFrame(frame, 1)->meta.widthTitle, QStringLiteral("angle in °"));
    }

    void damagedMetaIsIgnored()
    {
        Frame frame = test::makeRgba("s", 2, 2, 2);
        frame.info.meta = "{\"labels\":[";
        QCOMPARE(makeShownFrame(frame, 1)->meta.labels.size(), 2);
    }

    void rangeLeavesOutWhatIsNotFinite()
    {
        Frame frame = test::makeNumbers("e", 2, 0);
        const std::array<float, 4> values{std::numeric_limits<float>::quiet_NaN(), -2,
                                          std::numeric_limits<float>::infinity(), 1};
        std::memcpy(frame.pixels.data(), values.data(), 16);
        const auto shown = makeShownFrame(frame, 1);
        QCOMPARE(shown->range.low, -2.0);
        QCOMPARE(shown->range.high, 1.0);
        const ValueRange range = rangeFor({}, *shown); // signed numbers: symmetric
        QCOMPARE(range.low, -2.0);
        QCOMPARE(range.high, 2.0);
    }

    void magnitudeMapGrowsLighterThroughout()
    {
        double before = -1;
        for (int i = 0; i <= 64; ++i) {
            const double now = lightness(mapColour(FalseColour::Magnitude, i / 64.0));
            QVERIFY2(now > before, qPrintable(QString::number(i)));
            before = now;
        }
    }

    void divergingMapIsBlueWhiteRed()
    {
        const QRgb low = mapColour(FalseColour::Diverging, 0),
                   high = mapColour(FalseColour::Diverging, 1);
        const QRgb middle = mapColour(FalseColour::Diverging, 0.5);
        QVERIFY(qBlue(low) > qRed(low) + 80);
        QVERIFY(qRed(high) > qBlue(high) + 80);
        QVERIFY(qRed(middle) > 225 && qAbs(qRed(middle) - qBlue(middle)) < 3);
    }

    void exposureDoublesLightPerStop()
    {
        const auto shown = makeShownFrame(test::makePlain("a", 1, 1, {100, 100, 100}), 1);
        QCOMPARE(qRed(shownImage(*shown, 0, {}).pixel(0, 0)), 100);
        // 100 is 0.127 of linear light; twice that is encoded as 139.
        QVERIFY(qAbs(qRed(shownImage(*shown, 0, {.exposure = 1}).pixel(0, 0)) - 139) <= 1);
    }

    void ticksAreRound()
    {
        QCOMPARE(niceTicks(0, 1, 5), (std::vector<double>{0, 0.2, 0.4, 0.2 * 3, 0.8, 1}));
        QVERIFY(niceTicks(1, 1, 5).empty());
    }
};

VERGENCE_TEST(FrameValuesTest)
#include "tst_frame_values.moc"
