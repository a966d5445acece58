#pragma once

#include <cstdint>
#include <functional>
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

/// Reverse-mode tape. Operations of core/compute/graph/functions.h run forward at once and record
/// how to go back; backward() walks the records in reverse. Every tensor made on the way lies in an
/// arena that reset() empties, so a step of equal shapes sees equal addresses and allocates
/// nothing. Used from one thread with one stream.
class Graph {
public:
    struct Options {
        bool recordsGradients = true; ///< false: inference, no tape is kept
        DType computeType = DType::F32;
    };
    Graph(Stream& stream, std::shared_ptr<Device> device, Options options);

    /// Forgets all values and frees all temporaries; parameters and their gradients stay.
    void reset();

    Value constant(Tensor tensor); ///< takes no gradient
    Value variable(Tensor tensor); ///< its gradient can be read afterwards
    Value parameter(const ParameterSet& set,
                    int index); ///< one record however often it is asked for

    const Tensor& tensor(Value value) const;
    const Shape& shape(Value value) const { return tensor(value).shape(); }
    bool needsGradient(Value value) const;
    /// After backward(); empty where the loss does not depend on the value.
    Tensor gradient(Value value) const;

    /// Fills the gradients of all variables and adds to those of parameters. `loss` has one
    /// element; its own gradient is `scale` (1 / micro-steps when accumulating). The tape is used
    /// up.
    void backward(Value loss, double scale = 1);

    /// Runs `segment` without keeping its temporaries and runs it again when its derivative is due:
    /// memory of one segment instead of all. The segment must depend on `inputs` and parameters
    /// alone. No segment within a segment.
    /// Source: Training Deep Nets with Sublinear Memory Cost (2016), section 4.
    using Segment = std::function<Value(Graph&, const std::vector<Value>&)>;
    Value checkpoint(const std::vector<Value>& inputs, const Segment& segment);

    // For those who write operations.

    Stream& stream() const { return m_stream; }
    DenseMath& dense() const { return m_device->dense(); }
    const Options& options() const { return m_options; }
    Arena& arena();
    Tensor take(Shape shape, DType type) { return arena().take(std::move(shape), type); }
    /// Dense tensor of the value: itself, or a copy in the arena.
    Tensor dense(Value value);

    /// What to do with the gradient of an operation's result (dense, of the result's shape).
    using Backward = std::function<void(Graph&, const Tensor& gradY)>;
    /// Records an operation; `backward` is dropped where no input needs a gradient.
    Value record(Tensor y, std::initializer_list<Value> inputs, Backward backward);

    /// Where an operation puts the gradient of an input: `tensor` of its shape, to be overwritten
    /// or, where `accumulate`, added to. Parameters: F32 (F64), always added to. Call it at most
    /// once per input and only where needsGradient(input).
    struct GradientTarget {
        Tensor tensor;
        bool accumulate = false;
    };
    GradientTarget gradientTarget(Value input);
    /// The same, zeroed first where new: for operations that write only a part.
    Tensor addedGradient(Value input);

    /// Seed and step for random operations; lies on the device, set per step by setRandom().
    RandomKey nextRandomKey(); ///< a new purpose each call, counted from 0 after reset()
    void setRandom(std::uint64_t seed, std::uint64_t step);

private:
    struct Node {
        Tensor value;
        Tensor gradient;
        bool needsGradient = false;
        bool isParameter = false;
        Backward backward;
    };
    Node& node(Value value);
    const Node& node(Value value) const;

    Stream& m_stream;
    std::shared_ptr<Device> m_device;
    Options m_options;
    Arena m_arena;        ///< lives until reset()
    Arena m_segmentArena; ///< temporaries of one checkpointed segment
    bool m_inSegment = false;
    std::vector<Node> m_nodes;
    std::vector<std::pair<const ParameterSet*, std::vector<int>>> m_parameterNodes;
    Tensor m_seedAndStep;
    std::uint32_t m_purpose = 0;
};

} // namespace vergence
