#include <algorithm>
#include <cstring>
#include <fstream>
#include <thread>

#include <QTest>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/artifact/artifact_store.h"
#include "core/artifact/run_folder.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "plugins/mc_embedding/io/cache_file.h"
#include "plugins/mc_embedding/io/pixel_cache.h"
#include "plugins/mc_embedding/io/writer_lock.h"
#include "tests/plugins/mc_embedding/pictures.h"
#include "tests/support/full_disk.h"
#include "tests/support/golden.h"
#include "tests/support/scratch.h"
#include "tests/support/thrown.h"

namespace fs = std::filesystem;
using namespace vergence;
using namespace vergence::mc_embedding;
using vergence::test::crcOf;
using vergence::test::Scratch;

namespace {

constexpr std::size_t kCount = 40;

Preprocess small()
{
    Preprocess how;
    how.size = 16;
    return how;
}

/// A folder with demo images and room for a cache.
struct Study {
    Scratch scratch;
    ImageSet set;

    explicit Study(std::size_t count = kCount)
    {
        writeDemoImages(images(), count, 42);
        SamplingOptions options;
        options.count = count;
        set = sampleFolder(images(), options);
    }
    fs::path images() const { return scratch / "images"; }
    fs::path folder() const { return scratch / "cache"; }
    fs::path source(std::size_t index) const { return set.folder / set.images[index].path; }
    std::unique_ptr<PixelCache> open(const std::string& degradation = "none")
    {
        return PixelCache::open(folder(), set, small(), degradation);
    }
    std::unique_ptr<PixelCache> filled(const std::string& degradation = "none")
    {
        auto cache = open(degradation);
        cache->fill(set, {}, {});
        return cache;
    }
    /// The picture as it should lie in the cache.
    std::vector<std::uint8_t> wanted(std::size_t index,
                                     const std::string& degradation = "none") const
    {
        const Image image = decodeRgb(source(index));
        const std::uint32_t id = maskIdOf(sha256OfFile(source(index)));
        return preprocessed(degraded(image, degradation, 42, id), small()).pixels;
    }
    bool isRight(const PixelCache& cache, std::size_t index) const
    {
        const auto got = cache.pixels(index);
        const auto want = wanted(index);
        return std::equal(got.begin(), got.end(), want.begin(), want.end());
    }
    bool isRight(const PixelCache& cache) const
    {
        for (std::size_t i = 0; i < cache.count(); ++i) {
            if (!isRight(cache, i))
                return false;
        }
        return cache.isComplete() && cache.skipped().empty();
    }
};

void overwrite(const fs::path& path, std::size_t at, const std::string& bytes)
{
    std::fstream stream(path, std::ios::binary | std::ios::in | std::ios::out);
    stream.seekp(static_cast<std::streamoff>(at));
    stream << bytes;
}

/// Waits for a child and returns its exit code.
int resultOf(pid_t child)
{
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace

class TestMcPixelCache : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void picturesAreDecodedOnce()
    {
        Study study;
        {
            const auto cache = study.open();
            QVERIFY(!cache->isComplete());
            std::vector<std::size_t> steps;
            cache->fill(study.set, {}, [&](std::size_t done, std::size_t total) {
                QCOMPARE(total, kCount);
                steps.push_back(done);
            });
            QVERIFY(steps.front() == 0 && steps.back() == kCount &&
                    std::is_sorted(steps.begin(), steps.end()));
            // Told more often, so that a stop is heard while nothing is ready yet.
            steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
            QCOMPARE(steps.size(), kCount + 1);
            QCOMPARE(cache->decoded(), kCount);
            QVERIFY(study.isRight(*cache));
            QCOMPARE(cache->side(), 16);
            cache->fill(study.set, {}, {});
            QCOMPARE(cache->decoded(), kCount);
        }
        const auto again = study.filled();
        QCOMPARE(again->decoded(), std::size_t{0});
        QVERIFY(study.isRight(*again));
        QCOMPARE(fs::exists(again->file().string() + ".lock"), false);
    }

    void theSetLearnsItsHashes()
    {
        Study study;
        const std::string before = study.set.digest();
        study.filled();
        for (std::size_t i = 0; i < kCount; ++i) {
            QCOMPARE(study.set.images[i].sha256, sha256OfFile(study.source(i)));
            QCOMPARE(study.set.images[i].maskId, maskIdOf(study.set.images[i].sha256));
        }
        QVERIFY(study.set.digest() != before);
        for (StudyImage& image : study.set.images)
            image.maskId = 7;
        study.set.idsFromIndex = true;
        study.filled();
        QCOMPARE(study.set.images[3].maskId, 7u); // as the set was drawn
    }

    void stoppedFillsGoOn()
    {
        Study study;
        std::stop_source stop;
        std::size_t first = 0;
        {
            const auto cache = study.open();
            cache->fill(study.set, stop.get_token(), [&](std::size_t done, std::size_t) {
                if (done == 5)
                    stop.request_stop();
            });
            first = cache->decoded();
            QVERIFY(!cache->isComplete() && first >= 5 && first < kCount);
            for (std::size_t i = 0; i < kCount; ++i)
                QVERIFY(!cache->isReady(i) || study.isRight(*cache, i));
        }
        const auto cache = study.filled();
        QCOMPARE(cache->decoded(), kCount - first);
        QVERIFY(study.isRight(*cache));
    }

    void brokenPicturesAreSkippedWithTheReason()
    {
        Study study;
        std::ofstream(study.source(1), std::ios::trunc) << "BM no decoder";
        fs::remove(study.source(2));
        fs::resize_file(study.source(3), 70);
        for (int round = 0; round < 2; ++round) {
            const auto cache = study.filled();
            QVERIFY(cache->isComplete());
            QCOMPARE(cache->skipped().size(), std::size_t{3});
            const char* const parts[] = {"BMP", "No such file", "PNG"};
            for (std::size_t i = 0; i < 3; ++i) {
                const SkippedImage& image = cache->skipped()[i];
                QCOMPARE(image.index, i + 1);
                QCOMPARE(image.path, study.set.images[i + 1].path);
                QVERIFY2(image.reason.find(parts[i]) != std::string::npos, image.reason.c_str());
            }
            QCOMPARE(cache->decoded(), round == 0 ? kCount - 1 : 0u); // one could not be read
            QVERIFY(study.isRight(*cache, 0) && study.isRight(*cache, 4));
        }
        QVERIFY(study.set.images[2].sha256.empty());
        fs::copy_file(study.source(0), study.source(2));
        const auto cache = study.filled();
        QVERIFY(cache->skipped().size() == 2 && study.isRight(*cache, 2));
    }

    void changedSourcesAreNoticed()
    {
        Study study;
        const auto cache = study.filled();
        const std::string before = study.set.images[5].sha256;
        // Same length and other content: two pictures of one family.
        fs::copy_file(study.source(6), study.source(5), fs::copy_options::overwrite_existing);
        fs::last_write_time(study.source(5),
                            fs::last_write_time(study.source(5)) + std::chrono::seconds(2));
        cache->fill(study.set, {}, {});
        QVERIFY(study.isRight(*cache) && study.set.images[5].sha256 != before);
        QCOMPARE(cache->decoded(), kCount + 1);

        fs::last_write_time(study.source(7),
                            fs::last_write_time(study.source(7)) + std::chrono::hours(1));
        const auto again = study.filled();
        QVERIFY(study.isRight(*again));
        QCOMPARE(again->decoded(), std::size_t{0}); // touched, but the same bytes
    }

    void otherSetsShareTheirRecords()
    {
        Study study;
        study.filled();
        Study part;
        part.set = study.set;
        part.set.images.resize(10);
        std::reverse(part.set.images.begin(), part.set.images.end());
        const auto cache = PixelCache::open(study.folder(), part.set, small());
        cache->fill(part.set, {}, {});
        QCOMPARE(cache->decoded(), std::size_t{0});
        QCOMPARE(cache->reused(), std::size_t{10});
        for (std::size_t i = 0; i < 10; ++i) {
            const auto want = study.wanted(9 - i);
            QVERIFY(std::equal(want.begin(), want.end(), cache->pixels(i).begin()));
        }
        const auto blurred = PixelCache::open(study.folder(), part.set, small(), "blur5");
        blurred->fill(part.set, {}, {});
        QCOMPARE(blurred->decoded(), std::size_t{10});
        QCOMPARE(blurred->reused(), std::size_t{0});
    }

    void damagedRecordsOfOtherSetsAreNotShared()
    {
        Study study;
        const fs::path file = study.filled()->file();
        CacheLayout layout = CacheFile::layoutOf(file);
        QCOMPARE(layout.count, kCount);
        overwrite(file, layout.recordOffset(4) + 9, std::string(1, '\x55'));
        overwrite(file, layout.recordOffset(4) + 10, std::string(1, '\xAA'));
        ImageSet part = study.set;
        part.images = {study.set.images[4], study.set.images[5]};
        const auto cache = PixelCache::open(study.folder(), part, small());
        cache->fill(part, {}, {});
        QCOMPARE(cache->reused(), std::size_t{1});
        const auto want = study.wanted(4);
        QVERIFY(std::equal(want.begin(), want.end(), cache->pixels(0).begin()));
    }

    void degradedCopiesHaveTheirOwnFile()
    {
        Study study(12);
        for (const char* name : {"none", "blur5", "down4", "occlude0.25"}) {
            const auto cache = study.filled(name);
            QCOMPARE(cache->decoded(), std::size_t{12});
            for (std::size_t i = 0; i < 12; ++i) {
                const auto want = study.wanted(i, name);
                QVERIFY(std::equal(want.begin(), want.end(), cache->pixels(i).begin()));
            }
        }
        ImageSet set = study.set;
        // Only occlusions draw, so only they depend on the seed.
        const auto same = PixelCache::open(study.folder(), set, small(), "blur5", 43);
        same->fill(set, {}, {});
        QCOMPARE(same->decoded(), std::size_t{0});
        const auto other = PixelCache::open(study.folder(), set, small(), "occlude0.25", 43);
        other->fill(set, {}, {});
        QCOMPARE(other->decoded(), std::size_t{12});
    }

    void truncatedFilesAreRedone()
    {
        Study study;
        const fs::path file = study.filled()->file();
        const auto whole = fs::file_size(file);
        for (const double share : {0.999, 0.5, 0.3, 0.1, 0.001, 0.0}) {
            fs::resize_file(file, static_cast<std::uintmax_t>(static_cast<double>(whole) * share));
            const auto cache = study.filled();
            QVERIFY2(study.isRight(*cache), qPrintable(QString::number(share)));
            QVERIFY(cache->decoded() >= 1);
            if (share == 0.999)
                QCOMPARE(cache->decoded(), std::size_t{1});
            QCOMPARE(fs::file_size(file), whole);
        }
    }

    void flippedBytesAreRedone_data()
    {
        QTest::addColumn<QString>("place");
        QTest::addColumn<int>("redone");
        QTest::newRow("record") << "record" << 1;
        QTest::newRow("hash in the index") << "entry" << 1;
        QTest::newRow("status") << "status" << 1;
        QTest::newRow("header") << "header" << static_cast<int>(kCount);
        QTest::newRow("magic") << "magic" << static_cast<int>(kCount);
    }

    void flippedBytesAreRedone()
    {
        QFETCH(QString, place);
        QFETCH(int, redone);
        Study study;
        const fs::path file = study.filled()->file();
        const CacheLayout layout = CacheFile::layoutOf(file);
        const std::size_t at = place == "record"   ? layout.recordOffset(7) + 100
                               : place == "entry"  ? layout.entryOffset(7) + 3
                               : place == "status" ? layout.entryOffset(7) + 44
                               : place == "header" ? 80
                                                   : 0;
        const char byte = readFile(file)[at];
        overwrite(file, at, std::string(1, static_cast<char>(byte ^ 1)));
        const auto cache = study.filled();
        QCOMPARE(cache->decoded(), static_cast<std::size_t>(redone));
        QVERIFY(study.isRight(*cache));
    }

    void aSecondWriterIsRefusedWithTheReason()
    {
        Study study;
        auto first = study.open();
        const std::string pid = std::to_string(::getpid());
        VERGENCE_THROWS(InputError, ("process " + pid + " is writing it").c_str(), study.open());
        VERGENCE_THROWS(InputError, "Wait until that run", study.open());
        first->fill(study.set, {}, {});
        const auto reader = study.filled(); // the first one is done, both read
        QVERIFY(study.isRight(*first) && study.isRight(*reader));
    }

    void anotherComputerIsNamedAsSuch()
    {
        Study study;
        fs::create_directories(study.folder());
        const fs::path path = study.folder() / "x.lock";
        const int file = ::open(path.c_str(), O_RDWR | O_CREAT, 0644);
        QVERIFY(::flock(file, LOCK_EX | LOCK_NB) == 0);
        VERGENCE_THROWS(InputError, "another process", WriterLock lock(path));
        overwrite(path, 0, "pid 5\nboot 0000\n");
        VERGENCE_THROWS(InputError, "process 5 of another computer", WriterLock lock(path));
        ::close(file);
        {
            const WriterLock lock(path);
            QCOMPARE(readFile(path),
                     "pid " + std::to_string(::getpid()) + "\nboot " + currentBootId() + "\n");
        }
        QVERIFY(!fs::exists(path));
        VERGENCE_THROWS(OutputError, "nowhere", WriterLock lock(study.scratch / "nowhere/x.lock"));
    }

    void theLockOfADeadWriterIsTakenOver()
    {
        Study study;
        const pid_t child = ::fork();
        if (child == 0) {
            const auto cache = study.open();
            ::_exit(fs::exists(cache->file().string() + ".lock") ? 7 : 8); // no destructor runs
        }
        QCOMPARE(resultOf(child), 7);
        const auto cache = study.open();
        QVERIFY(readFile(cache->file().string() + ".lock")
                    .starts_with("pid " + std::to_string(::getpid()) + "\n"));
        cache->fill(study.set, {}, {});
        QVERIFY(study.isRight(*cache));
    }

    void fullDisksKeepWhatIsDone()
    {
        Study study;
        std::stop_source stop;
        auto cache = study.open();
        cache->fill(study.set, stop.get_token(), [&](std::size_t done, std::size_t) {
            if (done == 10)
                stop.request_stop();
        });
        const std::size_t first = cache->decoded();
        QVERIFY(first >= 10 && first < kCount);
        {
            const vergence::testing::FullDisk full(study.folder());
            try {
                cache->fill(study.set, {}, {});
                QFAIL("a full disk was not noticed");
            } catch (const OutputError& error) {
                QVERIFY(error.diskIsFull());
                QVERIFY(std::string(error.what()).find("Free some space") != std::string::npos);
            }
        }
        cache.reset();
        const auto again = study.filled();
        QCOMPARE(again->decoded(), kCount - first);
        QVERIFY(study.isRight(*again));
    }

    void aFullDiskFromTheStartIsSaid()
    {
        Study study;
        fs::create_directories(study.folder());
        const vergence::testing::FullDisk full(study.folder());
        VERGENCE_THROWS(OutputError, "Free some space", study.open());
        QVERIFY(vergence::test::contentOf(study.folder()).empty());
    }

    void recordsCanBeReadWhileOthersAreMade()
    {
        Study study;
        const auto cache = study.open();
        ImageSet copy = study.set;
        std::jthread filler([&] { cache->fill(copy, {}, {}); });
        for (std::size_t i = 0; i < kCount; ++i) {
            while (!cache->isReady(i))
                std::this_thread::yield();
            QVERIFY(study.isRight(*cache, i));
            QCOMPARE(cache->sourceSha256(i), sha256OfFile(study.source(i)));
        }
    }

    void foldersThatCannotBeMadeAreNamed()
    {
        Study study(2);
        std::ofstream(study.scratch / "file") << "x";
        VERGENCE_THROWS(OutputError, "file",
                        PixelCache::open(study.scratch / "file/cache", study.set, small()));
        VERGENCE_THROWS(ContractError, "known degradation",
                        PixelCache::open(study.folder(), study.set, small(), "fog"));
        ImageSet none;
        VERGENCE_THROWS(ContractError, "a set with images",
                        PixelCache::open(study.folder(), none, small()));
    }

    void photographsMakeACache()
    {
        VERGENCE_DATA_FOLDER(fox, "fox/images");
        const Scratch scratch;
        SamplingOptions options;
        options.sampling = "manifest"; // in the order of names
        options.count = 12;
        ImageSet set = sampleFolder(fox, options);
        QCOMPARE(set.images.size(), std::size_t{12});
        const auto cache = PixelCache::open(scratch.path(), set, Preprocess{});
        cache->fill(set, {}, {});
        QCOMPARE(cache->decoded(), std::size_t{12});
        QVERIFY(cache->isComplete() && cache->skipped().empty());
        QCOMPARE(set.images[0].path, std::string("0001.jpg"));
        Image first = makeImage(224, 224, 3);
        std::copy_n(cache->pixels(0).begin(), first.pixels.size(), first.pixels.begin());
        QCOMPARE(crcOf(first), QStringLiteral("bc8b0c64")); // Pillow 13
        QCOMPARE(set.images[0].sha256, sha256OfFile(fox / "0001.jpg"));
    }
};

QTEST_APPLESS_MAIN(TestMcPixelCache)
#include "tst_mc_pixel_cache.moc"
