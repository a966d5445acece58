#include "plugins/mc_embedding/models/text_cache.h"

#include "core/artifact/artifact_store.h"
#include "core/artifact/safetensors.h"
#include "core/base/error.h"

namespace vergence::mc_embedding {

namespace {
constexpr const char* kIdentity = "text_features_of";
} // namespace

TextCache::TextCache(const std::filesystem::path& folder, const std::string& identity,
                     std::size_t dimensions)
    : m_identity(identity),
      m_dimensions(dimensions)
{
    if (folder.empty())
        return;
    m_path = folder / ("text-" + identity.substr(0, 16) + ".safetensors");
    if (!std::filesystem::exists(m_path))
        return;
    const SafetensorsFile file = readSafetensors(m_path);
    const auto said = file.metadata.find(kIdentity);
    if (said == file.metadata.end() || said->second != identity)
        return; // another model whose hash starts alike
    for (const HostTensor& tensor : file.tensors) {
        const auto values = tensor.as<float>();
        if (values.size() == dimensions)
            m_features[tensor.name].assign(values.begin(), values.end());
    }
}

const std::vector<float>* TextCache::find(const std::string& text) const
{
    const auto found = m_features.find(sha256Hex(text));
    return found == m_features.end() ? nullptr : &found->second;
}

void TextCache::add(const std::string& text, std::span<const float> feature)
{
    expects(feature.size() == m_dimensions, "TextCache: a feature of another length");
    m_features[sha256Hex(text)].assign(feature.begin(), feature.end());
    m_changed = true;
}

void TextCache::save()
{
    if (m_path.empty() || !m_changed)
        return;
    std::filesystem::create_directories(m_path.parent_path());
    std::vector<HostTensor> tensors;
    for (const auto& [name, feature] : m_features)
        tensors.push_back(
            HostTensor::from<float>(name, {static_cast<Index>(m_dimensions)}, feature));
    writeSafetensors(m_path, tensors, {{kIdentity, m_identity}});
    m_changed = false;
}

} // namespace vergence::mc_embedding
