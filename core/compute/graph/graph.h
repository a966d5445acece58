#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "core/compute/arena.h"
#include "core/compute/graph/parameter.h"
#include "core/compute/ops/random.h"

namespace vergence {

/// A tensor on the tape. Cheap to copy; means nothing to another Graph or after reset().
struct Value {
    int id = -1;
    explicit operator bool() const { return id >= 0; }
};

/// Thrown where a tape is stopped on its way, see Graph::stopWhen().
struct GraphStopped {};

/// Reverse-mode tape. Operations of core/compute/graph/functions.h run forward at once and record
/// how to go back; backward() walks the records in reverse. Every tensor made on the way lies in an
/// arena that reset() empties, so a step of equal shapes sees equal addresses and allocates
/// nothing. Gradients on the way share a pool: a buffer is used again as soon as its operation is
/// done. Used from one thread with one stream.
class Graph {
public:
    struct Options {
        bool recordsGradients = true; ///< false: inference, no tape is kept
        DType computeType = DType::F32;
    };
    Graph(Stream& stream, std::shared_ptr<Device> device, Options options);
    Graph(const Graph&) = delete; ///< random operations point to its seed
    Graph& operator=(const Graph&) = delete;

    /// Forgets all values and frees all temporaries; parameters and their gradients stay.
    void reset();

    Value constant(Tensor tensor); ///< takes no gradient
    Value variable(Tensor tensor); ///< its gradient can be read afterwards
    /// One record however often it is asked for. Reads the 16-bit shadow where there is one.
    Value parameter(const ParameterSet& set, int index);
    /// Rows [first, first + count) of its outermost dimension, with the gradient of those rows.
    Value parameterRows(const ParameterSet& set, int index, Index first, Index count);

    /// Valid until reset(); may be strided.
    const Tensor& tensor(Value value) const;
    const Shape& shape(Value value) const { return tensor(value).shape(); }
    bool needsGradient(Value value) const;
    /// Of a variable, a parameter or a retained value after backward(); empty where the loss does
    /// not depend on it.
    Tensor gradient(Value value) const;
    /// Keeps the gradient of a value that an operation made. Not inside a checkpoint's segment.
    void retainGradient(Value value);

    /// Fills the gradients of all variables and adds to those of parameters. `loss` has one
    /// element; its own gradient is `scale` (1 / micro-steps when accumulating). The tape is used
    /// up. Throws ContractError where the loss depends on nothing that takes a gradient.
    void backward(Value loss, double scale = 1);

    /// `isStopped` is asked after each operation, forward and back; where it says so, GraphStopped
    /// is thrown. The tape must be reset() then, and what gradients of parameters hold is
    /// undefined. Empty: nothing is asked.
    void stopWhen(std::function<bool()> isStopped) { m_isStopped = std::move(isStopped); }

    /// Runs `segment` without keeping its temporaries and runs it again when its derivative is due:
    /// memory of one segment instead of all, also where no gradients are recorded. The segment must
    /// depend on `inputs` and parameters alone. No segment within a segment.
    /// Source: Training Deep Nets with Sublinear Memory Cost (2016), section 4.
    using Segment = std::function<Value(Graph&, const std::vector<Value>&)>;
    Value checkpoint(const std::vector<Value>& inputs, const Segment& segment);

    // For those who write operations.

    Stream& stream() const { return m_stream; }
    DenseMath& dense() const { return m_device->dense(); }
    const std::shared_ptr<Device>& device() const { return m_device; }
    const Options& options() const { return m_options; }
    Arena& arena() { return m_inSegment ? m_segmentArena : m_arena; }
    Tensor take(Shape shape, DType type) { return arena().take(std::move(shape), type); }
    /// Dense tensor of the value: itself, or a copy that is made once.
    const Tensor& dense(Value value);

