#include <QTest>

#include "core/compute/tensor.h"
#include "plugins/mc_embedding/compute/mask_kernels.h"
#include "plugins/mc_embedding/compute/sites.h"
#include "tests/support/device_table.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::mc_embedding;
using namespace vergence::test;

namespace {

/// The case of the specification, V2: block 5 fc1.
constexpr SequenceKey kKey{0x12345678u, 3u | 2u << 16};
constexpr int kSite = siteNumber(5, SiteCode::Fc1);

std::vector<int> droppedBelow(double p, int count)
{
    std::vector<int> dropped;
    for (int e = 0; e < count; ++e) {
        if (isDropped(dropRate(p), 42, kKey, kSite, Purpose::Dropout, e))
            dropped.push_back(e);
    }
    return dropped;
}

/// Bits of `sites` for `keys`, by the kernel of a device.
std::vector<std::uint16_t> bitsOf(const std::shared_ptr<Device>& device, double p,
                                  const std::vector<std::pair<int, Index>>& sites,
                                  const std::vector<SequenceKey>& keys)
{
    const auto stream = device->createStream();
    const auto count = static_cast<Index>(keys.size());
    const Tensor keyMemory = Tensor::empty(device, {count, Index{sizeof(SequenceKey)}}, DType::U8);
    stream->copy(keyMemory.data(), keys.data(), keyMemory.bytes());
    MaskArguments args;
    args.keys = static_cast<const SequenceKey*>(keyMemory.data());
    args.sequences = count;
    Index total = 0;
    for (const auto& [number, elements] : sites) {
        args.add(number, elements, total, dropRate(p));
        total += count * elements / kMaskBlock;
    }
    const Tensor bits = Tensor::zeros(*stream, device, {total}, DType::U16);
    args.bits = static_cast<std::uint16_t*>(bits.data());
    maskBits(*stream, args);
    return bits.toHost<std::uint16_t>(*stream);
}

} // namespace

class TestMcMasks : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void philoxGivesTheKnownAnswers();
    void rateIsSplitIntoIntegers();
    void wordsOfTheSpecificationAreReproduced();
    void decisionsOfTheSpecificationAreReproduced();
    void kernelEqualsTheFormula_data() { addDeviceRows(); }
    void kernelEqualsTheFormula();
    void devicesAgreeOnManyBits();
    void frequenciesAreRight_data() { addDeviceRows(); }
    void frequenciesAreRight();
    void normalsHaveTheRightMoments();
};

void TestMcMasks::philoxGivesTheKnownAnswers()
{
    const auto check = [](std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key,
                          std::array<std::uint32_t, 4> want) {
        const auto joined = [](std::uint32_t low, std::uint32_t high) {
            return low | static_cast<std::uint64_t>(high) << 32;
        };
        const PhiloxBlock got = philox(joined(key[0], key[1]), joined(counter[2], counter[3]),
                                       joined(counter[0], counter[1]));
        for (std::size_t i = 0; i < 4; ++i)
            QCOMPARE(got.word[i], want[i]);
    };
    const std::uint32_t ones = 0xffffffffu;
    check({0, 0, 0, 0}, {0, 0}, {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u});
    check({ones, ones, ones, ones}, {ones, ones},
          {0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu});
    check({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}, {0xa4093822u, 0x299f31d0u},
          {0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u});
}

void TestMcMasks::rateIsSplitIntoIntegers()
{
    QCOMPARE(dropRate(0.25).high, 64u);
    QCOMPARE(dropRate(0.25).low, 0u);
    QCOMPARE(dropRate(0.3).high, 76u);
    QCOMPARE(dropRate(0.3).low, 13421773u);
    QCOMPARE(dropRate(0.01).high, 2u);
    QCOMPARE(dropRate(0.01).low, 9395241u);
    QCOMPARE(dropRate(0.25).scale, 4.0f / 3.0f);
    QCOMPARE(dropRate(0).scale, 1.0f);
}

void TestMcMasks::wordsOfTheSpecificationAreReproduced()
{
    QCOMPARE(kSite, 84);
    QCOMPARE(sequenceKey(0x12345678u, {2, 3}).pass, kKey.pass);
    const PhiloxBlock got =
        philox(42, counterHigh(kKey.pass, kSite, 0, Purpose::Dropout), counterLow(kKey.image, 0));
    const std::array<std::uint32_t, 4> want{0x5580d6c2u, 0x60161ad0u, 0xd1fa2f1eu, 0x1e3a74dfu};
    for (std::size_t i = 0; i < 4; ++i)
        QCOMPARE(got.word[i], want[i]);
}

