#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <numbers>
#include <numeric>

#include <QByteArray>
#include <QTest>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/compute/rng.h"
#include "plugins/mc_embedding/study/experiments/assignment.h"
#include "plugins/mc_embedding/study/experiments/association.h"
#include "plugins/mc_embedding/study/experiments/tracking_demo.h"
#include "tests/plugins/mc_embedding/statistics_support.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::mc_embedding;
using fixtures::matrixOf;
using vergence::test::Scratch;

namespace {

double costOf(const Matrix& costs, const std::vector<int>& columns)
{
    double sum = 0;
    for (std::size_t r = 0; r < columns.size(); ++r)
        sum += columns[r] < 0 ? 0 : costs(r, static_cast<std::size_t>(columns[r]));
    return sum;
}

/// The least cost by trying all ways; rows ≤ columns.
double leastByTrying(const Matrix& costs)
{
    std::vector<int> order(costs.columns);
    std::iota(order.begin(), order.end(), 0);
    double least = std::numeric_limits<double>::infinity();
    do {
        least = std::min(least,
                         costOf(costs, {order.begin(),
                                        order.begin() + static_cast<std::ptrdiff_t>(costs.rows)}));
    } while (std::next_permutation(order.begin(), order.end()));
    return least;
}

/// Two tracks, two detections; motion says nothing, appearance says `right` or the opposite.
TrackingFrame frameOf(bool right, double uncertainty)
{
    TrackingFrame frame;
    frame.tracks = {1, 2};
    frame.truth = {1, 2};
    frame.motion = matrixOf(2, {0.0, 0.5, 0.5, 0.0}); // the diagonal is a little better
    frame.appearance = right ? matrixOf(2, {0, 1, 1, 0}) : matrixOf(2, {1, 0, 0, 1});
    frame.uncertainty = {uncertainty, uncertainty};
    return frame;
}

} // namespace

