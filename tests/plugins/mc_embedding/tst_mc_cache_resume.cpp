// A process that dies in the middle of writing its pixel cache: this program's own write() stands
// in front of the C library's and ends the process after a number of bytes.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>

#include <QTest>

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/compute/rng.h"
#include "plugins/mc_embedding/io/pixel_cache.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"

namespace fs = std::filesystem;
using namespace vergence;
using namespace vergence::mc_embedding;
using vergence::test::Scratch;

namespace {

constexpr int kDied = 77;
std::atomic<bool> isCounting{false}, isDeadly{false};
std::atomic<std::size_t> bytesLeft{0}, bytesWritten{0};

} // namespace

extern "C" __attribute__((visibility("default"))) ssize_t write(int descriptor, const void* bytes,
                                                                size_t count)
{
    if (isDeadly && bytesLeft < count) {
        ::syscall(SYS_write, descriptor, bytes, bytesLeft.load());
        ::_exit(kDied);
    }
    if (isDeadly)
        bytesLeft -= count;
    if (isCounting)
        bytesWritten += count;
    return ::syscall(SYS_write, descriptor, bytes, count);
}

namespace {

constexpr std::size_t kCount = 48; // more than a batch

Preprocess small()
{
    Preprocess how;
    how.size = 16;
    return how;
}

std::unique_ptr<PixelCache> filled(const fs::path& folder, ImageSet& set)
{
    auto cache = PixelCache::open(folder, set, small());
    cache->fill(set, {}, {});
    return cache;
}

std::vector<std::uint8_t> allPixels(const PixelCache& cache)
{
    std::vector<std::uint8_t> all;
    for (std::size_t i = 0; i < cache.count(); ++i)
        all.insert(all.end(), cache.pixels(i).begin(), cache.pixels(i).end());
    return all;
}

} // namespace

class TestMcCacheResume : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase()
    {
        writeDemoImages(m_scratch / "images", kCount, 42);
        SamplingOptions options;
        m_set = sampleFolder(m_scratch / "images", options);
        isCounting = true;
        const auto cache = filled(m_scratch / "whole", m_set);
        isCounting = false;
        m_whole = allPixels(*cache);
        QCOMPARE(cache->decoded(), kCount);
        QVERIFY(bytesWritten > m_whole.size());
    }

    void aKilledFillGoesOnToTheSamePixels_data()
    {
        QTest::addColumn<qulonglong>("bytes");
        const Rng rng(42);
        QTest::newRow("before the first byte") << 0ull;
        QTest::newRow("in the lock") << 5ull;
        for (std::uint64_t i = 0; i < 48; ++i) {
            const auto bytes =
                static_cast<qulonglong>(rng.uniform(i) * static_cast<double>(bytesWritten));
            QTest::addRow("%llu: after %llu", static_cast<qulonglong>(i), bytes) << bytes;
        }
    }

    void aKilledFillGoesOnToTheSamePixels()
    {
        QFETCH(qulonglong, bytes);
        const Scratch scratch;
        ImageSet set = m_set;
        const pid_t child = ::fork();
        if (child == 0) {
            bytesLeft = bytes;
            isDeadly = true;
            filled(scratch.path(), set);
            ::_exit(0);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        QVERIFY(WIFEXITED(status) && WEXITSTATUS(status) == kDied);
        const auto cache = filled(scratch.path(), set);
        QVERIFY(cache->isComplete() && cache->skipped().empty());
        QVERIFY(allPixels(*cache) == m_whole);
        QVERIFY(set.digest() == m_set.digest());
        const auto again = filled(scratch.path(), set);
        QCOMPARE(again->decoded(), std::size_t{0});
        QVERIFY(allPixels(*again) == m_whole);
    }

    void whatWasCommittedIsNotDecodedAgain()
    {
        // Dies within the check sum of the last entry.
        const Scratch scratch;
        ImageSet set = m_set;
        const pid_t child = ::fork();
        if (child == 0) {
            bytesLeft = bytesWritten - 14;
            isDeadly = true;
            filled(scratch.path(), set);
            ::_exit(0);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        QVERIFY(WIFEXITED(status) && WEXITSTATUS(status) == kDied);
        const auto cache = filled(scratch.path(), set);
        QCOMPARE(cache->decoded(), std::size_t{1}); // the one whose entry was torn
    }

private:
    Scratch m_scratch;
    ImageSet m_set;
    std::vector<std::uint8_t> m_whole;
};

VERGENCE_TEST(TestMcCacheResume)
#include "tst_mc_cache_resume.moc"
