#pragma once

#include <cstdint>
#include <string>

#include "core/config/config.h"

namespace vergence::chaos {

/// Steps count from 0; an `…_at` of -1 means never.
struct ChaosConfig {
    std::int64_t steps = 100;
    double stepMs = 1;
    bool busy = false;
    std::uint64_t seed = 1;
    double rate = 1;
    std::int64_t prepareMs = 0, saveMs = 0, finishMs = 0;
    int checkpointMib = 0;
    std::int64_t segvAt = -1, abortAt = -1, throwAt = -1, badAllocAt = -1, nanAt = -1, hangAt = -1,
                 waitAt = -1;
    int exitCode = 1;
    double flood = 0;
    int leakMib = 0;
    bool onlyOnce = true;
    bool scene = false;
    std::string input;
};

SchemaBuilder<ChaosConfig> chaosSchema();

} // namespace vergence::chaos
