#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include <cuda_runtime_api.h>
#include <cudnn_backend.h>

#include "tests/cuda_emulation/runtime_bench.h"

// What tests of the emulated cuDNN share. They call its functions as programs do.

#define VERGENCE_EXPECT_DONE(expression) QCOMPARE(expression, CUDNN_STATUS_SUCCESS)

namespace vergence::test {

/// A backend descriptor.
class Described {
public:
    explicit Described(cudnnBackendDescriptorType_t type)
    {
        cudnnBackendCreateDescriptor(type, &m_descriptor);
    }
    ~Described() { destroy(); }
    Described(const Described&) = delete;
    Described& operator=(const Described&) = delete;

    cudnnBackendDescriptor_t raw() const { return m_descriptor; }
    void destroy()
    {
        if (m_descriptor)
            cudnnBackendDestroyDescriptor(m_descriptor);
        m_descriptor = nullptr;
    }
    template <class T>
    cudnnStatus_t set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                      const std::vector<T>& values)
    {
        return cudnnBackendSetAttribute(m_descriptor, name, type,
                                        static_cast<std::int64_t>(values.size()), values.data());
    }
    template <class T>
    cudnnStatus_t set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, T value)
    {
        return cudnnBackendSetAttribute(m_descriptor, name, type, 1, &value);
    }
    cudnnStatus_t set(cudnnBackendAttributeName_t name, const Described& other)
    {
        return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, other.m_descriptor);
    }
    cudnnStatus_t finalize() { return m_status = cudnnBackendFinalize(m_descriptor); }
    cudnnStatus_t status() const { return m_status; } ///< of finalize()
    template <class T>
    std::vector<T> get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                       std::int64_t most) const
    {
        std::vector<T> values(static_cast<std::size_t>(most));
        std::int64_t count = 0;
        cudnnBackendGetAttribute(m_descriptor, name, type, most, &count, values.data());
        values.resize(static_cast<std::size_t>(std::min(count, most)));
        return values;
    }

private:
    cudnnBackendDescriptor_t m_descriptor = nullptr;
    cudnnStatus_t m_status = CUDNN_STATUS_NOT_INITIALIZED;
};
using Part = std::shared_ptr<Described>;

enum class ConvolutionPass { Forward, BackwardData, BackwardFilter };
using Extents = std::vector<std::int64_t>;

/// Unique ids of what is in memory.
enum : std::int64_t { kX = 1, kW, kY, kBias, kResidual };

/// A convolution, and what is done to its result.
struct ConvolutionCase {
    ConvolutionPass pass = ConvolutionPass::Forward;
    cudnnDataType_t type = CUDNN_DATA_FLOAT, resultType = CUDNN_DATA_FLOAT;
    bool isNhwc = true;
    std::int64_t images = 2, channels = 8, height = 6, width = 5, filters = 4, taps = 3;
    std::int64_t padding = 1, stride = 1, dilation = 1;
    bool hasBias = false, hasResidual = false;
    std::int64_t alignment = 16;
    float alpha = 1, beta = 0;
    cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;

    std::int64_t out(std::int64_t size) const
    {
        return (size + 2 * padding - (taps - 1) * dilation - 1) / stride + 1;
    }
    Extents x() const { return {images, channels, height, width}; }
    Extents w() const { return {filters, channels, taps, taps}; }
    Extents y() const { return {images, filters, out(height), out(width)}; }
    Extents bias() const { return {1, filters, 1, 1}; }
    Extents strides(const Extents& e) const
    {
        return isNhwc ? Extents{e[1] * e[2] * e[3], 1, e[1] * e[3], e[1]}
                      : Extents{e[1] * e[2] * e[3], e[2] * e[3], e[3], 1};
    }
    cudnnDataType_t typeOf(ConvolutionPass writer) const
    {
        return pass == writer ? resultType : type;
    }
};

/// All that a graph is made of.
struct ConvolutionParts {
    std::vector<Part> parts;
    Part graph;
};

Part tensorPart(std::int64_t name, const Extents& extents, const Extents& strides,
                cudnnDataType_t type, std::int64_t alignment = 16, bool isVirtual = false);
Part convolutionPart(const ConvolutionCase& c);
Part operationPart(const ConvolutionCase& c, const Described& x, const Described& w,
                   const Described& y, const Described& convolution);
/// y = mode(x, b), or mode(x) without b.
Part pointwisePart(cudnnPointwiseMode_t mode, const Described& x, const Described* b,
                   const Described& y, cudnnDataType_t precision = CUDNN_DATA_FLOAT);
Part graphPart(cudnnHandle_t handle, const std::vector<const Described*>& operations);
ConvolutionParts partsOf(cudnnHandle_t handle, const ConvolutionCase& c);

/// What a heuristic answers.
std::vector<Part> configurations(const Described& graph, cudnnBackendHeurMode_t mode);
/// Of both heuristics.
std::vector<Part> allConfigurations(const Described& graph);
Part engineOf(const Described& configuration);
std::vector<cudnnBackendNumericalNote_t> notesOf(const Described& configuration);
bool hasNote(const Described& configuration, cudnnBackendNumericalNote_t note);
Part planPart(cudnnHandle_t handle, const Described& configuration);
std::int64_t workspaceOf(const Described& plan);
Part packPart(const std::vector<std::int64_t>& names, const std::vector<void*>& addresses,
              void* workspace);

} // namespace vergence::test
