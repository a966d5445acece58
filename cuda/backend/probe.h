#pragma once

#include <string>

namespace vergence {

/// Runs a small kernel on a device and reads its result. Empty when it is right, otherwise one
/// sentence.
std::string probeDevice(int index);

} // namespace vergence
