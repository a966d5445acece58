#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vergence::live {

/// What a built engine is good for; another GPU, TensorRT or network needs another.
struct EngineKey {
    std::string gpu;               ///< "NVIDIA H200"
    std::string computeCapability; ///< "9.0"
    std::string version;           ///< of TensorRT: "10.13.3"
    std::string onnxHash;          ///< SHA-256 of the ONNX files

    std::string engineFile() const; ///< a name of letters, digits, dots and hyphens
    std::string timingFile() const; ///< of measured kernels: the same for all networks
};

/// SHA-256 over the bytes of these files, in this order.
std::string hashOfFiles(const std::vector<std::filesystem::path>& files);

/// Files that another run can use again. Each ends with the SHA-256 of what stands before, so that
/// one that was cut short or damaged counts as missing.
class EngineCache {
public:
    static constexpr std::size_t kKeptEngines = 8;

    explicit EngineCache(std::filesystem::path folder) : m_folder(std::move(folder)) {}
    const std::filesystem::path& folder() const { return m_folder; }

    /// Nothing where there is no such file or it is damaged. Marks it as used now.
    std::optional<std::string> read(const std::string& name) const;
    /// Makes the folder where it is missing, replaces what was there, and drops the engines that
    /// were used longest ago. Throws OutputError.
    void write(const std::string& name, std::string_view bytes) const;

private:
    void dropOldEngines() const;

    std::filesystem::path m_folder;
};

} // namespace vergence::live
