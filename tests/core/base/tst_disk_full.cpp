// Writers on a file system of one megabyte, which this process mounts for itself alone.

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <QtTest>

#include "core/artifact/artifact_store.h"
#include "core/artifact/bundle.h"
#include "core/artifact/checkpoint.h"
#include "core/artifact/gif.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/support/scratch.h"
#include "tests/support/thrown.h"

using namespace vergence;
using vergence::test::contentOf;
using vergence::test::Scratch;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kDiskBytes = 1u << 20;

/// Whether this process has a mount table of its own; asked before there are threads.
bool ownsMounts = false;

bool leaveMounts()
{
    if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return false;
    return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

/// Noise, which no compressor makes smaller.
std::string noise(std::size_t bytes)
{
    std::string text(bytes, '\0');
    std::uint32_t random = 7;
    for (char& c : text)
        c = static_cast<char>((random = random * 1664525 + 1013904223) >> 24);
    return text;
}

/// Whether `body` throws an OutputError that says that the disk is full.
template <class Body>
bool fillsDisk(const Body& body)
{
    try {
        body();
    } catch (const OutputError& error) {
        return error.diskIsFull() && QString(error.what()).contains("Free some space");
    }
    return false;
}

} // namespace

class TestDiskFull : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init()
    {
        if (!ownsMounts)
            QSKIP("no right to mount a small file system");
        m_scratch = std::make_unique<Scratch>();
        m_disk = *m_scratch / "disk";
        fs::create_directory(m_disk);
        if (::mount("tmpfs", m_disk.c_str(), "tmpfs", 0, "size=1m") != 0)
            QSKIP("a small file system cannot be mounted here");
    }
    void cleanup()
    {
        if (!m_scratch)
            return;
        ::umount2(m_disk.c_str(), MNT_DETACH);
        m_scratch.reset();
    }

    void atomicWriteLeavesTheOldFile()
    {
        writeFileAtomic(m_disk / "a", "old");
        QVERIFY(fillsDisk([&] { writeFileAtomic(m_disk / "a", noise(2 * kDiskBytes)); }));
        QCOMPARE(readFile(m_disk / "a"), std::string("old"));
        QCOMPARE(contentOf(m_disk).size(), std::size_t{1});
    }

    void appendedLinesStayWhole()
    {
        AppendFile file(m_disk / "log");
        const std::string line = std::string(999, 'x') + "\n";
        file.append(line);
        {
            AppendFile filler(m_disk / "filler");
            const std::string block(4096, '-');
            while (freeBytes(m_disk) > 8192)
                filler.append(block);
        }
        const std::string many = noise(100'000);
        QVERIFY(fillsDisk([&] { file.append(many); }));
        QCOMPARE(readFile(m_disk / "log"), line);
        fs::remove(m_disk / "filler");
        file.append(line);
        QCOMPARE(readFile(m_disk / "log"), line + line);
    }

    void checkpointKeepsTheOlderOnes()
    {
        const RunFolder folder = RunFolder::createAt(m_disk / "run");
        Checkpoint checkpoint;
        checkpoint.step = 1;
        const std::vector<float> small(1000, 1.0f), large(kDiskBytes / 4, 2.0f);
        checkpoint.tensors = {HostTensor::from<float>("w", {1000}, small)};
        saveCheckpoint(folder, checkpoint, 1);
        const auto before = contentOf(m_disk);
        checkpoint.step = 2;
        checkpoint.tensors = {
            HostTensor::from<float>("w", {static_cast<Index>(large.size())}, large)};
        QVERIFY(fillsDisk([&] { saveCheckpoint(folder, checkpoint, 1); }));
        QVERIFY(contentOf(m_disk) == before);
        QCOMPARE(loadNewestCheckpoint(folder)->step, std::int64_t{1});
    }

    void imagesAndBundlesLeaveNothing()
    {
        Image image = makeImage(1000, 1000, 3);
        const std::string pixels = noise(image.pixels.size());
        image.pixels.assign(pixels.begin(), pixels.end());
        QVERIFY(fillsDisk([&] { writePng(m_disk / "a.png", image); }));
        QVERIFY(fillsDisk([&] { writeJpeg(m_disk / "a.jpg", image, 100); }));
        QVERIFY(fillsDisk([&] { writeGif(m_disk / "a.gif", {image, image}, {}); }));
        const RunFolder folder = RunFolder::createAt(*m_scratch / "run");
        ArtifactStore(folder).writeText("noise.bin", noise(2 * kDiskBytes), "x");
        QVERIFY(fillsDisk([&] { writeBundle(folder, m_disk / "a.zip"); }));
        QVERIFY(contentOf(m_disk).empty());
    }

    void artifactsThatFailAreNotListed()
    {
        ArtifactStore store(RunFolder{m_disk});
        const std::vector<float> values(kDiskBytes);
        QVERIFY(fillsDisk([&] { store.writeText("a.txt", noise(2 * kDiskBytes), "x"); }));
        QVERIFY(fillsDisk([&] {
            store.writeNpy("a.npy", values, {static_cast<std::int64_t>(values.size())}, "x");
        }));
        QVERIFY(store.list().empty());
        QVERIFY((contentOf(m_disk) == std::set<std::string>{"artifacts"}));
    }

    void openingABundleLeavesNothing()
    {
        const RunFolder folder = RunFolder::createAt(*m_scratch / "run");
        writeFileAtomic(folder.config(), "");
        RunStatus status;
        status.state = "Completed";
        writeStatus(folder, status);
        ArtifactStore(folder).writeText("zeros.bin", std::string(3 * kDiskBytes, '\0'), "x");
        writeBundle(folder, *m_scratch / "a.zip");
        QVERIFY(fillsDisk([&] { openBundle(*m_scratch / "a.zip", m_disk); }));
        QVERIFY(contentOf(m_disk).empty());
    }

private:
    std::unique_ptr<Scratch> m_scratch;
    fs::path m_disk;
};

/// The device that is always full needs no rights.
class TestFullDevice : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void appendingSaysThatTheDiskIsFull()
    {
        AppendFile file("/dev/full");
        QVERIFY(fillsDisk([&] { file.append("x\n"); }));
    }
};

int main(int argc, char** argv)
{
    ownsMounts = leaveMounts();
    TestDiskFull small;
    TestFullDevice device;
    const int failed = QTest::qExec(&small, argc, argv);
    return QTest::qExec(&device, argc, argv) + failed;
}

#include "tst_disk_full.moc"
