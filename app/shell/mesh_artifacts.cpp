#include "app/shell/mesh_artifacts.h"

#include <algorithm>
#include <tuple>

#include <QDateTime>
#include <QFileInfo>
#include <QStringList>

namespace vergence {

MeshChoice meshChoice(const QString& path, const QString& title)
{
    const QFileInfo file(path);
    const QString version =
        QString("%1 %2").arg(file.lastModified().toMSecsSinceEpoch()).arg(file.size());
    return {path.toStdString(), title.isEmpty() ? file.fileName() : title, version};
}

std::vector<MeshChoice> meshesOf(const std::vector<nlohmann::json>& artifacts,
                                 const RunFolder& folder)
{
    struct Found {
        qsizetype format;
        qint64 age;
        MeshChoice choice;
    };
    static const QStringList kFormats{"glb", "obj", "ply"};
    std::vector<Found> found;
    for (const nlohmann::json& artifact : artifacts) {
        if (artifact.value("role", std::string()) != "mesh")
            continue;
        const std::string path = artifact.value("path", std::string());
        const QFileInfo file(QString::fromStdString((folder.root / path).string()));
        const auto format = kFormats.indexOf(file.suffix().toLower());
        if (format < 0 || !file.isFile())
            continue;
        const QString title = QString::fromStdString(artifact.value("title", std::string()));
        // Titles may be alike for the stages of a mesh and for its formats.
        const QString place = QString::fromStdString(path).section('/', 1);
        const QString name = title.isEmpty() ? place : place + ", " + title;
        found.push_back(
            {format, -file.lastModified().toMSecsSinceEpoch(), meshChoice(file.filePath(), name)});
    }
    std::ranges::stable_sort(found, {}, [](const Found& f) { return std::tuple(f.format, f.age); });
    std::vector<MeshChoice> choices;
    for (Found& f : found)
        choices.push_back(std::move(f.choice));
    return choices;
}

} // namespace vergence
