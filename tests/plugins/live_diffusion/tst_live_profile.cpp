#include <QTest>

#include <cmath>
#include <map>

#include "core/base/error.h"
#include "plugins/live_diffusion/model/counts.h"
#include "plugins/live_diffusion/model/program_builder.h"
#include "plugins/live_diffusion/model/replicas.h"
#include "plugins/live_diffusion/model/unet.h"
#include "plugins/live_diffusion/profile/fused_values.h"
#include "plugins/live_diffusion/profile/layer_profile.h"
#include "plugins/live_diffusion/profile/memory_profile.h"
#include "plugins/live_diffusion/profile/op_costs.h"
#include "plugins/live_diffusion/profile/targets.h"
#include "plugins/live_diffusion/profile/tensor_core_check.h"
#include "plugins/live_diffusion/profile/text_table.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::live;

namespace {

Program unet(Size size, Index patch = 1, Index grid = 64, Index rounding = 8)
{
    UnetSettings settings;
    settings.size = size;
    settings.patch = patch;
    settings.grid = grid;
    settings.channelRounding = rounding;
    return buildUnet(settings);
}

const DevicePeaks& peaksOf(const std::string& name)
{
    return *findPeaks("NVIDIA GeForce " + name);
}

const OpCost* findCost(const std::vector<OpCost>& costs, const std::string& name)
{
    for (const OpCost& cost : costs) {
        if (cost.name == name)
            return &cost;
    }
    return nullptr;
}

bool isWithin(double value, double published, double share)
{
    if (std::abs(value - published) <= share * published)
        return true;
    qWarning("%g instead of %g (%+.1f %%)", value, published, 100 * (value / published - 1));
    return false;
}

/// One convolution 64 → 128, 3×3 on 16×16 with norm, activation, time bias and a residual.
Program smallProgram()
{
    ProgramBuilder build("small");
    const int x = build.input("x", 128, 16, 16), e = build.input("e", 128, 1, 1);
    build.beginBlock("b");
    int y = build.groupNorm("n", x, 32);
    y = build.unary(OpKind::Silu, "s", y);
    y = build.convolution("c", y, {.channels = 128});
    y = build.addChannels("time", y, e);
    build.output(build.add("sum", y, x), "y");
    return build.finish();
}

Switches half()
{
    Switches switches;
    switches.precision = Precision::Fp16;
    return switches;
}

} // namespace

class TestLiveProfile : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void ridgesOfTheDataSheets();
    void devicesAreFoundByTheirName();
    void costsOfOneBlockByHand();
    void boundIsTheLargerOfWorkAndTraffic();
    void fusedOperationsAreFoundByShapeAlone();
    void naiveAttentionMovesItsScoresFourTimes();
    void publishedBoundsFollowFromTheDescription_data();
    void publishedBoundsFollowFromTheDescription();
    void publishedFrameRatesFollowFromTheBounds();
    void streamBatchPaysWhereTheDeviceIsNotFull();
    void budgetsAskForPublishedShares_data();
    void budgetsAskForPublishedShares();
    void impossibleBudgetsAreMarked();

    void savedMultiplicationsAreNoWork();
    void measuredRoofsAreAboveWhatWasReached();
    void layersSumUpWithARestOfTheirOwn();
    void limitsAreComputeMemoryAndLatency();
    void csvEndsWithTheUnaccounted();

    void expectedArenas_data();
    void expectedArenas();
    void naiveScoresFillTheArenaAtHighQuality();
    void memoryRowsByHand();
    void whatIfHalvesWithThePrecision();

    void alignedNetworksPass();
    void oddChannelsAreSuggestedThePaddedValue();
    void misalignedHeadsAreFound();
    void strictSinglesUseNoTensorCores();
    void plansWithoutTensorCoresAreNamed();

    void tablesEscapeWhatTheyMust();
};

void TestLiveProfile::ridgesOfTheDataSheets()
{
    QCOMPARE(std::round(peaksOf("RTX 3090").ridge(Precision::Fp16)), 76.0);
    QCOMPARE(std::round(peaksOf("RTX 4090").ridge(Precision::Fp16)), 164.0);
    QCOMPARE(std::round(peaksOf("H200").ridge(Precision::Bf16)), 206.0);
}

