#include "plugins/live_diffusion/live_diffusion_config.h"

#include <algorithm>

#include "plugins/live_diffusion/config_groups.h"
#include "plugins/live_diffusion/config_rules.h"

namespace vergence::live {

namespace {

using C = LiveDiffusionConfig;
using Builder = SchemaBuilder<LiveDiffusionConfig>;

void addGeneral(Builder& b)
{
    b.group("general");
    b.add("parts", &C::parts)
        .count(1, 16)
        .distinct()
        .decisive()
        .help("What the run does, one after the other: train (learn a denoiser), distill (make it "
              "answer in few steps), stream (one picture after the other), ab (each optimisation "
              "alone, added up, left out), profile (time and memory of every operation), drift "
              "(does a closed loop stay stable), onnx (export the network).");
    b.add("seed", &C::seed).decisive().help("Seed of noise, scenes, start values and samples.");
}

void addNetwork(Builder& b)
{
    b.group("network");
    b.add("network", &C::network)
        .help("unet: the denoiser. oracle: knows the film and answers exactly, without weights. "
              "replica_a, replica_b: the two networks that earlier speed tables were measured on; "
              "for ab and profile alone.");
    b.add("model_size", &C::modelSize)
        .title("Size")
        .live()
        .visibleIf("network=unet")
        .help("3 M (pico) to 880 M (xl) parameters. Pico has trained weights; the others are for "
              "measuring or for a training of your own.");
    b.add("frame_size", &C::frameSize)
        .title("Frame")
        .range(16, 2'048)
        .unit("px")
        .live()
        .help("Side of the frames. The network works on a smaller grid whose cells hold several "
              "pixels. A film that is being streamed keeps its size and is scaled.");
    b.add("high_quality", &C::highQuality)
        .title("Finer grid")
        .live()
        .help("Twice the grid: four to five times the work.");
    b.add("weights", &C::weights)
        .live()
        .visibleIf("network=unet")
        .help("shipped: those that come with the program (pico at 64 px). file: a safetensors file "
              "of this lab. trained: what the part train learns in this run. bench: random; only "
              "speed means something.");
    b.add("weights_file", &C::weightsFile)
        .title("Weights file")
        .file()
        .live()
        .visibleIf("weights=file")
        .help("A safetensors file that this lab wrote, with its JSON beside it.");
    b.add("attention_level0", &C::attentionLevel0)
        .title("Attention at full grid")
        .live()
        .advanced()
        .help("Attention at the finest level too: as heavy as in early networks. Needs weights "
              "that were trained so.");
    b.add("window_attention", &C::windowAttention)
        .live()
        .advanced()
        .help("Self-attention of the two finest levels stays within windows of 8 by 8; changes "
              "the result.");
    b.add("misaligned", &C::misaligned)
        .live()
        .advanced()
        .help("Every width is 63/64 of what it was: less work, yet slower where hardware wants "
              "multiples of 8. S to XL.");
}

void addSource(Builder& b)
{
    b.group("source");
    b.add("source", &C::source)
        .help("Drawn films – orbits and cuts know what the result should be –, a folder of "
              "pictures, a video, or a camera.");
    b.add("path", &C::path)
        .visibleIf("source=images|video|camera")
        .help("Folder of PNG and JPEG files, the video, or the camera (/dev/video0).");
    b.add("fps", &C::fps)
        .title("Frames per second")
        .range(1, 240)
        .help("Of drawn films and folders; videos have times of their own.");
    b.add("paced", &C::play, &PlaySettings::isPaced)
        .help("Frames come when they are due, as in life. Off: as fast as they are taken.");
    b.add("loop", &C::play, &PlaySettings::loops).help("Start again at the end of the source.");
    b.add("speed", &C::play, &PlaySettings::speed)
        .range(0.05, 16)
        .live()
        .visibleIf("paced=true")
        .help("How fast a paced source plays.");
}

UnetSettings unetOfSize(const LiveDiffusionConfig& config, Size size)
{
    UnetSettings settings = unetSettings(size, config.frameSize, config.highQuality);
    settings.channelRounding = std::max(1, config.switches.channelRounding);
    settings.hasAttentionAtLevel0 = config.attentionLevel0;
    settings.hasWindowAttention = config.windowAttention;
    settings.isMisaligned = config.misaligned;
    return settings;
}

Builder newBuilder()
{
    Builder b("live_diffusion", 1);
    addGeneral(b);
    addNetwork(b);
    addSource(b);
    addStream(b);
    addMeasures(b);
    addRules(b);
    return b;
}

/// Made once: runs read their live settings before every frame.
const Builder& builder()
{
    static const Builder made = newBuilder();
    return made;
}

} // namespace

bool LiveDiffusionConfig::has(PartKind part) const
{
    return std::ranges::find(parts, part) != parts.end();
}

ConfigSchema liveDiffusionSchema()
{
    return builder().build();
}

LiveDiffusionConfig readLiveDiffusionConfig(const Config& config)
{
    return builder().read(config);
}

UnetSettings unetSettings(const LiveDiffusionConfig& config)
{
    return unetOfSize(config, config.modelSize);
}

UnetSettings trainedUnet(const LiveDiffusionConfig& config)
{
    return unetOfSize(config, enumOf<Size>(config.trainSize).value_or(config.modelSize));
}

} // namespace vergence::live
