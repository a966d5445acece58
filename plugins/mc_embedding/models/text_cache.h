#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace vergence::mc_embedding {

/// Text features of one (weights, tokenizer) on disk: one safetensors file, a tensor per text under
/// the SHA-256 of the text. Several runs may use one folder; who saves last wins, and what is lost
/// is computed again.
class TextCache {
public:
    /// Reads what is there; `folder` empty: memory alone. `identity`: hash of all that features
    /// depend on beside the text. Throws InputError for a damaged file, which may be deleted.
    TextCache(const std::filesystem::path& folder, const std::string& identity,
              std::size_t dimensions);

    /// Null where it is not known.
    const std::vector<float>* find(const std::string& text) const;
    void add(const std::string& text, std::span<const float> feature);
    void save(); ///< where anything was added; throws OutputError

private:
    std::filesystem::path m_path;
    std::string m_identity;
    std::size_t m_dimensions;
    std::map<std::string, std::vector<float>> m_features; ///< by SHA-256 of the text
    bool m_changed = false;
};

} // namespace vergence::mc_embedding
