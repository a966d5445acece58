#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/compute/tensor.h"

namespace vergence::live {

/// A tensor that goes into an engine or comes out of it: linear, row-major.
struct EnginePort {
    std::string name;
    DType type = DType::F32; ///< F32 or F16
    Shape shape;
    bool isInput = true;
};

/// A network as TensorRT runs it, with one static profile. Not thread-safe.
class TensorRtEngine {
public:
    virtual ~TensorRtEngine() = default;
    virtual std::vector<EnginePort> ports() const = 0;
    /// Where a port lies from now on, in memory of the device.
    virtual void bind(const std::string& port, void* memory) = 0;
    /// Queues one evaluation; may be recorded once it ran. Throws DeviceError.
    virtual void enqueue(Stream& stream) = 0;

    virtual std::size_t weightBytes() const = 0;     ///< taken when it was loaded
    virtual std::size_t activationBytes() const = 0; ///< taken since
    virtual int layers() const = 0;                  ///< after its own fusions
};

/// A built engine as bytes.
struct EnginePlan {
    std::string bytes;
    std::string timings;       ///< of the kernels that were tried, for the next build
    std::size_t peakBytes = 0; ///< most device memory in use while they were tried
};

/// What the module exports: `libvergence-tensorrt.so` with the entry
/// `extern "C" vergence::live::TensorRtModule* vergenceTensorRt()`; the object lives as long as the
/// process. The thread that calls must have made a stream of the device before.
class TensorRtModule {
public:
    virtual ~TensorRtModule() = default;
    virtual std::string version() const = 0; ///< "10.13.3"
    /// Builds a strongly typed engine from a file of static shapes; takes up to minutes. `timings`
    /// of an earlier build save most of it; what does not fit is passed over. Throws InputError for
    /// a file that the parser refuses, DeviceError for everything else.
    virtual EnginePlan build(Device& device, const std::filesystem::path& onnx,
                             std::string_view timings) = 0;
    /// Null, with the reason, where TensorRT does not take these bytes.
    virtual std::unique_ptr<TensorRtEngine> load(Device& device, std::string_view bytes,
                                                 std::string& reason) = 0;
};

/// Looked for once, beside the other modules. Null where it cannot be had; `reason` then says why.
TensorRtModule* tensorRtModule(std::string* reason = nullptr);

/// Why TensorRT cannot run the lab's denoiser on this device, one sentence; empty where it can.
std::string whyNoTensorRt(const Device& device);

} // namespace vergence::live
