#include "plugins/live_diffusion/session/onnx_part.h"

#include "plugins/live_diffusion/model/counts.h"
#include "plugins/live_diffusion/onnx/onnx_export.h"

namespace vergence::live {

namespace {

/// The reference interpreter takes seconds for a few GFLOP.
int runsFor(std::int64_t flop)
{
    constexpr std::int64_t kFewFlop = 2'000'000'000, kManyFlop = 20'000'000'000;
    return flop <= kFewFlop ? 3 : flop <= kManyFlop ? 1 : 0;
}

} // namespace

void OnnxPart::begin(RunContext& context)
{
    m_isDone = m_networks.config().network != NetworkKind::Unet;
    if (m_isDone)
        context.warn("W-ONNX", "Only the denoiser can be exported as ONNX, not the " +
                                   m_networks.name() + ".");
}

bool OnnxPart::advance(RunContext& context)
{
    if (m_isDone)
        return false;
    const LiveDiffusionConfig& config = m_networks.config();
    const auto tape = m_networks.tape(context.stream(), false);
    OnnxExportSettings settings;
    settings.options.opset = config.onnxOpset;
    settings.options.type = config.onnxPrecision == "fp16" ? OnnxType::Float16 : OnnxType::Float;
    int evaluations = 1;
    if (config.onnxFrame) {
        settings.frame = samplerOf(m_networks.loop());
        evaluations = settings.frame->steps();
    }
    settings.runs = runsFor(evaluations * flopPerEvaluation(tape->unet()));
    settings.isStopped = [&context] { return context.stopRequested(); };
    ArtifactStore& artifacts = context.artifacts();
    const auto folder = artifacts.pathFor("onnx/unet.onnx").parent_path();
    const OnnxExport result = exportOnnx(context.stream(), *tape, folder, settings);
    if (result.isStopped) {
        m_wasInterrupted = true;
        return true;
    }
    for (const std::filesystem::path& file : result.files)
        artifacts.add("onnx/" + file.filename().string(), "onnx", "ONNX");
    for (const OnnxVerification& verification : result.verifications) {
        if (!verification.holds())
            context.warn("W-ONNX", verification.sentence());
    }
    context.record("onnx_ok", result.holds() ? 1 : 0);
    m_isDone = true;
    return false;
}

} // namespace vergence::live
