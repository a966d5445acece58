#include <algorithm>
#include <numeric>

#include <QTest>

#include "core/compute/dense/pair_kernels.h"
#include "tests/core/compute/ops/ops_support.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;

namespace {

constexpr std::uint16_t kUntouched = 0xabcd;

/// All different, none kUntouched.
std::vector<std::uint16_t> distinctNumbers(Index count)
{
    std::vector<std::uint16_t> numbers(static_cast<std::size_t>(count));
    std::iota(numbers.begin(), numbers.end(), std::uint16_t{1});
    std::replace(numbers.begin(), numbers.end(), kUntouched, std::uint16_t{0});
    return numbers;
}

void addProcessorRows()
{
    QTest::addColumn<int>("place");
#if defined(__x86_64__)
    QTest::newRow("v2") << -2;
    QTest::newRow("v3") << -3;
#endif
    QTest::newRow("this processor") << 0;
}

} // namespace

class TestPairs : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void matricesAreTurned_data() { addProcessorRows(); }
    void matricesAreTurned()
    {
        QFETCH(int, place);
        const auto device = placeOrSkip(place);
        const auto stream = device->createStream();
        for (const Index rows : {1, 31, 32, 33, 100}) {
            for (const Index columns : {1, 15, 16, 17, 70}) {
                const Index stride = columns + 3, turnedStride = rows + 5;
                const auto source = distinctNumbers(rows * stride);
                std::vector<std::uint16_t> target(static_cast<std::size_t>(columns * turnedStride),
                                                  kUntouched);
                std::vector<std::uint16_t> want = target;
                for (Index r = 0; r < rows; ++r) {
                    for (Index c = 0; c < columns; ++c)
                        want[static_cast<std::size_t>(c * turnedStride + r)] =
                            source[static_cast<std::size_t>(r * stride + c)];
                }
                turnPairs(*stream,
                          {source.data(), stride, rows, columns, target.data(), turnedStride});
                QVERIFY2(target == want, qPrintable(QString("%1 × %2").arg(rows).arg(columns)));
            }
        }
    }

    void rowsOfPanelsAlternateAndZerosFillUp_data() { addProcessorRows(); }
    void rowsOfPanelsAlternateAndZerosFillUp()
    {
        constexpr Index kColumns = PairedPanel::kColumns, kRows = PairedPanel::kRows;
        QFETCH(int, place);
        const auto device = placeOrSkip(place);
        const auto stream = device->createStream();
        for (const Index depth : {1, 2, 31, 32, 33, 64, 99}) {
            for (const Index columns : {1, 15, 16, 33, 64}) {
                for (const bool isTransposed : {false, true}) {
                    const Index stride = (isTransposed ? depth : columns) + 3;
                    const auto source = distinctNumbers((isTransposed ? columns : depth) * stride);
                    const Index padded = (depth + kRows - 1) / kRows * kRows;
                    std::vector<std::uint16_t> want(static_cast<std::size_t>(padded * kColumns));
                    for (Index r = 0; r < depth; ++r) {
                        for (Index c = 0; c < columns; ++c)
                            want[static_cast<std::size_t>((r / 2 * kColumns + c) * 2 + r % 2)] =
                                source[static_cast<std::size_t>(isTransposed ? c * stride + r
                                                                             : r * stride + c)];
                    }
                    std::vector<std::uint16_t> target(want.size() + 1, kUntouched);
                    pairPanel(*stream,
                              {source.data(), stride, isTransposed, depth, columns, target.data()});
                    want.push_back(kUntouched);
                    QVERIFY2(target == want, qPrintable(QString("%1 × %2, transposed: %3")
                                                            .arg(depth)
                                                            .arg(columns)
                                                            .arg(isTransposed)));
                }
            }
        }
    }
};

VERGENCE_TEST(TestPairs)
#include "tst_pairs.moc"