void TestLiveProfile::devicesAreFoundByTheirName()
{
    QCOMPARE(findPeaks("NVIDIA H200")->fp32, 67e12);
    QVERIFY(!findPeaks("AMD EPYC 7B13 (2 threads)"));
    QCOMPARE(peaksOf("RTX 4090").flops(Precision::Tf32), 82.6e12);
}

void TestLiveProfile::costsOfOneBlockByHand()
{
    const Program program = smallProgram();
    const std::int64_t picture = 128 * 256, weights = 128 * 128 * 9 + 128;
    const auto fused = opCosts(program, half());
    QCOMPARE(fused.size(), std::size_t{2}); // norm, convolution
    QCOMPARE(findCost(fused, "b.n")->bytes, 2 * (3 * picture + 256));
    QCOMPARE(findCost(fused, "b.c")->bytes, 2 * (3 * picture + weights)); // with its residual
    QCOMPARE(findCost(fused, "b.c")->flop, std::int64_t{2} * 256 * 128 * 128 * 9);
    QVERIFY(!findCost(fused, "b.sum"));

    const auto plain = opCosts(program, baselineSwitches());
    QCOMPARE(plain.size(), std::size_t{5});
    QCOMPARE(findCost(plain, "b.s")->bytes, 4 * 2 * picture);
    QCOMPARE(findCost(plain, "b.time")->bytes, 4 * (2 * picture + 128));
    QCOMPARE(findCost(plain, "b.sum")->bytes, 4 * 3 * picture);
    QCOMPARE(findCost(plain, "b.c")->bytes, 4 * (2 * picture + weights));
}

void TestLiveProfile::boundIsTheLargerOfWorkAndTraffic()
{
    const DevicePeaks peaks{"toy", 1000, 0, 0, 100, 10};
    const std::vector<OpCost> ops = {{"a", "", OpKind::Convolution, 5000, 20},
                                     {"b", "", OpKind::GroupNorm, 0, 30},
                                     {"c", "", OpKind::Linear, 100, 10}};
    QCOMPARE(lowerBound(ops, peaks, Precision::Fp16), 5.0 + 3 + 1);
    QCOMPARE(lowerBound(ops, peaks, Precision::Fp32), 50.0 + 3 + 1);
    VERGENCE_THROWS(ContractError, "known", lowerBound(ops, peaks, Precision::Tf32));
}

void TestLiveProfile::fusedOperationsAreFoundByShapeAlone()
{
    const Program program = unet(Size::S);
    const FusedValues fused(program);
    const auto isFree = [&](const char* name) { return fused.isFree(program.findOp(name)); };
    QVERIFY(isFree("d1.0.s1") && isFree("d1.0.time") && isFree("d1.0.sum"));
    QVERIFY(isFree("u1.0.concat") && isFree("u1.up.nearest") && isFree("d1.0.a.sum1"));
    QVERIFY(!isFree("d1.0.c1") && !isFree("d1.0.n1") && !isFree("d1.0.a.self"));
    QCOMPARE(fused.carrierOf(program.findOp("d1.0.sum")), program.findOp("d1.0.c2"));
    QVERIFY(!FusedValues(unet(Size::XL)).isFree(unet(Size::XL).findOp("d1.0.a.gate")));

    const Program replica = buildReplicaA();
    const FusedValues joined(replica);
    QCOMPARE(joined.carrierOf(replica.findOp("u1.sum")), replica.findOp("u1.c"));
    QVERIFY(joined.isFree(replica.findOp("out.tanh")));
}

void TestLiveProfile::naiveAttentionMovesItsScoresFourTimes()
{
    const Program program = unet(Size::S);
    Switches switches = half();
    const auto flash = opCosts(program, switches);
    switches.attention = AttentionKind::Naive;
    const auto naive = opCosts(program, switches);
    // Level 1: 1,024 tokens of 128 channels, two heads.
    QCOMPARE(findCost(naive, "d1.0.a.self")->bytes - findCost(flash, "d1.0.a.self")->bytes,
             std::int64_t{2} * 4 * 2 * 1024 * 1024);
    QCOMPARE(findCost(flash, "d1.0.a.self")->bytes, std::int64_t{2} * 4 * 128 * 1024);
}

