#include "core/plugin/lab_benchmark.h"

namespace vergence {

LabBenchmark::~LabBenchmark() = default;

} // namespace vergence