    /// What to do with the gradient of an operation's result (dense, of the result's shape and
    /// type). It may read gradY but not write it.
    using Backward = std::function<void(Graph&, const Tensor& gradY)>;
    /// Records an operation; `backward` is dropped where no input needs a gradient.
    Value record(Tensor y, std::initializer_list<Value> inputs, Backward backward);
    Value record(Tensor y, const std::vector<Value>& inputs, Backward backward);
    /// Whether record() would keep a derivative: only then statistics for it are worth writing.
    bool records(std::initializer_list<Value> inputs) const;

    /// Where an operation puts the gradient of an input: `tensor` of its shape, to be overwritten
    /// or, where `accumulate`, added to. Parameters: F32 (F64), always added to. Call it only where
    /// needsGradient(input), and finish with one target before asking for the next.
    struct GradientTarget {
        Tensor tensor;
        bool accumulate = false;
    };
    GradientTarget gradientTarget(Value input);
    /// The same, zeroed first where new: for operations that write only a part.
    Tensor addedGradient(Value input);
    /// For inputs whose gradient is gradY itself or a dense view of it: shares it where it is the
    /// first, adds it otherwise. Does nothing where the input takes no gradient.
    void passGradient(Value input, const Tensor& gradient);
    /// Memory for the running Backward, given back when it returns. Dense, uninitialised.
    Tensor scratch(Shape shape, DType type);

    /// Seed and step for random operations; lies on the device, set per step by setRandom().
    RandomKey nextRandomKey(); ///< a new purpose each call, counted from 0 after reset()
    void setRandom(std::uint64_t seed, std::uint64_t step);

    /// Chunks ever asked of the device: does not change after warm-up.
    std::uint64_t allocations() const
    {
        return m_arena.allocations() + m_segmentArena.allocations();
    }
    std::size_t peakBytes() const { return m_arena.peakBytes() + m_segmentArena.peakBytes(); }

private:
    struct Node {
        Tensor value;
        Tensor denseCopy; ///< of a strided value, once somebody asked
        Tensor gradient;
        int buffer = -1; ///< that holds the gradient
        bool needsGradient = false;
        bool isParameter = false;
        bool retains = false;
        Backward backward;
    };
    /// Memory for gradients and scratch, shared by `users` nodes; free where there are none.
    struct Buffer {
        Tensor memory; ///< U8
        int users = 0;
    };
    class SegmentScope;

    void askStop() const;
    Node& node(Value value);
    const Node& node(Value value) const;
    Value push(Node node);
    void dropNodes(std::size_t first);
    void walk(std::size_t first);
    void recompute(const std::vector<Value>& inputs, const Segment& segment, std::uint32_t purpose,
                   const Tensor& gradY);
    void moveGradient(Node& from, Value to);
    void add(Value input, const Tensor& gradient);

    Tensor takeBuffer(const Shape& shape, DType type, int& buffer);
    void release(int buffer);
    void release(Node& node);
    void releaseScratch(std::size_t first);

    Stream& m_stream;
    std::shared_ptr<Device> m_device;
    Options m_options;
    Arena m_arena;        ///< lives until reset()
    Arena m_segmentArena; ///< temporaries of one checkpointed segment
    bool m_inSegment = false;
    std::size_t m_segmentStart = 0; ///< first node of the segment
    bool m_keepsTape = true;        ///< false in the first run of a segment
    int m_activeBuffer = -1;        ///< of the gradient that the running Backward got
    std::deque<Node> m_nodes;       ///< references stay valid while nodes are added
    std::map<std::tuple<const ParameterSet*, int, Index, Index>, int> m_parameterNodes;
    std::vector<Buffer> m_buffers;
    std::multimap<std::size_t, int> m_freeBuffers; ///< by bytes
    std::vector<int> m_scratch;                    ///< buffers of running Backwards
    Tensor m_seedAndStep;
    std::uint32_t m_purpose = 0;
    std::function<bool()> m_isStopped;
};

} // namespace vergence
