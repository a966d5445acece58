#include <QProcess>
#include <QTest>

#include "core/compute/tensor.h"
#include "core/view/frame_publisher.h"
#include "tests/cuda/interop_pattern.h"
#include "tests/support/cuda_device.h"
#include "tests/support/test_program.h"

using namespace vergence;

namespace {

const QString kModule = QStringLiteral(VERGENCE_BINARY_DIR "/lib/libvergence-cuda-interop.so");
const QString kChild = QStringLiteral(VERGENCE_BINARY_DIR "/bin/tests/interop_child");
constexpr int kPatience = 60'000; // ms; the first use of CUDA in a process takes seconds

/// The process that imports, as the window would.
class Viewer {
public:
    explicit Viewer(const QStringList& arguments)
    {
        m_process.setProcessChannelMode(QProcess::ForwardedErrorChannel);
        m_process.start(kChild, arguments);
    }
    ~Viewer()
    {
        m_process.closeWriteChannel();
        m_process.waitForFinished(kPatience);
    }

    /// The child's answer to a line.
    QString ask(const std::string& line)
    {
        m_process.write(line.data(), static_cast<qint64>(line.size()));
        return answer();
    }
    QString answer()
    {
        while (!m_process.canReadLine() && m_process.waitForReadyRead(kPatience))
            ;
        return QString::fromUtf8(m_process.readLine()).trimmed();
    }
    int exitCode()
    {
        m_process.waitForFinished(kPatience);
        return m_process.exitStatus() == QProcess::NormalExit ? m_process.exitCode() : -1;
    }

private:
    QProcess m_process;
};

FrameInfo infoOf(PixelFormat format, std::uint32_t width, std::uint32_t height,
                 std::uint32_t layers)
{
    FrameInfo info;
    info.stream = "eye_view";
    info.format = format;
    info.width = width;
    info.height = height;
    info.layers = layers;
    return info;
}

/// The run's side: frames of known pixels, written into slots of the device.
class Publisher {
public:
    explicit Publisher(std::shared_ptr<Device> device)
        : m_device(std::move(device)),
          m_stream(m_device->createStream())
    {
    }

    /// "RING SEQUENCE" of the next frame; empty where the device shares nothing.
    std::string publish(const FrameInfo& info)
    {
        const std::size_t bytes = info.pixelBytes();
        std::vector<std::uint8_t> pixels(bytes);
        ++m_sequence;
        for (std::size_t i = 0; i < bytes; ++i)
            pixels[i] = std::to_integer<std::uint8_t>(test::patternByte(m_sequence, i));
        if (!m_slots || m_slots->slotBytes() < bytes)
            m_slots = m_device->createSharedSlots(bytes);
        if (!m_slots)
            return {};
        const Tensor tensor = Tensor::fromHost<std::uint8_t>(*m_stream, m_device,
                                                             {static_cast<Index>(bytes)}, pixels);
        m_frames.publishShared(info, m_slots->write(*m_stream, tensor.data(), bytes));
        m_stream->synchronize(); // the tensor goes back to the pool
        const FrameNotice notice = m_frames.drainNotices().at(0);
        return notice.ring + " " + std::to_string(notice.sequence) + "\n";
    }

private:
    std::shared_ptr<Device> m_device;
    std::unique_ptr<Stream> m_stream;
    FramePublisher m_frames{"/vergence-test-interop-" +
                            std::to_string(QCoreApplication::applicationPid()) + "-"};
    std::unique_ptr<SharedSlots> m_slots;
    std::uint64_t m_sequence = 0;
};

} // namespace

