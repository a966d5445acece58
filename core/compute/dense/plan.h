#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>

#include <oneapi/dnnl/dnnl.hpp>

namespace vergence {

/// While it lives, oneDNN works on the calling thread alone: the pool of the device is the only
/// one, so that two pools never fight for the processor's cores. oneDNN reads OpenMP's number of
/// threads, which is a property of the calling thread.
class OnThisThread {
public:
    OnThisThread();
    ~OnThisThread();
    OnThisThread(const OnThisThread&) = delete;
    OnThisThread& operator=(const OnThisThread&) = delete;

private:
    int m_before;
};

/// A oneDNN primitive that can be run by several threads at once without allocating.
class Plan {
public:
    /// An argument's index (DNNL_ARG_…) and layout.
    struct Argument {
        int index;
        dnnl::memory::desc layout;
    };

    static constexpr int kMostArguments = 6;

    Plan(dnnl::primitive primitive, std::span<const Argument> arguments, std::size_t scratchBytes);
    ~Plan();
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;

    /// `pointers` in the order of the constructor's arguments, then `scratch` of scratchBytes().
    /// Throws DeviceError where oneDNN refuses.
    void run(std::span<void* const> pointers, void* scratch) const;

    std::size_t scratchBytes() const { return m_scratchBytes; }
    const dnnl::memory::desc& layout(int argument) const
    {
        return m_arguments[static_cast<std::size_t>(argument)].layout;
    }

private:
    struct Set; ///< memory objects of one execution
    std::unique_ptr<Set> makeSet() const;
    std::unique_ptr<Set> takeSet() const;
    void returnSet(std::unique_ptr<Set> set) const;

    dnnl::primitive m_primitive;
    std::array<Argument, kMostArguments> m_arguments;
    int m_count;
    std::size_t m_scratchBytes;
    mutable std::array<std::atomic<Set*>, 16> m_idle{};
};

/// What distinguishes primitives: kind, extents, strides, types, options; unused entries 0.
struct PlanKey {
    std::array<std::int64_t, 18> values{};

    bool operator==(const PlanKey&) const = default;
};
struct PlanKeyHash {
    std::size_t operator()(const PlanKey& key) const;
};

/// Plans by key; the least recently used leave when there are more than `most`. Thread-safe.
class PlanCache {
public:
    explicit PlanCache(std::size_t most = 1024) : m_most(most) {}

    /// The plan of `key`, made by `make()` where it is not there. `make` may return null ("oneDNN
    /// has nothing fast for this"), which is remembered too.
    template <class Make>
    std::shared_ptr<const Plan> find(const PlanKey& key, const Make& make)
    {
        std::shared_ptr<const Plan> plan;
        // Made outside the lock: generating code takes milliseconds.
        return lookUp(key, plan) ? plan : keep(key, make());
    }
    std::size_t size() const;

private:
    struct Entry {
        PlanKey key;
        std::shared_ptr<const Plan> plan;
    };
    bool lookUp(const PlanKey& key, std::shared_ptr<const Plan>& plan);
    std::shared_ptr<const Plan> keep(const PlanKey& key, std::shared_ptr<const Plan> plan);

    std::size_t m_most;
    mutable std::mutex m_mutex;
    std::list<Entry> m_entries; ///< most recently used first
    std::unordered_map<PlanKey, std::list<Entry>::iterator, PlanKeyHash> m_index;
};

/// The engine that all plans of the process share.
const dnnl::engine& cpuEngine();
const dnnl::stream& cpuEngineStream();

/// Whether oneDNN would use its slow reference code.
bool isReference(const_dnnl_primitive_desc_t description);

} // namespace vergence
