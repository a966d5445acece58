#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/compute/device.h"

namespace vergence {

enum class PixelFormat : std::uint32_t { Rgba8 = 0, Rgba16F = 1, R32F = 2 };
std::size_t bytesPerPixel(PixelFormat format);

/// How a stream is drawn. The window knows these kinds and no plugin.
enum class StreamKind {
    Image,
    ImageStack,
    Splats,
    Mesh,
    HeatMap,
    Scatter,
    Gallery,
    FrameStream,
    Diagram
};
std::string nameOf(StreamKind kind);
StreamKind streamKindFromName(const std::string& name); ///< throws ContractError

/// A stream that a plugin may publish frames into.
struct StreamDecl {
    std::string id;    ///< "eye_view"
    std::string title; ///< "Eye view"
    StreamKind kind = StreamKind::Image;
    std::string help;
    std::string compareGroup; ///< streams of one group are offered together as A/B in the compare
                              ///< view; may be empty
};

/// Something the viewer may move while looking: its value travels to the run as ViewInput under
/// `id`.
struct ViewControl {
    enum class Kind { Slider, Pad, Toggles, Choice, Text };
    std::string id; ///< "accommodation", "eye"
    std::string title{}, unit{}, help{};
    Kind kind = Kind::Slider;
    std::vector<double> minimum{}, maximum{},
        value{};                       ///< one entry for a slider, two for a pad, one per toggle
    std::vector<std::string> labels{}; ///< Toggles, Choice: one per entry
    struct Mark {
        std::vector<double> at;
        std::string label; ///< "training", "held out"
    };
    std::vector<Mark> marks{};
    std::string text{}; ///< Text: what the line says
};

/// Description of a frame; pixels follow it. Linear or sRGB is said in meta ("encoding": "srgb" is
/// the default for RGBA8).
struct FrameInfo {
    std::string stream;
    std::uint64_t sequence = 0; ///< grows by one per published frame of a stream
    std::int64_t step = 0;
    PixelFormat format = PixelFormat::Rgba8;
    std::uint32_t width = 0, height = 0;
    std::uint32_t layers = 1; ///< images of a stack, one after the other, rows from the top
    /// JSON object. ImageStack: {"labels": [...], "distance_mm": [...], "width_mm": [...]};
    /// Diagram and Scatter: the drawing itself (core/view/diagram.h); Gallery: {"labels": [...]};
    /// Image: {"roi": ..., "scale": ...} as the plugin likes. At most 256 KiB.
    std::string meta;
    std::size_t pixelBytes() const { return bytesPerPixel(format) * width * height * layers; }
};

/// Pixels lie in host memory (`pixels`), or in device memory of the run (`shared`, pixels empty).
struct Frame {
    FrameInfo info;
    std::vector<std::byte> pixels;
    std::optional<SharedPixels> shared;
};

} // namespace vergence
