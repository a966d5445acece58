#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

#include "core/base/error.h"
#include "plugins/foveated_vlm/feed/feed_way.h"
#include "plugins/foveated_vlm/feed/handover.h"

namespace vergence::fvlm {

namespace {

using Clock = std::chrono::steady_clock;

/// Batches lie with the pixels of all frames first, then the latents at a multiple of this.
constexpr std::size_t kAlignment = 256;

/// An announced batch on its way.
struct Batch {
    std::vector<Index> clips;
    std::vector<std::size_t> first; ///< frame number of each clip
    Index frames = 0;
    std::size_t latentsAt = 0, bytes = 0;
    CopyMemory* slot = nullptr;      ///< null until one is free
    std::size_t begun = 0, read = 0; ///< clips
    int users = 0;                   ///< threads that work on it without the lock
    int deviceSlot = -1;
    bool isUploaded = false;
    std::exception_ptr failure;

    bool isRead() const { return read == clips.size(); }
};

/// A batch on the device. The mark is reached when its frames have been gathered.
struct DeviceSlot {
    Tensor memory;
    void* consumed = nullptr;
    bool isFree = true;
};

/// Readers bring announced batches into memory of the host, one thread copies them to the device.
class StreamWay final : public FeedWay {
public:
    explicit StreamWay(const FeedFacts& facts)
        : m_facts(facts),
          m_gather(facts),
          m_copyStream(facts.device->createStream()),
          m_slots(static_cast<std::size_t>(facts.settings.slots))
    {
        for (CopyMemory& slot : m_slots)
            m_freeSlots.push_back(&slot);
        for (int i = 0; i < facts.settings.readers; ++i)
            m_threads.emplace_back([this](const std::stop_token& stop) { readClips(stop); });
        if (!facts.device->isCpu())
            m_threads.emplace_back([this](const std::stop_token& stop) { uploadBatches(stop); });
    }

    ~StreamWay() override
    {
        for (std::jthread& thread : m_threads)
            thread.request_stop();
        m_changed.notify_all();
        m_threads.clear();
        for (const DeviceSlot& slot : m_deviceSlots) {
            reachMarkKernel(*m_copyStream, slot.consumed);
            removeMarkKernel(*m_copyStream, slot.consumed);
        }
    }

    void ahead(std::span<const Index> clips) override;
    void forget() override
    {
        std::unique_lock lock(m_mutex);
        dropFront(lock, m_batches.size());
    }
    void fill(Stream& stream, std::span<const Index> clips, const Tensor& patches,
              const Tensor* latents) override;

private:
    void readClips(const std::stop_token& stop);
    void uploadBatches(const std::stop_token& stop);
    Batch* nextToRead();
    Batch* nextToUpload();
    void upload(Batch& batch, DeviceSlot& slot, Stream& stream);
    void dropFront(std::unique_lock<std::mutex>& lock, std::size_t count);
    void release(Batch& batch);
    bool isReady(const Batch& batch) const
    {
        return batch.failure || (m_facts.device->isCpu() ? batch.isRead() : batch.isUploaded);
    }
    void fillAtOnce(Stream& stream, std::span<const Index> clips, const Tensor& patches,
                    const Tensor* latents);
    void gather(Stream& stream, const std::byte* memory, const Batch& batch, const Tensor& patches,
                const Tensor* latents);
    void countWait(Clock::time_point begin);
    Batch planned(std::span<const Index> clips) const;

    const FeedFacts& m_facts;
    FrameGather m_gather;
    std::unique_ptr<Stream> m_copyStream; ///< outlives the slots
    std::vector<CopyMemory> m_slots;
    std::vector<CopyMemory*> m_freeSlots;
    std::array<DeviceSlot, 2> m_deviceSlots;
    std::vector<std::byte> m_atOnce; ///< of a batch that was not announced
    Tensor m_atOnceOnDevice;
    std::vector<std::int64_t> m_numbers;

