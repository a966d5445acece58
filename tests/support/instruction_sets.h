#pragma once

#include <vector>

namespace vergence::test {

/// What VERGENCE_ISA may be in this build.
inline std::vector<const char*> instructionSets()
{
#if defined(__x86_64__)
    return {"v2", "v3", "v4"};
#else
    return {"generic"};
#endif
}

} // namespace vergence::test
