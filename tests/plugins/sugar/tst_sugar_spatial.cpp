#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/compute/rng.h"
#include "plugins/sugar/spatial/neighbour_cache.h"
#include "plugins/sugar/spatial/point_tree.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::sugar;
namespace fs = std::filesystem;

namespace {

std::vector<float> randomPoints(std::size_t count, std::uint64_t seed = 3)
{
    const Rng rng(seed);
    std::vector<float> points(3 * count);
    for (std::size_t i = 0; i < points.size(); ++i)
        points[i] = 2 * rng.uniform(i) - 1;
    return points;
}

/// Tight heaps of about 50 points far from each other.
std::vector<float> clusteredPoints(std::size_t count)
{
    std::vector<float> points = randomPoints(count);
    const std::vector<float> heaps = randomPoints(count / 50, 9);
    for (std::size_t i = 0; i < points.size(); ++i)
        points[i] = 100 * heaps[i % heaps.size()] + 0.01F * points[i];
    return points;
}

double squaredDistance(const std::vector<float>& points, std::size_t a, std::size_t b)
{
    double sum = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const double difference =
            static_cast<double>(points[3 * a + axis]) - static_cast<double>(points[3 * b + axis]);
        sum += difference * difference;
    }
    return sum;
}

/// All points in order of distance, the point itself first.
std::vector<std::uint32_t> bruteForce(const std::vector<float>& points, std::size_t self,
                                      std::size_t k)
{
    std::vector<std::pair<double, std::uint32_t>> all;
    for (std::size_t i = 0; i < points.size() / 3; ++i)
        all.emplace_back(i == self ? -1 : squaredDistance(points, self, i),
                         static_cast<std::uint32_t>(i));
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(k, all.size()));
    std::partial_sort(all.begin(), end, all.end());
    std::vector<std::uint32_t> indices;
    for (auto entry = all.begin(); entry != end; ++entry)
        indices.push_back(entry->second);
    return indices;
}

std::vector<fs::path> filesIn(const fs::path& folder)
{
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder))
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

} // namespace

Q_DECLARE_METATYPE(std::vector<float>)

class SugarSpatialTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void tableEqualsBruteForce_data();
    void tableEqualsBruteForce();
    void fewPointsRepeatTheLastNeighbour();
    void equalDistancesKeepTheirOrder();
    void queriesNeedNotBePoints();
    void badInputIsRefused();
    void stoppedSearchIsEmpty();
    void nearestDistanceIsThatOfTheSecondEntry();
    void cacheIsReadBack();
    void stoppedCacheGoesOn();
    void damagedBatchIsSearchedAgain();
    void cacheKeepsTheNewestTables();
};

