#pragma once

#include <array>
#include <atomic>
#include <filesystem>
#include <string>
#include <typeinfo>

#include "core/compute/stream.h"

namespace vergence {

/// The builds of one kernel file: on x86-64 three instruction sets, of which the CPU device picks
/// one at start (the environment variable VERGENCE_ISA = v2 | v3 | v4 overrides), on other
/// processors one build for all of them; and CUDA.
enum KernelVariant : int {
    kVariantV2 = 0,
    kVariantV3 = 1,
    kVariantV4 = 2,
    kVariantCuda = 3,
    kVariantGeneric = 4,
    kVariantCount = 5
};

/// "x86-64-v3", …, "generic", "cuda"
const char* nameOf(KernelVariant variant);

namespace detail {
using AnyFunction = void (*)();
void registerKernel(const char* name, int variant, const char* signature, AnyFunction body);
/// Throws DeviceError (exit code 7) where no body of that variant was loaded, ContractError where
/// signatures differ.
AnyFunction findKernel(const char* name, int variant, const char* signature);
} // namespace detail

template <class Signature>
class Kernel;

/// A named operation with one body per variant; calling it runs the body that suits the stream's
/// device. Declare in x.h:     inline const Kernel<void(const Tensor&, Tensor&)>
/// jacobi{"heat.jacobi"}; Define in x.cpp:    VERGENCE_REGISTER_KERNEL(jacobi, jacobiBody)   with
/// void jacobiBody(Stream&, const Tensor&, Tensor&)
template <class... Arguments>
class Kernel<void(Arguments...)> {
public:
    using Body = void (*)(Stream&, Arguments...);

    constexpr explicit Kernel(const char* name) : m_name(name) {}

    void operator()(Stream& stream, Arguments... arguments) const
    {
        body(stream.device().kernelVariant())(stream, static_cast<Arguments>(arguments)...);
    }

    bool registerBody(int variant, Body function) const
    {
        detail::registerKernel(m_name, variant, typeid(Body).name(),
                               reinterpret_cast<detail::AnyFunction>(function));
        return true;
    }

private:
    Body body(int variant) const
    {
        auto& cached = m_bodies[static_cast<std::size_t>(variant)];
        Body found = cached.load(std::memory_order_acquire);
        if (!found) {
            found =
                reinterpret_cast<Body>(detail::findKernel(m_name, variant, typeid(Body).name()));
            cached.store(found, std::memory_order_release);
        }
        return found;
    }

    const char* m_name;
    mutable std::array<std::atomic<Body>, kVariantCount> m_bodies{};
};

/// Loads a module of CUDA bodies (`libvergence-kernels-<name>.so`); false with a reason where there
/// is none.
bool loadKernelModule(const std::filesystem::path& module, std::string* reason = nullptr);

} // namespace vergence
