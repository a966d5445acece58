#include <algorithm>
#include <cmath>
#include <set>

#include <QTest>

#include "core/artifact/safetensors.h"
#include "plugins/mc_embedding/io/preprocess.h"
#include "plugins/mc_embedding/io/resample.h"
#include "tests/plugins/mc_embedding/pictures.h"
#include "tests/support/golden.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::mc_embedding;
using vergence::test::crcOf;
using vergence::test::patternImage;

namespace {

/// "19,82,9 81,90,17 / …", rows from the top.
QString textOf(const Image& image, int rows)
{
    QStringList lines;
    for (int y = 0; y < rows; ++y) {
        QStringList pixels;
        for (int x = 0; x < image.width; ++x) {
            const std::uint8_t* pixel = image.row(y) + x * 3;
            pixels << QStringLiteral("%1,%2,%3").arg(pixel[0]).arg(pixel[1]).arg(pixel[2]);
        }
        lines << pixels.join(QLatin1Char(' '));
    }
    return lines.join(QStringLiteral(" / "));
}

Preprocess clipAt(int size)
{
    Preprocess how;
    how.size = size;
    how.mean = {0.48145466f, 0.4578275f, 0.40821073f};
    how.deviation = {0.26862954f, 0.26130258f, 0.27577711f};
    return how;
}

} // namespace

