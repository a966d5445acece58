#pragma once

#include <array>
#include <memory>
#include <vector>

#include <QImage>
#include <QString>
#include <QStringList>

#include "app/viewport/colour_maps.h"
#include "core/view/frame.h"

namespace vergence {

struct ValueRange {
    double low = 0, high = 1;
};

/// What a frame's meta says of its layers. Missing entries are filled: labels with numbers, depth
/// with the index, width with 1.
struct StackMeta {
    QStringList labels;
    std::vector<double>
        depth; ///< position of each layer on the axis, in the unit that depthTitle names
    std::vector<double> width; ///< of each layer, in the unit that widthTitle names
    QString depthTitle, widthTitle;
    QString caption;         ///< what the run says of this frame; may be empty
    bool knowsWidth = false; ///< the widths come from the run
};

/// A frame as the view keeps it. Immutable once made; shared by everything that draws. The pixels
/// of a frame that lies in device memory are fetched from its texture when somebody asks for them.
struct ShownFrame {
    Frame frame;
    std::uint64_t revision = 0; ///< differs for every frame that arrived
    ValueRange range;           ///< finite minimum and maximum of R32F pixels, once they are there
    StackMeta meta;
    bool isLinear = false;  ///< colours are linear light
    bool isPreview = false; ///< smaller than the picture that follows once the viewer is still
    bool isScalar() const { return frame.info.format == PixelFormat::R32F; }
    int layers() const { return static_cast<int>(frame.info.layers); }
    /// Host pixels are there.
    bool hasPixels() const { return !frame.pixels.empty(); }
    /// There is something to draw, wherever it lies; a diagram has nothing.
    bool isPicture() const { return frame.info.pixelBytes() > 0; }
    QSizeF size() const { return QSizeF(frame.info.width, frame.info.height); }
};

/// Checks sizes against the pixels, unless they lie in device memory, and reads the meta. Throws
/// ContractError where they contradict each other.
std::shared_ptr<const ShownFrame> makeShownFrame(Frame frame, std::uint64_t revision);

/// The same frame, of the same revision, with its pixels in host memory too.
std::shared_ptr<const ShownFrame> withPixels(const ShownFrame& shown,
                                             std::vector<std::byte> pixels);

/// Stored values of one pixel, red first: 0 … 255 for Rgba8, otherwise as stored. One value for
/// R32F (the first).
/// Throws ContractError outside the frame and where the pixels are not in host memory.
std::array<double, 4> pixelAt(const Frame& frame, int layer, int x, int y);
/// "(3, 4)  200 100 50"; the position alone where the pixels are not in host memory.
QString pixelText(const Frame& frame, int layer, int x, int y);

/// How pictures are toned for the screen.
struct Tone {
    double exposure = 0;   ///< stops; a factor 2^exposure on linear light or on numbers
    bool isSmooth = false; ///< linear instead of nearest magnification
    enum class Map { Automatic, Grey, Diverging, Magnitude } map = Map::Automatic;
    enum class Range { Frame, Quarter, Unit } range = Range::Frame;
};

/// The map that `tone` means for this frame: automatic takes diverging where numbers of both signs
/// occur.
FalseColour mapFor(const Tone& tone, const ShownFrame& frame);
/// Numbers at both ends of the map; symmetric for the diverging map, never empty.
ValueRange rangeFor(const Tone& tone, const ShownFrame& frame);

/// One layer as the screen shows it, for painting without OpenGL.
QImage shownImage(const ShownFrame& frame, int layer, const Tone& tone);

} // namespace vergence
