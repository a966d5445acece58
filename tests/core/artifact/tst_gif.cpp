#include <cmath>

#include <QtTest>

#include "core/artifact/gif.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using vergence::test::Scratch;

namespace {

/// A square moving over flat colours: few colours in all.
std::vector<Image> fewColours(int count)
{
    std::vector<Image> frames;
    for (int i = 0; i < count; ++i) {
        Image frame = makeImage(32, 24, 3, 40);
        Image square = makeImage(6, 6, 3);
        for (std::size_t p = 0; p < square.pixels.size(); p += 3) {
            square.pixels[p] = static_cast<std::uint8_t>(i * 10);
            square.pixels[p + 1] = 255;
        }
        paste(frame, square, i, i / 2);
        frames.push_back(std::move(frame));
    }
    return frames;
}

std::vector<Image> manyColours(int count)
{
    std::vector<Image> frames;
    for (int i = 0; i < count; ++i) {
        Image frame = makeImage(64, 48, 3);
        for (int y = 0; y < 48; ++y) {
            for (int x = 0; x < 64; ++x) {
                frame.row(y)[x * 3] = static_cast<std::uint8_t>(x * 4);
                frame.row(y)[x * 3 + 1] = static_cast<std::uint8_t>(y * 5);
                frame.row(y)[x * 3 + 2] = static_cast<std::uint8_t>(i * 40);
            }
        }
        frames.push_back(std::move(frame));
    }
    return frames;
}

double rootMeanSquare(const Image& a, const Image& b)
{
    double sum = 0;
    for (std::size_t i = 0; i < a.pixels.size(); ++i)
        sum += std::pow(static_cast<double>(a.pixels[i]) - b.pixels[i], 2);
    return std::sqrt(sum / static_cast<double>(a.pixels.size()));
}

/// Error of the means over 8×8 blocks: what dithering keeps small.
double blockError(const Image& a, const Image& b)
{
    double worst = 0;
    for (int by = 0; by + 8 <= a.height; by += 8) {
        for (int bx = 0; bx + 8 <= a.width; bx += 8) {
            for (int c = 0; c < 3; ++c) {
                double difference = 0;
                for (int y = by; y < by + 8; ++y) {
                    for (int x = bx; x < bx + 8; ++x)
                        difference += a.row(y)[x * 3 + c] - b.row(y)[x * 3 + c];
                }
                worst = std::max(worst, std::abs(difference) / 64);
            }
        }
    }
    return worst;
}

} // namespace