class TestMcResample : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void smallPicturesHaveTheKnownPixels()
    {
        const Image source = patternImage(7, 5);
        QCOMPARE(textOf(resized(source, 4, 3, Filter::Bicubic), 3),
                 QStringLiteral("19,82,9 81,90,17 149,100,25 211,108,33 / "
                                "37,170,17 99,178,61 167,188,111 234,196,162 / "
                                "55,110,26 117,118,109 191,128,168 165,136,121"));
        QCOMPARE(textOf(resized(source, 4, 3, Filter::Bilinear), 1),
                 QStringLiteral("24,82,10 82,89,19 150,99,29 208,106,37"));
    }

    void picturesHaveTheKnownCheckSums_data()
    {
        QTest::addColumn<QSize>("from");
        QTest::addColumn<QSize>("to");
        QTest::addColumn<QString>("bicubic");
        QTest::addColumn<QString>("bilinear");
        QTest::newRow("landscape") << QSize(500, 375) << QSize(298, 224) << "0912025c"
                                   << "44365de5";
        QTest::newRow("portrait") << QSize(333, 500) << QSize(224, 336) << "f176e5f6"
                                  << "5959b28c";
        QTest::newRow("square") << QSize(640, 427) << QSize(384, 384) << "b19bce7d"
                                << "7ef5b7c2";
        QTest::newRow("larger") << QSize(200, 150) << QSize(224, 224) << "5da3dc23"
                                << "59ce8075";
        QTest::newRow("tiny") << QSize(7, 5) << QSize(11, 9) << "52126594"
                              << "43190ad0";
        QTest::newRow("stretch") << QSize(64, 48) << QSize(32, 32) << "b15a2227"
                                 << "b3834dac";
    }

    void picturesHaveTheKnownCheckSums()
    {
        QFETCH(QSize, from);
        QFETCH(QSize, to);
        QFETCH(QString, bicubic);
        QFETCH(QString, bilinear);
        const Image source = patternImage(from.width(), from.height());
        QCOMPARE(crcOf(resized(source, to.width(), to.height(), Filter::Bicubic)), bicubic);
        QCOMPARE(crcOf(resized(source, to.width(), to.height(), Filter::Bilinear)), bilinear);
    }

    void theClipPipelineHasTheKnownPixels()
    {
        const Image source = patternImage(64, 48);
        QCOMPARE(crcOf(resized(source, 42, 32, Filter::Bicubic)), QStringLiteral("a70621d2"));
        const Preprocess how = clipAt(32);
        const Image crop = preprocessed(source, how);
        QCOMPARE(QSize(crop.width, crop.height), QSize(32, 32));
        QCOMPARE(crcOf(crop), QStringLiteral("41a3bf14"));
        QCOMPARE(textOf(crop, 1).section(QLatin1Char(' '), 0, 0), QStringLiteral("26,118,38"));
        const double expected[] = {-1.4127034, 0.0188196, -0.9398573};
        for (std::size_t c = 0; c < 3; ++c) {
            const double value = (crop.pixels[c] / 255.0 - how.mean[c]) / how.deviation[c];
            QVERIFY(std::abs(value - expected[c]) < 1e-6); // seven digits are given
        }
    }

    void blursHaveTheKnownCheckSums()
    {
        const Image source = patternImage(40, 30);
        QCOMPARE(crcOf(gaussianBlurred(source, 2)), QStringLiteral("2cf6a681"));
        QCOMPARE(crcOf(gaussianBlurred(source, 5)), QStringLiteral("94de5878"));
        QCOMPARE(crcOf(gaussianBlurred(source, 15)), QStringLiteral("98d6d1f1"));
        QCOMPARE(crcOf(gaussianBlurred(source, 0)), crcOf(source));
    }

    void photographsAgreeWithPillow()
    {
        VERGENCE_GOLDEN_FOLDER(folder, "resize");
        int compared = 0;
        for (const HostTensor& want : readSafetensors(folder / "expected.safetensors").tensors) {
            // NAME.FILTER.GEOMETRY.SIZE
            const QStringList parts = QString::fromStdString(want.name).split(QLatin1Char('.'));
            QCOMPARE(parts.size(), 4);
            Preprocess how = clipAt(parts[3].toInt());
            how.filter = parts[1] == QLatin1String("bicubic") ? Filter::Bicubic : Filter::Bilinear;
            how.stretches = parts[2] == QLatin1String("squash");
            const Image got =
                preprocessed(decodeRgb(folder / (parts[0].toStdString() + ".png")), how);
            const auto pixels = want.as<std::uint8_t>();
            QCOMPARE(got.pixels.size(), pixels.size());
            QVERIFY2(std::equal(pixels.begin(), pixels.end(), got.pixels.begin()),
                     want.name.c_str());
            ++compared;
        }
        QVERIFY(compared > 5);
    }

    void aWindowIsAPartOfTheWhole()
    {
        const Image source = patternImage(97, 61);
        const Image whole = resized(source, 50, 40, Filter::Bicubic);
        const Image part = resizedWindow(source, 50, 40, Filter::Bicubic, {11, 7, 20, 30});
        for (int y = 0; y < 30; ++y)
            QVERIFY(std::equal(part.row(y), part.row(y) + 60, whole.row(y + 7) + 33));
    }

    void widePassesAgreeWithPlainOnes()
    {
        for (const int width : {1, 2, 3, 31, 32, 33, 257}) {
            for (const int target : {1, 2, 11, 32, 224}) {
                const Image source = patternImage(width, 5);
                for (const Filter filter : {Filter::Bicubic, Filter::Bilinear}) {
                    const AxisWeights weights = axisWeights(width, target, filter, 0, target);
                    Image wide = makeImage(target, 5, 3), plain = wide;
                    filterRows({&source, 0, &weights, &wide});
                    filterRowsPlain({&source, 0, &weights, &plain});
                    QVERIFY(wide.pixels == plain.pixels);
                }
                const Image tall = patternImage(5, width);
                const AxisWeights weights = axisWeights(width, target, Filter::Bicubic, 0, target);
                Image wide = makeImage(5, target, 3), plain = wide;
                filterColumns({&tall, 0, &weights, &wide});
                filterColumnsPlain({&tall, 0, &weights, &plain});
                QVERIFY(wide.pixels == plain.pixels);
            }
        }
    }

    void extremesAreClampedNotWrapped()
    {
        Image source = makeImage(9, 9, 3);
        for (std::size_t i = 0; i < source.pixels.size(); ++i)
            source.pixels[i] = (i / 3) % 2 ? 255 : 0;
        // Between 0 and 255 Keys' cubic overshoots by a quarter on either side.
        const Image larger = resized(source, 90, 90, Filter::Bicubic);
        const std::set<std::uint8_t> values(larger.pixels.begin(), larger.pixels.end());
        QVERIFY(values.contains(0) && values.contains(255));
        const Image flat = resized(makeImage(13, 7, 3, 255), 50, 3, Filter::Bicubic);
        QVERIFY(std::all_of(flat.pixels.begin(), flat.pixels.end(),
                            [](std::uint8_t value) { return value == 255; }));
    }

    void greyAndAlphaAreResampledAlike()
    {
        const Image source = patternImage(20, 14);
        for (const int channels : {1, 4}) {
            Image other = makeImage(20, 14, channels);
            for (std::size_t i = 0; i < 20u * 14; ++i) {
                for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c)
                    other.pixels[i * static_cast<std::size_t>(channels) + c] =
                        source.pixels[i * 3 + c % 3];
            }
            const Image got = resized(other, 9, 17, Filter::Bicubic),
                        want = resized(source, 9, 17, Filter::Bicubic);
            for (std::size_t i = 0; i < 9u * 17; ++i)
                QCOMPARE(got.pixels[i * static_cast<std::size_t>(channels)], want.pixels[i * 3]);
        }
    }

    void theCropOfOddMarginsGoesToTheEvenPixel()
    {
        // 33 + 2m columns wide at short side 32: margins 1, 3, 5, 7 have offsets 0, 2, 2, 4.
        const int offsets[] = {0, 2, 2, 4};
        for (int i = 0; i < 4; ++i) {
            const int width = 33 + 2 * i;
            const Image source = patternImage(width, 32);
            const Image crop = preprocessed(source, clipAt(32));
            QVERIFY(std::equal(crop.row(0), crop.row(0) + 96, source.row(0) + offsets[i] * 3));
            Preprocess floors = clipAt(32);
            floors.floorsCrop = true;
            QVERIFY(std::equal(crop.row(0), crop.row(0) + 96,
                               preprocessed(source, floors).row(0)) == (offsets[i] == i));
        }
    }

    void fingerprintsDifferWhereBytesDo()
    {
        const Preprocess base = clipAt(224);
        std::set<std::string> all = {base.fingerprint()};
        Preprocess other = base;
        other.size = 384;
        all.insert(other.fingerprint());
        other = base;
        other.stretches = true;
        all.insert(other.fingerprint());
        other = base;
        other.floorsCrop = true;
        all.insert(other.fingerprint());
        other = base;
        other.rotatesByExif = true;
        all.insert(other.fingerprint());
        other = base;
        other.filter = Filter::Bilinear;
        all.insert(other.fingerprint());
        QCOMPARE(all.size(), std::size_t{6});
        other = base;
        other.mean = {};
        QCOMPARE(other.fingerprint(), base.fingerprint());
    }

    void wrongArgumentsAreNamed()
    {
        VERGENCE_THROWS(ContractError, "1 pixel or more",
                        resized(patternImage(3, 3), 0, 3, Filter::Bicubic));
        VERGENCE_THROWS(ContractError, "with pixels", resized(Image{}, 3, 3, Filter::Bicubic));
        VERGENCE_THROWS(ContractError, "RGB", preprocessed(makeImage(4, 4, 1), clipAt(2)));
    }
};

VERGENCE_TEST(TestMcResample)
#include "tst_mc_resample.moc"
