#include "plugins/mc_embedding/study/chunk_result.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/artifact/artifact_store.h"
#include "core/artifact/digest.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/compute/half.h"

namespace vergence::mc_embedding {

namespace {

namespace fs = std::filesystem;

Index toIndex(std::size_t value)
{
    return static_cast<Index>(value);
}

template <class T>
std::vector<T> valuesOf(const SafetensorsFile& file, const std::string& name, std::size_t count,
                        const std::string& source)
{
    const HostTensor* tensor = file.find(name);
    if (tensor == nullptr)
        throw InputError(fmt::format("{} lacks {}.", source, name));
    const auto values = tensor->as<T>();
    if (values.size() != count)
        throw InputError(fmt::format("{} of {} has {} entries instead of {}.", name, source,
                                     values.size(), count));
    return {values.begin(), values.end()};
}

HostTensor rounded(std::string name, std::vector<Index> shape, const std::vector<float>& values,
                   DType type)
{
    if (type == DType::F32)
        return HostTensor::from<float>(std::move(name), std::move(shape), values);
    std::vector<Float16> halves;
    halves.reserve(values.size());
    for (const float value : values)
        halves.emplace_back(value);
    return HostTensor::from<Float16>(std::move(name), std::move(shape), halves);
}

std::vector<float> widened(const HostTensor& tensor)
{
    if (tensor.dtype == DType::F32) {
        const auto values = tensor.as<float>();
        return {values.begin(), values.end()};
    }
    const auto values = tensor.as<Float16>();
    return {values.begin(), values.end()};
}

const std::string& metadataOf(const SafetensorsFile& file, const std::string& key,
                              const std::string& source)
{
    const auto found = file.metadata.find(key);
    if (found == file.metadata.end())
        throw InputError(fmt::format("{} lacks its {}.", source, key));
    return found->second;
}

fs::path fileName(std::size_t first, std::size_t count)
{
    return fmt::format("chunk-{:07}-{}.safetensors", first, count);
}

} // namespace

std::size_t ChunkResult::passIndex(int t) const
{
    return static_cast<std::size_t>(std::find(passes.begin(), passes.end(), t) - passes.begin());
}

std::vector<HostTensor> ChunkResult::tensors() const
{
    const Index b = toIndex(images), d = toIndex(dimensions), k = trials,
                t = toIndex(passes.size()), g = geometryTrials;
    std::vector<HostTensor> list;
    const auto add = [&](const std::string& name, std::vector<Index> shape,
                         const std::vector<double>& values) {
        if (!values.empty())
            list.push_back(HostTensor::from<double>(name, std::move(shape), std::span(values)));
    };
    if (d > 0)
        list.push_back(HostTensor::from<float>("deterministic", {b, d},
                                               std::span(std::as_const(deterministic))));
    for (const auto& [name, values] : scores)
        add("scores." + name, {t, k, b}, values);
    add("variances", {t, k, b, d}, variances);
    add("moments", {k, 4, b, d}, moments);
    for (const auto& [name, values] : geometry)
        add("geometry." + name, {g, b}, values);
    add("eigenvalues.pre", {g, b, 10}, eigenvaluesPre);
    add("eigenvalues.post", {g, b, 10}, eigenvaluesPost);
    if (!clouds.empty())
        list.push_back(HostTensor::from<float>("clouds",
                                               {toIndex(cloudImages.size()), k, passes.back(), d},
                                               std::span(std::as_const(clouds))));
    if (storedFeatures)
        list.push_back(rounded("features", {k, passes.back(), b, d}, features, *storedFeatures));
    return list;
}

std::map<std::string, std::string> ChunkResult::metadata() const
{
    const nlohmann::json layout{{"first", first},
                                {"images", images},
                                {"dimensions", dimensions},
                                {"trials", trials},
                                {"passes", passes},
                                {"geometry_trials", geometryTrials},
                                {"cloud_images", cloudImages}};
    return {{"layout", layout.dump()}};
}

ChunkResult ChunkResult::from(const SafetensorsFile& file, const std::string& source)
{
    ChunkResult result;
    try {
        const auto layout = nlohmann::json::parse(metadataOf(file, "layout", source));
        result.first = layout.at("first").get<std::size_t>();
        result.images = layout.at("images").get<std::size_t>();
        result.dimensions = layout.at("dimensions").get<std::size_t>();
        result.trials = layout.at("trials").get<int>();
        result.passes = layout.at("passes").get<std::vector<int>>();
        result.geometryTrials = layout.at("geometry_trials").get<int>();
        result.cloudImages = layout.at("cloud_images").get<std::vector<std::size_t>>();
    } catch (const nlohmann::json::exception& failure) {
        throw InputError(fmt::format("The layout of {} is damaged: {}", source, failure.what()));
    }
    if (result.passes.empty() || result.trials < 0 || result.images < 1)
        throw InputError(fmt::format("{} holds no measurement.", source));
    const std::size_t b = result.images, d = result.dimensions, t = result.passes.size(),
                      k = static_cast<std::size_t>(result.trials),
                      g = static_cast<std::size_t>(result.geometryTrials);
    if (d > 0) // else texts
        result.deterministic = valuesOf<float>(file, "deterministic", b * d, source);
    if (k > 0 && d > 0) // else features alone
        result.moments = valuesOf<double>(file, "moments", k * 4 * b * d, source);
    if (file.find("variances") != nullptr)
        result.variances = valuesOf<double>(file, "variances", t * k * b * d, source);
    for (const HostTensor& tensor : file.tensors) {
        if (tensor.name.starts_with("scores."))
            result.scores[tensor.name.substr(7)] =
                valuesOf<double>(file, tensor.name, t * k * b, source);
        if (tensor.name.starts_with("geometry."))
            result.geometry[tensor.name.substr(9)] =
                valuesOf<double>(file, tensor.name, g * b, source);
    }
    if (g > 0) {
        result.eigenvaluesPre = valuesOf<double>(file, "eigenvalues.pre", g * b * 10, source);
        result.eigenvaluesPost = valuesOf<double>(file, "eigenvalues.post", g * b * 10, source);
    }
    if (!result.cloudImages.empty())
        result.clouds = valuesOf<float>(file, "clouds",
                                        result.cloudImages.size() * k *
                                            static_cast<std::size_t>(result.passes.back()) * d,
                                        source);
    if (const HostTensor* stored = file.find("features")) {
        result.storedFeatures = stored->dtype;
        result.features = widened(*stored);
        if (result.features.size() != k * static_cast<std::size_t>(result.passes.back()) * b * d)
            throw InputError(
                fmt::format("features of {} has {} entries.", source, result.features.size()));
    }
    return result;
}

ChunkStore::ChunkStore(fs::path folder, std::vector<fs::path> others, std::string fingerprint,
                       std::vector<std::string> imageKeys)
    : m_folder(std::move(folder)),
      m_others(std::move(others)),
      m_fingerprint(std::move(fingerprint)),
      m_imageKeys(std::move(imageKeys))
{
}

std::string ChunkStore::imagesDigest(std::size_t first, std::size_t count) const
{
    Digest digest;
    for (std::size_t i = first; i < first + count; ++i)
        digest.add(m_imageKeys[i] + "\n");
    return digest.hex();
}

std::optional<ChunkResult> ChunkStore::readIfOurs(const fs::path& path, std::size_t most) const
{
    try {
        const SafetensorsFile file = readSafetensors(path);
        const std::string source = path.string();
        if (metadataOf(file, "fingerprint", source) != m_fingerprint)
            return std::nullopt;
        ChunkResult result = ChunkResult::from(file, source);
        if (result.images > most || result.first + result.images > m_imageKeys.size() ||
            metadataOf(file, "images", source) != imagesDigest(result.first, result.images))
            return std::nullopt;
        return result;
    } catch (const InputError& failure) {
        log("mc_embedding").warn("A stored chunk is measured again: {}", failure.what());
        return std::nullopt;
    }
}

std::optional<ChunkResult> ChunkStore::find(std::size_t first, std::size_t most) const
{
    std::vector<fs::path> folders{m_folder};
    folders.insert(folders.end(), m_others.begin(), m_others.end());
    const std::string prefix = fmt::format("chunk-{:07}-", first);
    for (const fs::path& folder : folders) {
        std::vector<std::pair<int, fs::path>> candidates;
        std::error_code code;
        for (const auto& entry : fs::directory_iterator(folder, code)) {
            const std::string name = entry.path().filename().string();
            if (name.starts_with(prefix) && name.ends_with(".safetensors"))
                candidates.emplace_back(std::atoi(name.c_str() + prefix.size()), entry.path());
        }
        std::sort(candidates.rbegin(), candidates.rend());
        for (const auto& [count, path] : candidates) {
            if (auto result = readIfOurs(path, most); result && result->first == first)
                return result;
        }
    }
    return std::nullopt;
}

void ChunkStore::write(const ChunkResult& result) const
{
    auto metadata = result.metadata();
    metadata["fingerprint"] = m_fingerprint;
    metadata["images"] = imagesDigest(result.first, result.images);
    std::error_code code;
    fs::create_directories(m_folder, code);
    if (code)
        throw OutputError(
            fmt::format("The folder {} cannot be made: {}.", m_folder.string(), code.message()));
    writeSafetensors(m_folder / fileName(result.first, result.images), result.tensors(), metadata);
}

} // namespace vergence::mc_embedding
