#include <algorithm>
#include <cstring>
#include <span>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QtTest>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/view/frame_channel.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;

namespace {

std::string ringName(const char* what)
{
    return fmt::format("/vergence-test-{}-{}", ::getpid(), what);
}

/// A frame all of whose parts follow from its sequence.
Frame frameFor(std::uint64_t sequence, std::size_t largest)
{
    Frame frame;
    frame.info.stream = fmt::format("stream {}", sequence % 7);
    frame.info.sequence = sequence;
    frame.info.step = -static_cast<std::int64_t>(sequence);
    frame.info.width = static_cast<std::uint32_t>(1 + sequence * 31 % largest);
    frame.info.height = 3;
    frame.info.layers = 1 + sequence % 2;
    frame.info.meta = std::string(sequence % 40, static_cast<char>('a' + sequence % 26));
    frame.pixels.assign(frame.info.pixelBytes(), static_cast<std::byte>(sequence * 37 % 251));
    return frame;
}

bool isWhole(const Frame& frame, std::size_t largest)
{
    const Frame wanted = frameFor(frame.info.sequence, largest);
    return frame.pixels == wanted.pixels && frame.info.stream == wanted.info.stream &&
           frame.info.meta == wanted.info.meta && frame.info.step == wanted.info.step &&
           frame.info.width == wanted.info.width && frame.info.layers == wanted.info.layers;
}

constexpr std::size_t kLargest = 2000, kSlot = kLargest * 3 * 2 * 4 + 256;
constexpr std::uint64_t kFrames = 20'000;

void writeMany(FrameRingWriter& writer)
{
    for (std::uint64_t sequence = 1; sequence <= kFrames; ++sequence) {
        const Frame frame = frameFor(sequence, kLargest);
        writer.write(frame.info, frame.pixels);
    }
}

/// Reads until the last frame; the number of torn or backward frames.
int countFaults(FrameRingReader& reader)
{
    int faults = 0;
    for (std::uint64_t seen = 0; seen < kFrames;) {
        const auto frame = reader.readNewest(seen);
        if (!frame)
            continue;
        faults += frame->info.sequence <= seen || !isWhole(*frame, kLargest);
        seen = frame->info.sequence;
    }
    return faults;
}

} // namespace

