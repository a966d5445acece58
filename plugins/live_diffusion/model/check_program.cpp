#include <set>

#include <fmt/format.h>

#include "plugins/live_diffusion/model/program.h"

namespace vergence::live {

namespace {
/// Tells the first thing that is wrong with one operation; empty where nothing is.
class OpCheck {
public:
    OpCheck(const Program& program, const ProgramOp& op) : m_program(program), m_op(op) {}

    std::string problem() const
    {
        if (m_op.inputs.size() < least() || m_op.inputs.size() > most())
            return fmt::format("{} inputs", m_op.inputs.size());
        switch (m_op.kind) {
        case OpKind::Convolution:
            return convolution();
        case OpKind::TransposedConvolution:
            return transposed();
        case OpKind::Linear:
            return layer({y().channels, x().channels}, samePixels());
        case OpKind::GroupNorm:
            return norm(m_op.groups > 0 && x().channels % m_op.groups == 0);
        case OpKind::LayerNorm:
            return norm(true);
        case OpKind::BatchNorm:
            return norm(hasShape(m_op.mean, {x().channels}) &&
                        hasShape(m_op.variance, {x().channels}));
        case OpKind::Silu:
        case OpKind::Gelu:
        case OpKind::Tanh:
            return unless(same(x(), y()), "another extent");
        case OpKind::GatedGelu:
            return unless(samePixels() && x().channels == 2 * y().channels, "no two halves");
        case OpKind::Add:
            return unless(same(x(), y()) && same(input(1), y()), "terms of different extents");
        case OpKind::AddChannels:
            return unless(same(x(), y()) && input(1).channels == x().channels &&
                              input(1).pixels() == 1,
                          "channels that do not fit");
        case OpKind::AddTable:
            return unless(same(x(), y()) && hasShape(m_op.weight, {x().pixels(), x().channels}),
                          "a table that does not fit");
        case OpKind::Concat:
            return concat();
        case OpKind::Slice:
            return unless(samePixels() && m_op.first >= 0 &&
                              m_op.first + y().channels <= x().channels,
                          "channels that are not there");
        case OpKind::SelfAttention:
            return selfAttention();
        case OpKind::CrossAttention:
            return crossAttention();
        case OpKind::UpsampleNearest2:
        case OpKind::UpsampleBilinear2:
            return unless(y().channels == x().channels && y().height == 2 * x().height &&
                              y().width == 2 * x().width,
                          "another extent");
        case OpKind::MaxPool2:
            return unless(y().channels == x().channels && 2 * y().height == x().height &&
                              2 * y().width == x().width,
                          "another extent");
        case OpKind::AdaptiveMeanPool:
            return unless(y().channels == x().channels, "other channels");
        case OpKind::Sinusoid:
            return unless(x().size() == 1 && y().pixels() == 1, "no number to embed");
        case OpKind::Plane:
            return unless(x().size() == 1 && y().channels == 1, "no number to spread");
        case OpKind::Learned:
            return unless(hasShape(m_op.weight, {y().pixels(), y().channels}),
                          "a table that does not fit");
        }
        return "an unknown kind";
    }

private:
    std::size_t least() const
    {
        switch (m_op.kind) {
        case OpKind::Learned:
            return 0;
        case OpKind::Add:
        case OpKind::AddChannels:
            return 2;
        case OpKind::CrossAttention:
            return 3;
        default:
            return 1;
        }
    }
    std::size_t most() const { return m_op.kind == OpKind::Concat ? m_op.inputs.size() : least(); }

    const ProgramValue& input(std::size_t i) const { return m_program.value(m_op.inputs.at(i)); }
    const ProgramValue& x() const { return input(0); }
    const ProgramValue& y() const { return m_program.value(m_op.output); }

    static std::string unless(bool isFine, const char* problem) { return isFine ? "" : problem; }
    static bool same(const ProgramValue& a, const ProgramValue& b)
    {
        return a.channels == b.channels && a.height == b.height && a.width == b.width;
    }
    bool samePixels() const { return x().height == y().height && x().width == y().width; }
    bool hasShape(int weight, const Shape& shape) const
    {
        return weight >= 0 && m_program.weight(weight).shape == shape;
    }

