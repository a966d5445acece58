#pragma once

#include <QPainter>
#include <QPalette>

#include "app/viewport/view_scene.h"

namespace vergence {

/// Text and lines over the pictures: labels, the selected layer, the wipe line, colour bar, axes of
/// the 3-D stack.
void paintOverlay(QPainter& painter, const ViewScene& scene, QSizeF viewport,
                  const QPalette& palette);

/// Round numbers that divide [low, high] into about `count` steps; empty where the interval is.
std::vector<double> niceTicks(double low, double high, int count);

} // namespace vergence
