#include "core/artifact/artifact_store.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/artifact/output_file.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace vergence {

namespace {

namespace fs = std::filesystem;

Artifact describe(const fs::path& file, std::string path, std::string role, std::string title)
{
    Artifact artifact;
    artifact.path = std::move(path);
    artifact.role = std::move(role);
    artifact.title = std::move(title);
    artifact.sha256 = sha256OfFile(file);
    artifact.bytes = fs::file_size(file);
    return artifact;
}

void replaceOrAppend(std::vector<Artifact>& list, const Artifact& artifact)
{
    const auto same = std::find_if(list.begin(), list.end(),
                                   [&](const Artifact& a) { return a.path == artifact.path; });
    if (same != list.end())
        *same = artifact;
    else
        list.push_back(artifact);
}

} // namespace

ArtifactStore::ArtifactStore(RunFolder folder) : m_folder(std::move(folder)) {}

fs::path ArtifactStore::pathFor(const std::string& name) const
{
    expects(isPlainRelativePath(name),
            "Artifact names are relative paths with forward slashes: `" + name + "` is not.");
    const fs::path path = m_folder.artifacts() / name;
    std::error_code code;
    fs::create_directories(path.parent_path(), code);
    if (code)
        throwCannotWrite(path.parent_path(), code.value());
    return path;
}

void ArtifactStore::add(const std::string& name, const std::string& role, const std::string& title)
{
    const Artifact artifact = describe(pathFor(name), "artifacts/" + name, role, title);
    std::function<void(const Artifact&)> listener;
    {
        const std::lock_guard lock(m_mutex);
        replaceOrAppend(m_artifacts, artifact);
        listener = m_listener;
    }
    if (listener)
        listener(artifact);
}

void ArtifactStore::writeText(const std::string& name, std::string_view text,
                              const std::string& role, const std::string& title)
{
    writeFileAtomic(pathFor(name), text);
    add(name, role, title);
}

void ArtifactStore::writePng(const std::string& name, const Image& image, const std::string& role,
                             const std::string& title)
{
    vergence::writePng(pathFor(name), image);
    add(name, role, title);
}

std::vector<Artifact> ArtifactStore::list() const
{
    const std::lock_guard lock(m_mutex);
    return m_artifacts;
}

void ArtifactStore::setListener(std::function<void(const Artifact&)> listener)
{
    const std::lock_guard lock(m_mutex);
    m_listener = std::move(listener);
}

void ArtifactStore::restore(const std::vector<Artifact>& earlier)
{
    for (const Artifact& artifact : earlier) {
        std::error_code code;
        const fs::path file = m_folder.root / artifact.path;
        if (!isPlainRelativePath(artifact.path) || artifact.path.rfind("artifacts/", 0) != 0 ||
            !fs::is_regular_file(file, code))
            continue;
        // Hashed again: the run may have replaced the file after it last wrote the manifest.
        const Artifact now = describe(file, artifact.path, artifact.role, artifact.title);
        const std::lock_guard lock(m_mutex);
        replaceOrAppend(m_artifacts, now);
    }
}

} // namespace vergence
