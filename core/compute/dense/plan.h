#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>

#include <oneapi/dnnl/dnnl.hpp>

#include "core/compute/dense/plan_cache.h"

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

/// All primitives of a device.
using CpuPlans = PlanCache<Plan>;

/// The engine that all plans of the process share.
const dnnl::engine& cpuEngine();
const dnnl::stream& cpuEngineStream();

/// Whether oneDNN would use its slow reference code.
bool isReference(const_dnnl_primitive_desc_t description);

} // namespace vergence
