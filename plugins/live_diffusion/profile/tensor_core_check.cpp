#include "plugins/live_diffusion/profile/tensor_core_check.h"

#include <algorithm>

#include <fmt/format.h>

#include "plugins/live_diffusion/profile/op_costs.h"
#include "plugins/live_diffusion/profile/text_table.h"

namespace vergence::live {

namespace {

constexpr int kAlignment = 16; // bytes that a tensor core loads at once

/// Collects what does not fit of one description.
class ShapeCheck {
public:
    ShapeCheck(const Program& program, const Switches& switches)
        : m_program(program),
          m_switches(switches),
          m_multiple(tensorCoreMultiple(switches.precision))
    {
    }

    std::vector<ShapeIssue> run()
    {
        if (m_multiple == 0)
            return {};
        for (const ProgramOp& op : m_program.ops) {
            if (op.rate == Rate::Evaluation)
                examine(op);
        }
        return std::move(m_issues);
    }

private:
    void examine(const ProgramOp& op)
    {
        const Index out = m_program.value(op.output).channels;
        const Index in = op.inputs.empty() ? 0 : m_program.value(op.inputs.front()).channels;
        switch (op.kind) {
        case OpKind::Convolution:
        case OpKind::TransposedConvolution:
            checkLayout(op);
            [[fallthrough]];
        case OpKind::Linear:
            checkDimension(op, "input channels", in);
            checkDimension(op, "output channels", out);
            break;
        case OpKind::SelfAttention:
        case OpKind::CrossAttention:
            checkDimension(op, "head width", out / op.heads);
            break;
        default:
            break;
        }
    }

    void checkLayout(const ProgramOp& op)
    {
        if (m_switches.layout != Layout::Nchw)
            return;
        m_issues.push_back({op.name, "layout", 0, 0, 0,
                            "Planes are turned into channels-last and back around the product."});
    }

    void checkDimension(const ProgramOp& op, const char* dimension, Index value)
    {
        if (value % m_multiple == 0)
            return;
        const Index padded = (value + m_multiple - 1) / m_multiple * m_multiple;
        const double growth = static_cast<double>(padded) / static_cast<double>(value) - 1;
        m_issues.push_back(
            {op.name, dimension, value, padded, growth,
             fmt::format("{} {} are no multiple of {} ({} bytes in {}); {} would be, for {:.1f} % "
                         "more work.",
                         value, dimension, m_multiple, kAlignment, nameOf(m_switches.precision),
                         padded, 100 * growth)});
    }

    const Program& m_program;
    const Switches& m_switches;
    int m_multiple;
    std::vector<ShapeIssue> m_issues;
};

} // namespace

int tensorCoreMultiple(Precision precision)
{
    return precision == Precision::Fp32 ? 0 : kAlignment / elementBytes(precision);
}

std::vector<ShapeIssue> checkShapes(const Program& program, const Switches& switches)
{
    return ShapeCheck(program, switches).run();
}

std::vector<ShapeIssue> checkPlans(std::span<const OpRecord> ops, Precision precision)
{
    std::vector<ShapeIssue> issues;
    if (tensorCoreMultiple(precision) == 0)
        return issues;
    for (const OpRecord& op : ops) {
        if (op.flop > 0 && !op.usesTensorCores)
            issues.push_back({op.name, "plan", 0, 0, 0,
                              fmt::format("{} runs as \"{}\" without tensor cores.", op.shape,
                                          op.plan.empty() ? "unknown" : op.plan)});
    }
    return issues;
}

std::string shapeIssuesMarkdown(std::span<const ShapeIssue> issues)
{
    if (issues.empty())
        return "Every product fits the tensor cores.\n";
    TextTable table{{"operation", "what", "value", "padded", "work", "why"}, {}};
    for (const ShapeIssue& issue : issues)
        table.rows.push_back(
            {issue.op, issue.dimension, issue.value > 0 ? std::to_string(issue.value) : "–",
             issue.padded > 0 ? std::to_string(issue.padded) : "–",
             issue.padded > 0 ? fmt::format("+{:.1f} %", 100 * issue.flopGrowth) : "–",
             issue.sentence});
    return table.markdown();
}

} // namespace vergence::live
