#include "plugins/live_diffusion/config_groups.h"

namespace vergence::live {

namespace {

using C = LiveDiffusionConfig;
using Builder = SchemaBuilder<LiveDiffusionConfig>;

void addSampler(Builder& b)
{
    b.group("sampler");
    b.add("mode", &C::loop, &LoopSettings::mode)
        .live()
        .help("restyle, restore: the input becomes something else. dream: the input counts for the "
              "first frame alone; everything after it is prediction.");
    b.add("steps", &C::loop, &LoopSettings::steps)
        .range(1, 64)
        .live()
        .help("Evaluations of the network per frame.");
    b.add("sampler", &C::loop, &LoopSettings::sampler)
        .live()
        .help("ddim; dpm: DPM-Solver++ 2M; lcm: few steps of a distilled network; turbo: one step, "
              "its estimate is the picture.");
    b.add("strength", &C::loop, &LoopSettings::strength)
        .range(0.001, 1)
        .live()
        .help("How far the start is noised: 1 starts from noise alone.");
    b.add("eta", &C::loop, &LoopSettings::eta)
        .title("η")
        .range(0, 1)
        .live()
        .advanced()
        .visibleIf("sampler=ddim")
        .help("Share of fresh noise in each step.");
    b.add("curve", &C::loop, &LoopSettings::curve)
        .title("Schedule")
        .live()
        .advanced()
        .help("How noise grows over the thousand times of training. The shipped weights know "
              "cosine.");
    b.add("zero_terminal_snr", &C::loop, &LoopSettings::zeroTerminalSnr)
        .live()
        .advanced()
        .help("Rescale the schedule so that its last time is noise alone.");
    b.add("prediction", &C::loop, &LoopSettings::prediction)
        .live()
        .advanced()
        .help("What the network predicts. The shipped weights know v.");
    b.add("clamp_estimate", &C::loop, &LoopSettings::clampsEstimate)
        .live()
        .advanced()
        .help("Keep estimates of the picture within black and white.");
    b.add("start", &C::loop, &LoopSettings::start)
        .title("Start from")
        .live()
        .help("What lies below the noise of the first step.");
    b.add("noise", &C::loop, &LoopSettings::noise)
        .title("Noise")
        .live()
        .help("fixed: the same for every frame, least flicker. fresh: another each. correlated: "
              "between the two.");
    b.add("freshness", &C::loop, &LoopSettings::freshness)
        .range(0, 1)
        .live()
        .visibleIf("noise=correlated")
        .help("Share of new noise.");
    b.add("guidance", &C::loop, &LoopSettings::guidance, &GuidanceSettings::kind)
        .live()
        .advanced()
        .help("full: a second evaluation without the input, each step. self_negative: the absence "
              "is imagined, without cost. onetime_negative: one more evaluation a frame.");
    b.add("gamma", &C::loop, &LoopSettings::guidance, &GuidanceSettings::gamma)
        .title("γ")
        .range(0, 20)
        .live()
        .advanced()
        .help("How strongly the input is wanted; 1: as it is.");
    b.add("delta", &C::loop, &LoopSettings::guidance, &GuidanceSettings::delta)
        .title("δ")
        .range(0, 1)
        .live()
        .advanced()
        .help("Share of the imagined absence.");
}

void addLoop(Builder& b)
{
    b.group("loop");
    b.add("history", &C::loop, &LoopSettings::usesHistory)
        .live()
        .help("The network sees the last output.");
    b.add("history_noise", &C::loop, &LoopSettings::historyNoise)
        .range(0, 0.7)
        .live()
        .visibleIf("history=true")
        .help("Noise on the last output, which the network is told of: keeps small errors from "
              "growing.");
    b.add("memory", &C::loop, &LoopSettings::usesMemory)
        .live()
        .help("The network sees 16 earlier outputs as tokens.");
    b.add("memory_stride", &C::loop, &LoopSettings::memoryStride)
        .range(1, 1'000)
        .live()
        .visibleIf("memory=true")
        .help("Frames between two writes to the memory.");
    b.add("blend", &C::loop, &LoopSettings::blend)
        .title("Blend β")
        .range(0, 1)
        .live()
        .help("How much the network may keep of the last output, pixel by pixel.");
    b.add("cut_cosine", &C::loop, &LoopSettings::cutCosine)
        .title("Scene cut below")
        .range(-1, 1)
        .live()
        .advanced()
        .help("Cosine of two input frames below which history starts anew; -1: never.");
    b.add("flush_on_cut", &C::loop, &LoopSettings::flushesMemoryOnCut)
        .live()
        .advanced()
        .help("Empty the memory at a cut.");
    b.add("drift_guard", &C::loop, &LoopSettings::driftGuard)
        .range(0, 1)
        .live()
        .advanced()
        .help("Pull mean and spread of each colour towards those of the input.");
    b.add("stream_batch", &C::loop, &LoopSettings::isStreamBatch)
        .live()
        .help("The steps of successive frames become rows of one evaluation: more frames where "
              "the device is not full, and n times the latency.");
    b.add("filter_similar", &C::loop, &LoopSettings::filtersSimilar)
        .live()
        .help("Skip frames that hardly differ from the last one processed.");
    b.add("similarity", &C::loop, &LoopSettings::similarity)
        .range(0, 0.9999)
        .live()
        .visibleIf("filter_similar=true")
        .help("Cosine from which frames may be skipped.");
    b.add("deadline_keeper", &C::deadline, &DeadlineSettings::isOn)
        .help("Fewer steps where frames take longer than the budget, and more again where there is "
              "room.");
    b.add("budget", &C::budget)
        .range(1, 10'000)
        .unit("ms")
        .help("Time of a frame: a line in the charts, and what the deadline keeper keeps.");
    b.add("waiting", &C::waiting)
        .advanced()
        .help("How frames of a paced source or camera wait. every: none is lost. latest: a newer "
              "frame replaces the one that waits. fifo: two wait.");
}

void addSwitches(Builder& b)
{
    b.group("switches");
    b.add("precision", &C::precision)
        .live()
        .help("Type of weights and activations; sums, norms and sampler stay fp32. auto: fp16 on "
              "CUDA from compute capability 8.0 on, fp32 elsewhere.");
    b.add("layout", &C::switches, &Switches::layout).live().help("How pictures lie in memory.");
    b.add("attention", &C::switches, &Switches::attention)
        .live()
        .help("naive stores all scores; flash none.");
    b.add("fusion", &C::switches, &Switches::fusion).live().help("Fewer, larger kernels.");
    b.add("tuned", &C::switches, &Switches::tuned)
        .live()
        .help("The fastest of several algorithms per shape. A stream times them once on a computer "
              "and "
              "keeps what it found in ~/.cache/vergence/live_diffusion; A/B runs time them anew. "
              "Where "
              "they were timed twice, two runs may differ by rounding; off where they must not.");
    b.add("graph", &C::switches, &Switches::graph)
        .title("CUDA graph")
        .live()
        .help("A frame is recorded and replayed.");
    b.add("collapsed_upsampling", &C::switches, &Switches::collapsedUpsampling)
        .live()
        .advanced()
        .help("Doubling and its convolution as four small convolutions: 2.25 times less work.");
    b.add("channel_rounding", &C::switches, &Switches::channelRounding)
        .range(0, 64)
        .live()
        .advanced()
        .help("Channels of input and output are padded to a multiple: 0, 8 or 64.");
}

void addTraining(Builder& b)
{
    b.group("train");
    b.add("train_updates", &C::trainUpdates)
        .title("Updates")
        .range(1, 10'000'000)
        .help("Updates of the part train.");
    b.add("train_seconds", &C::trainSeconds)
        .title("At most")
        .range(0, 1'000'000)
        .unit("s")
        .help("The part train ends after this time; 0: no limit. The schedule is that of all "
              "updates.");
    b.add("batch", &C::train, &TrainSettings::samples, &SampleSettings::batch)
        .range(1, 1'024)
        .help("Frames per update.");
    b.add("train_size", &C::trainSize)
        .title("Size to train")
        .choices({"same", "nano", "pico", "s", "m", "l", "xl"})
        .help("Size of the network that learns; same: that of model_size.");
    b.add("train_clips", &C::trainClips)
        .title("Films")
        .range(1, 100'000)
        .help("Drawn films to learn from, 240 frames each.");
    b.add("learning_rate", &C::train, &TrainSettings::rate)
        .range(1e-7, 1)
        .logarithmic()
        .help("Peak rate.");
    b.add("warmup", &C::warmup).range(0, 1'000'000).help("Updates until the peak is reached.");
    b.add("ema", &C::train, &TrainSettings::average)
        .title("Average")
        .range(0, 0.99999)
        .advanced()
        .help("Decay of the average of weights that is tested and kept.");
    b.add("rollout_share", &C::train, &TrainSettings::rolloutShare)
        .range(0, 1)
        .advanced()
        .help("Last part of the training in which the network more and more sees its own frames.");
    b.add("sample_every", &C::sampleEvery)
        .range(1, 1'000'000)
        .help("Updates between pictures of a film that is not learnt from.");
    b.add("distill_updates", &C::distillUpdates)
        .range(1, 10'000'000)
        .help("Updates of the part distill.");
}

} // namespace

void addStream(Builder& b)
{
    addSampler(b);
    addLoop(b);
    addSwitches(b);
}

void addMeasures(Builder& b)
{
    addTraining(b);
    b.group("parts");
    b.add("stream_frames", &C::streamFrames)
        .title("Frames streamed")
        .range(1, 10'000'000)
        .help("Frames of the part stream.");
    b.add("stream_seconds", &C::streamSeconds)
        .title("Stream at most")
        .range(0, 1'000'000)
        .unit("s")
        .help("The part stream ends after this time; 0: no limit.");
    b.add("ab_frames", &C::abFrames)
        .title("Frames per row")
        .range(8, 100'000)
        .help("Frames that each row of the part ab is timed over.");
    b.add("ab_seconds", &C::abSeconds)
        .title("A/B at most")
        .range(0, 1'000'000)
        .unit("s")
        .help("No further row is begun after this time; 0: no limit.");
    b.add("drift_frames", &C::driftFrames)
        .title("Frames of a closed loop")
        .range(10, 1'000'000)
        .help("Frames of each loop of the part drift.");
    b.add("drift_grid", &C::driftGrid)
        .help("Also with every choice of history noise, memory and blend left out, and fed the "
              "truth. Off: one loop.");
    b.add("onnx_opset", &C::onnxOpset)
        .title("ONNX opset")
        .range(17, 21)
        .advanced()
        .help("17, or 21 with group norms as single operations.");
    b.add("onnx_precision", &C::onnxPrecision)
        .title("ONNX weights")
        .choices({"fp32", "fp16"})
        .advanced()
        .help("Type of the exported weights.");
    b.add("onnx_frame", &C::onnxFrame)
        .title("ONNX of a frame")
        .advanced()
        .help("Also a file of a whole frame, with all steps of the sampler and the blend.");
    b.group("output");
    b.add("export_clip", &C::exportClip)
        .title("Clip")
        .choices({"none", "gif", "png", "mp4"})
        .help("What the streamed frames are kept as.");
    b.add("export_side_by_side", &C::exportSideBySide)
        .title("Beside the input")
        .help("Input to the left of the output.");
    b.add("export_overlay", &C::exportOverlay)
        .title("With numbers")
        .help("A line of text with frame and time below.");
}

} // namespace vergence::live
