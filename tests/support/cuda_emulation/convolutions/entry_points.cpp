// The functions of libcudnn that the emulation has.

#include <algorithm>
#include <mutex>
#include <new>
#include <string>

#include "tests/support/cuda_emulation/convolutions/execution.h"
#include "tests/support/cuda_emulation/engine/device_memory.h"
#include "tests/support/cuda_emulation/engine/streams.h"

namespace vergence::emulation::convolutions {

const Kind* kindOf(cudnnBackendDescriptorType_t type)
{
    for (const Kind* kind :
         {&kTensorKind, &kConvolutionKind, &kPointwiseKind, &kForwardKind, &kBackwardDataKind,
          &kBackwardFilterKind, &kPointwiseOperationKind, &kGraphKind, &kEngineKind,
          &kKnobChoiceKind, &kConfigurationKind, &kHeuristicKind, &kPlanKind, &kVariantPackKind}) {
        if (kind->type == type)
            return kind;
    }
    return nullptr;
}

namespace {

/// What each function does: others wait, injected failures come first, refusals become statuses.
template <class Body>
cudnnStatus_t call(const char* function, Body body)
{
    const std::lock_guard guard(deviceLock());
    const cudnnStatus_t injected = injectedStatus(function);
    if (injected != CUDNN_STATUS_SUCCESS)
        return injected;
    try {
        body();
    } catch (const Refusal& refusal) {
        return ended(function, refusal);
    } catch (const std::bad_alloc&) {
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    }
    return CUDNN_STATUS_SUCCESS;
}

template <class Made>
std::shared_ptr<const Made> finalized(const Descriptor& descriptor, const char* what)
{
    demand(descriptor.meaning() != nullptr, CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
           std::string(what) + " is not finalized");
    auto made = std::dynamic_pointer_cast<const Made>(descriptor.meaning());
    demand(made != nullptr, CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
           std::string(descriptor.kind().name) + " is not " + what);
    return made;
}

} // namespace
} // namespace vergence::emulation::convolutions

using namespace vergence::emulation;
using namespace vergence::emulation::convolutions;

#define VERGENCE_NAME_OF(status)                                                                   \
    case status:                                                                                   \
        return #status;

extern "C" {

std::size_t cudnnGetVersion()
{
    return CUDNN_VERSION;
}

const char* cudnnGetErrorString(cudnnStatus_t status)
{
    switch (status) {
        VERGENCE_NAME_OF(CUDNN_STATUS_SUCCESS)
        VERGENCE_NAME_OF(CUDNN_STATUS_NOT_INITIALIZED)
        VERGENCE_NAME_OF(CUDNN_STATUS_BAD_PARAM)
        VERGENCE_NAME_OF(CUDNN_STATUS_BAD_PARAM_NULL_POINTER)
        VERGENCE_NAME_OF(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER)
        VERGENCE_NAME_OF(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED)
        VERGENCE_NAME_OF(CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH)
        VERGENCE_NAME_OF(CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES)
        VERGENCE_NAME_OF(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE)
        VERGENCE_NAME_OF(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE)
        VERGENCE_NAME_OF(CUDNN_STATUS_NOT_SUPPORTED)
        VERGENCE_NAME_OF(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN)
        VERGENCE_NAME_OF(CUDNN_STATUS_NOT_SUPPORTED_SHAPE)
        VERGENCE_NAME_OF(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE)
        VERGENCE_NAME_OF(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT)
        VERGENCE_NAME_OF(CUDNN_STATUS_INTERNAL_ERROR)
        VERGENCE_NAME_OF(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED)
        VERGENCE_NAME_OF(CUDNN_STATUS_EXECUTION_FAILED)
    default:
        return "CUDNN_UNKNOWN_STATUS";
    }
}

void cudnnGetLastErrorString(char* message, std::size_t most)
{
    const std::string sentence = takeLastSentence();
    if (most == 0)
        return;
    const std::size_t length = std::min(sentence.size(), most - 1);
    std::copy_n(sentence.data(), length, message);
    message[length] = '\0';
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle)
{
    return call("cudnnCreate", [&] {
        demand(handle != nullptr, CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no place for the handle");
        *handle = addHandle(currentDevice());
    });
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    return call("cudnnDestroy", [&] {
        findHandle(handle, "cudnnDestroy");
        removeHandle(handle);
    });
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    constexpr const char* kName = "cudnnSetStream";
    return call(kName, [&] { convolutions::setStream(*findHandle(handle, kName), stream, kName); });
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream)
{
    return call("cudnnGetStream", [&] {
        demand(stream != nullptr, CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no place for the stream");
        *stream = findHandle(handle, "cudnnGetStream")->stream;
    });
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* descriptor)
{
    return call("cudnnBackendCreateDescriptor", [&] {
        demand(descriptor != nullptr, CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
               "no place for the descriptor");
        const Kind* kind = kindOf(type);
        demand(kind != nullptr, CUDNN_STATUS_NOT_SUPPORTED,
               "descriptors of kind " + std::to_string(type) + " are not emulated");
        *descriptor = addDescriptor(std::make_shared<Descriptor>(*kind));
    });
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor)
{
    return call("cudnnBackendDestroyDescriptor", [&] {
        findDescriptor(descriptor);
        removeDescriptor(descriptor);
    });
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t count,
                                       const void* elements)
{
    return call("cudnnBackendSetAttribute",
                [&] { findDescriptor(descriptor)->set(name, type, count, elements); });
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t requested,
                                       std::int64_t* count, void* elements)
{
    return call("cudnnBackendGetAttribute", [&] {
        demand(requested >= 0, "a negative number of elements is asked for");
        demand(requested == 0 || elements != nullptr, CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
               "no place for the elements");
        demand(requested > 0 || count != nullptr, CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
               "no place for the number of elements");
        Answer answer(type, requested, elements);
        findDescriptor(descriptor)->get(name, type, answer);
        if (count)
            *count = answer.count();
    });
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor)
{
    return call("cudnnBackendFinalize", [&] { findDescriptor(descriptor)->finalize(); });
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack)
{
    return call("cudnnBackendExecute", [&] {
        const auto owner = findHandle(handle, "cudnnBackendExecute");
        const auto planDescriptor = findDescriptor(plan);
        finalized<Plan>(*planDescriptor, "a plan");
        execute(*owner, planDescriptor,
                finalized<VariantPack>(*findDescriptor(pack), "a variant pack"));
    });
}

} // extern "C"
