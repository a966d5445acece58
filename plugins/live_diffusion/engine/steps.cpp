#include "plugins/live_diffusion/engine/lowering.h"

namespace vergence::live {

int kernelsOf(const Program& program, const Step& step, AttentionKind attention)
{
    switch (step.kind) {
    case StepKind::TransposedConvolution:
        return step.ownsBias ? 2 : 1;
    case StepKind::UpsampledConvolution:
    case StepKind::JoinedLinear:
    case StepKind::Norm:
        return 2;
    case StepKind::QkvLinear:
        return 3;
    case StepKind::Concat:
        return static_cast<int>(step.inputs.size());
    case StepKind::Add:
        return static_cast<int>(step.inputs.size()) - 1;
    case StepKind::SelfAttention:
    case StepKind::CrossAttention:
        return (attention == AttentionKind::Naive ? 3 : 1) +
               (program.op(step.op).window > 0 ? 2 : 0);
    default:
        return 1;
    }
}

std::string nameOf(StepKind kind)
{
    switch (kind) {
    case StepKind::Import:
        return "import";
    case StepKind::Export:
        return "export";
    case StepKind::Convolution:
        return "convolution";
    case StepKind::UpsampledConvolution:
        return "upsampled convolution";
    case StepKind::TransposedConvolution:
        return "transposed convolution";
    case StepKind::Linear:
    case StepKind::JoinedLinear:
    case StepKind::QkvLinear:
        return "linear";
    case StepKind::Norm:
        return "group norm";
    case StepKind::LayerNorm:
        return "layer norm";
    case StepKind::Affine:
        return "affine";
    case StepKind::Silu:
        return "silu";
    case StepKind::Gelu:
        return "gelu";
    case StepKind::GatedGelu:
        return "gated gelu";
    case StepKind::Add:
        return "add";
    case StepKind::Concat:
        return "concat";
    case StepKind::Slice:
        return "slice";
    case StepKind::Relayout:
        return "relayout";
    case StepKind::SelfAttention:
        return "self-attention";
    case StepKind::CrossAttention:
        return "cross-attention";
    case StepKind::Upsample:
        return "upsample";
    case StepKind::Rare:
        return "image";
    }
    return "?";
}

} // namespace vergence::live
