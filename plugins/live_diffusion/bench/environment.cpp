#include "plugins/live_diffusion/bench/environment.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <dlfcn.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.h>

#include "core/artifact/artifact_store.h"
#include "core/artifact/manifest.h"
#include "core/base/clock.h"
#include "core/compute/cpu_threads.h"
#include "core/compute/kernel.h"
#include "core/metrics/system_sampler.h"

namespace vergence::live {

namespace {

using nlohmann::json;

std::string firstLine(const char* path)
{
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

/// Variables that change speed or arithmetic. Which GPU is seen says deviceFacts(), without its
/// UUID.
json relevantVariables()
{
    json variables = json::object();
    for (const char* name :
         {"CUDA_LAUNCH_BLOCKING", "CUDA_MODULE_LOADING", "DNNL_MAX_CPU_ISA", "KMP_BLOCKTIME",
          "NVIDIA_TF32_OVERRIDE", "OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_WAIT_POLICY",
          "VERGENCE_CUDA_SYNC", "VERGENCE_ISA", "VERGENCE_THREADS"}) {
        if (const char* value = std::getenv(name))
            variables[name] = value;
    }
    return variables;
}

json systemFacts()
{
    struct utsname system {};
    ::uname(&system);
    json facts = {{"os", systemName()},
                  {"kernel", fmt::format("{} {}", system.sysname, system.release)},
                  {"ram_bytes", static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                                    static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))}};
    double load = 0;
    if (std::istringstream(firstLine("/proc/loadavg")) >> load)
        facts["load_average"] = load;
    return facts;
}

json processorFacts()
{
    json facts = {{"model", processorName()},
                  {"processors", ::sysconf(_SC_NPROCESSORS_ONLN)},
                  {"usable_threads", usableThreads()},
                  {"usable_cores", usableCores()}};
    if (const std::string governor =
            firstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
        !governor.empty())
        facts["governor"] = governor;
    return facts;
}

json deviceFacts(Device& device)
{
    const DeviceInfo& info = device.info();
    json facts = {{"kind", device.isCpu() ? "cpu" : "cuda"},
                  {"name", info.name},
                  {"memory_bytes", info.totalBytes},
                  {"kernels", nameOf(static_cast<KernelVariant>(device.kernelVariant()))}};
    if (device.isCpu()) {
        facts["product_threads"] = productThreads(device);
        return facts;
    }
    facts["uuid_sha256"] = sha256Hex(info.uuid);
    facts["compute_capability"] = info.computeCapability;
    facts["driver"] = info.driver;
    return facts;
}

/// What `symbol` of a library answers that this process has already loaded; 0: it has not.
template <class Function>
Function loaded(const char* library, const char* symbol)
{
    void* handle = ::dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle)
        return nullptr;
    const auto function = reinterpret_cast<Function>(::dlsym(handle, symbol));
    ::dlclose(handle); // stays loaded by whoever did
    return function;
}

json libraryFacts()
{
    const dnnl_version_t* dnnl = dnnl_version();
    json facts = {{"onednn", fmt::format("{}.{}.{}", dnnl->major, dnnl->minor, dnnl->patch)}};
    using Version = std::size_t (*)();
    if (const auto cudnn = loaded<Version>("libcudnn.so.9", "cudnnGetVersion")) {
        const std::size_t version = cudnn(); // 90100 is 9.1.0
        facts["cudnn"] =
            fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
    }
    if (const auto cublas = loaded<Version>("libcublasLt.so.12", "cublasLtGetVersion"))
        facts["cublaslt"] = std::to_string(cublas());
    for (const char* library : {"libnvinfer.so.10", "libnvinfer.so.11"}) {
        if (const auto tensorRt = loaded<int (*)()>(library, "getInferLibVersion")) {
            const int version = tensorRt(); // 101303 is 10.13.3
            facts["tensorrt"] =
                fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
        }
    }
    using RuntimeVersion = int (*)(int*);
    int version = 0;
    if (const auto runtime = loaded<RuntimeVersion>("libcudart.so.12", "cudaRuntimeGetVersion");
        runtime && runtime(&version) == 0)
        facts["cuda_runtime"] = fmt::format("{}.{}", version / 1000, version / 10 % 100);
    return facts;
}

} // namespace

json captureEnvironment(Device& device)
{
    return {{"time", utcNow()},
            {"build", buildInfo()},
            {"system", systemFacts()},
            {"cpu", processorFacts()},
            {"device", deviceFacts(device)},
            {"libraries", libraryFacts()},
            {"variables", relevantVariables()}};
}

std::string textAt(const json& object, const char* pointer)
{
    const json::json_pointer place(pointer);
    return object.contains(place) && object.at(place).is_string()
               ? object.at(place).get<std::string>()
               : std::string();
}

std::string environmentBadge(const json& environment)
{
    const std::string name = textAt(environment, "/device/name");
    if (name.empty())
        return "unknown device";
    if (const std::string driver = textAt(environment, "/device/driver"); !driver.empty())
        return fmt::format("{}, driver {}", name, driver);
    const std::string kernels = textAt(environment, "/device/kernels");
    return kernels.empty() ? name : fmt::format("{}, {}", name, kernels);
}

} // namespace vergence::live
