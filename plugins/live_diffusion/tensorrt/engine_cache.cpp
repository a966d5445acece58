#include "plugins/live_diffusion/tensorrt/engine_cache.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "core/artifact/artifact_store.h"
#include "core/artifact/digest.h"
#include "core/artifact/output_file.h"

namespace vergence::live {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHashLength = 64;
constexpr const char* kEngineEnding = ".engine";

std::string plainName(std::string text)
{
    std::ranges::replace_if(
        text, [](unsigned char c) { return !std::isalnum(c) && c != '.'; }, '-');
    return text;
}

std::string hashOf(std::string_view bytes)
{
    Digest digest;
    digest.add(bytes);
    return digest.hex();
}

} // namespace

std::string EngineKey::timingFile() const
{
    return plainName(fmt::format("{}-{}-trt-{}.timings", gpu, computeCapability, version));
}

std::string EngineKey::engineFile() const
{
    return plainName(
        fmt::format("{}-{}-trt-{}-{}{}", gpu, computeCapability, version, onnxHash, kEngineEnding));
}

std::string hashOfFiles(const std::vector<fs::path>& files)
{
    Digest digest;
    for (const fs::path& file : files)
        digest.add(sha256OfFile(file));
    return digest.hex();
}

std::optional<std::string> EngineCache::read(const std::string& name) const
{
    const fs::path file = m_folder / name;
    std::error_code code;
    if (!fs::is_regular_file(file, code))
        return std::nullopt;
    std::string bytes = readFile(file);
    if (bytes.size() < kHashLength)
        return std::nullopt;
    const std::size_t length = bytes.size() - kHashLength;
    if (hashOf(std::string_view(bytes).substr(0, length)) != bytes.substr(length))
        return std::nullopt;
    bytes.resize(length);
    fs::last_write_time(file, fs::file_time_type::clock::now(), code);
    return bytes;
}

void EngineCache::write(const std::string& name, std::string_view bytes) const
{
    std::error_code code;
    fs::create_directories(m_folder, code);
    OutputFile file(m_folder / name); // says what is wrong with the folder
    file.write(bytes);
    file.write(hashOf(bytes));
    file.commit();
    dropOldEngines();
}

void EngineCache::dropOldEngines() const
{
    std::vector<std::pair<fs::file_time_type, fs::path>> engines;
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(m_folder, code)) {
        if (entry.path().extension() == kEngineEnding)
            engines.emplace_back(entry.last_write_time(code), entry.path());
    }
    std::ranges::sort(engines, std::greater());
    for (std::size_t i = kKeptEngines; i < engines.size(); ++i)
        fs::remove(engines[i].second, code);
}

} // namespace vergence::live
