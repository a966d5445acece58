#include "plugins/live_diffusion/model/replicas.h"

#include <fmt/format.h>

#include "plugins/live_diffusion/model/program_builder.h"

namespace vergence::live {

namespace {
constexpr int kHeadsA = 12, kHeadsB = 16;
constexpr double kTimeScaleA = 1.0 / 100, kTimeScaleB = 1.0 / 50;

/// Packed projection, attention, projection out; all with biases.
int attend(ProgramBuilder& build, int x, int heads)
{
    const Index c = build.channels(x);
    const int qkv = build.linear("qkv", x, {.channels = 3 * c});
    return build.linear("o", build.selfAttention("self", qkv, heads), {.channels = c});
}

/// Parts of Replica-B.
class ReplicaBWriter {
public:
    explicit ReplicaBWriter(ProgramBuilder& build) : m_build(build) {}

    int block(const std::string& name, int x, Index channels)
    {
        m_build.beginBlock(name);
        for (int i = 1; i <= 4; ++i) {
            x = m_build.convolution(fmt::format("c{}", i), x, {.channels = channels});
            x = m_build.batchNorm(fmt::format("n{}", i), x);
            x = m_build.unary(OpKind::Silu, fmt::format("s{}", i), x);
        }
        return x;
    }

    int attention(const std::string& name, int x)
    {
        m_build.beginBlock(name);
        const Index c = m_build.channels(x);
        int y = attend(m_build, m_build.layerNorm("n1", x), kHeadsB);
        x = m_build.add("sum1", y, x);
        y = m_build.linear("ff1", m_build.layerNorm("n2", x), {.channels = 4 * c});
        y = m_build.linear("ff2", m_build.unary(OpKind::Gelu, "gelu", y), {.channels = c});
        return m_build.add("sum2", y, x);
    }

    int unet(const std::string& name, int x, Index c)
    {
        std::vector<int> skips;
        for (int level = 0; level < 4; ++level) {
            if (level > 0)
                x = pool(fmt::format("{}.p{}", name, level), x);
            x = block(fmt::format("{}.d{}", name, level), x, c << level);
            if (level > 0)
                x = attention(fmt::format("{}.d{}.a", name, level), x);
            skips.push_back(x);
        }
        x = pool(name + ".p4", x);
        x = block(name + ".m0", x, 16 * c);
        x = attention(name + ".m.a", x);
        x = block(name + ".m1", x, 8 * c);
        for (int level = 3; level >= 0; --level) {
            m_build.beginBlock(fmt::format("{}.up{}", name, level));
            x = m_build.unary(OpKind::UpsampleBilinear2, "bilinear", x);
            x = m_build.concat("concat", {x, skips[static_cast<std::size_t>(level)]});
            x = block(fmt::format("{}.u{}", name, level), x, level > 0 ? c << (level - 1) : c);
        }
        m_build.beginBlock(name + ".out");
        return m_build.convolution("", x, {.channels = 3, .kernel = 1, .padding = 0});
    }

private:
    int pool(const std::string& name, int x)
    {
        m_build.beginBlock(name);
        return m_build.unary(OpKind::MaxPool2, "", x);
    }

    ProgramBuilder& m_build;
};

int withTimePlane(ProgramBuilder& build, int x, int t, double scale)
{
    build.beginBlock("input");
    const int plane = build.plane("plane", t, build.value(x).height, scale);
    return build.concat("concat", {x, plane});
}
} // namespace

Program buildReplicaA(Index channels, Index grid)
{
    expects(channels > 0 && 8 * channels % kHeadsA == 0 && grid > 0 && grid % 4 == 0,
            fmt::format("replica A with {} channels on a grid of {} has no {} heads or no halves",
                        channels, grid, kHeadsA));
    ProgramBuilder build("replica A");
    const int frame = build.input("x", 3, grid, grid), t = build.input("t", 1, 1, 1);
    int x = withTimePlane(build, frame, t, kTimeScaleA);
    const auto down = [&](const std::string& name, Index out, int stride) {
        build.beginBlock(name);
        x = build.convolution("c", x, {.channels = out, .stride = stride});
        x = build.unary(OpKind::Silu, "s", x);
        return x;
    };
    const int skip1 = down("d0", channels, 1), skip2 = down("d1", 2 * channels, 2);
    down("d2", 4 * channels, 2);
    down("d3", 8 * channels, 1);
    build.beginBlock("m.a");
    x = attend(build, x, kHeadsA);
    const auto up = [&](const std::string& name, Index out, int skip) {
        build.beginBlock(name);
        x = build.transposedConvolution("c", x, {.channels = out, .kernel = 4, .stride = 2});
        x = build.unary(OpKind::Silu, "s", x);
        x = build.add("sum", x, skip);
    };
    up("u1", 2 * channels, skip2);
    up("u0", channels, skip1);
    build.beginBlock("out");
    x = build.convolution("c", x, {.channels = 3});
    build.output(build.unary(OpKind::Tanh, "tanh", x), "y");
    return build.finish();
}

Program buildReplicaB(Index channels, Index grid)
{
    expects(channels > 0 && channels % 32 == 0 && grid > 0 && grid % 16 == 0,
            fmt::format("replica B with {} channels on a grid of {} cannot be split in 16 heads "
                        "or halved four times",
                        channels, grid));
    ProgramBuilder build("replica B");
    const int frame = build.input("x", 3, grid, grid);
    const int previous = build.input("previous", 3, grid, grid);
    const int t = build.input("t", 1, 1, 1);
    ReplicaBWriter writer(build);
    int x = withTimePlane(build, frame, t, kTimeScaleB);
    x = writer.unet("first", x, channels);
    x = writer.unet("second", x, channels / 2);
    build.beginBlock("last.concat");
    x = build.concat("", {x, previous});
    x = writer.block("last.0", x, channels);
    x = writer.attention("last.a", x);
    build.output(writer.block("last.1", x, 3), "y");
    return build.finish();
}

} // namespace vergence::live
