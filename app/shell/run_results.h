#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include <QString>

#include <nlohmann/json.hpp>

#include "core/artifact/run_folder.h"
#include "core/view/frame.h"

namespace vergence {

/// What a result is called, from its entry in the manifest: its title and its file, because titles
/// may be alike.
QString resultName(const nlohmann::json& artifact);

/// A picture among the results of a run, which a view can show without a worker.
struct RecordedPicture {
    std::filesystem::path file;
    StreamDecl stream; ///< its own; all of them can be compared
};

/// The pictures among `artifacts`, as the manifest names them, whose files are there. What a stream
/// of the run showed, by its role, comes first, in the order of the streams.
std::vector<RecordedPicture> recordedPictures(const std::vector<nlohmann::json>& artifacts,
                                              const std::vector<StreamDecl>& streams,
                                              const RunFolder& folder);

/// The picture as the only frame of its stream; nothing where the file cannot be read.
std::optional<Frame> frameOf(const RecordedPicture& picture);

} // namespace vergence
