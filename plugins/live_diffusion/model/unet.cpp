#include "plugins/live_diffusion/model/unet.h"

#include <algorithm>

#include <fmt/format.h>

#include "plugins/live_diffusion/model/program_builder.h"

namespace vergence::live {

namespace {
constexpr double kBlendLogit = 4;      ///< σ(4) = 0.982: at first, what is shown is the new frame
constexpr double kBucketSpacing = 100; ///< buckets are embedded like timesteps 0, 100, …
constexpr Index kWindow = 8;
constexpr int kLastWindowedLevel = 1;
constexpr Index kEncoderSide = 16; ///< pixels a side before the last convolution of the encoder
constexpr Index kAlignedHead = 64, kMisalignedHead = 63;
constexpr int kMisalignedGroups = 21;

class UnetWriter {
public:
    explicit UnetWriter(const UnetSettings& settings)
        : m_settings(settings),
          m_layout(layoutOf(settings.size)),
          m_base(settings.baseChannels()),
          m_build(fmt::format("unet {}", titleOf(settings.size)))
    {
    }

    Program write()
    {
        declareInputs();
        embedTime();
        std::vector<int> skips;
        int x = encode(skips);
        x = middle(x);
        x = decode(x, skips);
        head(x);
        return m_build.finish();
    }

private:
    Index channels(int level) const
    {
        return m_base * m_layout.multipliers[static_cast<std::size_t>(level)];
    }
    bool attends(int level) const
    {
        const auto& levels = m_layout.attentionLevels;
        return (level == 0 && m_settings.hasAttentionAtLevel0) ||
               std::find(levels.begin(), levels.end(), level) != levels.end();
    }
    int groups(Index count) const
    {
        if (m_settings.isMisaligned)
            return kMisalignedGroups;
        return static_cast<int>(count >= 128 ? 32 : count / 4);
    }

    void declareInputs()
    {
        const Index c = m_settings.frameChannels(), g = m_settings.grid;
        m_x = m_build.input("x", c, g, g);
        m_u = m_build.input("u", c, g, g);
        m_h = m_build.input("h", c, g, g);
        m_t = m_build.input("t", 1, 1, 1);
        m_b = m_build.input("b", 1, 1, 1);
        m_memory = m_build.input("memory", m_settings.memoryWidth(), kMemoryTokens, 1, true);
        m_memoryBias = m_build.input("memory_bias", 1, kMemoryTokens, 1, true);
    }

    int embedOne(const std::string& name, int number, double scale)
    {
        const ProgramBuilder::Dense dense{4 * m_base, true, Rate::TimeTable};
        int e = m_build.sinusoid(name + ".sinusoid", number, m_base, scale);
        e = m_build.linear(name + ".l1", e, dense);
        e = m_build.unary(OpKind::Silu, name + ".s", e, Rate::TimeTable);
        return m_build.linear(name + ".l2", e, dense);
    }

    void embedTime()
    {
        m_build.beginBlock("time");
        const int t = embedOne("t", m_t, 1), b = embedOne("b", m_b, kBucketSpacing);
        const int sum = m_build.add("sum", t, b, Rate::TimeTable);
        m_embedding = m_build.unary(OpKind::Silu, "s", sum, Rate::TimeTable);
    }

    int residualBlock(const std::string& block, int x, int skip, Index out)
    {
        m_build.beginBlock(block);
        if (skip >= 0)
            x = m_build.concat("concat", {x, skip});
        const Index in = m_build.channels(x);
        const int straight =
            in == out
                ? x
                : m_build.convolution("skip", x, {.channels = out, .kernel = 1, .padding = 0});
        int y = m_build.groupNorm("n1", x, groups(in));
        y = m_build.unary(OpKind::Silu, "s1", y);
        y = m_build.convolution("c1", y, {.channels = out});
        const int e = m_build.linear("emb", m_embedding, {out, true, Rate::TimeTable});
        y = m_build.addChannels("time", y, e);
        y = m_build.groupNorm("n2", y, groups(out));
        y = m_build.unary(OpKind::Silu, "s2", y);
        y = m_build.convolution("c2", y,
                                {.channels = out, .endsResidual = true, .startsAtZero = true});
        return m_build.add("sum", y, straight);
    }

    int attentionBlock(const std::string& block, int x, int level)
    {
        m_build.beginBlock(block);
        const Index c = m_build.channels(x);
        const Index headSize = m_settings.isMisaligned ? kMisalignedHead : kAlignedHead;
        const int heads = static_cast<int>(std::max<Index>(1, c / headSize));
        const bool isWindowed = m_settings.hasWindowAttention && level <= kLastWindowedLevel;
        const ProgramBuilder::Dense projection{c, true, Rate::Evaluation, true, true};

        int y = m_build.groupNorm("n1", x, groups(c));
        y = m_build.linear("qkv", y, {3 * c, false});
        y = m_build.selfAttention("self", y, heads, isWindowed ? kWindow : 0);
        x = m_build.add("sum1", m_build.linear("o1", y, projection), x);

        y = m_build.layerNorm("n2", x);
        y = m_build.linear("q", y, {c, false});
        const int kv = m_build.linear("kv", m_memory, {2 * c, false, Rate::MemoryWrite});
        y = m_build.crossAttention("cross", y, kv, m_memoryBias, heads);
        x = m_build.add("sum2", m_build.linear("o2", y, projection), x);
        return m_layout.hasFeedForward ? feedForward(x) : x;
    }

