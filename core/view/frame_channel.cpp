#include "core/view/frame_channel.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence {

namespace {

using Word = std::atomic<std::uint64_t>;
static_assert(Word::is_always_lock_free && sizeof(Word) == 8,
              "the ring is shared between processes");

constexpr std::uint64_t kMagic = 0x31474E4952475256; // "VRGRING1", little endian
constexpr std::uint64_t kVersion = 2;
constexpr std::uint64_t kSlots = 3;

/// First page of the ring. `newest` counts finished frames; frame k lies in slot k % kSlots, 0
/// means none yet.
struct RingHeader {
    Word magic, version, slotBytes, newest;
};
constexpr std::size_t kHeaderBytes = 4096;

/// Front of a slot; stream name, meta and pixels follow, each starting on a whole word. `lock` is
/// odd while the slot is being written: a reader that sees the same even value before and after its
/// copy has one whole frame.
struct SlotHeader {
    Word lock, sequence, step, format, width, height, layers, streamBytes, metaBytes, pixelBytes,
        isShared;
};
constexpr std::size_t kSlotHeaderBytes = 128;
static_assert(sizeof(SlotHeader) <= kSlotHeaderBytes);

/// SharedPixels as they travel through the ring.
struct PackedShared {
    std::array<char, 64> uuid;
    std::array<std::byte, 64> memoryHandle, eventHandle;
    std::uint64_t offset;
};

PackedShared packed(const SharedPixels& shared)
{
    PackedShared result{};
    expects(shared.deviceUuid.size() < result.uuid.size(),
            "FrameRingWriter: the device's UUID is too long");
    std::copy(shared.deviceUuid.begin(), shared.deviceUuid.end(), result.uuid.begin());
    result.memoryHandle = shared.memoryHandle;
    result.eventHandle = shared.eventHandle;
    result.offset = shared.offset;
    return result;
}

SharedPixels unpacked(const PackedShared& stored)
{
    SharedPixels shared;
    shared.deviceUuid.assign(stored.uuid.begin(),
                             std::find(stored.uuid.begin(), stored.uuid.end(), '\0'));
    shared.memoryHandle = stored.memoryHandle;
    shared.eventHandle = stored.eventHandle;
    shared.offset = stored.offset;
    return shared;
}

constexpr std::size_t wholeWords(std::size_t bytes)
{
    return (bytes + 7) & ~std::size_t{7};
}

std::size_t slotStride(std::size_t slotBytes)
{
    return kSlotHeaderBytes + (slotBytes + 4095) / 4096 * 4096;
}

std::size_t ringBytes(std::size_t slotBytes)
{
    return kHeaderBytes + kSlots * slotStride(slotBytes);
}

/// Every word is an atomic: reader and writer may touch the same slot at once, and only the lock
/// tells who won. Release and acquire keep the words between the two changes of the lock; on x86-64
/// they are plain moves.
void copyIn(Word* target, const void* source, std::size_t bytes)
{
    const auto* from = static_cast<const char*>(source);
    for (; bytes >= 8; bytes -= 8, from += 8, ++target) {
        std::uint64_t word;
        std::memcpy(&word, from, 8);
        target->store(word, std::memory_order_release);
    }
    if (bytes > 0) {
        std::uint64_t word = 0;
        std::memcpy(&word, from, bytes);
        target->store(word, std::memory_order_release);
    }
}

void copyOut(void* target, const Word* source, std::size_t bytes)
{
    auto* to = static_cast<char*>(target);
    for (; bytes >= 8; bytes -= 8, to += 8, ++source) {
        const std::uint64_t word = source->load(std::memory_order_acquire);
        std::memcpy(to, &word, 8);
    }
    if (bytes > 0) {
        const std::uint64_t word = source->load(std::memory_order_acquire);
        std::memcpy(to, &word, bytes);
    }
}

/// Owns a mapping of a shared-memory object.
class Mapping {
public:
    Mapping() = default;
    Mapping(void* address, std::size_t bytes) : m_address(address), m_bytes(bytes) {}
    Mapping(Mapping&& other) noexcept
        : m_address(std::exchange(other.m_address, nullptr)),
          m_bytes(other.m_bytes)
    {
    }
    Mapping& operator=(Mapping&& other) noexcept
    {
        std::swap(m_address, other.m_address);
        std::swap(m_bytes, other.m_bytes);
        return *this;
    }
    ~Mapping()
    {
        if (m_address)
            ::munmap(m_address, m_bytes);
    }

