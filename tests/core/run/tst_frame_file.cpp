#include <QTest>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/run/frame_file.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using vergence::test::Scratch;

namespace {

Frame someFrame()
{
    Frame frame;
    frame.info = {"eye view", 7, 40, PixelFormat::Rgba16F, 3, 2, 2, "{\"labels\":[\"é\\n\"]}"};
    frame.pixels.resize(frame.info.pixelBytes());
    for (std::size_t i = 0; i < frame.pixels.size(); ++i)
        frame.pixels[i] = static_cast<std::byte>(i * 37 + (i == 5 ? '\n' : 0));
    return frame;
}

} // namespace

class TestFrameFile : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aFrameComesBackWhole()
    {
        const Scratch scratch;
        const Frame frame = someFrame();
        writeFrameFile(scratch / "a", frame);
        const auto read = readFrameFile(scratch / "a", 0);
        QVERIFY(read);
        QCOMPARE(read->info.stream, frame.info.stream);
        QCOMPARE(read->info.sequence, frame.info.sequence);
        QCOMPARE(read->info.step, frame.info.step);
        QVERIFY(read->info.format == frame.info.format);
        QCOMPARE(read->info.width, 3u);
        QCOMPARE(read->info.height, 2u);
        QCOMPARE(read->info.layers, 2u);
        QCOMPARE(read->info.meta, frame.info.meta);
        QVERIFY(read->pixels == frame.pixels && !read->shared);
    }

    void aDrawingHasNoPixels()
    {
        const Scratch scratch;
        Frame frame;
        frame.info.stream = "cloud";
        frame.info.sequence = 1;
        frame.info.meta = "{}";
        writeFrameFile(scratch / "a", frame);
        QVERIFY(readFrameFile(scratch / "a", 0));
    }

    void onlyWhatIsNewIsRead()
    {
        const Scratch scratch;
        writeFrameFile(scratch / "a", someFrame());
        QVERIFY(readFrameFile(scratch / "a", 6));
        QVERIFY(!readFrameFile(scratch / "a", 7));
    }

    void whatIsNoFrameIsNone_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        const std::string head =
            R"({"stream":"s","sequence":1,"step":0,"format":0,"width":1,"height":1,"layers":1,"meta":""})";
        QTest::newRow("empty") << QByteArray();
        QTest::newRow("no JSON") << QByteArray("frame\n1234");
        QTest::newRow("no width") << QByteArray(R"({"stream":"s","sequence":1,"step":0,"format":0})"
                                                "\n1234");
        QTest::newRow("pixels are missing") << QByteArray::fromStdString(head + "\n123");
        QTest::newRow("too many pixels") << QByteArray::fromStdString(head + "\n12345");
        QTest::newRow("unknown format")
            << QByteArray::fromStdString(head + "\n1234").replace("\"format\":0", "\"format\":9");
        QTest::newRow("negative")
            << QByteArray::fromStdString(head + "\n1234").replace("\"width\":1", "\"width\":-1");
    }

    void whatIsNoFrameIsNone()
    {
        QFETCH(QByteArray, bytes);
        const Scratch scratch;
        writeFileAtomic(scratch / "a", bytes.toStdString());
        QVERIFY(!readFrameFile(scratch / "a", 0));
        QVERIFY(!readFrameFile(scratch / "none", 0));
    }

    void framesOfADeviceAreRefused()
    {
        const Scratch scratch;
        Frame frame = someFrame();
        frame.shared = SharedPixels();
        VERGENCE_THROWS(ContractError, "host memory", writeFrameFile(scratch / "a", frame));
    }
};

VERGENCE_TEST(TestFrameFile)
#include "tst_frame_file.moc"
