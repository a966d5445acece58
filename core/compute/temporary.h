#pragma once

#include <cstddef>

#include "core/compute/stream.h"
#include "core/compute/view.h"

namespace vergence {

/// Device memory during a call: partial results and the like. It goes back without a wait, as the
/// stream does one after another and the device hands it to this thread first; what went wrong on
/// the stream meanwhile is told by whoever waits for it next.
class Temporary {
public:
    /// Room for `count` elements of `size` bytes, at least one.
    Temporary(Stream& stream, Index count, std::size_t size);
    ~Temporary();
    Temporary(const Temporary&) = delete;
    Temporary& operator=(const Temporary&) = delete;

    void* data() const { return m_data; }

private:
    Device& m_device;
    std::size_t m_bytes;
    void* m_data;
};

} // namespace vergence
