#pragma once

#include "core/compute/device.h"
#include "plugins/sugar/compute/learning/memory_forecast.h"
#include "plugins/sugar/sugar_config.h"
#include "plugins/sugar/train/picture_source.h"

#include <nlohmann/json_fwd.hpp>

namespace vergence::sugar {

/// What the run will hold at its largest, on the device that trains it, with what the process holds
/// already: while it learns, aligns or, on the CPU, writes the turntable, whichever takes most.
/// Bands of `bandRows` rows (0: whole pictures) serve learning, not the alignment.
MemoryForecast memoryForecast(const SugarConfig& config, const PictureSource& pictures,
                              Index startCount, bool isCpu, Index bandRows);

/// Rows of the bands that pictures are learnt in: as set, else 0 where whole pictures fit into the
/// `free` bytes (0: unknown), else the largest of 1,024, 512 … 64 that do, or 64.
Index bandRowsFor(const SugarConfig& config, const PictureSource& pictures, Index startCount,
                  bool isCpu, std::size_t free);

/// Table of the parts for people, in MB.
nlohmann::json forecastTable(const MemoryForecast& forecast, const DeviceMemory& memory);

/// A sentence where the forecast does not fit into what is free; empty where it does.
std::string forecastWarning(const MemoryForecast& forecast, const DeviceMemory& memory);

} // namespace vergence::sugar
