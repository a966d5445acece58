#pragma once

#include <string>
#include <vector>

#include "core/compute/device.h"
#include "plugins/sugar/compute/learning/memory_forecast.h"
#include "plugins/sugar/sugar_config.h"
#include "plugins/sugar/train/picture_source.h"

#include <nlohmann/json_fwd.hpp>

namespace vergence::sugar {

/// What one stage of a run holds at its largest.
struct StageForecast {
    std::string stage; ///< "S3", …, or "Results"
    MemoryForecast memory;
};

/// What a run is forecast by.
struct ForecastInput {
    const SugarConfig& config;
    const PictureSource& pictures;
    Index startCount = 0; ///< Gaussians that learning starts from; growing ones end at the cap
    bool isCpu = true;
    Index bandRows = 0;     ///< of the bands of pictures, for learning; 0: whole pictures
    bool isLearnt = false;  ///< the Gaussians do not grow any more
    bool isAligned = false; ///< nor are they pruned
};

/// Of learning and aligning on the device, with what the process holds already; on the CPU of all
/// stages up to the goal and of the writing of results. On the CPU it is to be compared with the
/// peak of the process (VmHWM of proc(5)), on a GPU with that of the device.
std::vector<StageForecast> stageForecasts(const ForecastInput& input);

/// The largest of some: what the run needs.
MemoryForecast largest(const std::vector<StageForecast>& stages);
MemoryForecast memoryForecast(const ForecastInput& input);

/// Rows of the bands that pictures are learnt in: as set, else 0 where whole pictures fit into the
/// `free` bytes (0: unknown), else the largest of 1,024, 512 … 64 that do, or 64.
Index bandRowsFor(const SugarConfig& config, const PictureSource& pictures, Index startCount,
                  bool isCpu, std::size_t free);

/// Table of the parts for people, in MB, and what their sum is to be compared with.
nlohmann::json forecastTable(const MemoryForecast& forecast, const Device& device);

/// A sentence where the forecast does not fit into what is free; empty where it does.
std::string forecastWarning(const MemoryForecast& forecast, const DeviceMemory& memory);

} // namespace vergence::sugar
