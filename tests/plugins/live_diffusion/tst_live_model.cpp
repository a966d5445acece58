#include <algorithm>

#include <QTest>

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/live_diffusion/model/counts.h"
#include "plugins/live_diffusion/model/program_builder.h"
#include "plugins/live_diffusion/model/replicas.h"
#include "plugins/live_diffusion/model/unet.h"
#include "tests/plugins/live_diffusion/layout_count.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::live;
using vergence::test::LayoutCount;

namespace {
struct Published {
    Size size;
    Index patch, grid;
    std::int64_t parameters, flop; ///< exact
    std::int64_t timeWidth;
    int crossAttentions;
};

/// patch 1 at the size's own grid.
const std::vector<Published> kPublished{
    {Size::Pico, 1, 32, 3'093'320, 825'753'600, 928, 4},
    {Size::S, 1, 64, 30'698'312, 23'342'350'336, 4'032, 16},
    {Size::M, 1, 64, 122'623'624, 84'768'980'992, 8'064, 16},
    {Size::L, 1, 64, 490'155'272, 321'875'083'264, 16'128, 16},
    {Size::XL, 1, 64, 880'726'536, 530'623'496'192, 21'760, 23},
};

UnetSettings settingsOf(Size size, Index patch, Index grid)
{
    UnetSettings settings;
    settings.size = size;
    settings.patch = patch;
    settings.grid = grid;
    return settings;
}

LayoutCount onPaper(const UnetSettings& settings)
{
    const UnetLayout layout = layoutOf(settings.size);
    LayoutCount count;
    count.channels = layout.channels;
    count.blocks = layout.blocks;
    count.middle = layout.middleAttentions;
    count.grid = settings.grid;
    count.patch = settings.patch;
    count.rounding = settings.channelRounding;
    count.memoryKernel = layout.nativeGrid / 16;
    count.multipliers.assign(layout.multipliers.begin(), layout.multipliers.end());
    count.attention = layout.attentionLevels;
    if (settings.hasAttentionAtLevel0)
        count.attention.push_back(0);
    count.feedForward = layout.hasFeedForward;
    count.run();
    return count;
}

/// One count per multiplication, by loops over what is multiplied.
std::int64_t multiplications(const Program& program, const ProgramOp& op)
{
    std::int64_t count = 0;
    const ProgramValue& y = program.value(op.output);
    const auto loop = [&count](Index n, Index m, Index k) {
        for (Index i = 0; i < n; ++i)
            for (Index j = 0; j < m; ++j)
                for (Index l = 0; l < k; ++l)
                    ++count;
    };
    if (op.kind == OpKind::Convolution || op.kind == OpKind::Linear) {
        const Index in = program.value(op.inputs[0]).channels;
        for (int tap = 0; tap < op.kernel * op.kernel; ++tap)
            loop(y.pixels(), y.channels, in);
    } else if (op.kind == OpKind::SelfAttention) {
        const Index side = op.window > 0 ? op.window : y.height;
        for (Index window = 0; window < y.pixels() / (side * side); ++window)
            for (int product = 0; product < 2; ++product)
                loop(side * side, side * side, y.channels);
    } else if (op.kind == OpKind::CrossAttention) {
        for (int product = 0; product < 2; ++product)
            loop(y.pixels(), program.value(op.inputs[1]).pixels(), y.channels);
    } else if (op.kind == OpKind::TransposedConvolution) {
        const ProgramValue& x = program.value(op.inputs[0]);
        for (int tap = 0; tap < op.kernel * op.kernel; ++tap)
            loop(x.pixels(), x.channels, y.channels);
    }
    return count;
}

/// The well-known latent U-Net of 860 M parameters, by the pieces and rules of this lab: 64² × 4
/// latents, 77 text tokens of 768, 8 heads, gated feed-forward, padding to 8.
class LatentUnet {
public:
    Program write()
    {
        const int latent = m_build.input("x", 4, 64, 64), t = m_build.input("t", 1, 1, 1);
        m_text = m_build.input("text", 768, kTextTokens, 1, true);
        m_bias = m_build.input("bias", 1, kTextTokens, 1, true);
        m_build.beginBlock("time");
        const ProgramBuilder::Dense wide{1280, true, Rate::TimeTable};
        int e = m_build.linear("l1", m_build.sinusoid("sinusoid", t, 320, 1), wide);
        e = m_build.linear("l2", m_build.unary(OpKind::Silu, "s", e, Rate::TimeTable), wide);
        m_embedding = m_build.unary(OpKind::Silu, "s2", e, Rate::TimeTable);
        m_build.beginBlock("stem");
        int x = m_build.concat("pad", {latent}, 8);
        x = m_build.convolution("c", x, {.channels = 320});
        std::vector<int> skips{x};
        for (int level = 0; level < 4; ++level) {
            for (int i = 0; i < 2; ++i) {
                x = stage(fmt::format("d{}.{}", level, i), x, kWidths[level], level < 3);
                skips.push_back(x);
            }
            if (level == 3)
                break;
            m_build.beginBlock(fmt::format("d{}.down", level));
            x = m_build.convolution("", x, {.channels = kWidths[level], .stride = 2});
            skips.push_back(x);
        }
        x = stage("m.0", x, 1280, true);
        x = stage("m.1", x, 1280, false);
        for (int level = 3; level >= 0; --level) {
            for (int i = 0; i < 3; ++i) {
                const std::string name = fmt::format("u{}.{}", level, i);
                m_build.beginBlock(name + ".in");
                x = m_build.concat("", {x, skips.back()});
                skips.pop_back();
                x = stage(name, x, kWidths[level], level < 3);
            }
            if (level == 0)
                break;
            m_build.beginBlock(fmt::format("u{}.up", level));
            x = m_build.unary(OpKind::UpsampleNearest2, "nearest", x);
            x = m_build.convolution("c", x, {.channels = kWidths[level]});
        }
        m_build.beginBlock("head");
        x = m_build.unary(OpKind::Silu, "s", m_build.groupNorm("n", x, 32));
        m_build.output(m_build.convolution("c", x, {.channels = 8}), "y");
        return m_build.finish();
    }

private:
    static constexpr Index kTextTokens = 80; ///< 77, padded
    static constexpr Index kWidths[4] = {320, 640, 1280, 1280};

