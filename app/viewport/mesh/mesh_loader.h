#pragma once

#include <filesystem>
#include <memory>

#include <QObject>

#include "app/viewport/mesh/prepared_mesh.h"

namespace vergence {

/// Reads and prepares meshes on a thread of its own. A newer request makes the answer to the former
/// one void; destroying the loader waits for nothing.
class MeshLoader : public QObject {
    Q_OBJECT
public:
    explicit MeshLoader(QObject* parent = nullptr);
    ~MeshLoader() override;

    void load(const std::filesystem::path& path);
    bool isLoading() const { return m_isLoading; }

Q_SIGNALS:
    void progressed(const QString& sentence);
    void loaded(std::shared_ptr<const vergence::PreparedMesh> mesh);
    void failed(const QString& sentence);

private:
    struct Mailbox;
    void take(int request, const std::function<void()>& deliver);

    std::shared_ptr<Mailbox> m_mailbox; ///< outlives the loader while a thread still reads
    int m_request = 0;
    bool m_isLoading = false;
};

} // namespace vergence
