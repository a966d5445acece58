#include "plugins/live_diffusion/engine/switches.h"

#include <fmt/format.h>

#include "core/compute/capability.h"
#include "core/compute/dense/cpu_dense.h"

namespace vergence::live {

namespace {

constexpr Precision kPrecisions[] = {Precision::Fp32, Precision::Tf32, Precision::Fp16,
                                     Precision::Bf16};
constexpr Layout kLayouts[] = {Layout::Nchw, Layout::Nhwc, Layout::Blocked};
constexpr AttentionKind kAttentions[] = {AttentionKind::Naive, AttentionKind::Flash};

std::string cpuReason(const Device& device, Precision precision)
{
    switch (precision) {
    case Precision::Fp32:
        return {};
    case Precision::Tf32:
        return "Only the tensor cores of a card round to TF32.";
    case Precision::Fp16:
        return "This processor has no products of 16-bit floats with 5 exponent bits.";
    case Precision::Bf16:
        break;
    }
    const auto* dense = dynamic_cast<const CpuDenseMath*>(&const_cast<Device&>(device).dense());
    return dense && dense->multipliesBf16()
               ? ""
               : "This processor has no fast products of BF16 numbers.";
}

/// Products alone do not make a frame: below 8.0 attention in 16 bits has one thread per query, and
/// a frame takes seconds.
std::string cudaReason(const Device& device, Precision precision)
{
    const double wanted = precision == Precision::Fp32 ? 0 : leastCapability(DType::BF16);
    return capabilityOf(device.info()) >= wanted
               ? ""
               : fmt::format("{} needs compute capability {:.1f}; this card has {}.",
                             nameOf(precision), wanted, device.info().computeCapability);
}

std::string layoutReason(const Device&, Layout layout)
{
    return layout == Layout::Blocked
               ? "Images stay channels-last between operations; only weights take the library's "
                 "own order."
               : "";
}

SwitchChoice choice(std::string key, std::string value, std::string reason = {})
{
    return {std::move(key), std::move(value), reason.empty(), reason};
}

} // namespace

Switches baselineSwitches()
{
    return {.precision = Precision::Fp32,
            .layout = Layout::Nchw,
            .attention = AttentionKind::Naive,
            .fusion = false,
            .tuned = false,
            .channelRounding = 8,
            .graph = false,
            .collapsedUpsampling = false,
            .threads = 0};
}

ProductPolicy productPolicy(const Switches& switches)
{
    return {.usesTf32 = switches.precision == Precision::Tf32, .isTimed = switches.tuned};
}

SwitchChoice precisionChoice(const Device& device, Precision precision)
{
    return choice("precision", std::string(nameOf(precision)),
                  device.isCpu() ? cpuReason(device, precision) : cudaReason(device, precision));
}

std::vector<SwitchChoice> switchChoices(const Device& device)
{
    const bool isCpu = device.isCpu();
    std::vector<SwitchChoice> all;
    for (const Precision precision : kPrecisions)
        all.push_back(precisionChoice(device, precision));
    for (const Layout layout : kLayouts)
        all.push_back(choice("layout", std::string(nameOf(layout)), layoutReason(device, layout)));
    for (const AttentionKind kind : kAttentions)
        all.push_back(choice("attention", std::string(nameOf(kind))));
    for (const char* key : {"fusion", "tuned"}) {
        all.push_back(choice(key, "off"));
        all.push_back(choice(key, "on"));
    }
    for (const char* value : {"0", "8", "64"})
        all.push_back(choice("channel_rounding", value));
    all.push_back(choice("graph", "off"));
    all.push_back(
        choice("graph", "on",
               isCpu ? "Launches are recorded on a card; a processor calls directly." : ""));
    all.push_back(choice("collapsed_upsampling", "off"));
    all.push_back(choice("collapsed_upsampling", "on"));
    return all;
}

Switches availableSwitches(const Device& device, Switches wanted, std::vector<std::string>* changes)
{
    const auto say = [&](const std::string& reason) {
        if (changes)
            changes->push_back(reason);
    };
    if (const auto found = precisionChoice(device, wanted.precision); !found.isAvailable) {
        const bool has16Bits =
            wanted.precision == Precision::Fp16 || wanted.precision == Precision::Bf16;
        const Precision other =
            wanted.precision == Precision::Fp16 ? Precision::Bf16 : Precision::Fp16;
        wanted.precision =
            has16Bits && precisionChoice(device, other).isAvailable ? other : Precision::Fp32;
        say(fmt::format("{} Products are computed in {}.", found.reason, nameOf(wanted.precision)));
    }
    if (const auto reason = layoutReason(device, wanted.layout); !reason.empty()) {
        say(reason);
        wanted.layout = Layout::Nhwc;
    }
    if (wanted.graph && device.isCpu()) {
        say("Launches are recorded on a card; a processor calls directly.");
        wanted.graph = false;
    }
    return wanted;
}

} // namespace vergence::live