void TestLiveProfile::publishedBoundsFollowFromTheDescription_data()
{
    QTest::addColumn<Size>("size");
    QTest::addColumn<Index>("patch");
    QTest::addColumn<Index>("grid");
    QTest::addColumn<QString>("device");
    QTest::addColumn<double>("fp16"); // ms
    QTest::addColumn<double>("fp32");
    const auto add = [](const char* name, Size size, Index patch, Index grid,
                        std::array<double, 6> ms) {
        int at = 0;
        for (const char* device : {"RTX 3090", "RTX 4090", "H200"}) {
            QTest::addRow("%s on %s", name, device)
                << size << patch << grid << QString(device) << ms[static_cast<std::size_t>(at)]
                << ms[static_cast<std::size_t>(at + 1)];
            at += 2;
        }
    };
    add("S", Size::S, 1, 64, {0.40, 1.15, 0.24, 0.84, 0.05, 0.41});
    add("M", Size::M, 1, 64, {1.33, 3.37, 0.72, 2.18, 0.13, 1.39});
    add("L", Size::L, 1, 64, {4.84, 11.1, 2.45, 6.4, 0.44, 5.1});
    add("XL", Size::XL, 1, 64, {8.13, 18.3, 4.21, 10.5, 0.77, 8.3});
    add("XL HQ", Size::XL, 4, 128, {34.9, 92, 16.0, 57, 2.8, 37});
}

void TestLiveProfile::publishedBoundsFollowFromTheDescription()
{
    QFETCH(Size, size);
    QFETCH(Index, patch);
    QFETCH(Index, grid);
    QFETCH(QString, device);
    QFETCH(double, fp16);
    QFETCH(double, fp32);
    const Program program = unet(size, patch, grid);
    const DevicePeaks& peaks = peaksOf(device.toStdString());
    const double fused = 1e3 * fusedHalfBound(program, peaks);
    const double lastDigit = grid == 64 ? 0.01 : 0.1;
    QVERIFY(std::abs(fused - fp16) <= 0.5 * lastDigit + 0.001 * fp16);
    // Unfused traffic depends on what one counts as an operation; at grid 128, where attention
    // scores are most of it, the published figures lie up to a tenth higher.
    const double strict = 1e3 * strictSingleBound(program, peaks);
    QVERIFY(isWithin(strict, fp32, grid == 64 ? 0.03 : 0.11));
}

void TestLiveProfile::publishedFrameRatesFollowFromTheBounds()
{
    // Keys, values and encoder of a write, read from memory once a frame.
    const auto writeSeconds = [](Size size, const DevicePeaks& peaks) {
        UnetSettings settings;
        settings.size = size;
        settings.patch = 1;
        settings.grid = 64;
        std::int64_t elements = parameterCount(buildMemoryEncoder(settings));
        const Program program = buildUnet(settings);
        for (const ProgramOp& op : program.ops) {
            if (op.rate == Rate::MemoryWrite && op.weight >= 0)
                elements += program.weight(op.weight).size();
        }
        return 2.0 * static_cast<double>(elements) / peaks.bandwidth;
    };
    const auto rate = [&](Size size, const char* device, int steps) {
        const DevicePeaks& peaks = peaksOf(device);
        return frameRateBound(fusedHalfBound(unet(size), peaks), writeSeconds(size, peaks), steps);
    };
    QVERIFY(isWithin(rate(Size::L, "RTX 3090", 1), 203, 0.01));
    QVERIFY(isWithin(rate(Size::L, "RTX 4090", 2), 202, 0.01));
    QVERIFY(isWithin(rate(Size::XL, "RTX 3090", 4), 31, 0.02));
    QVERIFY(isWithin(rate(Size::XL, "RTX 4090", 1), 233, 0.01));
    QVERIFY(isWithin(rate(Size::XL, "H200", 1), 1268, 0.01));
    QVERIFY(isWithin(rate(Size::XL, "H200", 2), 642, 0.01));
    QVERIFY(isWithin(rate(Size::XL, "H200", 4), 323, 0.01));
}

