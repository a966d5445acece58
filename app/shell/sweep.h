#pragma once

#include <optional>
#include <vector>

#include <QColor>
#include <QString>
#include <QStringList>

#include "core/config/schema.h"

namespace vergence {

struct RunDraft;

/// Where a run stands in a sweep: runs of one `group` differ in the setting `key` alone.
struct SweepPlace {
    QString group, key, value;
    double share = 0; ///< 0 for the first value, 1 for the last
};

/// Whether a sweep can go over the field: a flag, a number or a choice.
bool canSweep(const Field& field);

/// Values of a sweep as TOML has them, or the reason why they are none (one sentence).
struct SweepValues {
    QStringList values;
    QString reason;
};

/// From a list with commas between: "1e-3, 3e-3, 1/100". Each has to fit the field, none may come
/// twice; at least two.
SweepValues sweepList(const Field& field, const QString& text);

struct SweepRange {
    QString from, to;
    int count = 5; ///< at least 2, both ends included
    bool isLogarithmic = false;
};
/// Values with equal distances, or equal ratios. Those of whole numbers are rounded; what would
/// come twice then comes once.
SweepValues sweepRange(const Field& field, const SweepRange& range);

/// One draft for each value, which replaces what `draft` says of the field.
std::vector<RunDraft> sweepDrafts(const RunDraft& draft, const Field& field,
                                  const QStringList& values);

/// Colour of a run's curves by its place: dark to bright, even in lightness (viridis; Smith and van
/// der Walt, 2015), told apart on light and dark grounds by the charts.
QColor sweepColour(double share);

} // namespace vergence
