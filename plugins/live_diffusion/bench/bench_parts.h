#pragma once

#include "plugins/live_diffusion/bench/bench_modes.h"
#include "plugins/live_diffusion/profile/peaks.h"

namespace vergence::live {

// The benchmarks behind runLiveBench(), one function each.

BenchAnswer runMode(const BenchRequest& request, const BenchSetup& setup);
BenchAnswer abMode(const BenchRequest& request, const BenchSetup& setup);
BenchAnswer claimsMode(const BenchRequest& request, const BenchSetup& setup);
BenchAnswer profileMode(const BenchRequest& request, const BenchSetup& setup);
BenchAnswer memoryMode(const BenchRequest& request, const BenchSetup& setup);
BenchAnswer validateMode(const BenchRequest& request, const BenchSetup& setup);
BenchAnswer targetsMode(const BenchRequest& request, const BenchSetup& setup);
BenchAnswer seedMode(const BenchRequest& request, const BenchSetup& setup);
BenchAnswer baselinesMode(const BenchRequest& request, const BenchSetup& setup);

/// Environment, configuration with switches, and protocol; no results yet.
BenchReport emptyReport(const BenchRequest& request, const BenchSetup& setup);
/// The lab's own, or one that fits the seconds asked for.
Protocol protocolOf(const BenchRequest& request);
/// Of the data sheet where the device is listed, else measured on it.
DevicePeaks peaksOf(const BenchRequest& request);
/// Calls the request's progress where there is one.
void say(const BenchRequest& request, const std::string& line);

} // namespace vergence::live