void TestLiveProfile::streamBatchPaysWhereTheDeviceIsNotFull()
{
    const auto bound = [](Size size, const char* device, int kernels) {
        return streamBatchBound(unet(size), peaksOf(device), 4, kernels);
    };
    for (const Size size : {Size::S, Size::L, Size::XL}) // without launches: full at one row
        QVERIFY(isWithin(bound(size, "RTX 3090", 0), 3.9, 0.02));
    QVERIFY(isWithin(bound(Size::S, "H200", 300), 1.0, 0.001));
    QVERIFY(isWithin(bound(Size::M, "H200", 300), 1.0, 0.02));
    QVERIFY(isWithin(bound(Size::L, "H200", 300), 2.8, 0.05));
    QVERIFY(isWithin(bound(Size::XL, "H200", 507), 2.8, 0.05));
}

void TestLiveProfile::budgetsAskForPublishedShares_data()
{
    QTest::addColumn<double>("budget");
    QTest::addColumn<QStringList>("shares"); // XL 3090, XL 4090, L 3090, L 4090, XL H200
    QTest::newRow("25 FPS") << 40.0
                            << QStringList{"20/41/82", "11/21/42", "12/24/49", "6/12/25", "2/4/8"};
    QTest::newRow("week 1") << 28.0
                            << QStringList{"29/59/✗", "15/30/61", "17/35/70", "9/18/35", "3/6/11"};
    QTest::newRow("62.5 FPS") << 16.0
                              << QStringList{"52/✗/✗", "27/54/✗", "31/62/✗", "16/31/62", "5/10/20"};
    QTest::newRow("week 2") << 14.0
                            << QStringList{"59/✗/✗", "31/61/✗", "35/71/✗", "18/36/71", "6/11/22"};
    QTest::newRow("week 3") << 10.0
                            << QStringList{"84/✗/✗", "43/87/✗", "50/✗/✗", "25/50/✗", "8/16/32"};
    QTest::newRow("week 4") << 8.0
                            << QStringList{"✗/✗/✗", "55/✗/✗", "63/✗/✗", "32/64/✗", "10/20/40"};
}

void TestLiveProfile::budgetsAskForPublishedShares()
{
    QFETCH(double, budget);
    QFETCH(QStringList, shares);
    const struct {
        Size size;
        const char* device;
    } columns[] = {{Size::XL, "RTX 3090"},
                   {Size::XL, "RTX 4090"},
                   {Size::L, "RTX 3090"},
                   {Size::L, "RTX 4090"},
                   {Size::XL, "H200"}};
    for (qsizetype i = 0; i < shares.size(); ++i) {
        const double bound = fusedHalfBound(unet(columns[i].size), peaksOf(columns[i].device));
        const QString text = QString::fromStdString(shareText(bound, budget));
        const QStringList got = text.split('/'), want = shares[i].split('/');
        QCOMPARE(got.size(), want.size());
        for (qsizetype step = 0; step < want.size(); ++step) {
            // The published bound of L on the RTX 4090 is a last digit smaller, so that two of
            // ninety shares round down.
            if (i == 3 && (want[step] == "71" || want[step] == "50"))
                QCOMPARE(got[step].toInt(), want[step].toInt() + 1);
            else
                QCOMPARE(got[step], want[step]);
        }
    }
}

void TestLiveProfile::impossibleBudgetsAreMarked()
{
    QVERIFY(isImpossible(shareOfRoofline(8e-3, 8, 1)));
    QVERIFY(std::isinf(shareOfRoofline(1e-3, 0.3, 1)));
    QVERIFY(!isImpossible(shareOfRoofline(7.6e-3, 8, 1)));
    const std::string text = targetsMarkdown("toy", "XL", 4e-3, {5.0, NAN});
    QVERIFY(text.find("8 ms (120 FPS, week 4)") != std::string::npos);
    QVERIFY(text.find("5 ms, holds") != std::string::npos && text.find("✗") != std::string::npos);
}

namespace {

OpRecord record(const char* name, std::int64_t flop, std::int64_t bytes, bool tensorCores = false)
{
    OpRecord op;
    op.name = name;
    op.block = "b";
    op.kind = "convolution";
    op.shape = "1, 2";
    op.flop = op.work = flop;
    op.bytes = bytes;
    op.usesTensorCores = tensorCores;
    return op;
}

/// Peaks of 1 TFLOP/s and 100 GB/s: ridge 10 FLOP/B.
LayerProfile toyProfile()
{
    const DevicePeaks peaks{"toy", 1e12, 0, 0, 1e12, 1e11};
    const std::vector<OpRecord> ops = {record("dense", 100'000'000, 1'000'000),
                                       record("thin", 1'000'000, 2'000'000),
                                       record("tiny", 1'000, 1'000)};
    const std::vector<double> seconds = {200e-6, 40e-6, 2e-6};
    return layerProfile(ops, seconds, 250e-6, peaks, Precision::Fp32);
}

} // namespace

