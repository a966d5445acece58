#pragma once

#include <QImage>
#include <QString>

#include "core/artifact/run_folder.h"

namespace vergence {

/// Saves a picture of the view below the run's exports, with the run's id in the PNG's text;
/// without a run (null) in the folder that the desktop has for pictures. Returns the path. Throws
/// OutputError.
QString saveScreenshot(QImage image, const RunFolder* run);

} // namespace vergence
