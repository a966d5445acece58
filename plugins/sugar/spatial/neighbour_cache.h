#pragma once

#include <filesystem>

#include "plugins/sugar/spatial/neighbours.h"

namespace vergence::sugar {

/// Tables that a folder keeps.
inline constexpr std::size_t kKeptTables = 4;
/// Rows of one file of a table.
inline constexpr Index kTableBatch = 1 << 18;

/// nearestNeighbours() that are kept on disk: in a folder inside `folder` whose name follows from
/// the positions, k and the version of the search, one file with a checksum for each batch of rows.
/// A search that was stopped or killed goes on after its last batch; a damaged batch is searched
/// again. Tables beyond kKeptTables that were not asked for the longest are deleted. `folder` is
/// made where it is missing. Throws OutputError where it cannot be written.
NeighbourTable cachedNeighbours(const std::filesystem::path& folder,
                                std::span<const float> position, int k,
                                const std::function<bool()>& stop = {});

/// The folder of that table.
std::filesystem::path neighbourFolder(const std::filesystem::path& folder,
                                      std::span<const float> position, int k);

} // namespace vergence::sugar