    explicit operator bool() const { return m_address != nullptr; }
    RingHeader& header() const { return *static_cast<RingHeader*>(m_address); }
    SlotHeader& slot(std::size_t index, std::size_t slotBytes) const
    {
        return *reinterpret_cast<SlotHeader*>(static_cast<char*>(m_address) + kHeaderBytes +
                                              index * slotStride(slotBytes));
    }
    static Word* data(SlotHeader& slot)
    {
        return reinterpret_cast<Word*>(reinterpret_cast<char*>(&slot) + kSlotHeaderBytes);
    }

private:
    void* m_address = nullptr;
    std::size_t m_bytes = 0;
};

/// Makes and maps a new ring; an error number where that fails, with nothing left behind.
int createRing(const std::string& name, std::size_t slotBytes, Mapping& mapping)
{
    const int descriptor = ::shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor < 0)
        return errno;
    const std::size_t bytes = ringBytes(slotBytes);
    // Reserves the pages now: a full file system is an error here and not a bus error at the first
    // write.
    int error = ::posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
    if (error == 0) {
        void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        if (address == MAP_FAILED)
            error = errno;
        else
            mapping = Mapping(address, bytes);
    }
    ::close(descriptor);
    if (error != 0)
        ::shm_unlink(name.c_str());
    return error;
}

/// Maps an existing ring for reading; empty where it is gone, truncated or foreign.
Mapping openRing(const std::string& name, std::string& reason)
{
    const int descriptor = ::shm_open(name.c_str(), O_RDONLY | O_CLOEXEC, 0);
    if (descriptor < 0) {
        reason = std::strerror(errno);
        return {};
    }
    struct stat status {};
    Mapping mapping;
    if (::fstat(descriptor, &status) == 0 && status.st_size >= static_cast<off_t>(kHeaderBytes)) {
        const auto bytes = static_cast<std::size_t>(status.st_size);
        void* address = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, 0);
        if (address != MAP_FAILED)
            mapping = Mapping(address, bytes);
    }
    ::close(descriptor);
    reason = "it is not a frame ring of this version";
    if (!mapping || mapping.header().magic.load(std::memory_order_acquire) != kMagic ||
        mapping.header().version != kVersion)
        return {};
    const std::uint64_t slotBytes = mapping.header().slotBytes;
    if (slotBytes > static_cast<std::uint64_t>(status.st_size) ||
        ringBytes(slotBytes) != static_cast<std::size_t>(status.st_size))
        return {};
    return mapping;
}

std::string whyNoRing(const std::string& name, std::size_t slotBytes, int error)
{
    return fmt::format("Cannot make the shared memory {} of {} MiB for previews: {}.", name,
                       ringBytes(slotBytes) >> 20, std::strerror(error));
}

} // namespace

const std::size_t FrameRingWriter::kSharedBytes = sizeof(PackedShared);

struct FrameRingWriter::Impl {
    std::string name;
    Mapping mapping;
    std::size_t slotBytes = 0;
    std::uint64_t written = 0;

    ~Impl()
    {
        if (mapping)
            unlinkFrameRing(name);
    }

