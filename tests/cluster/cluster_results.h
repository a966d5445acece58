#pragma once

#include <QStringList>

#include "core/artifact/run_folder.h"

namespace vergence::test {

/// What differs between a run and its twin that must be the same to the last bit: "series NAME"
/// for those that do not tell of time, "tensor NAME" of the last checkpoint, and paths of
/// artifacts. `exceptions` are beginnings of what may differ.
QString differences(const RunFolder& run, const RunFolder& twin,
                    const QStringList& exceptions = {});

/// Lines of metrics.csv that tell the same step of the same series once more.
QString repeatedLines(const RunFolder& run);

} // namespace vergence::test
