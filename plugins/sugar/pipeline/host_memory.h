#pragma once

namespace vergence::sugar {

/// Makes what the process holds follow what it uses: large blocks are mapped by themselves and
/// given back when they are freed. Left to itself the allocator takes to putting them into its
/// heap, where every buffer that outgrows its place leaves a hole; how large the holes are depends
/// on the order of threads, and a fifth of a run's memory with them. For the whole process; does
/// nothing with other allocators than glibc's.
void giveBackFreedMemory();

} // namespace vergence::sugar
