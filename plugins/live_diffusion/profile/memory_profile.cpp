#include "plugins/live_diffusion/profile/memory_profile.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/live_diffusion/model/counts.h"
#include "plugins/live_diffusion/profile/fused_values.h"
#include "plugins/live_diffusion/profile/op_costs.h"
#include "plugins/live_diffusion/profile/text_table.h"

namespace vergence::live {

namespace {

constexpr std::size_t kLargest = 20;
constexpr int kNever = -1;

/// Values that share one buffer, and the operations between which it lives.
struct Buffer {
    int value = -1; ///< the one it is named after
    int first = kNever, last = kNever;
};

/// Which buffer each value of an evaluation lies in.
class Lifetimes {
public:
    Lifetimes(const Program& program, bool isFused)
        : m_program(program),
          m_fused(program),
          m_isFused(isFused),
          m_bufferOf(program.values.size(), -1)
    {
        for (std::size_t i = 0; i < program.ops.size(); ++i) {
            if (program.ops[i].rate == Rate::Evaluation)
                visit(static_cast<int>(i));
        }
        for (const int output : program.outputs)
            read(output, static_cast<int>(program.ops.size()) - 1);
    }

    const std::vector<Buffer>& buffers() const { return m_buffers; }

private:
    void visit(int index)
    {
        const ProgramOp& op = m_program.op(index);
        for (const int input : op.inputs)
            read(input, index);
        const auto output = static_cast<std::size_t>(op.output);
        if (!m_isFused || !m_fused.isFree(index)) {
            m_bufferOf[output] = static_cast<int>(m_buffers.size());
            m_buffers.push_back({op.output, index, index});
        } else if (m_fused.carrierOf(index) >= 0) { // written in place of what it alone reads
            const int buffer = m_bufferOf[static_cast<std::size_t>(op.inputs.front())];
            m_bufferOf[output] = buffer;
            m_buffers[static_cast<std::size_t>(buffer)].value = op.output;
        }
    }

    /// What is computed for other evaluations as well lies in caches, not here.
    void read(int value, int index)
    {
        const std::vector<int> sources =
            m_isFused ? m_fused.sourcesOf(value) : std::vector<int>{value};
        for (const int source : sources) {
            const int buffer = m_bufferOf[static_cast<std::size_t>(source)];
            if (buffer >= 0) {
                Buffer& life = m_buffers[static_cast<std::size_t>(buffer)];
                life.last = std::max(life.last, index);
            }
        }
    }

    const Program& m_program;
    FusedValues m_fused;
    bool m_isFused;
    std::vector<int> m_bufferOf; ///< −1: in no buffer of the arena
    std::vector<Buffer> m_buffers;
};

/// Scores and, where nothing is fused, the probabilities beside them.
std::uint64_t scoreBytes(const Program& program, const ProgramOp& op, const Switches& switches)
{
    if (switches.attention == AttentionKind::Flash)
        return 0;
    return static_cast<std::uint64_t>(scoresOf(program, op)) *
           static_cast<std::uint64_t>(elementBytes(switches.precision)) * (switches.fusion ? 1 : 2);
}

std::uint64_t weightBytes(const Program& program, Precision precision)
{
    std::uint64_t elements = 0;
    for (const ProgramWeight& weight : program.weights)
        elements += static_cast<std::uint64_t>(weight.size());
    return elements * static_cast<std::uint64_t>(elementBytes(precision));
}

const MemoryRow& largestRow(const std::vector<MemoryRow>& rows)
{
    expects(!rows.empty(), "memory profile: at least one operation");
    return *std::max_element(rows.begin(), rows.end(),
                             [](const auto& a, const auto& b) { return a.arena < b.arena; });
}

} // namespace

std::uint64_t MemoryProfile::peak() const
{
    return largestRow(rows).arena;
}

std::string MemoryProfile::peakOp() const
{
    return largestRow(rows).op;
}

MemoryProfile memoryProfile(const Program& program, const Switches& switches, int rows)
{
    expects(rows >= 1, "memoryProfile: at least one batch row");
    const Lifetimes lifetimes(program, switches.fusion);
    const auto width = static_cast<std::uint64_t>(elementBytes(switches.precision) * rows);
    std::vector<std::uint64_t> live(program.ops.size(), 0);
    MemoryProfile profile;
    for (const Buffer& buffer : lifetimes.buffers()) {
        const std::uint64_t bytes =
            width * static_cast<std::uint64_t>(program.value(buffer.value).size());
        for (int op = buffer.first; op <= buffer.last; ++op)
            live[static_cast<std::size_t>(op)] += bytes;
        profile.tensors.push_back(
            {program.value(buffer.value).name, bytes, buffer.first, buffer.last});
    }
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        const ProgramOp& op = program.ops[i];
        if (op.rate != Rate::Evaluation)
            continue;
        const std::uint64_t scores =
            scoreBytes(program, op, switches) * static_cast<std::uint64_t>(rows);
        if (scores > 0)
            profile.tensors.push_back(
                {op.name + ", scores", scores, static_cast<int>(i), static_cast<int>(i)});
        profile.rows.push_back({op.name, op.block, live[i] + scores, scores});
    }
    std::stable_sort(profile.tensors.begin(), profile.tensors.end(),
                     [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    profile.tensors.resize(std::min(profile.tensors.size(), kLargest));
    return profile;
}

nlohmann::json MemoryProfile::toJson() const
{
    auto list = nlohmann::json::array();
    for (const MemoryRow& row : rows)
        list.push_back({{"op", row.op},
                        {"block", row.block},
                        {"arena_bytes", row.arena},
                        {"score_bytes", row.scores}});
    return list;
}

std::string MemoryProfile::markdown() const
{
    TextTable table{{"tensor", "bytes", "from operation", "to operation"}, {}};
    for (const TensorSpan& tensor : tensors)
        table.rows.push_back({tensor.name, byteNumber(static_cast<double>(tensor.bytes)),
                              std::to_string(tensor.first), std::to_string(tensor.last)});
    return fmt::format("Most live at once: {} at {}\n\n{}", byteNumber(static_cast<double>(peak())),
                       peakOp(), table.markdown());
}

std::vector<WhatIf> whatIf(const std::function<Program(Index grid)>& build,
                           std::span<const Index> grids, bool fusion)
{
    std::vector<WhatIf> bars;
    for (const Index grid : grids) {
        const Program program = build(grid);
        for (const Precision precision : {Precision::Fp32, Precision::Fp16}) {
            for (const AttentionKind attention : {AttentionKind::Naive, AttentionKind::Flash}) {
                Switches switches;
                switches.precision = precision;
                switches.attention = attention;
                switches.fusion = fusion;
                const MemoryProfile profile = memoryProfile(program, switches);
                const MemoryRow& largest = largestRow(profile.rows);
                bars.push_back({precision, attention, grid, weightBytes(program, precision),
                                largest.arena, largest.scores});
            }
        }
    }
    return bars;
}

std::string whatIfMarkdown(std::span<const WhatIf> bars)
{
    TextTable table{{"precision, attention, grid", "weights", "arena", "of it scores"}, {}};
    for (const WhatIf& bar : bars)
        table.rows.push_back(
            {fmt::format("{}, {}, {}", nameOf(bar.precision), nameOf(bar.attention), bar.grid),
             byteNumber(static_cast<double>(bar.weights)),
             byteNumber(static_cast<double>(bar.arena)),
             byteNumber(static_cast<double>(bar.scores))});
    return table.markdown();
}

} // namespace vergence::live
