#pragma once

namespace vergence {

/// Where a copy reads.
enum class CopySource { Device, PinnedHost, PageableHost };

/// Whether a queued copy may still read host memory when the call that queued it has returned.
/// Pinned memory is read by the device when the stream comes to it; pageable memory is staged
/// before, unless the device reads it by itself.
constexpr bool isReadLater(CopySource source, bool deviceReadsPageable)
{
    return source == CopySource::PinnedHost ||
           (source == CopySource::PageableHost && deviceReadsPageable);
}

} // namespace vergence