void TestMcMasks::decisionsOfTheSpecificationAreReproduced()
{
    QCOMPARE(droppedBelow(0.25, 64),
             (std::vector{5, 6, 8, 9, 14, 15, 17, 21, 24, 30, 34, 39, 45, 47, 51, 55}));
    QCOMPARE(droppedBelow(0.3, 64), (std::vector{5,  6,  8,  9,  14, 15, 17, 19, 21, 24,
                                                 30, 34, 38, 39, 45, 47, 51, 52, 55, 62}));
    const std::vector<int> rare = droppedBelow(0.01, 4096);
    QCOMPARE(rare.size(), 39u);
    QCOMPARE(std::vector(rare.begin(), rare.begin() + 10),
             (std::vector{76, 196, 279, 470, 475, 563, 697, 711, 823, 919}));
    QCOMPARE(std::vector(rare.end() - 2, rare.end()), (std::vector{4039, 4088}));
}

void TestMcMasks::kernelEqualsTheFormula()
{
    VERGENCE_ROW_DEVICE(device);
    const std::vector<SequenceKey> keys = {kKey, {7, 0}, {0xffffffffu, 65535u}};
    // Extents below, at and above what one vector of blocks covers.
    const std::vector<std::pair<int, Index>> sites = {
        {84, 4096}, {0xFFF3, 48}, {3, 16}, {17, 17 * 96}};
    for (const double p : {0.0, 0.01, 0.3, 0.9}) {
        const auto bits = bitsOf(device, p, sites, keys);
        std::size_t at = 0;
        for (const auto& [number, elements] : sites) {
            for (const SequenceKey& key : keys) {
                for (Index e = 0; e < elements; ++e) {
                    const bool got =
                        (bits[at + static_cast<std::size_t>(e / 16)] >> e % 16 & 1) != 0;
                    const bool want = isDropped(dropRate(p), 42, key, number, Purpose::Dropout, e);
                    if (got != want)
                        QFAIL(qPrintable(
                            QString("p %1, site %2, element %3").arg(p).arg(number).arg(e)));
                }
                at += static_cast<std::size_t>(elements / 16);
            }
        }
    }
}

void TestMcMasks::devicesAgreeOnManyBits()
{
    const auto& all = devices().devices;
    if (all.size() < 2)
        QSKIP("no CUDA device");
    const std::vector<SequenceKey> keys(25, kKey);
    const std::vector<std::pair<int, Index>> sites = {{84, 4'000'000}};
    const auto want = bitsOf(all[0], 0.01, sites, keys); // 10⁸ elements
    for (std::size_t i = 1; i < all.size(); ++i)
        QVERIFY(bitsOf(all[i], 0.01, sites, keys) == want);
}

void TestMcMasks::frequenciesAreRight()
{
    VERGENCE_ROW_DEVICE(device);
    constexpr double p = 0.01;
    constexpr Index kElements = Index{1} << 24;
    const auto bits = bitsOf(device, p, {{84, kElements}}, {kKey});
    std::array<double, 16> perPlace{};
    double dropped = 0;
    for (const std::uint16_t word : bits) {
        for (int i = 0; i < 16; ++i)
            perPlace[static_cast<std::size_t>(i)] += word >> i & 1;
    }
    const double perPlaceCount = kElements / 16.0;
    double chiSquare = 0;
    for (const double count : perPlace) {
        dropped += count;
        const double d = count - p * perPlaceCount;
        chiSquare += d * d / (perPlaceCount * p * (1 - p));
    }
    const double deviation = std::sqrt(kElements * p * (1 - p));
    QVERIFY2(std::abs(dropped - p * kElements) < 4 * deviation,
             qPrintable(QString::number(dropped)));
    // 16 degrees of freedom: mean 16, deviation √32.
    QVERIFY2(std::abs(chiSquare - 16) < 4 * std::sqrt(32.0),
             qPrintable(QString::number(chiSquare)));
}

void TestMcMasks::normalsHaveTheRightMoments()
{
    constexpr Index kCount = 200'000;
    double sum = 0, squares = 0, fourth = 0, neighbours = 0, last = 0;
    for (Index e = 0; e < kCount; ++e) {
        const double z = normalOf(42, kKey, kSite, Purpose::Noise, e);
        sum += z;
        squares += z * z;
        fourth += z * z * z * z;
        neighbours += z * last;
        last = z;
    }
    // Four standard errors: 1/√n, √(2/n), √(96/n), 1/√n.
    const double unit = 4 / std::sqrt(static_cast<double>(kCount));
    QVERIFY(std::abs(sum / kCount) < unit);
    QVERIFY(std::abs(squares / kCount - 1) < unit * std::sqrt(2.0));
    QVERIFY(std::abs(fourth / kCount - 3) < unit * std::sqrt(96.0));
    QVERIFY(std::abs(neighbours / kCount) < unit);
}

VERGENCE_TEST(TestMcMasks)
#include "tst_mc_masks.moc"
