#pragma once

#include <filesystem>

class QWidget;

namespace vergence {

/// Draws once, off screen, whatever the views draw, so that the driver's cache on disk holds the
/// compiled shaders: without them the first picture of a run stops the window for some 200 ms
/// (software OpenGL). Does nothing where the file `mark` says that this version and this driver did
/// it before. For a child process; needs a QApplication. 0 on success, 1 where OpenGL 3.3 is
/// missing.
int warmShaderCache(const std::filesystem::path& mark);

/// Lets the window of `parent` be made for OpenGL from the start: Qt would otherwise replace the
/// native window, in sight, when the first view opens. Nothing without OpenGL 3.3, or where it is
/// drawn without a GPU (PaintedViewport).
void reserveGlSurface(QWidget& parent);

} // namespace vergence