class TestMcAssociation : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void theKnownAssignmentIsFound()
    {
        const Matrix costs = matrixOf(3, {4, 1, 3, 2, 0, 5, 3, 2, 2});
        const auto columns = optimalAssignment(costs);
        QVERIFY((columns == std::vector<int>{1, 0, 2}));
        QCOMPARE(costOf(costs, columns), 5.0);
    }

    void assignmentsAreOptimal()
    {
        const Rng rng(42);
        std::uint64_t next = 0;
        for (std::size_t rows = 1; rows <= 5; ++rows) {
            for (std::size_t columns = 1; columns <= 6; ++columns) {
                for (int round = 0; round < 20; ++round) {
                    Matrix costs(rows, columns);
                    for (double& cost : costs.values) // negative ones and ties too
                        cost = std::floor(rng.uniform(next++) * 12) - 4;
                    Matrix wide = costs;
                    if (rows > columns) {
                        wide = Matrix(columns, rows);
                        for (std::size_t r = 0; r < rows; ++r) {
                            for (std::size_t c = 0; c < columns; ++c)
                                wide(c, r) = costs(r, c);
                        }
                    }
                    const auto got = optimalAssignment(costs);
                    QCOMPARE(got.size(), rows);
                    QCOMPARE(costOf(costs, got), leastByTrying(wide));
                    std::vector<int> used;
                    std::copy_if(got.begin(), got.end(), std::back_inserter(used),
                                 [](int column) { return column >= 0; });
                    QCOMPARE(used.size(), std::min(rows, columns));
                    std::sort(used.begin(), used.end());
                    QVERIFY(std::adjacent_find(used.begin(), used.end()) == used.end());
                }
            }
        }
    }

    void emptyAndEndlessCostsAreHandled()
    {
        QVERIFY(optimalAssignment(Matrix(0, 3)).empty());
        QVERIFY((optimalAssignment(Matrix(2, 0)) == std::vector<int>{-1, -1}));
        VERGENCE_THROWS(ContractError, "finite",
                        optimalAssignment(matrixOf(1, {std::numeric_limits<double>::infinity()})));
    }

    void uncertainAppearanceIsTrustedLess()
    {
        // In every other frame appearance misleads, and its uncertainty is high there.
        std::vector<TrackingFrame> frames;
        for (int f = 0; f < 9; ++f)
            frames.push_back(frameOf(f % 2 == 0, f % 2 == 0 ? 1 : 5));
        const auto result = associationStudy(frames);
        QCOMPARE(result.baseline.detections, std::size_t{18});
        QCOMPARE(result.baseline.accuracy, 10.0 / 18);
        QCOMPARE(result.baseline.switches, std::size_t{16});
        QCOMPARE(result.baseline.fragmentations, std::size_t{8});
        QCOMPARE(result.adaptive.accuracy, 1.0);
        QCOMPARE(result.adaptive.switches, std::size_t{0});
        QCOMPARE(result.adaptive.fragmentations, std::size_t{0});
        QCOMPARE(result.oracle.accuracy, 1.0);
        QVERIFY(!result.hasLaplace);
        QVERIFY(toJson(result)["laplace_reason"].is_string());
    }

    void theUnitOfUncertaintyDoesNotMatter()
    {
        std::vector<TrackingFrame> small, large;
        for (int f = 0; f < 9; ++f) {
            small.push_back(frameOf(f % 2 == 0, f % 2 == 0 ? 1e-3 : 5e-3));
            large.push_back(frameOf(f % 2 == 0, f % 2 == 0 ? 1e3 : 5e3));
            small.back().laplace = small.back().uncertainty;
        }
        QCOMPARE(associationStudy(small).adaptive.accuracy, 1.0);
        QCOMPARE(associationStudy(large).adaptive.accuracy, 1.0);
        // The same uncertainty everywhere is none.
        for (TrackingFrame& frame : small)
            frame.uncertainty = {7, 7};
        const auto equal = associationStudy(small);
        QCOMPARE(equal.adaptive.accuracy, equal.baseline.accuracy);
        QVERIFY(equal.hasLaplace);
        QCOMPARE(equal.laplace.accuracy, 1.0);
    }

    void detectionsWithoutATrackDoNotCount()
    {
        TrackingFrame frame = frameOf(true, 1);
        frame.truth = {1, 9};
        const auto result = associationStudy({frame});
        QCOMPARE(result.baseline.detections, std::size_t{1});
        QCOMPARE(result.baseline.accuracy, 1.0);
        QCOMPARE(associationStudy({}).baseline.detections, std::size_t{0});
    }

    /// Wide clouds mislead: appearance alone is not enough, and knowing where it is wide helps.
    void demoIsNeitherSolvedNorHopeless()
    {
        constexpr std::size_t kObjects = 20, kDimensions = 12, kPasses = 24;
        const Rng random(9);
        std::uint64_t drawn = 0;
        const auto normal = [&] { // Box, Muller, 1958
            const double radius = std::sqrt(-2 * std::log(1 - double(random.uniform(drawn++))));
            return radius * std::cos(2 * std::numbers::pi * double(random.uniform(drawn++)));
        };
        std::vector<PassCloud> clouds;
        std::vector<double> uncertainty;
        for (std::size_t i = 0; i < kObjects; ++i) {
            const double spread = i % 2 == 0 ? 0.1 : 1.0;
            PassCloud cloud{Matrix(kPasses, kDimensions), {}};
            for (std::size_t d = 0; d < kDimensions; ++d)
                cloud.deterministic.push_back(normal());
            for (std::size_t t = 0; t < kPasses; ++t) {
                for (std::size_t d = 0; d < kDimensions; ++d)
                    cloud.passes(t, d) = cloud.deterministic[d] + spread * normal();
            }
            clouds.push_back(std::move(cloud));
            uncertainty.push_back(spread * spread);
        }
        const auto result = associationStudy(demoTrackingFrames(clouds, uncertainty, {}, 30, 42));
        qInfo("baseline %.3f, adaptive %.3f, oracle %.3f", result.baseline.accuracy,
              result.adaptive.accuracy, result.oracle.accuracy);
        QCOMPARE(result.baseline.detections, std::size_t(30 * kObjects));
        QVERIFY(result.baseline.accuracy > 0.3 && result.baseline.accuracy < 0.95);
        QVERIFY(result.baseline.switches > 0);
        QVERIFY(result.adaptive.accuracy > result.baseline.accuracy + 0.02);
        QVERIFY(result.oracle.accuracy > result.baseline.accuracy + 0.02);
        QVERIFY(!result.hasLaplace);
    }

    void framesAreReadFromJson()
    {
        const Scratch scratch;
        std::ofstream(scratch / "t.json") << R"({"frames": [
            {"tracks": [1, 2], "truth": [2], "motion": [[1], [0.5]], "appearance": [[0], [3]],
             "uncertainty": [0.25], "laplace": [2]},
            {"tracks": [], "truth": [], "motion": [], "appearance": [], "uncertainty": []}]})";
        const auto frames = readTrackingFrames(scratch / "t.json");
        QCOMPARE(frames.size(), std::size_t{2});
        QCOMPARE(frames[0].motion(1, 0), 0.5);
        QCOMPARE(frames[0].appearance(1, 0), 3.0);
        QCOMPARE(frames[0].uncertainty[0], 0.25);
        QCOMPARE(frames[0].laplace[0], 2.0);
        QCOMPARE(associationStudy(frames).baseline.detections, std::size_t{1});
    }

    void brokenFramesSayWhere_data()
    {
        QTest::addColumn<QByteArray>("frame");
        QTest::addColumn<QByteArray>("part");
        const auto frame = [](const char* motion, const char* uncertainty) {
            return QByteArray(
                       R"({"tracks": [1, 2], "truth": [2], "appearance": [[0], [3]], "motion": )") +
                   motion + R"(, "uncertainty": )" + uncertainty + "}";
        };
        QTest::newRow("no tracks") << QByteArray("{}") << QByteArray("frame 0: \"tracks\"");
        QTest::newRow("rows") << frame("[[1]]", "[1]")
                              << QByteArray("\"motion\" has 1 entries instead of 2");
        QTest::newRow("columns") << frame("[[1], [1, 2]]", "[1]")
                                 << QByteArray("row 1: \"motion\" has 2");
        QTest::newRow("text") << frame("[[1], [\"a\"]]", "[1]") << QByteArray("list of numbers");
        QTest::newRow("zero") << frame("[[1], [1]]", "[0]") << QByteArray("above 0");
        QTest::newRow("many") << frame("[[1], [1]]", "[1, 2]") << QByteArray("instead of 1");
    }

    void brokenFramesSayWhere()
    {
        QFETCH(QByteArray, frame);
        QFETCH(QByteArray, part);
        const Scratch scratch;
        std::ofstream(scratch / "t.json") << R"({"frames": [)" << frame.constData() << "]}";
        VERGENCE_THROWS(InputError, part.constData(), readTrackingFrames(scratch / "t.json"));
        std::ofstream(scratch / "u.json") << "[]";
        VERGENCE_THROWS(InputError, "u.json", readTrackingFrames(scratch / "u.json"));
    }
};

VERGENCE_TEST(TestMcAssociation)
#include "tst_mc_association.moc"
