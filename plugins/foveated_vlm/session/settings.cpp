#include "plugins/foveated_vlm/session/settings.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/compute/capability.h"
#include "plugins/foveated_vlm/model/known_names.h"
#include "plugins/foveated_vlm/session/drawn_clips.h"

namespace vergence::fvlm {

namespace {

DinoConfig visionOf(const FoveatedVlmConfig& config)
{
    const auto known = knownVit(config.vit, config.size);
    DinoConfig vit = known ? *known : vitOfFolder(config.vit);
    if (config.positionMode == "offset")
        vit.positionOffset = 0.1;
    return vit;
}

QuerySettings queryOf(const FoveatedVlmConfig& config)
{
    QuerySettings query;
    query.mode = config.queryMode == "deep"          ? QueryMode::Deep
                 : config.queryMode == "shallow_avg" ? QueryMode::ShallowAverage
                                                     : QueryMode::ShallowLast;
    query.width = config.queryDim;
    query.deviation = config.queryStd;
    query.bias = config.queryBias;
    query.temperature = config.temperature;
    query.topK = config.topk;
    query.dropsClassToken = config.asRun && query.mode == QueryMode::ShallowAverage;
    return query;
}

VisualNorm normOf(const std::string& name)
{
    if (name == "token_rms")
        return VisualNorm::TokenRms;
    if (name == "batch_std")
        return VisualNorm::BatchStd;
    return name == "none" ? VisualNorm::None : VisualNorm::Scale;
}

} // namespace

ModelSettings modelSettings(const FoveatedVlmConfig& config, Index vocabulary, Index latentHeight,
                            Index latentWidth)
{
    ModelSettings settings;
    settings.variant = config.variant == "A"       ? Variant::Latents
                       : config.variant == "joint" ? Variant::Joint
                                                   : Variant::Captions;
    settings.vit = visionOf(config);
    settings.query = queryOf(config);
    settings.staticQueries = config.staticQueries;
    const auto known = knownLlm(config.llm);
    settings.llm = known ? *known : llmOfFolder(config.llm);
    if (vocabulary > settings.llm.vocabulary)
        throw InputError(fmt::format("The tokenizer has {} pieces, the language model {} rows for "
                                     "them; name the tokenizer that belongs to {}.",
                                     vocabulary, settings.llm.vocabulary, config.llm));
    settings.norm = normOf(config.visualNorm);
    settings.visualScale = config.visualScale;
    settings.order = config.order == "frames_text" ? SequenceOrder::FramesText
                                                   : SequenceOrder::PromptFramesAnswer;
    settings.firstQuery = config.firstQuery == "prompt" ? FirstQuery::Prompt : FirstQuery::Learned;
    settings.head.kind = config.headKind == "film"  ? HeadKind::Film
                         : config.headKind == "mlp" ? HeadKind::Mlp
                                                    : HeadKind::CrossAttention;
    settings.head.hidden = config.headFilm;
    settings.head.widths.assign(1, 4);
    settings.head.widths.insert(settings.head.widths.end(), config.headWidths.begin(),
                                config.headWidths.end());
    if (latentHeight > 0) {
        settings.head.height = latentHeight;
        settings.head.width = latentWidth;
    }
    settings.freezesVit = config.freezeVit;
    settings.freezesLlm = config.freezeLlm;
    settings.decaysAll = config.decayAll;
    settings.weightDecay = config.weightDecay;
    settings.seedAsRun = config.asRun;
    settings.recomputesVit = config.recompute == "vit" || config.recompute == "both";
    settings.recomputesLlm = config.recompute == "llm" || config.recompute == "both";
    return settings;
}

int patchOf(const FoveatedVlmConfig& config)
{
    return visionOf(config).patch;
}

LiveSettings liveSettings(const FoveatedVlmConfig& config)
{
    LiveSettings live;
    live.rates = {config.lrVit, config.lrConnector, config.lrLlm};
    live.targetRate = config.lrTarget;
    live.clipNorm = config.clip;
    live.coarse = config.lambdaCoarse;
    live.recon = config.lambdaRecon;
    live.contrast = config.lambdaContrast;
    live.entropyMargin = config.entropyMargin;
    live.logEvery = config.logEvery;
    return live;
}

TrainSettings trainSettings(const FoveatedVlmConfig& config)
{
    TrainSettings settings;
    settings.live = liveSettings(config);
    settings.updates =
        std::max<Index>(1, (config.totalMicroSteps() + config.gradAccum - 1) / config.gradAccum);
    settings.schedule = config.schedule == "constant" ? ScheduleKind::Constant
                        : config.schedule == "cosine" ? ScheduleKind::Cosine
                                                      : ScheduleKind::Converging;
    settings.warmup = config.warmup;
    settings.beta1 = config.beta1;
    settings.beta2 = config.beta2;
    settings.epsilon = config.epsilon;
    settings.ema = config.ema;
    settings.objective = config.variant == "dpo" ? Objective::Preferences : Objective::Losses;
    settings.preferenceBeta = config.dpoBeta;
    settings.trainsCoarseOnly = config.control == "coarse_only";
    settings.refinements = config.refinements;
    settings.weightsRefinements = config.weightRefinements;
    return settings;
}

BatchSettings batchSettings(const FoveatedVlmConfig& config)
{
    BatchSettings settings;
    settings.batch = config.batch;
    settings.gradAccum = config.gradAccum;
    settings.framesPerBatch = config.framesPerBatch;
    settings.tokensPerBatch = config.tokensPerBatch;
    settings.textOnly = config.textOnly;
    settings.preferences = config.variant == "dpo";
    settings.order.seed = config.seed;
    return settings;
}

TextSettings textSettings(const FoveatedVlmConfig& config)
{
    TextSettings settings;
    settings.kind = config.isDrawn() && isMadeForDrawnClips(config.llm) && config.tokenizer.empty()
                        ? TemplateKind::Short
                        : TemplateKind::ChatMl;
    settings.mask = config.textMask == "all" ? TextMask::All : TextMask::Answer;
    settings.system = config.systemMessage;
    settings.prompt = config.prompt;
    settings.limit = config.textLimit;
    return settings;
}

EvaluationSettings evaluationSettings(const FoveatedVlmConfig& config)
{
    EvaluationSettings settings;
    settings.batch = config.batch;
    settings.refinements = config.refinements;
    settings.fine = settings.sequential = config.control != "coarse_only";
    settings.controls = settings.fine;
    settings.seed = config.seed;
    if (config.isGrid())
        settings.exactClips = config.evalSamples; // the verdict counts right answers
    if (config.isDrawn() && config.hasText() && config.textMask == "answer")
        settings.blindNats = blindNats(config);
    return settings;
}

Precision precisionOf(const FoveatedVlmConfig& config, const DeviceInfo& device)
{
    if (config.precision == "fp64")
        return {DType::F64, DType::F64};
    const bool offersBf16 = multiplies(device, DType::BF16);
    if (config.precision == "bf16" && !offersBf16)
        throw InputError(fmt::format("precision = \"bf16\" needs compute capability {:.1f}; {} has "
                                     "{}. Choose fp32, or auto.",
                                     leastCapability(DType::BF16), device.name,
                                     device.computeCapability));
    const bool isChosen = config.precision == "auto" && device.kind != DeviceKind::Cpu;
    if (config.precision == "bf16" || (isChosen && offersBf16))
        return {DType::F32, DType::BF16};
    return {DType::F32, DType::F32};
}

} // namespace vergence::fvlm