class TestGif : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void fewColoursComeBackExactly_data()
    {
        QTest::addColumn<bool>("dithers");
        QTest::newRow("plain") << false;
        QTest::newRow("dithered") << true;
    }
    void fewColoursComeBackExactly()
    {
        QFETCH(bool, dithers);
        const Scratch scratch;
        const auto frames = fewColours(24);
        writeGif(scratch / "a.gif", frames, {8, true, dithers});
        const GifContent read = readGif(scratch / "a.gif");
        QCOMPARE(read.frames.size(), std::size_t{24});
        for (std::size_t i = 0; i < frames.size(); ++i) {
            QVERIFY(read.frames[i].pixels == frames[i].pixels);
            QCOMPARE(read.delaysCentiseconds[i], 8);
        }
        QVERIFY(read.loops);
        QCOMPARE(vergence::test::contentOf(scratch.path()).size(), std::size_t{1});
    }

    void exactly256ColoursAreExact()
    {
        const Scratch scratch;
        Image frame = makeImage(16, 16, 3);
        for (std::size_t i = 0; i < 256; ++i) {
            frame.pixels[i * 3] = static_cast<std::uint8_t>(i);
            frame.pixels[i * 3 + 1] = static_cast<std::uint8_t>(i * 7);
            frame.pixels[i * 3 + 2] = static_cast<std::uint8_t>(255 - i);
        }
        writeGif(scratch / "a.gif", {frame}, {});
        QVERIFY(readGif(scratch / "a.gif").frames.at(0).pixels == frame.pixels);
    }

    void delayAndLoopAreKept_data()
    {
        QTest::addColumn<int>("delay");
        QTest::addColumn<bool>("loops");
        QTest::newRow("once") << 3 << false;
        QTest::newRow("for ever") << 250 << true;
        QTest::newRow("no delay") << 0 << true;
        QTest::newRow("longest") << 65535 << false;
    }
    void delayAndLoopAreKept()
    {
        QFETCH(int, delay);
        QFETCH(bool, loops);
        const Scratch scratch;
        writeGif(scratch / "a.gif", fewColours(2), {delay, loops, false});
        const GifContent read = readGif(scratch / "a.gif");
        QCOMPARE(read.delaysCentiseconds, (std::vector<int>{delay, delay}));
        QCOMPARE(read.loops, loops);
        const std::string bytes = readFile(scratch / "a.gif");
        QCOMPARE(bytes.substr(0, 6), std::string("GIF89a"));
        QCOMPARE(bytes.find("NETSCAPE2.0") != std::string::npos, loops);
    }

    void manyColoursComeClose()
    {
        const Scratch scratch;
        const auto frames = manyColours(6);
        writeGif(scratch / "plain.gif", frames, {});
        writeGif(scratch / "dithered.gif", frames, {8, true, true});
        const auto plain = readGif(scratch / "plain.gif"),
                   dithered = readGif(scratch / "dithered.gif");
        QCOMPARE(plain.frames.size(), std::size_t{6});
        for (std::size_t i = 0; i < frames.size(); ++i) {
            const double error = rootMeanSquare(frames[i], plain.frames[i]);
            QVERIFY2(error < 16, qPrintable(QString::number(
                                     error))); // 18,432 colours onto 256: cells about 30 wide
        }
        double flat = 0, spread = 0;
        for (std::size_t i = 0; i < frames.size(); ++i) {
            flat = std::max(flat, blockError(frames[i], plain.frames[i]));
            spread = std::max(spread, blockError(frames[i], dithered.frames[i]));
        }
        QVERIFY2(spread < flat, qPrintable(QString("%1 against %2").arg(spread).arg(flat)));
        writeGif(scratch / "again.gif", frames, {});
        QVERIFY(readFile(scratch / "again.gif") == readFile(scratch / "plain.gif"));
    }

    /// Exact colours stay exact, a ramp keeps its means, and what stands still does not flicker.
    void orderedDotsKeepMeansAndStandStill()
    {
        const Scratch scratch;
        writeGif(scratch / "few.gif", fewColours(3), {.ordersDots = true});
        QVERIFY(readGif(scratch / "few.gif").frames[1].pixels == fewColours(3)[1].pixels);
        const auto frames = manyColours(6);
        writeGif(scratch / "plain.gif", frames, {});
        writeGif(scratch / "dots.gif", {frames[2], frames[2], frames[2]}, {.ordersDots = true});
        const auto dots = readGif(scratch / "dots.gif");
        QVERIFY(dots.frames[0].pixels == dots.frames[2].pixels);
        writeGif(scratch / "all.gif", frames, {.ordersDots = true});
        const auto plain = readGif(scratch / "plain.gif"), all = readGif(scratch / "all.gif");
        double flat = 0, spread = 0;
        for (std::size_t i = 0; i < frames.size(); ++i) {
            flat = std::max(flat, blockError(frames[i], plain.frames[i]));
            spread = std::max(spread, blockError(frames[i], all.frames[i]));
        }
        QVERIFY2(spread < flat, qPrintable(QString("%1 against %2").arg(spread).arg(flat)));
    }

    void oneColourIsEnough()
    {
        const Scratch scratch;
        writeGif(scratch / "a.gif", {makeImage(1, 1, 3, 77)}, {});
        QVERIFY((readGif(scratch / "a.gif").frames.at(0).pixels ==
                 std::vector<std::uint8_t>{77, 77, 77}));
    }

    void badFramesAreRefused()
    {
        const Scratch scratch;
        const auto write = [&](const std::vector<Image>& frames) {
            writeGif(scratch / "a.gif", frames, {});
        };
        VERGENCE_THROWS(ContractError, "no frames", write({}));
        VERGENCE_THROWS(ContractError, "one size", write({makeImage(2, 2, 3), makeImage(2, 3, 3)}));
        VERGENCE_THROWS(ContractError, "RGB", write({makeImage(2, 2, 4)}));
        VERGENCE_THROWS(ContractError, "delay",
                        writeGif(scratch / "a.gif", fewColours(1), {70000, true, false}));
        VERGENCE_THROWS(OutputError, "nowhere",
                        writeGif(scratch / "nowhere/a.gif", fewColours(1), {}));
        QVERIFY(vergence::test::contentOf(scratch.path()).empty());
    }

    void damagedFilesSayWhy()
    {
        const Scratch scratch;
        writeGif(scratch / "a.gif", fewColours(3), {});
        const std::string bytes = readFile(scratch / "a.gif");
        writeFileAtomic(scratch / "half.gif", std::string_view(bytes).substr(0, bytes.size() / 2));
        VERGENCE_THROWS(InputError, "half.gif", readGif(scratch / "half.gif"));
        writeFileAtomic(scratch / "text.gif", "hello");
        VERGENCE_THROWS(InputError, "Cannot read the GIF", readGif(scratch / "text.gif"));
        VERGENCE_THROWS(InputError, "No such file", readGif(scratch / "nowhere.gif"));
    }
};

VERGENCE_TEST(TestGif)
#include "tst_gif.moc"
