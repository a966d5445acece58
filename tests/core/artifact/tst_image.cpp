#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <string>

#include <QtTest>

#include "core/artifact/image.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using vergence::test::Scratch;

namespace {

Image gradient(int width, int height, int channels)
{
    Image image = makeImage(width, height, channels);
    for (std::size_t i = 0; i < image.pixels.size(); ++i)
        image.pixels[i] = static_cast<std::uint8_t>(i * 7 % 256);
    return image;
}

/// Whether the PNG holds a chunk of this type.
bool hasChunk(const std::string& png, const char* type)
{
    return png.find(type) != std::string::npos;
}

} // namespace

class TestImage : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void pngComesBackExactly_data()
    {
        QTest::addColumn<int>("width");
        QTest::addColumn<int>("height");
        QTest::addColumn<int>("channels");
        for (const int channels : {1, 3, 4}) {
            for (const auto& [width, height] : {std::pair{1, 1}, {31, 33}, {257, 2}})
                QTest::addRow("%dx%dx%d", width, height, channels) << width << height << channels;
        }
    }
    void pngComesBackExactly()
    {
        QFETCH(int, width);
        QFETCH(int, height);
        QFETCH(int, channels);
        const Scratch scratch;
        const Image image = gradient(width, height, channels);
        writePng(scratch / "a.png", image);
        const Image read = readImage(scratch / "a.png");
        QCOMPARE(read.width, width);
        QCOMPARE(read.height, height);
        QCOMPARE(read.channels, channels);
        QVERIFY(read.pixels == image.pixels);
        QCOMPARE(vergence::test::contentOf(scratch.path()).size(), std::size_t{1});
    }

    void pngCarriesColourSpaceAndTexts()
    {
        const Scratch scratch;
        Image image = gradient(5, 4, 3);
        image.text = {{"Title", "plane 1"}, {"vergence:run", "Übung é 空"}, {"Empty", ""}};
        writePng(scratch / "a.png", image);
        const std::string bytes = readFile(scratch / "a.png");
        QVERIFY(hasChunk(bytes, "sRGB") && hasChunk(bytes, "tEXt") && hasChunk(bytes, "iTXt"));
        QVERIFY(readPng(scratch / "a.png").text == image.text);
        writePng(scratch / "b.png", image);
        QVERIFY(readFile(scratch / "b.png") == bytes);
        image.text = {{std::string(80, 'k'), "too long"}};
        VERGENCE_THROWS(ContractError, "79 characters", writePng(scratch / "a.png", image));
    }

    void greyWithAlphaIsReadAsFourChannels()
    {
        const Scratch scratch;
        Image image = makeImage(1, 1, 2);
        image.pixels = {90, 128};
        writePng(scratch / "a.png", image);
        const Image read = readPng(scratch / "a.png");
        QCOMPARE(read.channels, 4);
        QVERIFY((read.pixels == std::vector<std::uint8_t>{90, 90, 90, 128}));
    }

    void sixteenBitsAreKept()
    {
        const Scratch scratch;
        Image16 depth{3, 2, 1, {0, 1, 255, 256, 40000, 65535}};
        writePng16(scratch / "depth.png", depth);
        const Image16 read = readPng16(scratch / "depth.png");
        QVERIFY(read.pixels == depth.pixels && read.width == 3 && read.height == 2 &&
                read.channels == 1);
        const Image eight = readPng(scratch / "depth.png");
        QVERIFY(
            (eight.pixels == std::vector<std::uint8_t>{0, 0, 1, 1, 156, 255})); // round(v / 257)
        const std::string bytes = readFile(scratch / "depth.png");
        QCOMPARE(int{static_cast<unsigned char>(bytes[24])}, 16); // bit depth in IHDR
    }

    void eightBitsAreScaledUp()
    {
        const Scratch scratch;
        Image image = makeImage(2, 1, 1);
        image.pixels = {1, 255};
        writePng(scratch / "a.png", image);
        QVERIFY((readPng16(scratch / "a.png").pixels == std::vector<std::uint16_t>{257, 65535}));
    }

    void damagedPngsSayWhy_data()
    {
        QTest::addColumn<int>("at");
        QTest::addColumn<int>("keep");
        QTest::addColumn<QString>("part");
        QTest::newRow("empty") << -1 << 0 << "Cannot read the PNG image";
        QTest::newRow("not a PNG") << 1 << -1 << "Not a PNG file";
        QTest::newRow("header") << 20 << -1 << "CRC error";
        QTest::newRow("data") << -2 << -1 << "IDAT";
        QTest::newRow("half") << -1 << 200 << "Read Error";
    }
    void damagedPngsSayWhy()
    {
        QFETCH(int, at);
        QFETCH(int, keep);
        QFETCH(QString, part);
        const Scratch scratch;
        writePng(scratch / "a.png", gradient(64, 64, 3));
        std::string bytes = readFile(scratch / "a.png");
        if (at == -2)
            at = static_cast<int>(bytes.find("IDAT")) + 20;
        if (at >= 0)
            bytes[static_cast<std::size_t>(at)] =
                static_cast<char>(bytes[static_cast<std::size_t>(at)] ^ 0x55);
        if (keep >= 0)
            bytes.resize(static_cast<std::size_t>(keep));
        writeFileAtomic(scratch / "a.png", bytes);
        VERGENCE_THROWS(InputError, part.toUtf8().constData(), readPng(scratch / "a.png"));
        VERGENCE_THROWS(InputError, "a.png", readPng16(scratch / "a.png"));
    }

    void jpegIsCloseAndGreyStaysGrey()
    {
        const Scratch scratch;
        for (const int channels : {1, 3}) {
            Image image = makeImage(40, 24, channels);
            for (int y = 0; y < 24; ++y) {
                for (int x = 0; x < 40 * channels; ++x)
                    image.row(y)[x] = static_cast<std::uint8_t>(60 + x / channels * 2 + y * 3);
            }
            writeJpeg(scratch / "a.jpg", image, 98);
            const Image read = readImage(scratch / "a.jpg");
            QCOMPARE(read.channels, channels);
            int largest = 0;
            for (std::size_t i = 0; i < image.pixels.size(); ++i)
                largest = std::max(largest, std::abs(read.pixels[i] - image.pixels[i]));
            QVERIFY2(largest <= 4,
                     qPrintable(QString::number(largest))); // quantisation steps of quality 98
        }
    }

    void jpegColoursAreRight()
    {
        const Scratch scratch;
        Image image = makeImage(16, 16, 3);
        for (int i = 0; i < 256; ++i)
            std::memcpy(image.pixels.data() + i * 3, "\xc8\x32\x14", 3);
        writeJpeg(scratch / "a.jpg", image, 95);
        const Image read = readJpeg(scratch / "a.jpg");
        QVERIFY(std::abs(read.pixels[0] - 200) <= 3 && std::abs(read.pixels[1] - 50) <= 3 &&
                std::abs(read.pixels[2] - 20) <= 3);
        VERGENCE_THROWS(ContractError, "one or three",
                        writeJpeg(scratch / "a.jpg", makeImage(2, 2, 4)));
        VERGENCE_THROWS(ContractError, "quality",
                        writeJpeg(scratch / "a.jpg", makeImage(2, 2, 3), 0));
    }

    void damagedJpegsSayWhy()
    {
        const Scratch scratch;
        writeJpeg(scratch / "a.jpg", gradient(64, 64, 3));
        const std::string bytes = readFile(scratch / "a.jpg");
        writeFileAtomic(scratch / "half.jpg", std::string_view(bytes).substr(0, bytes.size() / 2));
        VERGENCE_THROWS(InputError, "Premature end of JPEG file", readJpeg(scratch / "half.jpg"));
        writeFileAtomic(scratch / "front.jpg", std::string_view(bytes).substr(0, 30));
        VERGENCE_THROWS(InputError, "front.jpg", readImage(scratch / "front.jpg"));
        writeFileAtomic(scratch / "text.jpg", "hello, world");
        VERGENCE_THROWS(InputError, "Not a JPEG file", readJpeg(scratch / "text.jpg"));
        VERGENCE_THROWS(InputError, "neither a PNG nor a JPEG", readImage(scratch / "text.jpg"));
        VERGENCE_THROWS(InputError, "No such file", readImage(scratch / "nowhere.jpg"));
        VERGENCE_THROWS(InputError, "is a folder", readPng(scratch.path()));
    }

    void linearValuesAreEncodedAndComeBack()
    {
        const std::vector<float> linear{
            0, 0.21586050f, 1, -3, std::numeric_limits<float>::quiet_NaN(), 7};
        QVERIFY((imageFromLinear(linear, 2, 1, 3).pixels ==
                 std::vector<std::uint8_t>{0, 128, 255, 0, 0, 255}));
        QVERIFY((imageFromLinear(linear, 2, 1, 3, true).pixels ==
                 std::vector<std::uint8_t>{0, 55, 255, 0, 0, 255}));
        QVERIFY((imageFromLinear(std::vector<float>{1, 1, 1, 0.5f}, 1, 1, 4).pixels ==
                 std::vector<std::uint8_t>{255, 255, 255, 128}));
        const Image image = gradient(16, 16, 4);
        const auto back = imageFromLinear(linearFromImage(image), 16, 16, 4);
        QVERIFY(back.pixels == image.pixels);
        VERGENCE_THROWS(ContractError, "value count", imageFromLinear(linear, 3, 3, 3));
    }

    void pastingIsClipped_data()
    {
        QTest::addColumn<int>("x");
        QTest::addColumn<int>("y");
        QTest::addColumn<int>("count");
        QTest::newRow("inside") << 1 << 1 << 6;
        QTest::newRow("left, top") << -1 << -1 << 2;
        QTest::newRow("right, bottom") << 6 << 4 << 2;
        QTest::newRow("outside right") << 8 << 0 << 0;
        QTest::newRow("outside left") << -3 << 0 << 0;
        QTest::newRow("far") << -100000 << 100000 << 0;
    }
    void pastingIsClipped()
    {
        QFETCH(int, x);
        QFETCH(int, y);
        QFETCH(int, count);
        Image target = makeImage(8, 5, 1);
        paste(target, makeImage(3, 2, 1, 9), x, y);
        QCOMPARE(static_cast<int>(std::count(target.pixels.begin(), target.pixels.end(), 9)),
                 count);
        VERGENCE_THROWS(ContractError, "channel counts", paste(target, makeImage(1, 1, 3), 0, 0));
    }

    void textIsDrawnInItsFace()
    {
        QCOMPARE(textWidth(""), 0);
        QCOMPARE(textWidth("A"), 5);
        QCOMPARE(textWidth("AB", 3), 33);
        Image image = makeImage(11, 7, 3);
        drawText(image, 0, 0, "Tj", 255, 128, 1);
        std::string picture;
        for (int y = 0; y < 7; ++y) {
            for (int x = 0; x < 11; ++x)
                picture += image.row(y)[x * 3] == 255 ? '#' : '.';
            picture += '\n';
        }
        QCOMPARE(QString::fromStdString(picture), QString("#####....#.\n"
                                                          "..#........\n"
                                                          "..#.....##.\n"
                                                          "..#......#.\n"
                                                          "..#......#.\n"
                                                          "..#...#..#.\n"
                                                          "..#....##..\n"));
        QCOMPARE(int{image.row(0)[1]}, 128);
    }

    void everyCharacterHasItsOwnPicture()
    {
        std::set<std::string> pictures;
        for (char character = ' '; character <= '~'; ++character) {
            Image image = makeImage(6, 8, 1);
            drawText(image, 0, 0, std::string(1, character), 255, 255, 255);
            for (int y = 0; y < 8; ++y)
                QCOMPARE(int{image.row(y)[5]}, 0);
            pictures.insert(std::string(image.pixels.begin(), image.pixels.end()));
        }
        QCOMPARE(pictures.size(), std::size_t{95});
    }

    void textIsClippedAndScaled()
    {
        Image image = makeImage(10, 10, 4, 1);
        drawText(image, -3, -3, "WWW", 200, 100, 50, 3);
        drawText(image, 1000, -1000, "x", 1, 1, 1);
        QVERIFY(std::count(image.pixels.begin(), image.pixels.end(), 200) > 0);
        Image grey = makeImage(10, 14, 1);
        drawText(grey, 0, 0, "I", 0, 255, 0, 2);
        QCOMPARE(int{grey.row(4)[4]}, 182); // luminance of green
        QCOMPARE(static_cast<int>(std::count(grey.pixels.begin(), grey.pixels.end(), 182)),
                 4 * (3 + 5 + 3));
        VERGENCE_THROWS(ContractError, "scale", drawText(grey, 0, 0, "x", 1, 1, 1, 0));
    }
};

VERGENCE_TEST(TestImage)
#include "tst_image.moc"