    int stage(const std::string& name, int x, Index out, bool attends)
    {
        m_build.beginBlock(name);
        const Index in = m_build.channels(x);
        int y = m_build.unary(OpKind::Silu, "s1", m_build.groupNorm("n1", x, 32));
        y = m_build.convolution("c1", y, {.channels = out});
        y = m_build.addChannels("time", y,
                                m_build.linear("emb", m_embedding, {out, true, Rate::TimeTable}));
        y = m_build.unary(OpKind::Silu, "s2", m_build.groupNorm("n2", y, 32));
        y = m_build.convolution("c2", y, {.channels = out});
        if (in != out)
            x = m_build.convolution("skip", x, {.channels = out, .kernel = 1, .padding = 0});
        x = m_build.add("sum", y, x);
        return attends ? transformer(name + ".a", x) : x;
    }

    int transformer(const std::string& name, int x)
    {
        m_build.beginBlock(name);
        const Index c = m_build.channels(x);
        const ProgramBuilder::Conv point{.channels = c, .kernel = 1, .padding = 0};
        int z = m_build.convolution("in", m_build.groupNorm("n", x, 32), point);
        int y = m_build.linear("qkv", m_build.layerNorm("n1", z), {3 * c, false});
        z = m_build.add("sum1", m_build.linear("o1", m_build.selfAttention("self", y, 8), {c}), z);
        y = m_build.linear("q", m_build.layerNorm("n2", z), {c, false});
        const int kv = m_build.linear("kv", m_text, {2 * c, false, Rate::MemoryWrite});
        y = m_build.crossAttention("cross", y, kv, m_bias, 8);
        z = m_build.add("sum2", m_build.linear("o2", y, {c}), z);
        y = m_build.linear("ff1", m_build.layerNorm("n3", z), {8 * c});
        y = m_build.linear("ff2", m_build.unary(OpKind::GatedGelu, "gate", y), {c});
        z = m_build.add("sum3", y, z);
        return m_build.add("sum", m_build.convolution("out", z, point), x);
    }

    ProgramBuilder m_build{"latent"};
    int m_text = -1, m_bias = -1, m_embedding = -1;
};
} // namespace

