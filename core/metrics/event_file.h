#pragma once

#include <string>
#include <string_view>

#include "core/metrics/metric_store.h"

namespace vergence {

/// The numbers of a run as TensorBoard reads them: records of a length, its checksum, a message
/// `Event` in the encoding of Protocol Buffers and its checksum (tensorflow/core/lib/io/
/// record_writer.h, core/util/event.proto, core/framework/summary.proto). Values become 32-bit
/// floats, which is all that the format has. `start` is the beginning of the run in seconds since
/// 1970. Points come in rising step and time; series of one step and time share an event.
std::string toEventFile(const MetricStore& metrics, double start);

/// "2026-03-02T10:15:07.123Z", as manifests have it, in seconds since 1970; 0 where it is no time.
double secondsOf(std::string_view utc);

/// "events.out.tfevents.1772446507.<name>"; TensorBoard knows its files by the middle.
std::string eventFileName(double start, const std::string& name);

} // namespace vergence
