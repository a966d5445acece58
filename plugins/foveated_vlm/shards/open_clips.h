#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "plugins/foveated_vlm/clips/clip_source.h"
#include "plugins/foveated_vlm/shards/predecode.h"

namespace vergence::fvlm {

/// What a path is taken for.
enum class ClipsKind { Shards, TensorFiles, FrameFolders, Archives, Videos };
const char* nameOf(ClipsKind kind);

/// How clips are opened.
struct OpenSettings {
    PredecodeSettings predecode; ///< videos, pictures and archives are brought to this form
    std::filesystem::path cache; ///< folder for the shards that are made; empty: beside the source
};

/// Looks at what lies there: a shard or a folder with a list of them, .pt files, folders of JPEG or
/// PNG frames, WebDataset archives (.tar), videos. Throws InputError that says what was expected.
ClipsKind recogniseClips(const std::filesystem::path& path);

/// Clips of what lies at `path`. Shards are mapped; everything else becomes a shard in the cache
/// once, named after its content and the settings. `report`, where not null, receives what became
/// of the sources. Throws InputError, OutputError; returns null only where it was stopped.
std::unique_ptr<ClipSource>
openClips(const std::filesystem::path& path, const OpenSettings& settings,
          const std::function<void(const PredecodeProgress&)>& progress = {},
          std::stop_token stop = {}, PredecodeReport* report = nullptr);

} // namespace vergence::fvlm
