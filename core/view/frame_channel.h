#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/view/frame.h"

namespace vergence {

/// Ring of three slots in POSIX shared memory, one per stream: one being written, one newest, one
/// being read. The writer never waits; a reader that was overtaken reads again. User-only
/// permission.
class FrameRingWriter {
public:
    /// `slotBytes`: room for meta and pixels of one frame. Throws OutputError.
    FrameRingWriter(std::string name, std::size_t slotBytes);
    /// The same, with nothing and a sentence where the system refuses: a run must not fail for want
    /// of previews.
    static std::unique_ptr<FrameRingWriter> tryCreate(const std::string& name,
                                                      std::size_t slotBytes, std::string& reason);
    ~FrameRingWriter(); ///< unlinks the name
    FrameRingWriter(const FrameRingWriter&) = delete;
    FrameRingWriter& operator=(const FrameRingWriter&) = delete;

    /// Bytes that a frame in device memory needs besides stream name and meta.
    static const std::size_t kSharedBytes;

    const std::string& name() const { return m_name; }
    std::size_t slotBytes() const;
    void write(const FrameInfo& info,
               std::span<const std::byte> pixels); ///< throws ContractError where it does not fit
    /// A frame whose pixels lie in device memory; only where they lie is written.
    void write(const FrameInfo& info, const SharedPixels& shared);

private:
    struct Impl;
    FrameRingWriter(std::string name, std::unique_ptr<Impl> impl);
    void writePayload(const FrameInfo& info, std::span<const std::byte> payload, bool isShared);

    std::string m_name;
    std::unique_ptr<Impl> m_impl;
};

class FrameRingReader {
public:
    /// Throws InputError where the name is gone or the header is not ours.
    explicit FrameRingReader(const std::string& name);
    ~FrameRingReader();
    FrameRingReader(const FrameRingReader&) = delete;
    FrameRingReader& operator=(const FrameRingReader&) = delete;

    /// The newest frame if its sequence is above `seen`; nothing otherwise, or where the writer
    /// overtook twice.
    std::optional<Frame> readNewest(std::uint64_t seen);

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

/// Removes a ring that a killed worker left behind.
void unlinkFrameRing(const std::string& name) noexcept;

} // namespace vergence
