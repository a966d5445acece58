#pragma once

#include <array>
#include <string>
#include <vector>

namespace vergence::emulation {

using Uuid = std::array<unsigned char, 16>;

/// Of the computer's n-th device.
Uuid uuidOf(int device);

/// The computer's devices that this process may use, in its own order: settings().devices, of them
/// those that CUDA_VISIBLE_DEVICES names up to the first name that is none.
std::vector<int> visibleDevices();

/// Remembers that the process has a context on its `device`; the first is written to
/// settings().contextsFile.
void openContext(int device);
/// Whether it has one there.
bool hasContext(int device);

} // namespace vergence::emulation
