#pragma once

#include <cstddef>

namespace vergence::emulation {

/// Where the bytes of a copy lie.
enum class Side { Device, Pinned, Pageable };

Side sideOf(const void* pointer);

/// Whether the devices read ordinary memory of the host by themselves, as some computers' do; then
/// a copy from there reads it late. VERGENCE_EMULATED_PAGEABLE=1.
bool readsPageableMemory();

/// Whether all bytes lie in one pinned range.
bool isPinned(const void* pointer, std::size_t bytes);

} // namespace vergence::emulation