    std::mutex m_mutex;
    std::condition_variable_any m_changed;
    std::deque<Batch> m_batches; ///< as announced; addresses stay while they are in use
    std::vector<std::jthread> m_threads;
};

Batch StreamWay::planned(std::span<const Index> clips) const
{
    Batch batch;
    batch.clips.assign(clips.begin(), clips.end());
    batch.frames = m_facts.framesOf(clips);
    std::size_t frame = 0;
    for (const Index clip : clips) {
        batch.first.push_back(frame);
        frame += m_facts.given[static_cast<std::size_t>(clip)];
    }
    batch.latentsAt = (frame * m_facts.frameBytes + kAlignment - 1) / kAlignment * kAlignment;
    batch.bytes = batch.latentsAt + m_facts.latentBytes(batch.frames);
    return batch;
}

void StreamWay::ahead(std::span<const Index> clips)
{
    if (clips.empty())
        return;
    Batch batch = planned(clips);
    {
        const std::lock_guard lock(m_mutex);
        m_batches.push_back(std::move(batch));
    }
    m_changed.notify_all();
}

/// The first announced batch with clips that nobody reads yet, where it has or gets a slot.
Batch* StreamWay::nextToRead()
{
    for (Batch& batch : m_batches) {
        if (batch.failure || batch.begun == batch.clips.size())
            continue;
        if (!batch.slot) {
            if (m_freeSlots.empty())
                return nullptr;
            batch.slot = m_freeSlots.back();
            m_freeSlots.pop_back();
            try {
                batch.slot->reserve(*m_copyStream, batch.bytes);
            } catch (...) {
                batch.failure = std::current_exception();
                m_changed.notify_all();
                continue;
            }
        }
        return &batch;
    }
    return nullptr;
}

void StreamWay::readClips(const std::stop_token& stop)
{
    std::unique_lock lock(m_mutex);
    Batch* batch = nullptr;
    while (m_changed.wait(lock, stop, [&] { return (batch = nextToRead()) != nullptr; })) {
        const std::size_t i = batch->begun++;
        std::byte* memory = batch->slot->data();
        ++batch->users;
        lock.unlock();
        std::exception_ptr failure;
        try {
            m_facts.read(batch->clips[i],
                         reinterpret_cast<std::uint8_t*>(memory) +
                             batch->first[i] * m_facts.frameBytes,
                         reinterpret_cast<float*>(memory + batch->latentsAt) +
                             batch->first[i] * static_cast<std::size_t>(m_facts.latentSize));
        } catch (...) {
            failure = std::current_exception();
        }
        lock.lock();
        --batch->users;
        ++batch->read;
        if (failure && !batch->failure)
            batch->failure = failure;
        m_changed.notify_all();
    }
}

/// The first announced batch that is on the host alone, where a place on the device is free.
Batch* StreamWay::nextToUpload()
{
    for (Batch& batch : m_batches) {
        if (batch.isUploaded || batch.failure)
            continue;
        if (!batch.isRead() || !batch.slot)
            return nullptr;
        for (std::size_t i = 0; i < m_deviceSlots.size(); ++i) {
            if (m_deviceSlots[i].isFree) {
                batch.deviceSlot = static_cast<int>(i);
                return &batch;
            }
        }
        return nullptr;
    }
    return nullptr;
}

void StreamWay::uploadBatches(const std::stop_token& stop)
{
    std::unique_ptr<Stream> stream; // belongs to this thread
    std::unique_lock lock(m_mutex);
    Batch* batch = nullptr;
    while (m_changed.wait(lock, stop, [&] { return (batch = nextToUpload()) != nullptr; })) {
        DeviceSlot& slot = m_deviceSlots[static_cast<std::size_t>(batch->deviceSlot)];
        slot.isFree = false;
        ++batch->users;
        lock.unlock();
        std::exception_ptr failure;
        try {
            if (!stream)
                stream = m_facts.device->createStream();
            upload(*batch, slot, *stream);
        } catch (...) {
            failure = std::current_exception();
        }
        lock.lock();
        --batch->users;
        batch->failure = failure;
        batch->isUploaded = !failure;
        m_freeSlots.push_back(batch->slot);
        batch->slot = nullptr;
        m_changed.notify_all();
    }
}

void StreamWay::upload(Batch& batch, DeviceSlot& slot, Stream& stream)
{
    if (slot.memory.bytes() < batch.bytes) {
        reachMarkKernel(stream, slot.consumed);
        slot.memory = {};
        slot.memory = Tensor::empty(m_facts.device, {static_cast<Index>(batch.bytes)}, DType::U8);
    }
    awaitMarkKernel(stream, slot.consumed);
    stream.copy(slot.memory.data(), batch.slot->data(), batch.bytes);
    stream.synchronize();
}

void StreamWay::release(Batch& batch)
{
    if (batch.slot)
        m_freeSlots.push_back(batch.slot);
    if (batch.deviceSlot >= 0)
        m_deviceSlots[static_cast<std::size_t>(batch.deviceSlot)].isFree = true;
    batch.slot = nullptr;
    batch.deviceSlot = -1;
}

/// Keeps others from beginning on the first `count` batches and waits for those that did.
void StreamWay::dropFront(std::unique_lock<std::mutex>& lock, std::size_t count)
{
    if (count == 0)
        return;
    for (std::size_t i = 0; i < count; ++i) {
        Batch& batch = m_batches[i];
        batch.read += batch.clips.size() - batch.begun; // as if they were
        batch.begun = batch.clips.size();
        if (!batch.isUploaded && !batch.failure)
            batch.failure = std::make_exception_ptr(ContractError("a batch that was dropped"));
    }
    m_changed.wait(lock, [&] {
        return std::all_of(m_batches.begin(), m_batches.begin() + static_cast<Index>(count),
                           [](const Batch& batch) { return batch.users == 0; });
    });
    for (std::size_t i = 0; i < count; ++i) {
        release(m_batches.front());
        m_batches.pop_front();
    }
    m_changed.notify_all();
}

void StreamWay::countWait(Clock::time_point begin)
{
    m_counts.lastWaitSeconds = std::chrono::duration<double>(Clock::now() - begin).count();
    m_counts.waitedSeconds += m_counts.lastWaitSeconds;
    ++m_counts.starved;
}

void StreamWay::gather(Stream& stream, const std::byte* memory, const Batch& batch,
                       const Tensor& patches, const Tensor* latents)
{
    m_numbers.resize(static_cast<std::size_t>(batch.frames));
    std::iota(m_numbers.begin(), m_numbers.end(), 0);
    const FramePlace place{reinterpret_cast<const std::uint8_t*>(memory),
                           reinterpret_cast<const float*>(memory + batch.latentsAt)};
    m_gather.run(stream, place, m_numbers, patches, latents);
}

void StreamWay::fillAtOnce(Stream& stream, std::span<const Index> clips, const Tensor& patches,
                           const Tensor* latents)
{
    const auto begin = Clock::now();
    const Batch batch = planned(clips);
    m_atOnce.resize(batch.bytes);
    m_facts.read(clips, reinterpret_cast<std::uint8_t*>(m_atOnce.data()),
                 reinterpret_cast<float*>(m_atOnce.data() + batch.latentsAt),
                 m_facts.settings.readers);
    countWait(begin);
    ++m_counts.unannounced;
    const std::byte* memory = m_atOnce.data();
    if (!m_facts.device->isCpu()) {
        if (m_atOnceOnDevice.bytes() < batch.bytes) {
            stream.synchronize(); // what it had may still be read
            m_atOnceOnDevice =
                Tensor::empty(m_facts.device, {static_cast<Index>(batch.bytes)}, DType::U8);
        }
        stream.copy(m_atOnceOnDevice.data(), memory, batch.bytes);
        memory = static_cast<const std::byte*>(m_atOnceOnDevice.data());
    }
    gather(stream, memory, batch, patches, latents);
}

void StreamWay::fill(Stream& stream, std::span<const Index> clips, const Tensor& patches,
                     const Tensor* latents)
{
    ++m_counts.batches;
    m_counts.lastWaitSeconds = 0;
    if (clips.empty()) {
        gather(stream, nullptr, Batch{}, patches, latents);
        return;
    }
    std::unique_lock lock(m_mutex);
    const auto found = std::ranges::find_if(
        m_batches, [&](const Batch& batch) { return std::ranges::equal(batch.clips, clips); });
    if (found == m_batches.end()) {
        lock.unlock();
        fillAtOnce(stream, clips, patches, latents);
        return;
    }
    dropFront(lock, static_cast<std::size_t>(found - m_batches.begin()));
    Batch& batch = m_batches.front();
    if (!isReady(batch)) {
        const auto begin = Clock::now();
        m_changed.wait(lock, [&] { return isReady(batch); });
        countWait(begin);
    }
    if (batch.failure) {
        const std::exception_ptr failure = batch.failure;
        dropFront(lock, 1);
        std::rethrow_exception(failure);
    }
    lock.unlock(); // nobody touches a batch that is ready
    if (batch.deviceSlot >= 0) {
        DeviceSlot& slot = m_deviceSlots[static_cast<std::size_t>(batch.deviceSlot)];
        gather(stream, static_cast<const std::byte*>(slot.memory.data()), batch, patches, latents);
        recordMarkKernel(stream, slot.consumed);
    } else {
        gather(stream, batch.slot ? batch.slot->data() : nullptr, batch, patches, latents);
    }
    lock.lock();
    release(batch);
    m_batches.pop_front();
    m_changed.notify_all();
}

} // namespace

std::unique_ptr<FeedWay> makeStreamWay(const FeedFacts& facts)
{
    return std::make_unique<StreamWay>(facts);
}

} // namespace vergence::fvlm
