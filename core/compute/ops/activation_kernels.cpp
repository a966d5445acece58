#include "core/compute/ops/activation_math.h"
#include "core/compute/ops/loops.h"
#include "core/compute/ops/pointwise_kernels.h"

namespace vergence {

namespace {

template <Activation kind, class T>
struct Activate {
    const T* x;
    T* y;

    template <class At>
    VERGENCE_HD void operator()(At at) const
    {
        store(y, at, activationValue<kind>(load<T>(x, at)));
    }
};

template <Activation kind, class T>
struct ActivateBackward {
    const T* x;
    const T* gradY;
    T* gradX;
    bool accumulate;

    template <class At>
    VERGENCE_HD void operator()(At at) const
    {
        auto grad = load<T>(gradY, at) * activationDerivative<kind>(load<T>(x, at));
        if (accumulate)
            grad += load<T>(gradX, at);
        store(gradX, at, grad);
    }
};

template <class T>
struct Swiglu {
    const T* gate;
    const T* up;
    T* y;
    Index columns, gatePitch, upPitch;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        using S = Accumulator<T>;
        const T* a = gate + row * gatePitch;
        const T* u = up + row * upPitch;
        T* out = y + row * columns;
        team.template each<T>(columns, [&](auto at) VERGENCE_INLINE {
            store(out, at, swish(load<T>(a, at), S(1)) * load<T>(u, at));
        });
    }
};

template <class T>
struct SwigluBackward {
    const T* gate;
    const T* up;
    const T* gradY;
    T* gradGate;
    T* gradUp;
    Index columns, gatePitch, upPitch, gradGatePitch, gradUpPitch;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        using S = Accumulator<T>;
        const T* a = gate + row * gatePitch;
        const T* u = up + row * upPitch;
        const T* g = gradY + row * columns;
        T* da = gradGate + row * gradGatePitch;
        T* du = gradUp + row * gradUpPitch;
        team.template each<T>(columns, [&](auto at) VERGENCE_INLINE {
            const auto x = load<T>(a, at), grad = load<T>(g, at), upper = load<T>(u, at);
            const auto s = sigmoid(x);
            store(da, at, grad * upper * s * (S(1) + x * (S(1) - s)));
            store(du, at, grad * x * s);
        });
    }
};

template <Activation kind>
void activateAs(Stream& stream, const ActivateArguments& a)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        forEachPack<T>(stream, a.count,
                       Activate<kind, T>{static_cast<const T*>(a.x), static_cast<T*>(a.out)});
    });
}

template <Activation kind>
void activateBackwardAs(Stream& stream, const ActivateArguments& a)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        forEachPack<T>(stream, a.count,
                       ActivateBackward<kind, T>{static_cast<const T*>(a.x),
                                                 static_cast<const T*>(a.gradY),
                                                 static_cast<T*>(a.out), a.accumulate});
    });
}

void activateBody(Stream& stream, const ActivateArguments& a)
{
    switch (a.kind) {
    case Activation::None:
        return activateAs<Activation::None>(stream, a);
    case Activation::GeluErf:
        return activateAs<Activation::GeluErf>(stream, a);
    case Activation::GeluTanh:
        return activateAs<Activation::GeluTanh>(stream, a);
    case Activation::QuickGelu:
        return activateAs<Activation::QuickGelu>(stream, a);
    case Activation::Silu:
        return activateAs<Activation::Silu>(stream, a);
    case Activation::Relu:
        return activateAs<Activation::Relu>(stream, a);
    }
}

void activateBackwardBody(Stream& stream, const ActivateArguments& a)
{
    switch (a.kind) {
    case Activation::None:
        return activateBackwardAs<Activation::None>(stream, a);
    case Activation::GeluErf:
        return activateBackwardAs<Activation::GeluErf>(stream, a);
    case Activation::GeluTanh:
        return activateBackwardAs<Activation::GeluTanh>(stream, a);
    case Activation::QuickGelu:
        return activateBackwardAs<Activation::QuickGelu>(stream, a);
    case Activation::Silu:
        return activateBackwardAs<Activation::Silu>(stream, a);
    case Activation::Relu:
        return activateBackwardAs<Activation::Relu>(stream, a);
    }
}

void swigluBody(Stream& stream, const SwigluArguments& a)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        forEachRow<T>(stream, a.rows, a.columns,
                      Swiglu<T>{static_cast<const T*>(a.gate), static_cast<const T*>(a.up),
                                static_cast<T*>(a.y), a.columns, a.gatePitch, a.upPitch});
    });
}

void swigluBackwardBody(Stream& stream, const SwigluArguments& a)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        forEachRow<T>(stream, a.rows, a.columns,
                      SwigluBackward<T>{static_cast<const T*>(a.gate), static_cast<const T*>(a.up),
                                        static_cast<const T*>(a.gradY), static_cast<T*>(a.gradGate),
                                        static_cast<T*>(a.gradUp), a.columns, a.gatePitch,
                                        a.upPitch, a.gradGatePitch, a.gradUpPitch});
    });
}

} // namespace

VERGENCE_REGISTER_KERNEL(activateKernel, activateBody)
VERGENCE_REGISTER_KERNEL(activateBackwardKernel, activateBackwardBody)
VERGENCE_REGISTER_KERNEL(swigluKernel, swigluBody)
VERGENCE_REGISTER_KERNEL(swigluBackwardKernel, swigluBackwardBody)

} // namespace vergence
