#include "plugins/live_diffusion/profile/op_costs.h"

#include <algorithm>

#include "core/base/error.h"
#include "plugins/live_diffusion/model/counts.h"
#include "plugins/live_diffusion/profile/fused_values.h"

namespace vergence::live {

namespace {

constexpr double kKernelSeconds = 1.8e-6;
constexpr std::int64_t kScorePasses = 4; // written, read and written by the softmax, read

/// Elements that an operation moves in the fused form: an input that exists only inside the gather
/// of its reader (an upsampled picture) is read as what it was made of.
ElementTraffic fusedTraffic(const Program& program, const ProgramOp& op)
{
    ElementTraffic traffic = trafficOf(program, op);
    for (const int input : op.inputs) {
        const ProgramValue& value = program.value(input);
        if (value.producer < 0)
            continue;
        const ProgramOp& producer = program.op(value.producer);
        if (producer.kind == OpKind::UpsampleNearest2)
            traffic.inputs -= value.size() - program.value(producer.inputs.front()).size();
    }
    return traffic;
}

/// Elements of the residual that the product before this sum reads as well.
std::int64_t residualElements(const Program& program, const ProgramOp& op)
{
    return program.value(op.inputs.back()).size();
}

} // namespace

int elementBytes(Precision precision)
{
    return precision == Precision::Fp32 || precision == Precision::Tf32 ? 4 : 2;
}

std::vector<OpCost> opCosts(const Program& program, const Switches& switches, int rows)
{
    expects(rows >= 1, "opCosts: at least one batch row");
    const FusedValues fused(program);
    const std::int64_t width = elementBytes(switches.precision);
    std::vector<OpCost> costs;
    std::vector<std::ptrdiff_t> costOf(program.ops.size(), -1);
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        const ProgramOp& op = program.ops[i];
        if (op.rate != Rate::Evaluation)
            continue;
        if (switches.fusion && fused.isFree(static_cast<int>(i))) {
            if (op.kind != OpKind::Add)
                continue;
            const int product = fused.carrierOf(static_cast<int>(i));
            const auto carrier =
                static_cast<std::size_t>(costOf[static_cast<std::size_t>(product)]);
            costs[carrier].bytes += width * rows * residualElements(program, op);
            continue;
        }
        OpCost cost{op.name, op.block, op.kind, rows * flopOf(program, op)};
        const ElementTraffic traffic =
            switches.fusion ? fusedTraffic(program, op) : trafficOf(program, op);
        const std::int64_t scores =
            switches.attention == AttentionKind::Naive ? kScorePasses * scoresOf(program, op) : 0;
        cost.bytes = width * (traffic.weights + rows * (traffic.inputs + traffic.outputs + scores));
        cost.leastFlop = rows * leastFlopOf(program, op);
        costOf[i] = static_cast<std::ptrdiff_t>(costs.size());
        costs.push_back(std::move(cost));
    }
    return costs;
}

double lowerBound(const std::vector<OpCost>& ops, const DevicePeaks& peaks, Precision precision)
{
    const double flops = peaks.flops(precision);
    expects(flops > 0 && peaks.bandwidth > 0, "lowerBound: peaks of that precision are known");
    double seconds = 0;
    for (const OpCost& op : ops)
        seconds += std::max(static_cast<double>(peaks.isMeasured ? op.leastFlop : op.flop) / flops,
                            static_cast<double>(op.bytes) / peaks.bandwidth);
    return seconds;
}

double fusedHalfBound(const Program& program, const DevicePeaks& peaks)
{
    Switches switches;
    switches.precision = Precision::Fp16;
    return lowerBound(opCosts(program, switches), peaks, Precision::Fp16);
}

double strictSingleBound(const Program& program, const DevicePeaks& peaks)
{
    return lowerBound(opCosts(program, baselineSwitches()), peaks, Precision::Fp32);
}

double streamBatchBound(const Program& program, const DevicePeaks& peaks, int rows, int kernels)
{
    Switches switches;
    switches.precision = Precision::Fp16;
    const auto least = [&](int count) {
        return std::max(latencyFloor(kernels),
                        lowerBound(opCosts(program, switches, count), peaks, Precision::Fp16));
    };
    return least(rows) / least(1);
}

double latencyFloor(int kernels)
{
    return kernels * kKernelSeconds;
}

} // namespace vergence::live
