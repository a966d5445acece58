#include "app/shell/run_results.h"

#include <algorithm>
#include <cstring>
#include <map>

#include <QFileInfo>
#include <QImage>
#include <QStringList>

namespace vergence {

namespace {

/// Of the stream that a role names ("eye-view" is "eye_view"); behind all where there is none.
std::ptrdiff_t placeOf(std::string role, const std::vector<StreamDecl>& streams)
{
    std::ranges::replace(role, '-', '_');
    return std::ranges::find(streams, role, &StreamDecl::id) - streams.begin();
}

} // namespace

QString resultName(const nlohmann::json& artifact)
{
    const QString path = QString::fromStdString(artifact.value("path", std::string()));
    const QString file = path.startsWith("artifacts/") ? path.section('/', 1) : path;
    const QString title = QString::fromStdString(artifact.value("title", std::string()));
    return title.isEmpty() ? file : title + " – " + file;
}

std::vector<RecordedPicture> recordedPictures(const std::vector<nlohmann::json>& artifacts,
                                              const std::vector<StreamDecl>& streams,
                                              const RunFolder& folder)
{
    static const QStringList kFormats{"png", "jpg", "jpeg"};
    std::multimap<std::ptrdiff_t, RecordedPicture> found; // in the order of their streams
    for (const nlohmann::json& artifact : artifacts) {
        const std::string path = artifact.value("path", std::string());
        const QFileInfo file(QString::fromStdString((folder.root / path).string()));
        if (!kFormats.contains(file.suffix().toLower()) || !file.isFile())
            continue;
        StreamDecl stream;
        stream.id = "recorded:" + path;
        stream.title = resultName(artifact).toStdString();
        stream.compareGroup = "recorded";
        found.emplace(placeOf(artifact.value("role", std::string()), streams),
                      RecordedPicture{folder.root / path, std::move(stream)});
    }
    std::vector<RecordedPicture> pictures;
    for (auto& [place, picture] : found)
        pictures.push_back(std::move(picture));
    return pictures;
}

std::optional<Frame> frameOf(const RecordedPicture& picture)
{
    QImage image(QString::fromStdString(picture.file.string()));
    if (image.isNull())
        return std::nullopt;
    image.convertTo(QImage::Format_RGBA8888);
    Frame frame;
    frame.info.stream = picture.stream.id;
    frame.info.sequence = 1;
    frame.info.step = -1; // the file does not say
    frame.info.width = static_cast<std::uint32_t>(image.width());
    frame.info.height = static_cast<std::uint32_t>(image.height());
    frame.pixels.resize(frame.info.pixelBytes());
    const std::size_t rowBytes = frame.info.pixelBytes() / frame.info.height;
    for (int row = 0; row < image.height(); ++row)
        std::memcpy(frame.pixels.data() + static_cast<std::size_t>(row) * rowBytes,
                    image.constScanLine(row), rowBytes);
    return frame;
}

} // namespace vergence