/// Winograd's convolutions are faster than all multiplications at the peak of products: no program
/// could beat a bound that counts those alone.
void TestLiveProfile::savedMultiplicationsAreNoWork()
{
    const Program program = smallProgram();
    const std::int64_t all = std::int64_t{2} * 256 * 128 * 128 * 9;
    QCOMPARE(leastFlopOf(program, program.op(program.findOp("b.c"))), all / 4);
    DevicePeaks peaks{"toy", 1e9, 0, 0, 1e9, 1e15}; // bytes take no time
    const auto costs = opCosts(program, half());
    QCOMPARE(findCost(costs, "b.c")->leastFlop, all / 4);
    const double published = lowerBound(costs, peaks, Precision::Fp16);
    peaks.isMeasured = true;
    QVERIFY(std::abs(lowerBound(costs, peaks, Precision::Fp16) / published - 0.25) < 1e-3);
}

void TestLiveProfile::measuredRoofsAreAboveWhatWasReached()
{
    OpRecord fast, saving;
    fast.work = fast.flop = 4'000'000; // 4 GFLOP/s, 8 GB/s
    fast.bytes = 8'000'000;
    saving.flop = 16'000'000; // of which a quarter is done
    saving.work = 4'000'000;
    const std::vector<OpRecord> ops{fast, saving};
    const std::vector<double> seconds{1e-3, 2e-3};
    DevicePeaks peaks{"toy", 0, 0, 0, 3e9, 1e9};
    peaks.isMeasured = true;
    const LayerProfile low = layerProfile(ops, seconds, 3e-3, peaks, Precision::Fp32);
    const DevicePeaks raised = reached(peaks, low, Precision::Fp32);
    QCOMPARE(raised.fp32, 4e9);
    QCOMPARE(raised.bandwidth, 8e9);
    for (const LayerRow& row : judged(low, raised, Precision::Fp32).rows)
        QVERIFY2(row.shareOfRoof <= 1, qPrintable(QString::number(row.shareOfRoof)));
    peaks.isMeasured = false; // a data sheet is no guess
    QCOMPARE(reached(peaks, low, Precision::Fp32).fp32, 3e9);
}

void TestLiveProfile::layersSumUpWithARestOfTheirOwn()
{
    const LayerProfile profile = toyProfile();
    QVERIFY(std::abs(profile.unaccounted - 8e-6) < 1e-12);
    const LayerRow& dense = profile.rows[0];
    QCOMPARE(dense.intensity, 100.0);
    QCOMPARE(dense.roof, 1e12);
    QVERIFY(std::abs(dense.achievedFlops - 5e11) < 1);
    QVERIFY(std::abs(dense.shareOfRoof - 0.5) < 1e-12);
    QVERIFY(std::abs(dense.shareOfEvaluation - 0.8) < 1e-12);
    const LayerRow& thin = profile.rows[1];
    QCOMPARE(thin.roof, 5e10); // half a FLOP per byte
    QVERIFY(std::abs(thin.shareOfRoof - 0.5) < 1e-12);
    QVERIFY(std::abs(thin.achievedBandwidth - 5e10) < 1);
}

void TestLiveProfile::limitsAreComputeMemoryAndLatency()
{
    const LayerProfile profile = toyProfile();
    QVERIFY(profile.rows[0].limit == OpLimit::Compute);
    QVERIFY(profile.rows[1].limit == OpLimit::Memory);
    QVERIFY(profile.rows[2].limit == OpLimit::Latency);
}

void TestLiveProfile::csvEndsWithTheUnaccounted()
{
    const QStringList lines =
        QString::fromStdString(toyProfile().csv()).split('\n', Qt::SkipEmptyParts);
    QCOMPARE(lines.size(), 5);
    QVERIFY(lines[1].startsWith("dense,convolution,\"1, 2\""));
    QVERIFY(lines[4].startsWith("unaccounted") && lines[4].contains("8.00"));
}