    std::string layer(const Shape& weight, bool fits) const
    {
        if (!fits)
            return "another extent";
        if (!hasShape(m_op.weight, weight))
            return "a weight that does not fit";
        return unless(m_op.bias < 0 || hasShape(m_op.bias, {y().channels}),
                      "a bias that does not fit");
    }
    std::string convolution() const
    {
        const auto out = [&](Index n) {
            return (n + 2 * m_op.padding - m_op.kernel) / m_op.stride + 1;
        };
        return layer({y().channels, m_op.kernel, m_op.kernel, x().channels},
                     y().height == out(x().height) && y().width == out(x().width));
    }
    std::string transposed() const
    {
        const auto out = [&](Index n) {
            return (n - 1) * m_op.stride + m_op.kernel - 2 * m_op.padding;
        };
        return layer({x().channels, m_op.kernel, m_op.kernel, y().channels},
                     y().height == out(x().height) && y().width == out(x().width));
    }
    std::string norm(bool fits) const
    {
        return unless(fits && same(x(), y()) && hasShape(m_op.weight, {x().channels}) &&
                          hasShape(m_op.bias, {x().channels}),
                      "weights that do not fit");
    }
    std::string concat() const
    {
        Index sum = 0;
        for (std::size_t i = 0; i < m_op.inputs.size(); ++i) {
            sum += input(i).channels;
            if (input(i).height != y().height || input(i).width != y().width)
                return "parts of different extents";
        }
        return unless(sum <= y().channels, "too few channels");
    }
    std::string selfAttention() const
    {
        const bool tiles = m_op.window == 0 || (m_op.window > 0 && x().height % m_op.window == 0 &&
                                                x().width % m_op.window == 0);
        return unless(samePixels() && x().channels == 3 * y().channels && m_op.heads > 0 &&
                          y().channels % m_op.heads == 0 && tiles,
                      "heads or windows that do not fit");
    }
    std::string crossAttention() const
    {
        const ProgramValue &kv = input(1), &bias = input(2);
        return unless(same(x(), y()) && kv.channels == 2 * x().channels && bias.channels == 1 &&
                          bias.pixels() == kv.pixels() && m_op.heads > 0 &&
                          x().channels % m_op.heads == 0,
                      "keys that do not fit");
    }

    const Program& m_program;
    const ProgramOp& m_op;
};

template <class Items>
void expectUniqueNames(const Program& program, const Items& items, const char* what)
{
    std::set<std::string> names;
    for (const auto& item : items)
        expects(names.insert(item.name).second,
                fmt::format("{} has two {} called {}", program.name, what, item.name));
}

void expectOrder(const Program& program)
{
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        const ProgramOp& op = program.ops[i];
        for (const int input : op.inputs)
            expects(input >= 0 && program.value(input).producer < static_cast<int>(i),
                    fmt::format("{}: {} reads what is not there yet", program.name, op.name));
        expects(op.output >= 0 && program.value(op.output).producer == static_cast<int>(i),
                fmt::format("{}: the result of {} is not its own", program.name, op.name));
        const auto last = static_cast<int>(program.weights.size());
        for (const int weight : {op.weight, op.bias, op.mean, op.variance})
            expects(weight < last,
                    fmt::format("{}: {} has a weight that is not there", program.name, op.name));
    }
}

/// Neighbours of one block hand on one value.
void expectBlocks(const Program& program)
{
    const auto readers = program.readers();
    const std::set<int> outputs(program.outputs.begin(), program.outputs.end());
    std::set<std::string> finished;
    std::size_t first = 0;
    while (first < program.ops.size()) {
        const std::string& block = program.ops[first].block;
        expects(finished.insert(block).second,
                fmt::format("{}: block {} is torn apart", program.name, block));
        std::size_t last = first;
        while (last < program.ops.size() && program.ops[last].block == block)
            ++last;
        int results = 0;
        for (std::size_t i = first; i < last; ++i) {
            const auto& by = readers[static_cast<std::size_t>(program.ops[i].output)];
            const bool isReadLater = !by.empty() && by.back() >= static_cast<int>(last);
            results += isReadLater || outputs.contains(program.ops[i].output);
        }
        expects(results == 1,
                fmt::format("{}: block {} has {} results", program.name, block, results));
        first = last;
    }
}
} // namespace

void checkProgram(const Program& program)
{
    expectUniqueNames(program, program.values, "values");
    expectUniqueNames(program, program.weights, "weights");
    expectUniqueNames(program, program.ops, "operations");
    expectOrder(program);
    for (const ProgramOp& op : program.ops) {
        const std::string problem = OpCheck(program, op).problem();
        expects(problem.empty(),
                fmt::format("{}: {} ({}) has {}", program.name, op.name, nameOf(op.kind), problem));
    }
    expectBlocks(program);
}

} // namespace vergence::live
