#include "plugins/sugar/pipeline/host_memory.h"

#include <cstdlib>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace vergence::sugar {

void giveBackFreedMemory()
{
#if defined(__GLIBC__)
    constexpr int kLarge = 256 * 1024; // bytes; training takes no such block in a step
    mallopt(M_MMAP_THRESHOLD, kLarge); // also ends its growing by itself
    mallopt(M_TRIM_THRESHOLD, 4 * kLarge);
    mallopt(M_ARENA_MAX, 2);
    malloc_trim(0);
#endif
}

} // namespace vergence::sugar
