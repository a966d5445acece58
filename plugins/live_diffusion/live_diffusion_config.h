#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/enum_names.h"
#include "plugins/live_diffusion/engine/switches.h"
#include "plugins/live_diffusion/model/unet_settings.h"
#include "plugins/live_diffusion/sources/player.h"
#include "plugins/live_diffusion/stream/live_settings.h"
#include "plugins/live_diffusion/stream/loop_settings.h"
#include "plugins/live_diffusion/train/train_settings.h"

namespace vergence {
class Config;
class ConfigSchema;
} // namespace vergence

namespace vergence::live {

using vergence::nameOf;

/// What a run does, in the order in which it is usually done.
enum class PartKind { Train, Distill, Stream, Ab, Profile, Drift, Onnx };
constexpr auto namesOf(PartKind)
{
    return std::array{
        EnumName{PartKind::Train, "train"},     EnumName{PartKind::Distill, "distill"},
        EnumName{PartKind::Stream, "stream"},   EnumName{PartKind::Ab, "ab"},
        EnumName{PartKind::Profile, "profile"}, EnumName{PartKind::Drift, "drift"},
        EnumName{PartKind::Onnx, "onnx"}};
}

enum class NetworkKind { Unet, Oracle, ReplicaA, ReplicaB };
constexpr auto namesOf(NetworkKind)
{
    return std::array{EnumName{NetworkKind::Unet, "unet"}, EnumName{NetworkKind::Oracle, "oracle"},
                      EnumName{NetworkKind::ReplicaA, "replica_a"},
                      EnumName{NetworkKind::ReplicaB, "replica_b"}};
}

enum class WeightsFrom { Shipped, Bench, File, Training };
constexpr auto namesOf(WeightsFrom)
{
    return std::array{EnumName{WeightsFrom::Shipped, "shipped"},
                      EnumName{WeightsFrom::Bench, "bench"}, EnumName{WeightsFrom::File, "file"},
                      EnumName{WeightsFrom::Training, "trained"}};
}

/// Drawn films, then those from outside.
enum class FilmKind { Orbits, Cuts, Static, Interference, Checker, Images, Video, Camera };
constexpr auto namesOf(FilmKind)
{
    return std::array{
        EnumName{FilmKind::Orbits, "orbits"},   EnumName{FilmKind::Cuts, "cuts"},
        EnumName{FilmKind::Static, "static"},   EnumName{FilmKind::Interference, "interference"},
        EnumName{FilmKind::Checker, "checker"}, EnumName{FilmKind::Images, "images"},
        EnumName{FilmKind::Video, "video"},     EnumName{FilmKind::Camera, "camera"}};
}

/// Every parameter of the lab with its default. Specification, sections 3 to 9 and 13 to 15.
struct LiveDiffusionConfig {
    std::uint64_t seed = 1;
    std::vector<PartKind> parts = {PartKind::Stream};

    NetworkKind network = NetworkKind::Unet;
    Size modelSize = Size::Pico;
    int frameSize = 64; ///< px
    bool highQuality = false;
    bool attentionLevel0 = false, windowAttention = false, misaligned = false;
    WeightsFrom weights = WeightsFrom::Shipped;
    std::filesystem::path weightsFile;

    FilmKind source = FilmKind::Orbits;
    std::filesystem::path path; ///< folder, video or device
    double fps = 25;
    PlaySettings play{.isPaced = false};

    LoopSettings loop;
    DeadlineSettings deadline;
    double budget = 40; ///< ms
    Waiting waiting = Waiting::EveryFrame;

    std::optional<Precision> precision; ///< of the switches: what the device does best
    Switches switches;

    int streamFrames = 250;
    double streamSeconds = 0; ///< at most; 0: no limit

    int trainUpdates = 2'000, trainClips = 64;
    double trainSeconds = 0;
    TrainSettings train;
    double warmup = 500;            ///< updates
    std::string trainSize = "same"; ///< or nano, pico, …
    int sampleEvery = 250;          ///< updates between pictures of held-out clips

    int distillUpdates = 500;

    int abFrames = 40;
    double abSeconds = 0;

    int driftFrames = 500;
    bool driftGrid = true;

    int onnxOpset = 17;
    std::string onnxPrecision = "fp32";
    bool onnxFrame = false;

    std::string exportClip = "gif"; ///< none, gif, png, mp4
    bool exportSideBySide = true, exportOverlay = true;

    bool has(PartKind part) const;
    bool isReplica() const
    {
        return network == NetworkKind::ReplicaA || network == NetworkKind::ReplicaB;
    }
};

ConfigSchema liveDiffusionSchema();
LiveDiffusionConfig readLiveDiffusionConfig(const Config& config);

UnetSettings unetSettings(const LiveDiffusionConfig& config);
/// Of the network that the part train learns.
UnetSettings trainedUnet(const LiveDiffusionConfig& config);

} // namespace vergence::live