    int feedForward(int x)
    {
        const Index c = m_build.channels(x);
        int y = m_build.layerNorm("n3", x);
        y = m_build.linear("ff1", y, {.channels = 8 * c});
        y = m_build.unary(OpKind::GatedGelu, "gate", y);
        y = m_build.linear("ff2", y, {.channels = c, .endsResidual = true});
        return m_build.add("sum3", y, x);
    }

    int encode(std::vector<int>& skips)
    {
        m_build.beginBlock("input");
        int x = m_build.concat("concat", {m_x, m_u, m_h}, m_settings.inputChannels());
        x = m_build.convolution("stem", x, {.channels = m_base});
        skips.push_back(x);
        for (int level = 0; level < m_layout.levels(); ++level) {
            for (int i = 0; i < m_layout.blocks; ++i) {
                const std::string block = fmt::format("d{}.{}", level, i);
                x = residualBlock(block, x, -1, channels(level));
                if (attends(level))
                    x = attentionBlock(block + ".a", x, level);
                skips.push_back(x);
            }
            if (level + 1 == m_layout.levels())
                break;
            m_build.beginBlock(fmt::format("d{}.down", level));
            x = m_build.convolution("", x, {.channels = channels(level), .stride = 2});
            skips.push_back(x);
        }
        return x;
    }

    int middle(int x)
    {
        const int level = m_layout.levels() - 1;
        x = residualBlock("m.0", x, -1, channels(level));
        for (int i = 0; i < m_layout.middleAttentions; ++i)
            x = attentionBlock(fmt::format("m.a{}", i), x, level);
        return residualBlock("m.1", x, -1, channels(level));
    }

    int decode(int x, std::vector<int>& skips)
    {
        for (int level = m_layout.levels() - 1; level >= 0; --level) {
            for (int i = 0; i <= m_layout.blocks; ++i) {
                const std::string block = fmt::format("u{}.{}", level, i);
                x = residualBlock(block, x, skips.back(), channels(level));
                skips.pop_back();
                if (attends(level))
                    x = attentionBlock(block + ".a", x, level);
            }
            if (level == 0)
                break;
            m_build.beginBlock(fmt::format("u{}.up", level));
            x = m_build.unary(OpKind::UpsampleNearest2, "nearest", x);
            x = m_build.convolution("c", x, {.channels = channels(level)});
        }
        return x;
    }

    void head(int x)
    {
        m_build.beginBlock("head");
        const Index c = m_settings.frameChannels();
        x = m_build.groupNorm("n", x, groups(m_build.channels(x)));
        x = m_build.unary(OpKind::Silu, "s", x);
        x = m_build.convolution("c", x, {.channels = m_settings.outputChannels()});
        ProgramWeight& bias = m_build.weightOf("head.c.bias");
        bias.constantElement = static_cast<int>(c);
        bias.constantValue = kBlendLogit;
        m_build.beginBlock("prediction");
        m_build.output(m_build.slice("", x, 0, c), "prediction");
        m_build.beginBlock("blend");
        m_build.output(m_build.slice("", x, c, 1), "blend");
    }

    const UnetSettings& m_settings;
    UnetLayout m_layout;
    Index m_base;
    ProgramBuilder m_build;
    int m_x = -1, m_u = -1, m_h = -1, m_t = -1, m_b = -1, m_memory = -1, m_memoryBias = -1;
    int m_embedding = -1;
};

void expectBuildable(const UnetSettings& settings)
{
    const std::string problem = problemOf(settings);
    expects(problem.empty(), problem);
}
} // namespace

Program buildUnet(const UnetSettings& settings)
{
    expectBuildable(settings);
    return UnetWriter(settings).write();
}

Program buildMemoryEncoder(const UnetSettings& settings)
{
    expectBuildable(settings);
    const Index rounding = settings.channelRounding;
    const Index padded = (settings.frameChannels() + rounding - 1) / rounding * rounding;
    const int kernel = static_cast<int>(layoutOf(settings.size).nativeGrid / kEncoderSide);

    ProgramBuilder build(fmt::format("memory encoder {}", titleOf(settings.size)));
    int x = build.input("frame", settings.frameChannels(), settings.grid, settings.grid);
    build.beginBlock("mem");
    if (padded > settings.frameChannels())
        x = build.concat("pad", {x}, padded);
    x = build.convolution(
        "c1", x,
        {.channels = settings.baseChannels(), .kernel = kernel, .stride = kernel, .padding = 0});
    x = build.unary(OpKind::Silu, "s", x);
    if (build.value(x).height != kEncoderSide)
        x = build.meanPool("pool", x, kEncoderSide);
    x = build.convolution(
        "c2", x, {.channels = settings.memoryWidth(), .kernel = 4, .stride = 4, .padding = 0});
    x = build.addTable("position", x);
    build.output(build.layerNorm("norm", x), "tokens");
    build.beginBlock("mem.null");
    build.output(build.learned("", settings.memoryWidth(), 1), "null");
    return build.finish();
}

} // namespace vergence::live
