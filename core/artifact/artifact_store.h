#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/artifact/image.h"
#include "core/artifact/run_folder.h"

namespace vergence {

/// One result file of a run.
struct Artifact {
    std::string
        path; ///< relative to the run folder, forward slashes: "artifacts/boards/n26/loss.csv"
    std::string role; ///< "display-plane", "eye-view", "loss", "sweep", …
    std::string sha256;
    std::uint64_t bytes = 0;
    std::string title; ///< for people
};

/// Writes results below `<run>/artifacts`, atomically, and remembers them for the manifest.
/// Thread-safe.
class ArtifactStore {
public:
    explicit ArtifactStore(RunFolder folder);

    const RunFolder& folder() const { return m_folder; }
    /// Absolute path for `name` ("boards/n26/loss.csv") with its folders made; pass the finished
    /// file to add().
    std::filesystem::path pathFor(const std::string& name) const;
    /// Hashes and lists a file written by the caller at pathFor(name). Replaces an entry of the
    /// same name.
    void add(const std::string& name, const std::string& role, const std::string& title = {});

    void writeText(const std::string& name, std::string_view text, const std::string& role,
                   const std::string& title = {});
    void writePng(const std::string& name, const Image& image, const std::string& role,
                  const std::string& title = {});
    /// NPY 1.0, little endian, C order.
    void writeNpy(const std::string& name, std::span<const float> values,
                  const std::vector<std::int64_t>& shape, const std::string& role,
                  const std::string& title = {});

    std::vector<Artifact> list() const;
    /// Called with every new artifact, from the writing thread.
    void setListener(std::function<void(const Artifact&)> listener);
    /// Re-lists what an earlier manifest named and still exists; for resumed runs.
    void restore(const std::vector<Artifact>& earlier);

private:
    RunFolder m_folder;
    mutable std::mutex m_mutex;
    std::vector<Artifact> m_artifacts;
    std::function<void(const Artifact&)> m_listener;
};

std::string sha256Hex(std::string_view bytes);
std::string sha256OfFile(const std::filesystem::path& path); ///< throws InputError

} // namespace vergence