class TestLiveModel : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void sizesHaveThePublishedCounts_data();
    void sizesHaveThePublishedCounts();
    void countsAgreeWithTheLayoutOnPaper();
    void flopAtOtherPatchesAndGridsRoundToThePublished();
    void sharesOfFlopAreThePublished();
    void flopAreMultiplicationsCountedOneByOne();
    void keysAndValuesTakeThePublishedBytes();
    void memoryWorkIsCountedPerWrite();
    void decoderUpsamplingIsTheLargestWork();
    void latentUnetHasItsPublishedCounts();
    void replicasHaveThePublishedCounts();
    void scoresOfNaiveAttentionAreNamed();
    void misalignedTwinIsThreePercentCheaper();
    void roundingPadsStemHeadAndEncoder();
    void windowsCutTheAttention();
    void weightNamesAreStable();
    void settingsThatDoNotFitAreRefused();
    void damagedProgramsAreRefused();
    void namesAndBucketsAreReadBack();
};

void TestLiveModel::sizesHaveThePublishedCounts_data()
{
    QTest::addColumn<int>("row");
    for (std::size_t i = 0; i < kPublished.size(); ++i)
        QTest::newRow(titleOf(kPublished[i].size).data()) << static_cast<int>(i);
}

void TestLiveModel::sizesHaveThePublishedCounts()
{
    QFETCH(int, row);
    const Published& want = kPublished[static_cast<std::size_t>(row)];
    const ModelCounts counts = countModel(settingsOf(want.size, want.patch, want.grid));
    QCOMPARE(counts.parameters, want.parameters);
    QCOMPARE(counts.flopPerEvaluation, want.flop);
    QCOMPARE(counts.timeWidth, want.timeWidth);
    QCOMPARE(counts.crossAttentions, want.crossAttentions);
}

void TestLiveModel::countsAgreeWithTheLayoutOnPaper()
{
    std::vector<UnetSettings> all;
    for (const Size size : kSizes) {
        const Index grid = layoutOf(size).nativeGrid;
        for (const Index patch : {1, 2, 4, 8})
            all.push_back(settingsOf(size, patch, grid));
        all.push_back(settingsOf(size, 2, 2 * grid));
        for (const Index rounding : {1, 64}) {
            all.push_back(settingsOf(size, 1, grid));
            all.back().channelRounding = rounding;
        }
        all.push_back(settingsOf(size, 1, grid));
        all.back().hasAttentionAtLevel0 = true;
    }
    for (const UnetSettings& settings : all) {
        const LayoutCount paper = onPaper(settings);
        const ModelCounts counts = countModel(settings);
        QCOMPARE(counts.parameters, paper.parameters);
        QCOMPARE(counts.flopPerEvaluation, paper.flop);
        QCOMPARE(counts.timeWidth, paper.timeWidth);
        QCOMPARE(counts.flopPerWrite, paper.writeFlop);
    }
}

void TestLiveModel::flopAtOtherPatchesAndGridsRoundToThePublished()
{
    struct Case {
        Size size;
        double large, highQuality; ///< GFLOP at p = 8, grid 64 and at p = 4, grid 128
        double largeUnit, unit;    ///< last digit given
    };
    for (const Case& c :
         {Case{Size::S, 26.9, 133, 0.1, 1}, Case{Size::M, 91.9, 419, 0.1, 1},
          Case{Size::L, 336.1, 1447, 0.1, 1}, Case{Size::XL, 544.8, 2341, 0.1, 1}}) {
        const auto giga = [](const UnetSettings& settings) {
            return static_cast<double>(countModel(settings).flopPerEvaluation) / 1e9;
        };
        QVERIFY(std::abs(giga(unetSettings(c.size, 512)) - c.large) <= c.largeUnit / 2);
        QVERIFY(std::abs(giga(unetSettings(c.size, 512, true)) - c.highQuality) <= c.unit / 2);
    }
}