/// The picture path of one GPU between two processes: publish, open through CUDA IPC, copy into an
/// OpenGL texture, read back. Needs a GPU with NVIDIA's OpenGL, but no display.
class TestInterop : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void probeSaysWhyNotOrNamesTheGpu()
    {
        Viewer viewer({"probe", kModule});
        const QString answer = viewer.answer();
        const int code = viewer.exitCode();
        QVERIFY2(code == 0 || code == 1 || code == 3, qPrintable(answer)); // never a crash
        QVERIFY(!answer.isEmpty());
        QCOMPARE(answer.startsWith("GPU-"), code == 0);
    }

    void probeWorksOnTheComputingGpu()
    {
        VERGENCE_CUDA_DEVICE(device);
        const QString uuid = QString::fromStdString(device->info().uuid);
        Viewer viewer({"probe", kModule, uuid});
        QCOMPARE(viewer.answer(), uuid);
        QCOMPARE(viewer.exitCode(), 0);
    }

    void probeRefusesAnotherGpu()
    {
        VERGENCE_CUDA_DEVICE(device);
        Viewer viewer({"probe", kModule, "GPU-00000000-0000-0000-0000-000000000000"});
        QVERIFY(viewer.answer().contains("is not the one that computes"));
        QCOMPARE(viewer.exitCode(), 1);
    }

    void texturesHoldWhatWasPublished_data()
    {
        QTest::addColumn<int>("format");
        QTest::addColumn<int>("width");
        QTest::addColumn<int>("height");
        QTest::addColumn<int>("layers");
        const auto add = [](const char* name, PixelFormat format) {
            QTest::addRow("%s image", name) << static_cast<int>(format) << 512 << 384 << 1;
            QTest::addRow("%s odd size", name) << static_cast<int>(format) << 333 << 77 << 1;
            QTest::addRow("%s stack", name) << static_cast<int>(format) << 65 << 33 << 8;
            QTest::addRow("%s pixel", name) << static_cast<int>(format) << 1 << 1 << 1;
        };
        add("RGBA8", PixelFormat::Rgba8);
        add("RGBA16F", PixelFormat::Rgba16F);
        add("R32F", PixelFormat::R32F);
    }
    void texturesHoldWhatWasPublished()
    {
        VERGENCE_CUDA_DEVICE(device);
        QFETCH(int, format);
        QFETCH(int, width);
        QFETCH(int, height);
        QFETCH(int, layers);
        const auto info = infoOf(static_cast<PixelFormat>(format), static_cast<unsigned>(width),
                                 static_cast<unsigned>(height), static_cast<unsigned>(layers));
        Publisher publisher(device);
        Viewer viewer({"import", kModule, QString::fromStdString(device->info().uuid)});
        for (int i = 0; i < 7; ++i) { // all slots, and all once more
            const std::string line = publisher.publish(info);
            QVERIFY2(!line.empty(), "the device shares no memory");
            QCOMPARE(viewer.ask(line), QStringLiteral("equal"));
        }
    }

    void formsFollowOneAnother()
    {
        VERGENCE_CUDA_DEVICE(device);
        Publisher publisher(device);
        Viewer viewer({"import", kModule, QString::fromStdString(device->info().uuid)});
        for (int round = 0; round < 8; ++round) {
            for (const auto& info :
                 {infoOf(PixelFormat::Rgba8, 64, 64, 1), infoOf(PixelFormat::Rgba8, 64, 64, 4),
                  infoOf(PixelFormat::R32F, 640, 480, 2),
                  infoOf(PixelFormat::Rgba16F, 1280, 720, 1)})
                QCOMPARE(viewer.ask(publisher.publish(info)), QStringLiteral("equal"));
        }
    }

    void manyRunsComeAndGo()
    {
        VERGENCE_CUDA_DEVICE(device);
        Viewer viewer({"import", kModule, QString::fromStdString(device->info().uuid)});
        for (int run = 0; run < 24; ++run) { // more than the viewer keeps open
            Publisher publisher(device);
            const auto info =
                infoOf(PixelFormat::Rgba8, 600 + 40 * static_cast<unsigned>(run), 480, 1);
            QCOMPARE(viewer.ask(publisher.publish(info)), QStringLiteral("equal"));
        }
    }
};

VERGENCE_TEST(TestInterop)
#include "tst_interop.moc"