void SugarSpatialTest::tableEqualsBruteForce_data()
{
    QTest::addColumn<std::vector<float>>("points");
    QTest::newRow("random") << randomPoints(5'000);
    QTest::newRow("clustered") << clusteredPoints(5'000);
    QTest::newRow("coincident") << std::vector<float>(3 * 1'000, 0.3F);
    std::vector<float> grid;
    for (int i = 0; i < 1'000; ++i) {
        for (const int axis : {i % 10, i / 10 % 10, i / 100})
            grid.push_back(static_cast<float>(axis));
    }
    QTest::newRow("grid") << grid;
}

void SugarSpatialTest::tableEqualsBruteForce()
{
    QFETCH(std::vector<float>, points);
    const NeighbourTable table = nearestNeighbours(points, 16);
    QCOMPARE(table.count, static_cast<Index>(points.size() / 3));
    QCOMPARE(table.valid, 16);
    for (Index i = 0; i < table.count; ++i) {
        const auto row = table.row(i);
        QCOMPARE(std::vector<std::uint32_t>(row.begin(), row.end()),
                 bruteForce(points, static_cast<std::size_t>(i), 16));
    }
}

void SugarSpatialTest::fewPointsRepeatTheLastNeighbour()
{
    const NeighbourTable table =
        nearestNeighbours(std::vector<float>{0, 0, 0, 5, 0, 0, 1, 0, 0}, 5);
    QCOMPARE(table.valid, 3);
    QCOMPARE(table.index,
             std::vector<std::uint32_t>({0, 2, 1, 1, 1, /**/ 1, 2, 0, 0, 0, /**/ 2, 0, 1, 1, 1}));
    const NeighbourTable one = nearestNeighbours(std::vector<float>{1, 2, 3}, 2);
    QCOMPARE(one.valid, 1);
    QCOMPARE(one.index, std::vector<std::uint32_t>({0, 0}));
    QCOMPARE(nearestNeighbours({}, 4).count, 0);
    QCOMPARE(nearestNeighbours(randomPoints(33), 1).index.back(), 32U);
}

void SugarSpatialTest::equalDistancesKeepTheirOrder()
{
    std::vector<float> points; // forty points on both sides of the origin, all at distance 1
    for (int i = 0; i < 40; ++i)
        points.insert(points.end(), {i % 2 ? 1.0F : -1.0F, 0, 0});
    points.insert(points.end(), {0, 0, 0});
    const NeighbourTable table = nearestNeighbours(points, 4);
    const auto origin = table.row(40);
    QCOMPARE(std::vector<std::uint32_t>(origin.begin(), origin.end()),
             std::vector<std::uint32_t>({40, 0, 1, 2}));
    const auto last = table.row(39); // twenty points at its very place
    QCOMPARE(std::vector<std::uint32_t>(last.begin(), last.end()),
             std::vector<std::uint32_t>({39, 1, 3, 5}));
}

void SugarSpatialTest::queriesNeedNotBePoints()
{
    const std::vector<double> points{0, 0, 0, 1e-9, 0, 0, 4, 0, 0};
    const PointTree<double> tree(points);
    QCOMPARE(tree.count(), std::size_t{3});
    std::uint32_t index[4];
    double squared[4];
    const double near[] = {0.9e-9, 0, 0}, far[] = {10, 0, 0};
    QCOMPARE(tree.nearest(near, 2, index, squared), std::size_t{2});
    QCOMPARE(index[0], 1U);
    QCOMPARE(tree.nearest(far, 4, index, squared), std::size_t{3});
    QCOMPARE(index[0], 2U);
    QCOMPARE(squared[0], 36.0);
    QCOMPARE(PointTree<double>({}).nearest(far, 1, index, squared), std::size_t{0});
}

void SugarSpatialTest::badInputIsRefused()
{
    QVERIFY_THROWS_EXCEPTION(ContractError, nearestNeighbours(std::vector<float>(4), 1));
    QVERIFY_THROWS_EXCEPTION(ContractError, nearestNeighbours(std::vector<float>(3), 0));
    QVERIFY_THROWS_EXCEPTION(ContractError,
                             nearestNeighbours(std::vector<float>{0, NAN, 0, 1, 1, 1}, 1));
    QVERIFY_THROWS_EXCEPTION(ContractError,
                             nearestNeighbours(std::vector<float>{0, HUGE_VALF, 0}, 1));
}

void SugarSpatialTest::stoppedSearchIsEmpty()
{
    int asked = 0;
    const NeighbourTable table =
        nearestNeighbours(randomPoints(20'000), 4, [&] { return ++asked == 2; });
    QCOMPARE(table.count, 0);
    QVERIFY(table.index.empty());
    QCOMPARE(asked, 2);
}

void SugarSpatialTest::nearestDistanceIsThatOfTheSecondEntry()
{
    const std::vector<float> points{0, 0, 0, 0, 3, 4, 0, 3, 4.5F, 9, 9, 9, 9, 9, 9};
    const std::vector<float> logs = logNearestDistance(points, nearestNeighbours(points, 4));
    QCOMPARE(logs[0], static_cast<float>(std::log(5.0)));
    QCOMPARE(logs[1], static_cast<float>(std::log(0.5)));
    QCOMPARE(logs[3], static_cast<float>(std::log(1e-7)));
    QVERIFY_THROWS_EXCEPTION(ContractError, logNearestDistance(points, nearestNeighbours({}, 4)));
}

void SugarSpatialTest::cacheIsReadBack()
{
    const QTemporaryDir folder;
    const fs::path cache = fs::path(folder.path().toStdString()) / "a" / "b";
    const std::vector<float> points = randomPoints(2'000);
    const NeighbourTable fresh = cachedNeighbours(cache, points, 16);
    QVERIFY(fresh == nearestNeighbours(points, 16));
    const auto never = [] { return true; }; // a search would be stopped
    QVERIFY(cachedNeighbours(cache, points, 16, never) == fresh);
    QCOMPARE(cachedNeighbours(cache, points, 8, never).count, 0);
    std::vector<float> others = points;
    others[17] = std::nextafter(others[17], 2.0F);
    QCOMPARE(cachedNeighbours(cache, others, 16, never).count, 0);
    QVERIFY(cachedNeighbours(cache, {}, 16).index.empty());
}

void SugarSpatialTest::stoppedCacheGoesOn()
{
    const QTemporaryDir folder;
    const fs::path cache = folder.path().toStdString();
    const std::vector<float> points = randomPoints(static_cast<std::size_t>(kTableBatch) + 1'000);
    bool isFirstDone = false;
    const fs::path own = neighbourFolder(cache, points, 2);
    const NeighbourTable stopped = cachedNeighbours(cache, points, 2, [&] {
        isFirstDone = fs::exists(own / "00000");
        return isFirstDone;
    });
    QCOMPARE(stopped.count, 0);
    QVERIFY(isFirstDone);
    QCOMPARE(filesIn(own).size(), std::size_t{1});
    int asked = 0;
    const NeighbourTable table = cachedNeighbours(cache, points, 2, [&] {
        ++asked;
        return false;
    });
    QCOMPARE(asked, 1); // only the rest was searched
    QVERIFY(table == nearestNeighbours(points, 2));
}

void SugarSpatialTest::damagedBatchIsSearchedAgain()
{
    const QTemporaryDir folder;
    const fs::path cache = folder.path().toStdString();
    const std::vector<float> points = randomPoints(500);
    const NeighbourTable table = cachedNeighbours(cache, points, 16);
    const fs::path file = neighbourFolder(cache, points, 16) / "00000";
    const std::string intact = readFile(file);
    for (const std::size_t at : {std::size_t{0}, std::size_t{64}, intact.size() - 1}) {
        std::string damaged = intact;
        damaged[at] = static_cast<char>(damaged[at] ^ 1);
        writeFileAtomic(file, damaged);
        QVERIFY(cachedNeighbours(cache, points, 16) == table);
        QVERIFY(readFile(file) == intact);
    }
    writeFileAtomic(file, intact.substr(0, 100));
    QVERIFY(cachedNeighbours(cache, points, 16) == table);
    writeFileAtomic(file, std::string_view());
    QVERIFY(cachedNeighbours(cache, points, 16) == table);
    QVERIFY(readFile(file) == intact);
}

void SugarSpatialTest::cacheKeepsTheNewestTables()
{
    const QTemporaryDir folder;
    const fs::path cache = folder.path().toStdString();
    for (std::uint64_t seed = 1; seed <= kKeptTables + 2; ++seed) {
        (void)cachedNeighbours(cache, randomPoints(10, seed), 2);
        (void)cachedNeighbours(cache, randomPoints(10, 1), 2);
    }
    QCOMPARE(filesIn(cache).size(), kKeptTables);
    QVERIFY(fs::exists(neighbourFolder(cache, randomPoints(10, 1), 2)));
    QVERIFY(fs::exists(neighbourFolder(cache, randomPoints(10, kKeptTables + 2), 2)));
    QVERIFY(!fs::exists(neighbourFolder(cache, randomPoints(10, 2), 2)));
}

VERGENCE_TEST(SugarSpatialTest)
#include "tst_sugar_spatial.moc"
