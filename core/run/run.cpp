#include "core/run/run.h"

namespace vergence {

Run::~Run() = default;

void Run::view(RunContext&, const ViewInput&) {}

} // namespace vergence
