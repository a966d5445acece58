#include "app/shell/screenshot.h"

#include <QDir>
#include <QImageWriter>

#include "core/base/clock.h"
#include "core/base/error.h"

namespace vergence {

QString saveScreenshot(QImage image, const RunFolder& folder)
{
    const QDir exports(QString::fromStdString(folder.exports().string()));
    const QString path =
        exports.filePath(QString("screenshot-%1.png").arg(QString::fromStdString(utcNowForPath())));
    if (image.isNull())
        throw OutputError("There is no picture to save yet: the view is empty.");
    image.setText("Software", "Vergence Studio");
    image.setText("Run", QString::fromStdString(folder.id()));
    QImageWriter writer(path, "png");
    if (!exports.mkpath(".") || !writer.write(image))
        throw OutputError("The screenshot cannot be written to " + path.toStdString() + ": " +
                          writer.errorString().toStdString());
    return path;
}

} // namespace vergence
