#include <algorithm>
#include <cmath>
#include <set>

#include <QTest>

#include "core/base/error.h"
#include "plugins/foveated_vlm/text/sample_order.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::fvlm;

namespace {

std::vector<Index> epochOf(const SampleOrder& order, std::int64_t epoch)
{
    std::vector<Index> samples;
    for (Index i = 0; i < order.count(); ++i)
        samples.push_back(order.sample(epoch * order.count() + i));
    return samples;
}

bool isPermutation(std::vector<Index> samples)
{
    std::sort(samples.begin(), samples.end());
    for (std::size_t i = 0; i < samples.size(); ++i) {
        if (samples[i] != static_cast<Index>(i))
            return false;
    }
    return true;
}

} // namespace

class TestOrder : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyEpochIsAnotherPermutation_data()
    {
        QTest::addColumn<int>("count");
        for (const int count : {1, 2, 3, 31, 32, 33, 257, 813})
            QTest::addRow("%d", count) << count;
    }
    void everyEpochIsAnotherPermutation()
    {
        QFETCH(int, count);
        const SampleOrder order(count, {});
        QVERIFY(isPermutation(epochOf(order, 0)));
        QVERIFY(isPermutation(epochOf(order, 1)));
        QVERIFY(isPermutation(epochOf(order, 1000)));
        if (count > 30)
            QVERIFY(epochOf(order, 0) != epochOf(order, 1));
        QCOMPARE(order.epoch(3 * count), std::int64_t{3});
        QCOMPARE(order.epoch(3 * count - 1), std::int64_t{2});
    }

    void seedAndPurposeChangeTheOrder()
    {
        const SampleOrder order(100, {}), other(100, {43}), text(100, {42, 1});
        QVERIFY(epochOf(order, 0) != epochOf(other, 0));
        QVERIFY(epochOf(order, 0) != epochOf(text, 0));
    }

    /// Chi-square over (place, sample) pairs of 16 samples in 4,000 epochs: 225 degrees of freedom,
    /// 99.9 % below 296.
    void placesAreUniform()
    {
        const SampleOrder order(16, {});
        constexpr int kEpochs = 4000;
        std::vector<int> counts(256);
        for (int epoch = 0; epoch < kEpochs; ++epoch) {
            const std::vector<Index> samples = epochOf(order, epoch);
            for (std::size_t i = 0; i < 16; ++i)
                ++counts[16 * i + static_cast<std::size_t>(samples[i])];
        }
        double chiSquare = 0;
        for (const int count : counts)
            chiSquare += std::pow(count - kEpochs / 16.0, 2) / (kEpochs / 16.0);
        QVERIFY2(chiSquare < 296, qPrintable(QString::number(chiSquare)));
    }

    void shardsAreReadNearlyInSequence()
    {
        SampleOrder::Settings settings;
        settings.shards = {100, 0, 50, 250, 100};
        settings.window = 40;
        const SampleOrder order(500, settings);
        const std::vector<Index> samples = epochOf(order, 0);
        QVERIFY(isPermutation(samples));
        const auto shardOf = [](Index sample) {
            return sample < 100 ? 0 : sample < 150 ? 2 : sample < 400 ? 3 : 4;
        };
        std::set<std::vector<int>> shardOrders;
        for (int epoch = 0; epoch < 8; ++epoch) {
            std::vector<int> seen;
            for (const Index sample : epochOf(order, epoch)) {
                if (std::find(seen.begin(), seen.end(), shardOf(sample)) == seen.end())
                    seen.push_back(shardOf(sample));
            }
            shardOrders.insert(seen);
        }
        QVERIFY(shardOrders.size() > 1);
        // A window of 40 samples touches at most three of the shards that hold any.
        for (std::size_t first = 0; first < samples.size(); first += 40) {
            std::set<int> touched;
            for (std::size_t i = first; i < std::min(first + 40, samples.size()); ++i)
                touched.insert(shardOf(samples[i]));
            QVERIFY(touched.size() <= 3);
        }
    }

    void badSettingsAreRefused()
    {
        VERGENCE_THROWS(ContractError, "no samples", SampleOrder(0, {}));
        SampleOrder::Settings settings;
        settings.shards = {3, 4};
        VERGENCE_THROWS(ContractError, "7 samples in all", SampleOrder(8, settings));
        VERGENCE_THROWS(ContractError, "from 0", SampleOrder(8, {}).sample(-1));
    }
};

VERGENCE_TEST(TestOrder)
#include "tst_fvlm_order.moc"
