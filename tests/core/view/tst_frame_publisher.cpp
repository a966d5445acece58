#include <limits>
#include <thread>

#include <sys/mman.h>
#include <unistd.h>

#include <QtTest>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/view/frame_publisher.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;

namespace {

std::string prefix()
{
    return fmt::format("/vergence-test-{}-", ::getpid());
}

std::vector<std::byte> pixelsFor(FrameInfo& info, std::uint32_t width, std::uint32_t height,
                                 int value)
{
    info.width = width;
    info.height = height;
    return std::vector<std::byte>(info.pixelBytes(), static_cast<std::byte>(value));
}

} // namespace

class TestFramePublisher : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void noticesNameRingAndSequence()
    {
        FramePublisher publisher(prefix());
        FrameInfo info;
        info.stream = "eye/view é";
        info.step = 12;
        const auto pixels = pixelsFor(info, 8, 4, 7);
        publisher.publish(info, pixels);
        publisher.publish(info, pixels);
        const auto notices = publisher.drainNotices();
        QCOMPARE(notices.size(), std::size_t{1}); // the newest of each stream
        QCOMPARE(notices[0].stream, info.stream);
        QCOMPARE(notices[0].sequence, std::uint64_t{2});
        QVERIFY(publisher.drainNotices().empty());
        const auto frame = FrameRingReader(notices[0].ring).readNewest(1);
        QVERIFY(frame && frame->pixels == pixels);
        QCOMPARE(frame->info.step, std::int64_t{12});
        QCOMPARE(frame->info.stream, info.stream);
    }

    void framesInDeviceMemoryTravelAsHandles()
    {
        FramePublisher publisher(prefix());
        FrameInfo info;
        info.stream = "eye";
        info.width = info.height = 512;
        SharedPixels shared;
        shared.deviceUuid = "GPU-0123";
        shared.memoryHandle[3] = std::byte{7};
        shared.eventHandle[63] = std::byte{9};
        shared.offset = 1u << 20;
        publisher.publishShared(info, shared);
        const auto notices = publisher.drainNotices();
        QCOMPARE(notices.size(), std::size_t{1});
        FrameRingReader reader(notices[0].ring);
        const auto frame = reader.readNewest(0);
        QVERIFY(frame && frame->shared && frame->pixels.empty());
        QCOMPARE(frame->info.width, 512u);
        QCOMPARE(frame->shared->deviceUuid, std::string("GPU-0123"));
        QVERIFY(frame->shared->memoryHandle == shared.memoryHandle);
        QVERIFY(frame->shared->eventHandle == shared.eventHandle);
        QCOMPARE(frame->shared->offset, std::uint64_t{1u << 20});

        const auto pixels = pixelsFor(info, 8, 4, 7); // back to host memory in the same ring
        publisher.publish(info, pixels);
        const auto next = reader.readNewest(1);
        QVERIFY(next && !next->shared && next->pixels == pixels);
    }

    void streamsCountForThemselves()
    {
        FramePublisher publisher(prefix());
        for (const char* stream : {"a", "b", "a"}) {
            FrameInfo info;
            info.stream = stream;
            const auto pixels = pixelsFor(info, 2, 2, 1);
            publisher.publish(info, pixels);
        }
        QCOMPARE(publisher.newest("a").info.sequence, std::uint64_t{2});
        QCOMPARE(publisher.newest("b").info.sequence, std::uint64_t{1});
        QVERIFY(publisher.newest("c").pixels.empty());
        QCOMPARE(publisher.ringNames().size(), std::size_t{2});
        QVERIFY(publisher.ringNames()[0] != publisher.ringNames()[1]);
    }

    void ringGrowsUnderANewName()
    {
        FramePublisher publisher(prefix());
        FrameInfo info;
        info.stream = "view";
        auto pixels = pixelsFor(info, 8, 8, 1);
        publisher.publish(info, pixels);
        const std::string small = publisher.ringNames().at(0);
        pixels = pixelsFor(info, 800, 600, 2);
        publisher.publish(info, pixels);
        const std::string large = publisher.ringNames().at(0);
        QVERIFY(small != large);
        VERGENCE_THROWS(InputError, "No such file", FrameRingReader{small});
        const auto frame = FrameRingReader(large).readNewest(1);
        QVERIFY(frame && frame->pixels == pixels);
        QCOMPARE(frame->info.sequence, std::uint64_t{2});
    }

    void namesDisappearWithThePublisher()
    {
        std::vector<std::string> names;
        {
            FramePublisher publisher(prefix());
            publisher.publishDiagram("optics", "{}", 3);
            names = publisher.ringNames();
            QCOMPARE(publisher.newest("optics").info.meta, std::string("{}"));
        }
        VERGENCE_THROWS(InputError, "No such file", FrameRingReader{names.at(0)});
    }

    void linearPixelsAreEncoded()
    {
        FramePublisher publisher(prefix());
        const std::vector<float> grey{0, 0.21586050f, 1, std::numeric_limits<float>::quiet_NaN()};
        publisher.publishLinear("grey", grey, 2, 2, 1, 5, R"({"scale": 1})");
        const Frame frame = publisher.newest("grey");
        const int wanted[] = {0, 0, 0, 255, 128, 128, 128, 255, 255, 255, 255, 255, 0, 0, 0, 255};
        QCOMPARE(frame.pixels.size(), std::size_t{16});
        for (std::size_t i = 0; i < 16; ++i)
            QCOMPARE(std::to_integer<int>(frame.pixels[i]), wanted[i]);
        QCOMPARE(frame.info.meta, std::string(R"({"scale": 1})"));
        publisher.publishLinear("rgb", std::vector<float>{1, 0, 0.21586050f}, 1, 1, 3, 5);
        QCOMPARE(std::to_integer<int>(publisher.newest("rgb").pixels[2]), 128);
        VERGENCE_THROWS(ContractError, "value count",
                        publisher.publishLinear("rgb", grey, 2, 2, 3, 5));
        VERGENCE_THROWS(ContractError, "one or three",
                        publisher.publishLinear("rgb", grey, 1, 2, 2, 5));
    }

    void badFramesAreRefused()
    {
        FramePublisher publisher(prefix());
        FrameInfo info;
        VERGENCE_THROWS(ContractError, "name of its stream", publisher.publish(info, {}));
        info.stream = "view";
        info.width = 3;
        info.height = 3;
        VERGENCE_THROWS(ContractError, "pixel bytes", publisher.publish(info, {}));
        info.width = 1u << 20;
        VERGENCE_THROWS(ContractError, "65536", publisher.publish(info, {}));
        VERGENCE_THROWS(ContractError, "256 KiB",
                        publisher.publishDiagram("d", std::string((256 << 10) + 1, 'x'), 0));
        VERGENCE_THROWS(ContractError, "prefix", FramePublisher("x"));
    }

    void wantOfSharedMemoryCostsPreviewsOnly()
    {
        setLogToStderr(false);
        int warnings = 0;
        const int handle =
            addLogListener([&](const LogLine& line) { warnings += line.level == "warning"; });
        {
            FramePublisher publisher(
                "/" + std::string(240, 'x')); // names of 255 characters are the limit
            for (int i = 0; i < 3; ++i) {
                publisher.publishDiagram("a stream with a long name", "{}", i);
                QVERIFY(publisher.drainNotices().empty());
            }
            QVERIFY(publisher.newest("a stream with a long name").info.meta.empty());
            QVERIFY(publisher.ringNames().empty());
        }
        removeLogListener(handle);
        setLogToStderr(true);
        QCOMPARE(warnings, 1);
    }

    void newestIsReadWhileFramesArrive()
    {
        FramePublisher publisher(prefix());
        std::thread writer([&] {
            for (int i = 1; i <= 3000; ++i) {
                FrameInfo info;
                info.stream = "view";
                const auto pixels =
                    pixelsFor(info, 1 + static_cast<std::uint32_t>(i) / 10, 64, i % 251);
                publisher.publish(info, pixels);
            }
        });
        int torn = 0;
        for (std::uint64_t seen = 0; seen < 3000;) {
            const Frame frame = publisher.newest("view");
            for (const std::byte value : frame.pixels)
                torn += value != static_cast<std::byte>(frame.info.sequence % 251);
            seen = std::max(seen, frame.info.sequence);
        }
        writer.join();
        QCOMPARE(torn, 0);
    }
};

VERGENCE_TEST(TestFramePublisher)
#include "tst_frame_publisher.moc"