void TestLiveModel::sharesOfFlopAreThePublished()
{
    struct Case {
        Size size;
        double wide, linear, attention; ///< percent, rounded or cut
    };
    for (const Case& c : {Case{Size::S, 69, 10, 18}, Case{Size::M, 76, 11, 10},
                          Case{Size::L, 80, 11, 5}, Case{Size::XL, 63, 30, 4}}) {
        const FlopShares shares = flopShares(buildUnet(unetSettings(c.size, 64)));
        const auto percent = [&](std::int64_t part) {
            return 100.0 * static_cast<double>(part) / static_cast<double>(shares.sum());
        };
        QVERIFY(std::abs(percent(shares.wideConvolutions) - c.wide) < 1);
        QVERIFY(std::abs(percent(shares.linear) - c.linear) < 1);
        QVERIFY(std::abs(percent(shares.attention) - c.attention) < 1);
        const double point = percent(shares.pointConvolutions);
        QVERIFY(point > 2.5 && point < 4.5);
    }
}

void TestLiveModel::flopAreMultiplicationsCountedOneByOne()
{
    std::vector<Program> programs{buildUnet(settingsOf(Size::Nano, 1, 16)), buildReplicaA(3, 16),
                                  buildMemoryEncoder(settingsOf(Size::Nano, 2, 32))};
    UnetSettings windowed = settingsOf(Size::Nano, 2, 16);
    windowed.hasWindowAttention = windowed.hasAttentionAtLevel0 = true;
    programs.push_back(buildUnet(windowed));
    for (const Program& program : programs) {
        std::int64_t sum = 0;
        for (const ProgramOp& op : program.ops) {
            QCOMPARE(flopOf(program, op), 2 * multiplications(program, op));
            if (op.rate == Rate::Evaluation)
                sum += 2 * multiplications(program, op);
        }
        QVERIFY(sum > 0);
        QCOMPARE(flopPerEvaluation(program), sum);
    }
}

void TestLiveModel::keysAndValuesTakeThePublishedBytes()
{
    const std::vector<std::pair<Size, double>> megabytes{
        {Size::S, 3.7}, {Size::M, 7.3}, {Size::L, 14.6}, {Size::XL, 21.1}};
    for (const auto& [size, want] : megabytes) {
        const double got =
            static_cast<double>(countModel(unetSettings(size, 64)).cacheElements) * 2 / 1e6;
        QVERIFY2(std::abs(got - want) <= 0.0506, qPrintable(QString::number(got)));
    }
}

void TestLiveModel::memoryWorkIsCountedPerWrite()
{
    const std::vector<std::pair<Size, double>> giga{
        {Size::S, 0.07}, {Size::M, 0.27}, {Size::L, 1.06}, {Size::XL, 1.46}};
    for (const auto& [size, want] : giga) {
        const double got =
            static_cast<double>(countModel(unetSettings(size, 64)).flopPerWrite) / 1e9;
        QVERIFY2(std::abs(got - want) <= 0.005, qPrintable(QString::number(got)));
    }
}

void TestLiveModel::decoderUpsamplingIsTheLargestWork()
{
    for (const Size size : {Size::L, Size::XL}) {
        const Program program = buildUnet(unetSettings(size, 64));
        std::vector<std::int64_t> flop;
        for (const ProgramOp& op : program.ops)
            flop.push_back(flopOf(program, op));
        std::sort(flop.rbegin(), flop.rend());
        const auto of = [&](const char* name) {
            return flopOf(program, program.op(program.findOp(name)));
        };
        QCOMPARE(of("u2.up.c"), flop[0]);
        QCOMPARE(of("u1.up.c"), flop[1]);
        QCOMPARE(std::lround(static_cast<double>(flop[1]) / 1e8), 193L);
    }
}

void TestLiveModel::latentUnetHasItsPublishedCounts()
{
    const Program program = LatentUnet().write();
    // 859,520,964 published; two more ends of four channels come from the padding to 8.
    QCOMPARE(parameterCount(program), 859'520'964 + 2 * 4 * 320 * 9 + 4);
    QCOMPARE(std::lround(static_cast<double>(flopPerEvaluation(program)) / 1e10), 80L);
}

