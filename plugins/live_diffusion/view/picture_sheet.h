#pragma once

#include <string>

#include "core/artifact/image.h"
#include "core/view/diagram.h"

namespace vergence::live {

/// A picture in which small pictures stand in rows and columns with their texts. Places are px from
/// the top left.
class PictureSheet {
public:
    PictureSheet(int width, int height, bool isDark);

    /// RGB or RGBA, scaled to `edge` px width, its aspect kept; an empty one leaves a frame.
    void picture(int left, int top, int edge, const Image& image);
    /// `x`, `y`: where the text is anchored and its middle; it is painted by take().
    void text(double x, double y, const std::string& text, double size,
              const std::string& colour = "text", const std::string& anchor = "left",
              bool isBold = false);
    /// A filled area below the texts.
    void area(double left, double top, double right, double bottom, const std::string& colour,
              double opacity);
    /// With all texts; RGBA, opaque.
    Image take() &&;

    /// Height of a picture that is `edge` px wide; `edge` for an empty one.
    static int heightFor(int edge, const Image& image);

private:
    Image m_image;
    Diagram m_drawing;
    bool m_isDark;
};

/// A copy of that size: means over the pixels that fall into one where it shrinks, pixels repeated
/// where it grows.
Image resized(const Image& image, int width, int height);

} // namespace vergence::live
