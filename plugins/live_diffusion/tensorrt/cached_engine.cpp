#include "plugins/live_diffusion/tensorrt/cached_engine.h"

#include <cstdlib>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/compute/device.h"
#include "plugins/live_diffusion/onnx/onnx_writer.h"

namespace vergence::live {

namespace {

namespace fs = std::filesystem;

/// A folder for the files of one network; gone with this object.
class NetworkFolder {
public:
    explicit NetworkFolder(const fs::path& parent)
    {
        std::error_code code;
        fs::create_directories(parent, code);
        std::string pattern = (parent / "onnx-XXXXXX").string();
        if (mkdtemp(pattern.data()) == nullptr)
            throw OutputError("Cannot make a folder in " + parent.string() + ".");
        m_path = pattern;
    }
    ~NetworkFolder()
    {
        std::error_code ignored;
        fs::remove_all(m_path, ignored);
    }
    NetworkFolder(const NetworkFolder&) = delete;
    NetworkFolder& operator=(const NetworkFolder&) = delete;

    const fs::path& path() const { return m_path; }

private:
    fs::path m_path;
};

} // namespace

CachedEngine cachedEngine(TensorRtModule& module, Device& device, const OnnxModel& model,
                          const EngineCache& cache)
{
    const NetworkFolder folder(cache.folder());
    const auto files = writeOnnx(model, folder.path() / "network.onnx");
    const DeviceInfo& info = device.info();
    const EngineKey key{info.name, info.computeCapability, module.version(), hashOfFiles(files)};
    CachedEngine result;
    std::string reason;
    if (const auto kept = cache.read(key.engineFile()))
        result.engine = module.load(device, *kept, reason);
    if (result.engine)
        return result;
    log("live_diffusion")
        .info("TensorRT {} builds an engine of {}, which takes up to minutes.", module.version(),
              model.name);
    const EnginePlan plan =
        module.build(device, files.front(), cache.read(key.timingFile()).value_or(""));
    result.tuningPeakBytes = plan.peakBytes;
    result.engine = module.load(device, plan.bytes, reason);
    if (!result.engine)
        throw DeviceError(fmt::format("TensorRT {} does not take the engine that it has just "
                                      "built: {}. Free memory of the GPU, or install TensorRT "
                                      "anew.",
                                      module.version(), reason));
    cache.write(key.engineFile(), plan.bytes);
    cache.write(key.timingFile(), plan.timings);
    return result;
}

} // namespace vergence::live
