#include "tests/support/cuda_emulation/convolutions/graph.h"

#include <algorithm>
#include <set>

#include "tests/support/cuda_emulation/convolutions/engines.h"
#include "tests/support/cuda_emulation/convolutions/handle.h"

namespace vergence::emulation::convolutions {

namespace {

constexpr std::int64_t kMostOperations = 50;

/// Unique ids must tell tensors apart, those without memory too.
void addTensor(Graph& graph, const TensorPointer& tensor)
{
    const auto [place, isNew] = graph.tensors.try_emplace(tensor->name, tensor);
    demand(isNew || place->second->isSameAs(*tensor),
           "two tensors of a graph have the unique id " + std::to_string(tensor->name));
}

/// Virtual tensors lead from one operation to others; nothing is written twice.
void checkTensors(const Graph& graph)
{
    std::set<std::int64_t> written, read;
    for (const OperationPointer& operation : graph.operations) {
        const bool isFirst = written.insert(operation->output()->name).second;
        demand(isFirst, "two operations write the same tensor");
        for (const TensorPointer& input : operation->inputs())
            read.insert(input->name);
    }
    for (const auto& [name, tensor] : graph.tensors) {
        demand(!tensor->isVirtual || written.contains(name),
               "no operation writes the virtual tensor " + std::to_string(name));
        demand(!tensor->isVirtual || read.contains(name),
               "no operation reads the virtual tensor " + std::to_string(name));
    }
}

/// Puts each operation after those that write what it reads.
void sortOperations(Graph& graph)
{
    std::vector<OperationPointer> waiting = std::move(graph.operations), sorted;
    while (!waiting.empty()) {
        std::set<std::int64_t> pending;
        for (const OperationPointer& operation : waiting)
            pending.insert(operation->output()->name);
        const auto isReady = [&](const OperationPointer& operation) {
            return std::ranges::none_of(operation->inputs(), [&](const TensorPointer& input) {
                return pending.contains(input->name);
            });
        };
        const auto next = std::ranges::find_if(waiting, isReady);
        demand(next != waiting.end(), "the operations of a graph wait for each other");
        sorted.push_back(*next);
        waiting.erase(next);
    }
    graph.operations = std::move(sorted);
}

MeaningPointer interpretGraph(const Descriptor& d)
{
    auto graph = std::make_shared<Graph>();
    const auto handle = d.one<cudnnHandle_t>(CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
    graph->device = findHandle(handle, "cudnnBackendFinalize")->device;
    for (const MeaningPointer& meaning : d.allMeant(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
        graph->operations.push_back(std::dynamic_pointer_cast<const Operation>(meaning));
        for (const TensorPointer& input : graph->operations.back()->inputs())
            addTensor(*graph, input);
        addTensor(*graph, graph->operations.back()->output());
    }
    checkTensors(*graph);
    sortOperations(*graph);
    return graph;
}

} // namespace

const Kind kGraphKind = {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR,
                         "a graph",
                         {{CUDNN_ATTR_OPERATIONGRAPH_HANDLE, "the handle", CUDNN_TYPE_HANDLE,
                           AttributeRule::Required, 1},
                          {CUDNN_ATTR_OPERATIONGRAPH_OPS,
                           "the operations",
                           CUDNN_TYPE_BACKEND_DESCRIPTOR,
                           AttributeRule::Required,
                           kMostOperations,
                           {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                            CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                            CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                            CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR}},
                          {CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, "the number of engines",
                           CUDNN_TYPE_INT64, AttributeRule::ReadOnly, 1}},
                         interpretGraph};

std::shared_ptr<const ConvolutionOperation> Graph::convolution() const
{
    auto first = std::dynamic_pointer_cast<const ConvolutionOperation>(operations.front());
    for (std::size_t i = 1; i < operations.size(); ++i) {
        const bool isPointwise =
            dynamic_cast<const PointwiseOperation*>(operations[i].get()) != nullptr;
        if (!isPointwise || !operations[i - 1]->output()->isVirtual)
            return nullptr; // only results that need no memory are fused
    }
    return first;
}

std::vector<std::shared_ptr<const PointwiseOperation>> Graph::pointwise() const
{
    std::vector<std::shared_ptr<const PointwiseOperation>> found;
    for (const OperationPointer& operation : operations) {
        if (auto one = std::dynamic_pointer_cast<const PointwiseOperation>(operation))
            found.push_back(std::move(one));
    }
    return found;
}

bool Graph::answer(cudnnBackendAttributeName_t name, Answer& answer) const
{
    if (name != CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT)
        return false;
    answer.give(std::vector{static_cast<std::int64_t>(engines().size())});
    return true;
}

} // namespace vergence::emulation::convolutions
