#include "app/shell/screenshot.h"

#include <QDir>
#include <QImageWriter>
#include <QStandardPaths>

#include "core/base/clock.h"
#include "core/base/error.h"

namespace vergence {

QString saveScreenshot(QImage image, const RunFolder* run)
{
    const QDir exports(run == nullptr
                           ? QStandardPaths::writableLocation(QStandardPaths::PicturesLocation)
                           : QString::fromStdString(run->exports().string()));
    const QString path =
        exports.filePath(QString("screenshot-%1.png").arg(QString::fromStdString(utcNowForPath())));
    if (image.isNull())
        throw OutputError("There is no picture to save yet: the view is empty.");
    image.setText("Software", "Vergence Studio");
    if (run != nullptr)
        image.setText("Run", QString::fromStdString(run->id()));
    QImageWriter writer(path, "png");
    if (!exports.mkpath(".") || !writer.write(image))
        throw OutputError("The screenshot cannot be written to " + path.toStdString() + ": " +
                          writer.errorString().toStdString());
    return path;
}

} // namespace vergence
