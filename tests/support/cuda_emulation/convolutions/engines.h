#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/support/cuda_emulation/convolutions/graph.h"

namespace vergence::emulation::convolutions {

/// How an engine adds, so that results of different engines differ by their rounding.
struct Summation {
    enum Order { Ascending, Descending, Shuffled };

    Order order = Ascending;
    int parts = 1; ///< summed apart, then together
};

enum class Operands { AsTheyAre, Tf32, Halves };

/// A way to do a graph. Which there are, what they note and which graphs they take follows what
/// cuDNN 9.19 answers for compute capability 9.0, in coarse (it needs no device to be asked: see
/// CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR).
struct Engine {
    enum Use { Precompiled, Fusing };

    const char* name;
    Use use;
    std::vector<cudnnBackendNumericalNote_t> notes;
    Summation summation;
    std::int64_t channelBytes = 1; ///< of a pixel of x and of w's filters: a multiple of these
    std::int64_t alignment = 1;    ///< of addresses, bytes, of all tensors

    bool has(cudnnBackendNumericalNote_t note) const;
    Operands operands(const Graph& graph) const;
    std::vector<cudnnBackendNumericalNote_t> notesFor(const Graph& graph) const;
    std::vector<cudnnBackendBehaviorNote_t> behavior() const;
    std::int64_t workspaceBytes(const Graph& graph) const;
    /// Null where it does the graph.
    std::optional<Refusal> refusalOf(const Graph& graph) const;
};

/// Indices of engines().
enum EngineIndex : std::int64_t {
    kStrictEngine,
    kOffsetsEngine,
    kDirectEngine,
    kAtomicEngine,
    kTensorCoreEngine,
    kSplitTensorCoreEngine,
    kDownConvertingEngine,
    kWideFusingEngine,
    kNarrowFusingEngine,
    kPlainFusingEngine
};

const std::vector<Engine>& engines();

/// The engines that a heuristic thinks of, best first; not all of them take the graph.
std::vector<EngineIndex> preferences(const Graph& graph, cudnnBackendHeurMode_t mode);

} // namespace vergence::emulation::convolutions
