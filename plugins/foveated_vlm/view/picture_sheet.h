#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/artifact/image.h"
#include "core/view/diagram.h"

namespace vergence::fvlm {

/// A picture in which small pictures stand in rows and columns with their texts. Places are px from
/// the top left.
class PictureSheet {
public:
    PictureSheet(int width, int height, bool isDark);

    /// Frame [3, height, width] scaled into the square (or its aspect) of `edge` px width;
    /// `overlay(x, y, rgb)` may change each pixel, places in px of the frame.
    using Overlay = std::function<void(double x, double y, std::array<float, 3>& rgb)>;
    void frame(int left, int top, int edge, std::span<const std::uint8_t> pixels, int height,
               int width, const Overlay& overlay = {});
    /// Upright bar of `colour(share)`, share 0 below to 1 above.
    void bar(int left, int top, int width, int height,
             const std::function<std::array<std::uint8_t, 3>(double)>& colour);
    /// Two px wide, light within dark, just inside [left, right) × [top, bottom).
    void outline(int left, int top, int right, int bottom);
    /// `x`, `y`: where the text is anchored and its middle; it is painted by take().
    void text(double x, double y, const std::string& text, double size,
              const std::string& colour = "text", const std::string& anchor = "left",
              bool isBold = false);
    /// With all texts; RGBA, opaque.
    Image take() &&;

    /// Height of a frame that is `edge` px wide.
    static int heightFor(int edge, int height, int width);

private:
    Image m_image;
    Diagram m_texts;
    bool m_isDark;
};

/// "12"; "v3" of a drawn clip that is held out, whose ids begin at 2³².
std::string clipName(std::uint64_t id);
/// "0.25 s" where there are times, else "frame 3".
std::string frameName(const std::vector<float>& timestamps, std::size_t frame);
/// Lines of at most `width` px in letters of `size`, at most `most` of them; "…" where something is
/// cut, between words or within one that is longer than a line.
std::vector<std::string> fittedLines(const std::string& text, double size, double width,
                                     std::size_t most = 1);
/// At most `most` of `count` frames, the first and the last among them, evenly spread.
std::vector<std::size_t> shownFrames(std::size_t count, int most);
/// An opaque picture without its fourth channel.
Image withoutAlpha(const Image& image);

} // namespace vergence::fvlm
