#pragma once

// Included by launch.h; see there.

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {

/// Items one partial result covers. Fixed, so that results do not depend on threads.
inline constexpr Index kReduceChunk = 2048;

namespace detail {
#if defined(__CUDACC__)
inline constexpr int kReduceThreads = 256;

/// One block per chunk: strided partial results in registers, then a tree in shared memory.
template <class T, class Value, class Combine>
__global__ void reduceChunks(Index n, Value value, Combine combine, T identity, T* partial)
{
    __shared__ T shared[kReduceThreads];
    const Index first = static_cast<Index>(blockIdx.x) * kReduceChunk;
    const Index last = first + kReduceChunk < n ? first + kReduceChunk : n;
    T sum = identity;
    for (Index i = first + threadIdx.x; i < last; i += kReduceThreads)
        sum = combine(sum, value(i));
    shared[threadIdx.x] = sum;
    __syncthreads();
    for (int step = kReduceThreads / 2; step > 0; step /= 2) {
        if (threadIdx.x < static_cast<unsigned>(step))
            shared[threadIdx.x] = combine(shared[threadIdx.x], shared[threadIdx.x + step]);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        partial[blockIdx.x] = shared[0];
}
#else
template <class T, class Value, class Combine>
struct ReduceChunk {
    Value value;
    Combine combine;
    T identity;
    T* partial;
    Index n;

    void operator()(Index chunk) const
    {
        const Index first = chunk * kReduceChunk;
        const Index last = first + kReduceChunk < n ? first + kReduceChunk : n;
        T sum = identity;
        for (Index i = first; i < last; ++i)
            sum = combine(sum, value(i));
        partial[chunk] = sum;
    }
};
#endif

template <class T, class Value, class Combine>
void reducePass(Stream& stream, Index n, const Value& value, const Combine& combine, T identity,
                T* partial)
{
    const Index chunks = (n + kReduceChunk - 1) / kReduceChunk;
#if defined(__CUDACC__)
    reduceChunks<T>
        <<<static_cast<unsigned>(chunks), kReduceThreads, 0,
           static_cast<cudaStream_t>(stream.native())>>>(n, value, combine, identity, partial);
    checkLaunch(stream, "reduce");
#else
    forEach(stream, chunks, ReduceChunk<T, Value, Combine>{value, combine, identity, partial, n},
            1);
#endif
}

template <class T>
struct ReadPartial {
    const T* partial;
    VERGENCE_HD T operator()(Index i) const { return partial[i]; }
};
} // namespace detail

/// out[0] = combine over value(i), i in [0, n), from `identity`, in a tree that depends on n alone.
/// `out` lies on the device. Overwrites `out`; uses the stream's scratch memory.
template <class T, class Value, class Combine>
void reduceInto(Stream& stream, Index n, const Value& value, const Combine& combine, T identity,
                T* out)
{
    if (n <= 0) {
        stream.copy(out, &identity, sizeof(T));
        return;
    }
    const Index chunks = (n + kReduceChunk - 1) / kReduceChunk;
    const Index second = (chunks + kReduceChunk - 1) / kReduceChunk;
    if (chunks == 1) {
        detail::reducePass(stream, n, value, combine, identity, out);
        return;
    }
    T* partial =
        static_cast<T*>(stream.scratch(static_cast<std::size_t>(chunks + second) * sizeof(T)));
    T* spare = partial + chunks;
    detail::reducePass(stream, n, value, combine, identity, partial);
    for (Index left = chunks; left > 1;) {
        const Index next = (left + kReduceChunk - 1) / kReduceChunk;
        T* target = next == 1 ? out : spare;
        detail::reducePass(stream, left, detail::ReadPartial<T>{partial}, combine, identity,
                           target);
        spare = partial;
        partial = target;
        left = next;
    }
}

struct Plus {
    template <class T>
    VERGENCE_HD T operator()(T a, T b) const
    {
        return a + b;
    }
};

/// Sum in double of value(i), i in [0, n), brought to the host. Waits for the stream.
template <class Value>
double reduceSum(Stream& stream, Index n, const Value& value)
{
    double result = 0;
    if (n <= 0)
        return result;
    struct Out {
        Device& device;
        double* pointer;
        explicit Out(Device& d)
            : device(d),
              pointer(static_cast<double*>(d.allocate(sizeof(double))))
        {
        }
        ~Out() { device.deallocate(pointer, sizeof(double)); }
    } out(stream.device());
    reduceInto(stream, n, value, Plus{}, 0.0, out.pointer);
    stream.copy(&result, out.pointer, sizeof(result));
    stream.synchronize();
    return result;
}

} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