    /// 0, or the error number of the system.
    int create(const std::string& wanted, std::size_t bytes)
    {
        expects(wanted.size() > 1 && wanted.front() == '/' &&
                    wanted.find('/', 1) == std::string::npos,
                "FrameRingWriter: the name must start with its only slash");
        expects(bytes > 0 && bytes <= (std::size_t{1} << 40),
                "FrameRingWriter: slot size out of range");
        if (const int error = createRing(wanted, bytes, mapping); error != 0)
            return error;
        name = wanted;
        slotBytes = bytes;
        RingHeader& header = mapping.header();
        header.version = kVersion;
        header.slotBytes = bytes;
        header.newest = 0;
        header.magic.store(kMagic,
                           std::memory_order_release); // last: a reader that sees it sees the rest
        return 0;
    }
};

FrameRingWriter::FrameRingWriter(std::string name, std::size_t slotBytes)
    : FrameRingWriter(std::move(name), std::make_unique<Impl>())
{
    const int error = m_impl->create(m_name, slotBytes);
    if (error != 0)
        throw OutputError(whyNoRing(m_name, slotBytes, error), error == ENOSPC);
}

FrameRingWriter::FrameRingWriter(std::string name, std::unique_ptr<Impl> impl)
    : m_name(std::move(name)),
      m_impl(std::move(impl))
{
}

std::unique_ptr<FrameRingWriter>
FrameRingWriter::tryCreate(const std::string& name, std::size_t slotBytes, std::string& reason)
{
    auto impl = std::make_unique<Impl>();
    const int error = impl->create(name, slotBytes);
    if (error == 0)
        return std::unique_ptr<FrameRingWriter>(new FrameRingWriter(name, std::move(impl)));
    reason = whyNoRing(name, slotBytes, error);
    return nullptr;
}

FrameRingWriter::~FrameRingWriter() = default;

std::size_t FrameRingWriter::slotBytes() const
{
    return m_impl->slotBytes;
}

void FrameRingWriter::write(const FrameInfo& info, std::span<const std::byte> pixels)
{
    expects(pixels.size() == info.pixelBytes(),
            "FrameRingWriter: pixel bytes differ from the frame's size");
    writePayload(info, pixels, false);
}

void FrameRingWriter::write(const FrameInfo& info, const SharedPixels& shared)
{
    const PackedShared payload = packed(shared);
    writePayload(info, std::as_bytes(std::span(&payload, 1)), true);
}

void FrameRingWriter::writePayload(const FrameInfo& info, std::span<const std::byte> pixels,
                                   bool isShared)
{
    const std::size_t streamBytes = wholeWords(info.stream.size()),
                      metaBytes = wholeWords(info.meta.size());
    expects(streamBytes + metaBytes + pixels.size() <= m_impl->slotBytes,
            "FrameRingWriter: the frame does not fit into a slot");
    const std::uint64_t number = ++m_impl->written;
    SlotHeader& slot = m_impl->mapping.slot(number % kSlots, m_impl->slotBytes);
    const std::uint64_t lock = slot.lock.load(std::memory_order_relaxed);
    slot.lock.store(lock + 1, std::memory_order_relaxed);
    const auto put = [](Word& word, std::uint64_t value) {
        word.store(value, std::memory_order_release);
    };
    put(slot.sequence, info.sequence);
    put(slot.step, static_cast<std::uint64_t>(info.step));
    put(slot.format, static_cast<std::uint64_t>(info.format));
    put(slot.width, info.width);
    put(slot.height, info.height);
    put(slot.layers, info.layers);
    put(slot.streamBytes, info.stream.size());
    put(slot.metaBytes, info.meta.size());
    put(slot.pixelBytes, pixels.size());
    put(slot.isShared, isShared ? 1 : 0);
    Word* data = Mapping::data(slot);
    copyIn(data, info.stream.data(), info.stream.size());
    copyIn(data + streamBytes / 8, info.meta.data(), info.meta.size());
    copyIn(data + (streamBytes + metaBytes) / 8, pixels.data(), pixels.size());
    slot.lock.store(lock + 2, std::memory_order_release);
    m_impl->mapping.header().newest.store(number, std::memory_order_release);
}