void TestLiveModel::replicasHaveThePublishedCounts()
{
    const Program a = buildReplicaA(), b = buildReplicaB();
    QCOMPARE(parameterCount(a), 8'508'003);
    QCOMPARE(flopPerEvaluation(a), 5'309'202'432);
    QCOMPARE(parameterCount(a) * 4, 34'032'012);
    QCOMPARE(parameterCount(a) * 2, 17'016'006);
    QCOMPARE(parameterCount(b), 880'258'653);
    QCOMPARE(flopPerEvaluation(b), 142'582'112'256);
}

void TestLiveModel::scoresOfNaiveAttentionAreNamed()
{
    QCOMPARE(largestScores(buildReplicaB()) * 4, std::int64_t{1} << 30);
    UnetSettings stress = unetSettings(Size::S, 256, true);
    stress.hasAttentionAtLevel0 = true;
    QCOMPARE(stress.grid, 128);
    QCOMPARE(largestScores(buildUnet(stress)) * 4, 16384LL * 16384 * 4);
}

void TestLiveModel::misalignedTwinIsThreePercentCheaper()
{
    for (const Size size : {Size::S, Size::M, Size::L, Size::XL}) {
        UnetSettings settings = unetSettings(size, 64);
        const auto aligned = static_cast<double>(countModel(settings).flopPerEvaluation);
        settings.isMisaligned = true;
        const Program twin = buildUnet(settings);
        const double ratio = static_cast<double>(flopPerEvaluation(twin)) / aligned;
        QVERIFY2(ratio > 0.965 && ratio < 0.975, qPrintable(QString::number(ratio)));
        for (const ProgramOp& op : twin.ops) {
            if (op.kind == OpKind::GroupNorm)
                QCOMPARE(op.groups, 21);
            if (op.kind == OpKind::SelfAttention || op.kind == OpKind::CrossAttention)
                QCOMPARE(twin.value(op.output).channels / op.heads, 63);
        }
    }
}

void TestLiveModel::roundingPadsStemHeadAndEncoder()
{
    struct Case {
        Index rounding, input, output, encoder;
    };
    for (const Case& c : {Case{1, 9, 4, 3}, Case{8, 16, 8, 8}, Case{64, 64, 64, 64}}) {
        UnetSettings settings = settingsOf(Size::S, 1, 64);
        settings.channelRounding = c.rounding;
        const Program unet = buildUnet(settings), encoder = buildMemoryEncoder(settings);
        QCOMPARE(unet.weight(unet.findWeight("input.stem.weight")).shape,
                 Shape({64, 3, 3, c.input}));
        QCOMPARE(unet.weight(unet.findWeight("head.c.weight")).shape, Shape({c.output, 3, 3, 64}));
        QCOMPARE(encoder.weight(encoder.findWeight("mem.c1.weight")).shape,
                 Shape({64, 4, 4, c.encoder}));
    }
}

void TestLiveModel::windowsCutTheAttention()
{
    UnetSettings settings = unetSettings(Size::S, 64);
    settings.hasWindowAttention = settings.hasAttentionAtLevel0 = true;
    const Program program = buildUnet(settings);
    for (const ProgramOp& op : program.ops) {
        if (op.kind != OpKind::SelfAttention)
            continue;
        const ProgramValue& y = program.value(op.output);
        QCOMPARE(op.window, y.height >= 32 ? 8 : 0);
        QCOMPARE(scoresOf(program, op), op.heads * y.pixels() * (op.window > 0 ? 64 : y.pixels()));
    }
}

void TestLiveModel::weightNamesAreStable()
{
    const Program unet = buildUnet(unetSettings(Size::XL, 64));
    for (const char* name :
         {"input.stem.weight", "time.t.l1.weight", "time.b.l2.bias", "d1.0.c1.weight",
          "d1.0.skip.bias", "d1.0.emb.weight", "d1.0.a.qkv.weight", "d1.0.a.kv.weight",
          "d2.2.a.ff2.bias", "d0.down.weight", "m.0.n1.weight", "m.a1.o1.weight", "m.1.c2.weight",
          "u3.3.c1.weight", "u1.up.c.weight", "u0.3.n2.bias", "head.n.weight", "head.c.bias"})
        QVERIFY2(unet.findWeight(name) >= 0, name);
    QVERIFY(unet.findWeight("d1.0.a.qkv.bias") < 0);
    QVERIFY(unet.findWeight("d0.0.a.qkv.weight") < 0);
    const Program encoder = buildMemoryEncoder(unetSettings(Size::XL, 64));
    for (const char* name : {"mem.c1.weight", "mem.c2.bias", "mem.position.weight",
                             "mem.norm.weight", "mem.null.weight"})
        QVERIFY2(encoder.findWeight(name) >= 0, name);
    // The last channel of the head that is used is the blend logit.
    const ProgramWeight& bias = unet.weight(unet.findWeight("head.c.bias"));
    QCOMPARE(bias.constantElement, 3);
    QCOMPARE(bias.constantValue, 4.0);
}

void TestLiveModel::settingsThatDoNotFitAreRefused()
{
    UnetSettings settings = settingsOf(Size::S, 0, 64);
    VERGENCE_THROWS(ContractError, "a patch of 0 pixels", buildUnet(settings));
    settings = settingsOf(Size::S, 1, 60);
    VERGENCE_THROWS(ContractError, "a grid of 60", buildUnet(settings));
    settings = settingsOf(Size::S, 1, 8);
    VERGENCE_THROWS(ContractError, "a grid of 8", buildMemoryEncoder(settings));
    settings = settingsOf(Size::S, 1, 64);
    settings.channelRounding = 7;
    VERGENCE_THROWS(ContractError, "not of 7", buildUnet(settings));
    settings = settingsOf(Size::Pico, 1, 32);
    settings.isMisaligned = true;
    VERGENCE_THROWS(ContractError, "Pico has no misaligned twin", buildUnet(settings));
    settings = settingsOf(Size::S, 1, 72);
    QCOMPARE(problemOf(settings), std::string());
    settings.hasWindowAttention = true;
    VERGENCE_THROWS(ContractError, "windows of 8 by 8", buildUnet(settings));
    VERGENCE_THROWS(ContractError, "100 pixels", unetSettings(Size::S, 100));
    VERGENCE_THROWS(ContractError, "replica B", buildReplicaB(100));
    VERGENCE_THROWS(ContractError, "replica A", buildReplicaA(96, 30));
}

void TestLiveModel::damagedProgramsAreRefused()
{
    const Program good = buildUnet(settingsOf(Size::Nano, 1, 16));
    Program bad = good;
    bad.ops[static_cast<std::size_t>(bad.findOp("d1.0.c1"))].stride = 2;
    VERGENCE_THROWS(ContractError, "d1.0.c1 (Convolution) has another extent", checkProgram(bad));
    bad = good;
    bad.weights[3].name = bad.weights[4].name;
    VERGENCE_THROWS(ContractError, "two weights called", checkProgram(bad));
    bad = good;
    bad.ops[static_cast<std::size_t>(bad.findOp("d1.0.n1"))].groups = 7;
    VERGENCE_THROWS(ContractError, "d1.0.n1 (GroupNorm)", checkProgram(bad));
    bad = good;
    std::swap(bad.ops[5], bad.ops[6]);
    VERGENCE_THROWS(ContractError, "unet Nano", checkProgram(bad));
    bad = good;
    bad.ops[static_cast<std::size_t>(bad.findOp("d0.0.c1"))].block = "elsewhere";
    VERGENCE_THROWS(ContractError, "torn apart", checkProgram(bad));
    bad = good;
    bad.outputs.push_back(bad.op(bad.findOp("d1.0.c1")).output);
    VERGENCE_THROWS(ContractError, "d1.0 has 2 results", checkProgram(bad));
    bad = good;
    bad.weights[static_cast<std::size_t>(bad.findWeight("m.a0.qkv.weight"))].shape[0] = 5;
    VERGENCE_THROWS(ContractError, "m.a0.qkv (Linear) has a weight", checkProgram(bad));
}

void TestLiveModel::namesAndBucketsAreReadBack()
{
    for (const Size size : kSizes)
        QCOMPARE(sizeOfName(titleOf(size)), size);
    QCOMPARE(sizeOfName("xl"), Size::XL);
    VERGENCE_THROWS(InputError, "Nano, Pico, S, M, L and XL", sizeOfName("XXL"));
    QCOMPARE(historyBucket(0), 0);
    QCOMPARE(historyBucket(0.05), 1);
    QCOMPARE(historyBucket(0.7), 10);
    QCOMPARE(historyBucket(5), 10);
    QCOMPARE(unetSettings(Size::S, 512).patch, 8);
    QCOMPARE(unetSettings(Size::S, 512, true).patch, 4);
    QCOMPARE(unetSettings(Size::Pico, 64).patch, 2);
}

VERGENCE_TEST(TestLiveModel)
#include "tst_live_model.moc"
