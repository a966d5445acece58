#include "plugins/live_diffusion/bench/ab_plan.h"

#include "core/base/error.h"

namespace vergence::live {

namespace {

std::string reasonFor(const Device& device, const char* key, const char* value)
{
    for (const SwitchChoice& choice : switchChoices(device)) {
        if (choice.key == key && choice.value == value)
            return choice.reason;
    }
    return {};
}

std::function<void(AbSetting&)> precision(Precision which)
{
    return [which](AbSetting& setting) { setting.switches.precision = which; };
}

/// In fp16, as the ONNX file has it.
void useTensorRt(AbSetting& setting)
{
    setting.switches.precision = Precision::Fp16;
    setting.usesTensorRt = true;
}

bool isOffered(const AbTechnique& technique)
{
    return technique.unavailable.empty();
}

} // namespace

std::string_view nameOf(AbPart part)
{
    switch (part) {
    case AbPart::Baseline:
        return "baseline";
    case AbPart::Alone:
        return "alone";
    case AbPart::Cumulative:
        return "cumulative";
    case AbPart::Without:
        return "without";
    }
    return "?";
}

std::vector<AbTechnique> abTechniques(const Device& device, const std::string& whyNoTensorRt)
{
    std::vector<AbTechnique> all = {
        {"fp16", precision(Precision::Fp16), false,
         precisionChoice(device, Precision::Fp16).reason},
        {"NHWC", [](AbSetting& s) { s.switches.layout = Layout::Nhwc; }},
        {"flash attention", [](AbSetting& s) { s.switches.attention = AttentionKind::Flash; }},
        {"fusion", [](AbSetting& s) { s.switches.fusion = true; }},
        {"auto-tune", [](AbSetting& s) { s.switches.tuned = true; }},
        {"CUDA graph", [](AbSetting& s) { s.switches.graph = true; }, false,
         reasonFor(device, "graph", "on")},
        {"stream batch", [](AbSetting& s) { s.isStreamBatch = true; }},
        {"tf32", precision(Precision::Tf32), true, precisionChoice(device, Precision::Tf32).reason},
        {"bf16", precision(Precision::Bf16), true, precisionChoice(device, Precision::Bf16).reason},
        {"TensorRT", useTensorRt, true, whyNoTensorRt},
        {"phase-collapsed upsampling", [](AbSetting& s) { s.switches.collapsedUpsampling = true; },
         true},
        {"one step", [](AbSetting& s) { s.steps = 1; }, true}};
    if (device.isCpu())
        all.push_back({"one thread", [](AbSetting& s) { s.switches.threads = 1; }, true});
    return all;
}

std::vector<AbStep> abPlan(const std::vector<AbTechnique>& techniques, int steps)
{
    expects(steps >= 1, "abPlan: at least one step");
    const AbSetting baseline{baselineSwitches(), false, steps, false};
    std::vector<AbStep> plan{{AbPart::Baseline, "", baseline, ""}};
    for (const AbTechnique& technique : techniques) {
        AbStep step{AbPart::Alone, technique.name, baseline, technique.unavailable};
        technique.apply(step.setting);
        plan.push_back(std::move(step));
    }
    AbSetting cumulated = baseline;
    for (const AbTechnique& technique : techniques) {
        if (technique.isSide || !isOffered(technique))
            continue;
        technique.apply(cumulated);
        plan.push_back({AbPart::Cumulative, technique.name, cumulated, ""});
    }
    for (const AbTechnique& left : techniques) {
        if (left.isSide || !isOffered(left))
            continue;
        AbStep step{AbPart::Without, left.name, baseline, ""};
        for (const AbTechnique& technique : techniques) {
            if (!technique.isSide && isOffered(technique) && technique.name != left.name)
                technique.apply(step.setting);
        }
        plan.push_back(std::move(step));
    }
    return plan;
}

} // namespace vergence::live