class TestFrameRing : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void newestFrameComesBackWhole()
    {
        FrameRingWriter writer(ringName("whole"), kSlot);
        FrameRingReader reader(writer.name());
        QVERIFY(!reader.readNewest(0));
        for (std::uint64_t sequence = 1; sequence <= 10; ++sequence) {
            const Frame frame = frameFor(sequence, kLargest);
            writer.write(frame.info, frame.pixels);
            const auto read = reader.readNewest(sequence - 1);
            QVERIFY(read && isWhole(*read, kLargest));
            QCOMPARE(read->info.sequence, sequence);
            QVERIFY(!reader.readNewest(sequence));
        }
    }

    void lateReaderGetsTheNewestOnly()
    {
        FrameRingWriter writer(ringName("late"), kSlot);
        for (std::uint64_t sequence = 1; sequence <= 5; ++sequence) {
            const Frame frame = frameFor(sequence, kLargest);
            writer.write(frame.info, frame.pixels);
        }
        FrameRingReader reader(writer.name());
        QCOMPARE(reader.readNewest(0)->info.sequence, std::uint64_t{5});
    }

    void frameWithoutPixelsIsAFrame()
    {
        FrameRingWriter writer(ringName("bare"), 4096);
        FrameInfo info;
        info.stream = "optics";
        info.sequence = 1;
        info.meta = R"({"lines": []})";
        writer.write(info, std::span<const std::byte>());
        const auto read = FrameRingReader(writer.name()).readNewest(0);
        QVERIFY(read && read->pixels.empty());
        QCOMPARE(read->info.meta, info.meta);
    }

    void framesThatDoNotFitAreRefused()
    {
        FrameRingWriter writer(ringName("fit"), 1024);
        FrameInfo info;
        info.width = 16;
        info.height = 16;
        std::vector<std::byte> pixels(1024);
        writer.write(info, pixels);
        info.meta = "x";
        VERGENCE_THROWS(ContractError, "does not fit", writer.write(info, pixels));
        info.meta.clear();
        pixels.pop_back();
        VERGENCE_THROWS(ContractError, "pixel bytes differ", writer.write(info, pixels));
    }

    void ringIsPrivateAndDisappears()
    {
        const std::string name = ringName("private");
        {
            FrameRingWriter writer(name, 1000);
            struct stat status {};
            const int descriptor = ::shm_open(name.c_str(), O_RDONLY, 0);
            QVERIFY(descriptor >= 0 && ::fstat(descriptor, &status) == 0);
            ::close(descriptor);
            QCOMPARE(int(status.st_mode & 0777), 0600);
            VERGENCE_THROWS(OutputError, name.c_str(), FrameRingWriter(name, 1000));
            FrameRingReader stillThere(name);
        }
        VERGENCE_THROWS(InputError, name.c_str(), FrameRingReader{name});
    }

    void refusalWithoutAnException()
    {
        std::string reason;
        QVERIFY(!FrameRingWriter::tryCreate(ringName("huge"), std::size_t{1} << 39, reason));
        QVERIFY2(reason.find("MiB for previews") != std::string::npos, reason.c_str());
        VERGENCE_THROWS(InputError, "No such file", FrameRingReader{ringName("huge")});
    }

    void foreignAndDamagedRingsAreRefused_data()
    {
        QTest::addColumn<qint64>("bytes");
        QTest::addColumn<int>("word");
        QTest::addColumn<quint64>("value");
        QTest::newRow("empty") << qint64(0) << -1 << quint64(0);
        QTest::newRow("short") << qint64(100) << -1 << quint64(0);
        QTest::newRow("zeros") << qint64(65536) << -1 << quint64(0);
        QTest::newRow("version") << qint64(-1) << 1 << quint64(99);
        QTest::newRow("slot size") << qint64(-1) << 2 << (quint64(1) << 60);
        QTest::newRow("slot size overflows") << qint64(-1) << 2 << ~quint64(0);
    }
    void foreignAndDamagedRingsAreRefused()
    {
        QFETCH(qint64, bytes);
        QFETCH(int, word);
        QFETCH(quint64, value);
        const std::string name = ringName("foreign");
        std::unique_ptr<FrameRingWriter> writer;
        if (bytes < 0)
            writer = std::make_unique<FrameRingWriter>(name, 1000);
        const int descriptor = ::shm_open(name.c_str(), O_RDWR | O_CREAT, 0600);
        QVERIFY(descriptor >= 0);
        if (bytes >= 0)
            QCOMPARE(::ftruncate(descriptor, bytes), 0);
        if (word >= 0)
            QCOMPARE(::pwrite(descriptor, &value, 8, word * 8), ssize_t{8});
        ::close(descriptor);
        VERGENCE_THROWS(InputError, "not a frame ring", FrameRingReader{name});
        unlinkFrameRing(name);
    }

    void nonsenseInASlotIsNotBelieved()
    {
        FrameRingWriter writer(ringName("nonsense"), 1000);
        const Frame frame = frameFor(1, 1);
        writer.write(frame.info, frame.pixels);
        FrameRingReader reader(writer.name());
        QVERIFY(reader.readNewest(0).has_value());
        // The first frame lies in the second slot; words 3 to 9 are format, extents and sizes.
        constexpr off_t kSecondSlot = 4096 + 128 + 4096;
        const int descriptor = ::shm_open(writer.name().c_str(), O_RDWR, 0);
        for (int word = 3; word <= 9; ++word) {
            std::uint64_t kept = 0;
            const std::uint64_t wild = 0xFFFFFFFFFFFFFF00u;
            QCOMPARE(::pread(descriptor, &kept, 8, kSecondSlot + word * 8), ssize_t{8});
            QCOMPARE(::pwrite(descriptor, &wild, 8, kSecondSlot + word * 8), ssize_t{8});
            QVERIFY(!reader.readNewest(0));
            QCOMPARE(::pwrite(descriptor, &kept, 8, kSecondSlot + word * 8), ssize_t{8});
        }
        ::close(descriptor);
        QVERIFY(reader.readNewest(0).has_value());
    }

    void threadsNeverSeeATornFrame()
    {
        FrameRingWriter writer(ringName("threads"), kSlot);
        FrameRingReader first(writer.name()), second(writer.name());
        int faults[2] = {-1, -1};
        std::thread a([&] { faults[0] = countFaults(first); });
        std::thread b([&] { faults[1] = countFaults(second); });
        writeMany(writer);
        a.join();
        b.join();
        QCOMPARE(faults[0], 0);
        QCOMPARE(faults[1], 0);
    }

    void anotherProcessNeverSeesATornFrame()
    {
        FrameRingWriter writer(ringName("processes"), kSlot);
        const pid_t child = ::fork();
        QVERIFY(child >= 0);
        if (child == 0) {
            FrameRingReader reader(writer.name());
            ::_exit(std::min(countFaults(reader), 100));
        }
        writeMany(writer);
        int status = -1;
        QCOMPARE(::waitpid(child, &status, 0), child);
        QVERIFY(WIFEXITED(status));
        QCOMPARE(WEXITSTATUS(status), 0);
    }

    void killedWriterLeavesTheLastWholeFrame()
    {
        const std::string name = ringName("killed");
        int ready[2];
        QCOMPARE(::pipe(ready), 0);
        const pid_t child = ::fork();
        QVERIFY(child >= 0);
        if (child == 0) {
            FrameRingWriter writer(name, kSlot);
            for (std::uint64_t sequence = 1;; ++sequence) {
                const Frame frame = frameFor(sequence, kLargest);
                writer.write(frame.info, frame.pixels);
                if (sequence == 1000 && ::write(ready[1], "x", 1) != 1)
                    ::_exit(1);
            }
        }
        char byte = 0;
        QCOMPARE(::read(ready[0], &byte, 1), ssize_t{1});
        ::kill(child, SIGKILL);
        int status = 0;
        ::waitpid(child, &status, 0);
        const auto frame = FrameRingReader(name).readNewest(0);
        QVERIFY(frame && isWhole(*frame, kLargest));
        unlinkFrameRing(name);
        VERGENCE_THROWS(InputError, "No such file", FrameRingReader{name});
        ::close(ready[0]);
        ::close(ready[1]);
    }
};

VERGENCE_TEST(TestFrameRing)
#include "tst_frame_ring.moc"