struct FrameRingReader::Impl {
    Mapping mapping;
    std::size_t slotBytes = 0;

    enum class Attempt { Done, NothingNew, Overtaken };
    Attempt read(std::uint64_t seen, Frame& frame) const;
};

FrameRingReader::FrameRingReader(const std::string& name) : m_impl(std::make_unique<Impl>())
{
    std::string reason;
    m_impl->mapping = openRing(name, reason);
    if (!m_impl->mapping)
        throw InputError(fmt::format("Cannot open the preview frames {}: {}.", name, reason));
    m_impl->slotBytes = m_impl->mapping.header().slotBytes;
}

FrameRingReader::~FrameRingReader() = default;

FrameRingReader::Impl::Attempt FrameRingReader::Impl::read(std::uint64_t seen, Frame& frame) const
{
    const std::uint64_t number = mapping.header().newest.load(std::memory_order_acquire);
    if (number == 0)
        return Attempt::NothingNew;
    SlotHeader& slot = mapping.slot(number % kSlots, slotBytes);
    const std::uint64_t before = slot.lock.load(std::memory_order_acquire);
    if (before % 2 == 1)
        return Attempt::Overtaken;
    const auto take = [](const Word& word) { return word.load(std::memory_order_acquire); };
    const auto take32 = [&](const Word& word) { return static_cast<std::uint32_t>(take(word)); };
    FrameInfo& info = frame.info;
    info.sequence = take(slot.sequence);
    info.step = static_cast<std::int64_t>(take(slot.step));
    info.format = static_cast<PixelFormat>(take32(slot.format));
    info.width = take32(slot.width);
    info.height = take32(slot.height);
    info.layers = take32(slot.layers);
    const std::uint64_t stream = take(slot.streamBytes), meta = take(slot.metaBytes),
                        pixels = take(slot.pixelBytes);
    const bool isShared = take(slot.isShared) == 1;
    // Sizes are believed only after the lock says that they belong together, and only where they
    // fit.
    if (slot.lock.load(std::memory_order_relaxed) != before)
        return Attempt::Overtaken;
    constexpr std::uint32_t kLargest = 65536;
    if (info.sequence <= seen || info.width > kLargest || info.height > kLargest ||
        info.layers > kLargest || info.format > PixelFormat::R32F || stream > slotBytes ||
        meta > slotBytes || pixels > slotBytes ||
        wholeWords(stream) + wholeWords(meta) + pixels > slotBytes ||
        pixels != (isShared ? sizeof(PackedShared) : info.pixelBytes()))
        return Attempt::NothingNew;
    info.stream.resize(stream);
    info.meta.resize(meta);
    frame.pixels.resize(isShared ? 0 : pixels);
    PackedShared shared{};
    const Word* data = Mapping::data(slot);
    copyOut(info.stream.data(), data, stream);
    copyOut(info.meta.data(), data + wholeWords(stream) / 8, meta);
    copyOut(isShared ? static_cast<void*>(&shared) : frame.pixels.data(),
            data + (wholeWords(stream) + wholeWords(meta)) / 8, pixels);
    frame.shared = isShared ? std::optional(unpacked(shared)) : std::nullopt;
    return slot.lock.load(std::memory_order_relaxed) == before ? Attempt::Done : Attempt::Overtaken;
}

std::optional<Frame> FrameRingReader::readNewest(std::uint64_t seen)
{
    Frame frame;
    for (int attempt = 0; attempt < 2; ++attempt) {
        switch (m_impl->read(seen, frame)) {
        case Impl::Attempt::Done:
            return frame;
        case Impl::Attempt::NothingNew:
            return std::nullopt;
        case Impl::Attempt::Overtaken:
            break;
        }
    }
    return std::nullopt;
}

void unlinkFrameRing(const std::string& name) noexcept
{
    ::shm_unlink(name.c_str());
}

} // namespace vergence
