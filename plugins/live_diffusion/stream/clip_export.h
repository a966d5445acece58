#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/artifact/image.h"

namespace vergence::live {

enum class ExportView { Output, SideBySide };
enum class ExportFormat { Gif, PngSequence, Mp4 };

struct ExportSettings {
    ExportFormat format = ExportFormat::Mp4;
    ExportView view = ExportView::Output;
    bool hasOverlay = false; ///< a line of text below the picture
    double fps = 25;         ///< (0, 1000]; of a GIF in hundredths of a second, at most 50
    int scale = 1;           ///< each pixel drawn as scale × scale, 1 … 16
};

inline constexpr int kMostGifSide = 512; ///< larger pictures are made smaller

/// What an export shows of a frame: the output, or the input (cut and scaled to the output's size)
/// to its left; then `overlay` in a bar below. RGB.
Image composed(const Image& input, const Image& output, const std::string& overlay,
               const ExportSettings& settings);

/// A clip as it is written. Not thread-safe.
class ClipWriter {
public:
    virtual ~ClipWriter() = default;
    /// RGB; all of one size. A GIF ends with a line in the log where its frames reach a gigabyte.
    /// Throws OutputError.
    virtual void add(const Image& picture) = 0;
    /// The clip is complete afterwards; without it nothing is left of a GIF or MP4. Throws
    /// OutputError; ContractError where there was no frame.
    virtual void finish() = 0;
    virtual std::string codec() const = 0; ///< "gif", "png", "h264", "mpeg4"
};

/// `path`: the file, or the folder of a PNG sequence (000000.png, …), which is made. Throws
/// OutputError, InputError where videos cannot be written here, ContractError.
std::unique_ptr<ClipWriter> openClip(const std::filesystem::path& path,
                                     const ExportSettings& settings);

} // namespace vergence::live
