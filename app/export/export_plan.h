#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include <QImage>
#include <QString>
#include <QStringList>

#include "app/export/image_sequences.h"
#include "core/artifact/gif.h"
#include "core/artifact/run_folder.h"

namespace vergence {

struct ZipPlan {
    std::vector<std::string>
        files; ///< relative to the run folder; empty takes everything but checkpoints
    bool includesCheckpoints = false;
    bool anonymisesPaths = true;
    bool verifies = true;
    std::uint64_t bytes = 0; ///< of the chosen files, for the estimate
};

struct GifPlan {
    ImageSequence sequence;
    GifOptions options;
    double scale = 1;
    QSize size;          ///< of the first frame, unscaled
    bool isWhole = true; ///< all frames of the sequence
};

struct VideoPlan {
    ImageSequence sequence;
    double fps = 12.5;
    double scale = 1;
    QSize size; ///< of the first frame, unscaled
};

struct PngPlan {
    QImage image;
};

struct MetricsPlan {
    enum class Format { CsvRows, CsvColumns, Json, TensorBoard } format = Format::CsvRows;
};

/// What the user chose to write.
using ExportPlan = std::variant<ZipPlan, GifPlan, VideoPlan, PngPlan, MetricsPlan>;

inline constexpr std::uint64_t kLargeGifBytes = 20'000'000;

/// Extension with its dot, and the word for `{what}` in file names.
QString extensionOf(const ExportPlan& plan);
QString wordOf(const ExportPlan& plan);
/// Rough size of the result in bytes; for people.
std::uint64_t estimatedBytes(const ExportPlan& plan, const RunFolder& folder);
QString sizeText(std::uint64_t bytes);

/// Fills `{project}`, `{run}`, `{plugin}`, `{what}` and `{date}`; characters that file systems
/// refuse become '-'. The date is that of SOURCE_DATE_EPOCH where set.
QString fileName(const QString& pattern, const RunFolder& folder, const QString& plugin,
                 const ExportPlan& plan);

/// Words of the `vergence export` command that writes the same; empty where the window alone can:
/// screenshots, videos, a range of frames, wide tables.
QStringList commandWords(const ExportPlan& plan, const RunFolder& folder, const QString& target);
/// Words quoted for a POSIX shell.
QString shellLine(const QStringList& words);

} // namespace vergence
