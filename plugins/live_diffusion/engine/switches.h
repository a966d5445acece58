#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/enum_names.h"
#include "core/compute/dense/product_policy.h"
#include "core/compute/precision.h"

namespace vergence {
class Device;
}

namespace vergence::live {

using vergence::nameOf;

/// Of weights and activations. Sums, statistics, softmax, sampler, x_t, bias tables, blend and
/// embeddings are F32 in all of them.
using vergence::Precision;

/// How images lie in memory. Nchw really stores planes and pays what the products need besides;
/// Blocked (CPU): the convolutions' weights and images in the library's own order.
enum class Layout { Nchw, Nhwc, Blocked };
constexpr auto namesOf(Layout)
{
    return std::array{EnumName{Layout::Nhwc, "nhwc"}, EnumName{Layout::Nchw, "nchw"},
                      EnumName{Layout::Blocked, "blocked"}};
}

/// Naive stores all scores of a layer, Flash none.
enum class AttentionKind { Naive, Flash };
constexpr auto namesOf(AttentionKind)
{
    return std::array{EnumName{AttentionKind::Flash, "flash"},
                      EnumName{AttentionKind::Naive, "naive"}};
}

/// Every switch of inference that may change while frames stream. None changes the result beyond
/// rounding.
struct Switches {
    Precision precision = Precision::Fp32;
    Layout layout = Layout::Nhwc;
    AttentionKind attention = AttentionKind::Flash;
    bool fusion = true; ///< off: one kernel per listed primitive
    /// The fastest of several algorithms per shape, timed once; off: the first that the device
    /// offers. Bits are the same within a process; from one process to the next where it is off, or
    /// where what was fastest is kept (TunedChoices), since times decide.
    bool tuned = true;
    int channelRounding = 8;         ///< input and output channels padded to a multiple: 0, 8 or 64
    bool graph = true;               ///< a frame is recorded once, then replayed (CUDA)
    bool collapsedUpsampling = true; ///< nearest ×2 and its 3×3 convolution as four 2×2
                                     ///< convolutions on the small grid
    int threads = 0; ///< CPU; 0: the fastest of 1 … all, measured; all where not tuned

    bool operator==(const Switches&) const = default;
};

/// Strict F32, Nchw, naive attention, eager, nothing fused, first plans: the baseline of every
/// comparison.
Switches baselineSwitches();

/// How a card multiplies with these switches; in force while a network works (ProductPolicyScope).
ProductPolicy productPolicy(const Switches& switches);

/// One value of a switch on one device.
struct SwitchChoice {
    std::string key;   ///< field of Switches in snake case: "precision"
    std::string value; ///< "bf16"; "on" and "off" for claims
    bool isAvailable = true;
    std::string reason; ///< one sentence where it is not
};

/// All values of all switches, in the order of Switches.
std::vector<SwitchChoice> switchChoices(const Device& device);

/// Whether weights of this type can be multiplied at full rate on the device; else why not.
SwitchChoice precisionChoice(const Device& device, Precision precision);

/// `wanted` with every value that the device does not offer replaced by the nearest that it does;
/// `changes` (may be null) receives a sentence for each.
Switches availableSwitches(const Device& device, Switches wanted,
                           std::vector<std::string>* changes = nullptr);

} // namespace vergence::live
