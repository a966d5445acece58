#pragma once

#include <string>
#include <vector>

namespace vergence::emulation {

/// A line of a kernel file.
struct Site {
    const char* file;
    int line;
};
#define VERGENCE_EMULATED_SITE (::vergence::emulation::Site{__FILE__, __LINE__})

struct Finding {
    std::string kind, where, kernel, text;
    long count = 0; ///< how often the same kind came from the same place in the same kernel
};

/// Counts a finding; the first of its kind, place and kernel is printed. Kinds are short words:
/// "outside", "host-memory", "race", "barrier", …
void report(const char* kind, const std::string& where, const std::string& text);
void report(const char* kind, Site site, const std::string& text);
/// For kernels, which would be found to make a string.
void report(const char* kind, Site site, const char* text);

/// All so far, in the order in which they came. A test that provokes findings takes them, so that
/// the process ends well.
std::vector<Finding> takeFindings();

/// The kernel that runs, for findings; empty outside of kernels.
void setRunningKernel(std::string name);

std::string textOf(Site site);
/// "file:line" of an instruction, by its debug information.
std::string placeOf(const void* instruction);
/// The lines that have called it, as the end of a sentence; where it was reached first, if it was
/// more than once. The caller is reached from the instruction.
std::string callersOf(const void* instruction);

} // namespace vergence::emulation