void TestLiveProfile::expectedArenas_data()
{
    QTest::addColumn<Size>("size");
    QTest::addColumn<Index>("grid");
    QTest::addColumn<double>("megabytes"); // published, fp16 and flash
    QTest::newRow("S 64") << Size::S << Index{64} << 5.0;
    QTest::newRow("M 64") << Size::M << Index{64} << 11.0;
    QTest::newRow("L 64") << Size::L << Index{64} << 21.0;
    QTest::newRow("XL 64") << Size::XL << Index{64} << 23.0;
    QTest::newRow("S 128") << Size::S << Index{128} << 21.0;
    QTest::newRow("M 128") << Size::M << Index{128} << 42.0;
    QTest::newRow("L 128") << Size::L << Index{128} << 84.0;
    QTest::newRow("XL 128") << Size::XL << Index{128} << 92.0;
}

void TestLiveProfile::expectedArenas()
{
    QFETCH(Size, size);
    QFETCH(Index, grid);
    QFETCH(double, megabytes);
    const MemoryProfile profile = memoryProfile(unet(size, 1, grid), half());
    const double peak = 1e-6 * static_cast<double>(profile.peak());
    if (size == Size::XL) { // the gate of its feed-forwards, in and out beside all skips
        QCOMPARE(profile.peakOp(), std::string("d1.2.a.gate"));
        QVERIFY(isWithin(peak, megabytes, 0.08));
        return;
    }
    // The published arenas hold one picture of the first level more than lives at the worst moment,
    // where the decoder's last level begins: concatenation, its normalised copy, skips.
    UnetSettings settings;
    settings.size = size;
    const double picture = 2e-6 * static_cast<double>(settings.baseChannels() * grid * grid);
    QCOMPARE(profile.peakOp(), std::string("u0.0.n1"));
    QVERIFY(std::abs(peak + picture - megabytes) < 0.52);
}

void TestLiveProfile::naiveScoresFillTheArenaAtHighQuality()
{
    for (const auto& [size, gigabytes] :
         std::map<Size, double>{{Size::L, 1.19}, {Size::XL, 1.21}}) {
        const MemoryProfile profile = memoryProfile(unet(size, 4, 128), baselineSwitches());
        QVERIFY(isWithin(1e-9 * static_cast<double>(profile.peak()), gigabytes, 0.05));
        QCOMPARE(QString::fromStdString(profile.tensors.front().name).endsWith("scores"), true);
        QVERIFY(profile.peakOp().find(".self") != std::string::npos);
    }
}

void TestLiveProfile::memoryRowsByHand()
{
    const Program program = smallProgram();
    const std::uint64_t picture = 2 * 128 * 256;
    // Fused: the norm's picture, then the convolution's beside it; inputs are the caller's.
    const MemoryProfile fused = memoryProfile(program, half());
    QCOMPARE(fused.rows.front().arena, picture);
    QCOMPARE(fused.peak(), 2 * picture);
    QCOMPARE(fused.peakOp(), std::string("b.c"));
    QCOMPARE(fused.tensors.size(), std::size_t{2});
    QCOMPARE(memoryProfile(program, half(), 3).peak(), 6 * picture);
    // Plain: each operation beside what it reads.
    const MemoryProfile plain = memoryProfile(program, baselineSwitches());
    QCOMPARE(plain.peak(), 2 * 2 * picture);
    QCOMPARE(plain.tensors.size(), std::size_t{5});
}

void TestLiveProfile::whatIfHalvesWithThePrecision()
{
    const Index grids[] = {64};
    const auto bars = whatIf([](Index grid) { return unet(Size::S, 1, grid); }, grids);
    QCOMPARE(bars.size(), std::size_t{4});
    QCOMPARE(bars[0].weights, 2 * bars[2].weights); // fp32 naive, fp16 naive
    QCOMPARE(bars[1].arena, 2 * bars[3].arena);     // flash
    QVERIFY(bars[0].scores > 0 && bars[1].scores == 0);
    QVERIFY(whatIfMarkdown(bars).find("fp16, naive, 64") != std::string::npos);
}

void TestLiveProfile::alignedNetworksPass()
{
    for (const Size size : {Size::Pico, Size::S, Size::XL})
        QVERIFY(checkShapes(unet(size), half()).empty());
}

