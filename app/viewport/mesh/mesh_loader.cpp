#include "app/viewport/mesh/mesh_loader.h"

#include <mutex>
#include <optional>

#include <QFileInfo>
#include <QLocale>
#include <QThreadPool>

#include "app/viewport/mesh/mesh_files.h"
#include "core/base/error.h"

namespace vergence {

/// Where the thread leaves its answers; empty once nobody waits for them.
struct MeshLoader::Mailbox {
    std::mutex mutex;
    MeshLoader* receiver = nullptr;

    void post(int request, std::function<void(MeshLoader&)> deliver)
    {
        const std::lock_guard lock(mutex);
        if (receiver == nullptr)
            return;
        MeshLoader* loader = receiver;
        QMetaObject::invokeMethod(
            loader,
            [loader, request, deliver = std::move(deliver)] {
                loader->take(request, [&] { deliver(*loader); });
            },
            Qt::QueuedConnection);
    }
};

MeshLoader::MeshLoader(QObject* parent) : QObject(parent), m_mailbox(std::make_shared<Mailbox>())
{
    m_mailbox->receiver = this;
}

MeshLoader::~MeshLoader()
{
    const std::lock_guard lock(m_mailbox->mutex);
    m_mailbox->receiver = nullptr;
}

void MeshLoader::take(int request, const std::function<void()>& deliver)
{
    if (request == m_request)
        deliver();
}

void MeshLoader::load(const std::filesystem::path& path)
{
    const int request = ++m_request;
    m_isLoading = true;
    const QFileInfo file(QString::fromStdString(path.string()));
    const QString size = QLocale().formattedDataSize(file.size(), 1, QLocale::DataSizeSIFormat);
    Q_EMIT progressed(tr("Reading %1 (%2) …").arg(file.fileName(), size));
    QThreadPool::globalInstance()->start([mailbox = m_mailbox, request, path] {
        try {
            std::optional<ViewMesh> mesh = readMeshFile(path);
            const QString words = tr("Preparing %L1 triangles …").arg(mesh->triangles.size());
            mailbox->post(request, [words](MeshLoader& l) { Q_EMIT l.progressed(words); });
            const auto prepared = std::make_shared<const PreparedMesh>(
                prepareMesh(std::move(*mesh), QString::fromStdString(path.filename().string())));
            mesh.reset(); // giving back much memory holds up the other threads
            mailbox->post(request, [prepared](MeshLoader& l) {
                l.m_isLoading = false;
                Q_EMIT l.loaded(prepared);
            });
        } catch (const std::exception& error) { // bad_alloc of a huge file, too
            const QString sentence =
                dynamic_cast<const Error*>(&error) != nullptr
                    ? QString::fromUtf8(error.what())
                    : tr("%1 cannot be shown as a mesh: there is not enough memory for it. Close "
                         "other programs or choose a smaller mesh.")
                          .arg(QString::fromStdString(path.filename().string()));
            mailbox->post(request, [sentence](MeshLoader& l) {
                l.m_isLoading = false;
                Q_EMIT l.failed(sentence);
            });
        }
    });
}

} // namespace vergence
