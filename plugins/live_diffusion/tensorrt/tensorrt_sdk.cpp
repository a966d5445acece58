#include <NvInfer.h>
#include <NvOnnxParser.h>

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/live_diffusion/tensorrt/tensorrt_callbacks.h"
#include "plugins/live_diffusion/tensorrt/tensorrt_module.h"

namespace vergence::live {

namespace {

/// One for the process: TensorRT keeps the first that it is given.
TensorRtWords& words()
{
    static TensorRtWords all;
    return all;
}

std::string versionText()
{
    const int version = getInferLibVersion(); // 101303 is 10.13.3
    return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

/// Throws what TensorRT said when it failed to do `what`.
[[noreturn]] void fail(const std::string& what, const Device& device)
{
    const std::string said = words().take();
    const bool isMemory = said.find("out of memory") != std::string::npos ||
                          said.find("OutOfMemory") != std::string::npos;
    throw DeviceError(
        fmt::format("TensorRT {} could not {} on {}: {}. {}", versionText(), what,
                    device.info().name, said,
                    isMemory ? "Choose a smaller model or free memory of the GPU."
                             : "Its release notes say which GPUs and drivers it supports."),
        isMemory ? ExitCode::OutOfMemory : ExitCode::RunFailed);
}

/// Owns what TensorRT made; throws where it made nothing.
template <class T>
std::unique_ptr<T> made(T* object, const char* what, const Device& device)
{
    if (!object)
        fail(what, device);
    return std::unique_ptr<T>(object);
}

/// What a first call to the library gave, or null. Without a usable driver TensorRT 11.4's lean
/// runtime gives an address that is not null and leads nowhere, so what it said counts too.
template <class T>
std::unique_ptr<T> started(T* object)
{
    return std::unique_ptr<T>(words().isQuiet() ? object : nullptr);
}

std::string textOf(const nvinfer1::IHostMemory& memory)
{
    return {static_cast<const char*>(memory.data()), memory.size()};
}

DType typeOf(nvinfer1::DataType type, const char* port)
{
    if (type == nvinfer1::DataType::kFLOAT)
        return DType::F32;
    if (type == nvinfer1::DataType::kHALF)
        return DType::F16;
    throw ContractError(fmt::format("TensorRT: {} is neither 32 nor 16 bits wide.", port));
}

class SdkEngine final : public TensorRtEngine {
public:
    SdkEngine(Device& device, std::string_view bytes) : m_device(device), m_memory(device, words())
    {
        m_runtime.reset(nvinfer1::createInferRuntime(words()));
        if (!m_runtime)
            return;
        m_runtime->setGpuAllocator(&m_memory);
        m_engine.reset(m_runtime->deserializeCudaEngine(bytes.data(), bytes.size()));
        m_weightBytes = m_memory.used();
        if (m_engine)
            m_context.reset(m_engine->createExecutionContext());
    }

    bool isReady() const { return m_context != nullptr; }

    std::vector<EnginePort> ports() const override
    {
        std::vector<EnginePort> ports;
        for (int i = 0; i < m_engine->getNbIOTensors(); ++i) {
            const char* name = m_engine->getIOTensorName(i);
            const nvinfer1::Dims dims = m_engine->getTensorShape(name);
            EnginePort& port = ports.emplace_back();
            port.name = name;
            port.type = typeOf(m_engine->getTensorDataType(name), name);
            port.shape.assign(dims.d, dims.d + dims.nbDims);
            port.isInput = m_engine->getTensorIOMode(name) == nvinfer1::TensorIOMode::kINPUT;
        }
        return ports;
    }

    void bind(const std::string& port, void* memory) override
    {
        if (!m_context->setTensorAddress(port.c_str(), memory))
            fail("bind " + port, m_device);
    }

    void enqueue(Stream& stream) override
    {
        if (!m_context->enqueueV3(static_cast<cudaStream_t>(stream.native())))
            fail("run the network", m_device);
    }

    std::size_t weightBytes() const override { return m_weightBytes; }
    std::size_t activationBytes() const override { return m_memory.used() - m_weightBytes; }
    int layers() const override { return m_engine->getNbLayers(); }

private:
    Device& m_device;
    TensorRtMemory m_memory; ///< outlives what takes memory from it
    std::unique_ptr<nvinfer1::IRuntime> m_runtime;
    std::unique_ptr<nvinfer1::ICudaEngine> m_engine;
    std::unique_ptr<nvinfer1::IExecutionContext> m_context;
    std::size_t m_weightBytes = 0;
};

/// Throws InputError with the nodes that the parser does not take.
void parse(nvonnxparser::IParser& parser, const std::filesystem::path& onnx)
{
    if (parser.parseFromFile(onnx.c_str(), static_cast<int>(nvinfer1::ILogger::Severity::kERROR)))
        return;
    std::string reasons;
    for (int i = 0; i < parser.getNbErrors(); ++i)
        reasons += fmt::format("{}node {}: {}", i == 0 ? "" : "; ", parser.getError(i)->node(),
                               parser.getError(i)->desc());
    throw InputError(fmt::format(
        "TensorRT {} does not read the network's ONNX file: {}. Versions from 10 on should.",
        versionText(), reasons.empty() ? words().take() : reasons));
}

/// Earlier timings where they fit this TensorRT and GPU, else none.
std::unique_ptr<nvinfer1::ITimingCache> timingCache(nvinfer1::IBuilderConfig& config,
                                                    std::string_view timings, const Device& device)
{
    std::unique_ptr<nvinfer1::ITimingCache> cache;
    if (!timings.empty())
        cache.reset(config.createTimingCache(timings.data(), timings.size()));
    if (!cache || !config.setTimingCache(*cache, false)) {
        cache = made(config.createTimingCache(nullptr, 0), "make a timing cache", device);
        config.setTimingCache(*cache, false);
    }
    return cache;
}

class SdkModule final : public TensorRtModule {
public:
    std::string version() const override { return versionText(); }

    EnginePlan build(Device& device, const std::filesystem::path& onnx,
                     std::string_view timings) override
    {
        words().take();
        TensorRtMemory memory(device, words());
        const auto builder = started(nvinfer1::createInferBuilder(words()));
        if (!builder)
            fail("start", device);
        builder->setGpuAllocator(&memory);
#if NV_TENSORRT_MAJOR < 11 // later there are no others
        constexpr auto kTyped =
            1U << static_cast<unsigned>(nvinfer1::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
#else
        constexpr auto kTyped = 0U;
#endif
        const auto network = made(builder->createNetworkV2(kTyped), "start a network", device);
        const auto parser =
            made(nvonnxparser::createParser(*network, words()), "start its parser", device);
        parse(*parser, onnx);
        const auto config = made(builder->createBuilderConfig(), "start a build", device);
        config->clearFlag(nvinfer1::BuilderFlag::kTF32); // what is F32 in the file stays so
        const auto cache = timingCache(*config, timings, device);
        // The file's shapes are static, so the one profile needs no description.
        const auto plan =
            made(builder->buildSerializedNetwork(*network, *config), "build an engine", device);
        EnginePlan result{textOf(*plan), {}, memory.peak()};
        if (const std::unique_ptr<nvinfer1::IHostMemory> kept{cache->serialize()})
            result.timings = textOf(*kept);
        return result;
    }

    std::unique_ptr<TensorRtEngine> load(Device& device, std::string_view bytes,
                                         std::string& reason) override
    {
        words().take();
        auto engine = std::make_unique<SdkEngine>(device, bytes);
        if (engine->isReady())
            return engine;
        reason = words().take();
        return nullptr;
    }
};

} // namespace

} // namespace vergence::live

extern "C" __attribute__((visibility("default"))) vergence::live::TensorRtModule* vergenceTensorRt()
{
    static vergence::live::SdkModule module;
    return &module;
}
