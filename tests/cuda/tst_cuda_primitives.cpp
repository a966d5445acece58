#include <algorithm>
#include <numeric>

#include <QTest>

#include "core/compute/rng.h"
#include "tests/cuda/primitives_under_test.h"
#include "tests/support/cuda_device.h"

using namespace vergence;

/// Scan, sort and block sums on CUDA against the standard library.
class TestCudaPrimitives : public QObject {
    Q_OBJECT

    static void addSizes()
    {
        QTest::addColumn<int>("size");
        for (const int size : {0, 1, 31, 32, 33, 257, 5000})
            QTest::addRow("cuda, %d values", size) << size;
    }

private Q_SLOTS:
    void scanGivesSumsBefore_data() { addSizes(); }
    void scanGivesSumsBefore()
    {
        VERGENCE_CUDA_DEVICE(device);
        QFETCH(int, size);
        const auto stream = device->createStream();
        std::vector<std::int32_t> values(static_cast<std::size_t>(size)), expected(values.size());
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<std::int32_t>(Rng(1).bits(i) % 100);
        std::exclusive_scan(values.begin(), values.end(), expected.begin(), 0);
        QCOMPARE(test::scanned(*stream, values), expected);
    }

    void sortIsStable_data() { addSizes(); }
    void sortIsStable()
    {
        VERGENCE_CUDA_DEVICE(device);
        QFETCH(int, size);
        const auto stream = device->createStream();
        std::vector<std::uint64_t> keys(static_cast<std::size_t>(size));
        std::vector<std::int32_t> values(keys.size());
        for (std::size_t i = 0; i < keys.size(); ++i)
            keys[i] = (std::uint64_t{Rng(2).bits(i)} << 20) % 97;
        std::iota(values.begin(), values.end(), 0);
        std::vector<std::int32_t> expected = values;
        std::stable_sort(expected.begin(), expected.end(),
                         [&](int a, int b) { return keys[a] < keys[b]; });
        QCOMPARE(test::sortedByKey(*stream, keys, values), expected);
    }

    void blockSumAddsAllThreads_data() { addSizes(); }
    void blockSumAddsAllThreads()
    {
        VERGENCE_CUDA_DEVICE(device);
        QFETCH(int, size);
        const auto stream = device->createStream();
        std::vector<double> values(static_cast<std::size_t>(size));
        std::iota(values.begin(), values.end(), 1.0); // integers: every order of summation is exact
        const auto sums = test::blockSums(*stream, values);
        for (std::size_t block = 0; block < sums.size(); ++block) {
            const auto first = values.begin() + static_cast<std::ptrdiff_t>(block * 256);
            const auto last = values.begin() + static_cast<std::ptrdiff_t>(
                                                   std::min(values.size(), (block + 1) * 256));
            QCOMPARE(sums[block], std::accumulate(first, last, 0.0));
        }
    }
};

QTEST_GUILESS_MAIN(TestCudaPrimitives)
#include "tst_cuda_primitives.moc"
