#pragma once

#include <filesystem>
#include <optional>

#include "core/view/frame.h"

namespace vergence {

/// One frame in a file, for viewers on other computers: a line of JSON (FrameInfo), then the
/// pixels. Readers see a whole frame, old or new. `frame` lies in host memory. Throws OutputError.
void writeFrameFile(const std::filesystem::path& path, const Frame& frame);

/// The frame if its sequence is above `seen`; nothing otherwise, and where the file is gone or is
/// no frame.
std::optional<Frame> readFrameFile(const std::filesystem::path& path, std::uint64_t seen);

} // namespace vergence