void TestLiveProfile::oddChannelsAreSuggestedThePaddedValue()
{
    const auto issues = checkShapes(unet(Size::S, 1, 64, 1), half());
    QCOMPARE(issues.size(), std::size_t{2});
    QCOMPARE(issues[0].op, std::string("input.stem"));
    QCOMPARE(issues[0].value, Index{9});
    QCOMPARE(issues[0].padded, Index{16});
    QVERIFY(std::abs(issues[0].flopGrowth - 7.0 / 9) < 1e-12);
    QCOMPARE(issues[1].dimension, std::string("output channels"));
    QCOMPARE(issues[1].padded, Index{8});
    Switches tf32;
    tf32.precision = Precision::Tf32; // multiples of 4 do
    const auto wider = checkShapes(unet(Size::S, 1, 64, 1), tf32);
    QCOMPARE(wider.size(), std::size_t{1});
    QCOMPARE(wider[0].padded, Index{12});
    Switches bf16;
    bf16.precision = Precision::Bf16; // two bytes like fp16: 8, not 4
    QCOMPARE(checkShapes(unet(Size::S, 1, 64, 1), bf16).size(), std::size_t{2});
}

void TestLiveProfile::misalignedHeadsAreFound()
{
    UnetSettings settings;
    settings.size = Size::S;
    settings.patch = 1;
    settings.grid = 64;
    settings.isMisaligned = true;
    bool hasHead = false;
    for (const ShapeIssue& issue : checkShapes(buildUnet(settings), half())) {
        if (issue.dimension != "head width")
            continue;
        hasHead = true;
        QCOMPARE(issue.value, Index{63});
        QCOMPARE(issue.padded, Index{64});
        QVERIFY(std::abs(issue.flopGrowth - 1.0 / 63) < 1e-12);
    }
    QVERIFY(hasHead);
    Switches planes = half();
    planes.layout = Layout::Nchw;
    const auto issues = checkShapes(unet(Size::Pico), planes);
    QVERIFY(!issues.empty() && issues.front().dimension == "layout");
}

void TestLiveProfile::strictSinglesUseNoTensorCores()
{
    QCOMPARE(tensorCoreMultiple(Precision::Fp32), 0);
    QCOMPARE(tensorCoreMultiple(Precision::Tf32), 4);
    QCOMPARE(tensorCoreMultiple(Precision::Fp16), 8);
    QCOMPARE(tensorCoreMultiple(Precision::Bf16), 8);
    QVERIFY(checkShapes(unet(Size::S, 1, 64, 1), baselineSwitches()).empty());
}

void TestLiveProfile::plansWithoutTensorCoresAreNamed()
{
    const std::vector<OpRecord> ops = {record("a", 100, 1, true), record("b", 100, 1, false),
                                       record("norm", 0, 1, false)};
    const auto issues = checkPlans(ops, Precision::Fp16);
    QCOMPARE(issues.size(), std::size_t{1});
    QCOMPARE(issues[0].op, std::string("b"));
    QVERIFY(checkPlans(ops, Precision::Fp32).empty());
    QVERIFY(shapeIssuesMarkdown({}).find("fits") != std::string::npos);
}

void TestLiveProfile::tablesEscapeWhatTheyMust()
{
    const TextTable table{{"a", "b"}, {{"x|y", "1,5"}, {"say \"no\"", "2"}}};
    QCOMPARE(table.markdown(), std::string("| a | b |\n| --- | ---: |\n| x\\|y | 1,5 |\n| say "
                                           "\"no\" | 2 |\n"));
    QCOMPARE(table.csv(), std::string("a,b\nx|y,\"1,5\"\n\"say \"\"no\"\"\",2\n"));
    VERGENCE_THROWS(ContractError, "as long as", (TextTable{{"a"}, {{"1", "2"}}}).csv());
    QCOMPARE(shortNumber(0.00012345), std::string("1.23e-04"));
    QCOMPARE(shortNumber(1234.6), std::string("1235"));
    QCOMPARE(shortNumber(NAN), std::string("–"));
    QCOMPARE(byteNumber(11.25 * (1 << 20)), std::string("11.2 MiB"));
}

VERGENCE_TEST(TestLiveProfile)
#include "tst_live_profile.moc"
