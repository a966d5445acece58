#include "plugins/foveated_vlm/config_groups.h"

namespace vergence::fvlm {

using C = FoveatedVlmConfig;
using Builder = SchemaBuilder<FoveatedVlmConfig>;

namespace {

void addRates(Builder& b)
{
    b.add("lr_connector", &C::lrConnector)
        .title("Rate of what joins")
        .range(0, 1)
        .live()
        .help("Learning rate of queries, projections, head and learned tokens.");
    b.add("lr_vit", &C::lrVit)
        .title("Rate of the encoder")
        .range(0, 1)
        .live()
        .help("Learning rate of the vision encoder.");
    b.add("lr_llm", &C::lrLlm)
        .title("Rate of the language model")
        .range(0, 1)
        .live()
        .help("Learning rate of the language model.");
    b.add("schedule", &C::schedule)
        .choices({"constant", "cosine", "converging"})
        .help("cosine: down to a tenth. converging: every rate moves to lr_target.");
    b.add("lr_target", &C::lrTarget)
        .title("Rate at the end")
        .range(0, 1)
        .visibleIf("schedule=converging")
        .help("Where all rates end.");
    b.add("warmup", &C::warmup)
        .range(0, 1e6)
        .help("Rates grow from 0 over this share of the updates; above 1: over so many updates.");
}

void addOptimiser(Builder& b)
{
    b.add("beta1", &C::beta1).range(0, 0.9999).advanced().help("Adam's mean of gradients.");
    b.add("beta2", &C::beta2).range(0, 0.999999).advanced().help("Adam's mean of their squares.");
    b.add("epsilon", &C::epsilon).range(1e-16, 1).advanced().help("Adam's floor.");
    b.add("weight_decay", &C::weightDecay)
        .range(0, 1)
        .advanced()
        .help("Decoupled decay of matrices and kernels.");
    b.add("decay_all", &C::decayAll)
        .advanced()
        .help("Biases, norms, queries and embeddings decay too, as in the original.");
    b.add("clip", &C::clip)
        .title("Clip at norm")
        .range(0, 1e6)
        .live()
        .help("Gradients are scaled down to this norm; 0: never.");
    b.add("ema", &C::ema)
        .title("Moving average")
        .range(0, 0.9999)
        .advanced()
        .help("Decay of a moving average of the weights, which is then what is tested and "
              "exported; 0: none.");
}

} // namespace

void addTraining(Builder& b)
{
    b.group("train");
    b.add("seed", &C::seed).advanced().help("Seed of everything random.");
    b.add("batch", &C::batch).range(1, 512).help("Samples of a micro-step.");
    b.add("grad_accum", &C::gradAccum)
        .title("Micro-steps an update")
        .range(1, 64)
        .help("Gradients of so many micro-steps make one update.");
    b.add("micro_steps", &C::microSteps)
        .title("Micro-steps")
        .range(0, 100'000'000)
        .help("Length of the run; or give samples.");
    b.add("samples", &C::samples)
        .range(0, 10'000'000'000)
        .help("Length of the run in samples of whole batches; or give micro_steps. Where "
              "frames_per_batch or tokens_per_batch cuts batches, fewer are presented.");
    addRates(b);
    addOptimiser(b);
    b.add("freeze_vit", &C::freezeVit)
        .title("Freeze the encoder")
        .help("The vision encoder keeps its weights.");
    b.add("freeze_llm", &C::freezeLlm)
        .title("Freeze the language model")
        .help("The language model keeps its weights.");
    b.add("control", &C::control)
        .choices({"none", "coarse_only", "beside"})
        .help("coarse_only: the matched control. The same model learns with one glance, so that "
              "a run with gaze has a fair rival. beside: this run trains that control too, on the "
              "same samples, and the verdict compares with it.");
    b.add("control_tokens", &C::controlTokens)
        .title("Tokens of the controls")
        .range(1, 64)
        .count(1, 6)
        .visibleIf("control=beside")
        .advanced()
        .help("Visual tokens a frame of each control that is trained beside, each with a learned "
              "query of its own; 1 is the matched control and must be there.");
    b.add("precision", &C::precision)
        .choices({"auto", "fp64", "fp32", "bf16"})
        .advanced()
        .help("Type of products; masters are fp32 beside bf16. auto: bf16 on a GPU that has it "
              "(compute capability 8.0), fp32 on others and without.");
    b.add("recompute", &C::recompute)
        .choices({"none", "vit", "llm", "both"})
        .advanced()
        .help("Blocks whose values are made again in the backward pass: less memory, more time.");
    b.add("max_epochs", &C::maxEpochs)
        .title("Most epochs")
        .range(0.01, 1e6)
        .help("A run that would see its clips more often does not start; raise this if that is "
              "meant.");
}

void addEvaluation(Builder& b)
{
    b.group("evaluation");
    b.add("eval_every", &C::evalEvery)
        .title("Test every")
        .range(0, 10'000'000)
        .unit("updates")
        .live()
        .help("Updates between tests on held-out clips; 0: only at the end.");
    b.add("eval_samples", &C::evalSamples)
        .title("Tested samples")
        .range(1, 1'000'000)
        .help("Held-out samples of a test.");
    b.add("log_every", &C::logEvery)
        .title("Report every")
        .range(1, 10'000)
        .unit("micro-steps")
        .live()
        .help("Losses are means over an update, one point each; they stay on the device and are "
              "fetched after so many micro-steps, those of all updates since.");
    b.add("caption_clips", &C::captionClips)
        .title("Shown clips")
        .range(1, 64)
        .help("Held-out clips whose answers are shown side by side.");
    b.add("caption_tokens", &C::captionTokens)
        .title("Longest answer")
        .range(1, 1'000)
        .unit("tokens")
        .advanced()
        .help("Where written answers end at the latest.");
    b.add("compare_with", &C::compareWith)
        .title("Matched control")
        .help("Folder of a run with control = coarse_only; the verdict compares with it.");
    b.add("gaze_clips", &C::gazeClips)
        .title("Exported gazes")
        .range(0, 64)
        .advanced()
        .help("Held-out clips whose attention is exported as arrays and as a GIF.");
    b.add("gaze_size", &C::gazeSize)
        .range(32, 1'024)
        .unit("px")
        .advanced()
        .help("Side of a frame in gaze pictures.");
    b.add("duplicate_head", &C::duplicateHead)
        .advanced()
        .help("Writes the language model's tied head into its file a second time, as older "
              "programs want it.");
}

} // namespace vergence::fvlm
