#include "app/export/export_plan.h"

#include <cmath>

#include <QDateTime>
#include <QLocale>
#include <QRegularExpression>

#include "core/artifact/export_names.h"

namespace vergence {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
    using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

/// A palette picture after LZW: flat drawings take less, photographs more.
constexpr double kGifBytesPerPixel = 0.7;
constexpr double kVideoBytesPerPixel = 0.1;
constexpr double kPngBytesPerPixel = 1.5;

/// Of all frames as they are written.
double pixelsOf(const ImageSequence& sequence, const QSize& size, double scale)
{
    return size.width() * scale * size.height() * scale *
           static_cast<double>(sequence.frames.size());
}

std::uint64_t fileBytes(const std::filesystem::path& path)
{
    std::error_code code;
    const auto bytes = std::filesystem::file_size(path, code);
    return code ? 0 : bytes;
}

QDateTime exportTime()
{
    bool isSet = false;
    const qint64 epoch = qEnvironmentVariable("SOURCE_DATE_EPOCH").toLongLong(&isSet);
    return isSet ? QDateTime::fromSecsSinceEpoch(epoch).toUTC() : QDateTime::currentDateTime();
}

/// Folder above the runs, which people name after their project.
QString projectOf(const RunFolder& folder)
{
    std::filesystem::path parent = folder.root.parent_path();
    if (parent.filename() == "runs")
        parent = parent.parent_path();
    const QString name = QString::fromStdString(parent.filename().string());
    return name.isEmpty() ? QStringLiteral("vergence") : name;
}

} // namespace

QString extensionOf(const ExportPlan& plan)
{
    return std::visit(Overloaded{[](const ZipPlan&) { return QStringLiteral(".zip"); },
                                 [](const GifPlan&) { return QStringLiteral(".gif"); },
                                 [](const VideoPlan&) { return QStringLiteral(".mp4"); },
                                 [](const PngPlan&) { return QStringLiteral(".png"); },
                                 [](const MetricsPlan& metrics) {
                                     switch (metrics.format) {
                                     case MetricsPlan::Format::Json:
                                         return QStringLiteral(".json");
                                     case MetricsPlan::Format::TensorBoard:
                                         return QStringLiteral(".tfevents");
                                     default:
                                         return QStringLiteral(".csv");
                                     }
                                 }},
                      plan);
}

QString wordOf(const ExportPlan& plan)
{
    const auto animation = [](const ImageSequence& sequence) {
        return QString::fromStdString(animationWord(sequence.pattern));
    };
    return std::visit(Overloaded{[](const ZipPlan&) { return QStringLiteral("results"); },
                                 [&](const GifPlan& gif) { return animation(gif.sequence); },
                                 [&](const VideoPlan& video) { return animation(video.sequence); },
                                 [](const PngPlan&) { return QStringLiteral("view"); },
                                 [](const MetricsPlan&) { return QStringLiteral("metrics"); }},
                      plan);
}

std::uint64_t estimatedBytes(const ExportPlan& plan, const RunFolder& folder)
{
    return std::visit(
        Overloaded{[](const ZipPlan& zip) { return zip.bytes; },
                   [](const GifPlan& gif) {
                       return static_cast<std::uint64_t>(
                           pixelsOf(gif.sequence, gif.size, gif.scale) * kGifBytesPerPixel);
                   },
                   [](const VideoPlan& video) {
                       return static_cast<std::uint64_t>(
                           pixelsOf(video.sequence, video.size, video.scale) * kVideoBytesPerPixel);
                   },
                   [](const PngPlan& png) {
                       return static_cast<std::uint64_t>(static_cast<double>(png.image.width()) *
                                                         png.image.height() * kPngBytesPerPixel);
                   },
                   [&](const MetricsPlan&) { return fileBytes(folder.metrics()); }},
        plan);
}

QString sizeText(std::uint64_t bytes)
{
    return QLocale().formattedDataSize(static_cast<qint64>(bytes), 1, QLocale::DataSizeSIFormat);
}

QString fileName(const QString& pattern, const RunFolder& folder, const QString& plugin,
                 const ExportPlan& plan)
{
    QString name = pattern;
    name.replace(QStringLiteral("{project}"), projectOf(folder));
    name.replace(QStringLiteral("{run}"), QString::fromStdString(folder.id()));
    name.replace(QStringLiteral("{plugin}"), plugin);
    name.replace(QStringLiteral("{what}"), wordOf(plan));
    name.replace(QStringLiteral("{date}"), exportTime().toString(QStringLiteral("yyyy-MM-dd")));
    name.replace(QRegularExpression(QStringLiteral("[/\\\\:*?\"<>|\\x00-\\x1f]")),
                 QStringLiteral("-"));
    while (name.startsWith(QLatin1Char('.')))
        name.remove(0, 1);
    if (name.isEmpty())
        name = wordOf(plan);
    return name + extensionOf(plan);
}

QStringList commandWords(const ExportPlan& plan, const RunFolder& folder, const QString& target)
{
    const QString run = QString::fromStdString(folder.root.string());
    const auto start = [&](const char* what) {
        return QStringList{QStringLiteral("vergence"), QStringLiteral("export"),
                           QLatin1String(what), run};
    };
    const QStringList output{QStringLiteral("--output"), target};
    return std::visit(
        Overloaded{[&](const ZipPlan& zip) {
                       QStringList words = start("zip") + output;
                       if (zip.includesCheckpoints)
                           words << QStringLiteral("--with-checkpoints");
                       if (!zip.anonymisesPaths)
                           words << QStringLiteral("--keep-paths");
                       for (const std::string& file : zip.files)
                           words << QStringLiteral("--file") << QString::fromStdString(file);
                       return words;
                   },
                   [&](const GifPlan& gif) {
                       if (!gif.isWhole)
                           return QStringList();
                       QString images = QString::fromStdString(gif.sequence.pattern);
                       images.replace(QLatin1Char('#'), QLatin1Char('*'));
                       QStringList words = start("gif") + output;
                       words << QStringLiteral("--images") << images << QStringLiteral("--delay")
                             << QString::number(10 * gif.options.delayCentiseconds)
                             << QStringLiteral("--scale") << QString::number(gif.scale);
                       if (!gif.options.loops)
                           words << QStringLiteral("--once");
                       if (gif.options.dithers)
                           words << QStringLiteral("--dither");
                       return words;
                   },
                   [](const VideoPlan&) { return QStringList(); },
                   [](const PngPlan&) { return QStringList(); },
                   [&](const MetricsPlan& metrics) {
                       if (metrics.format == MetricsPlan::Format::TensorBoard)
                           return start("tensorboard") + output;
                       return metrics.format == MetricsPlan::Format::CsvRows ? start("csv") + output
                                                                             : QStringList();
                   }},
        plan);
}

QString shellLine(const QStringList& words)
{
    static const QRegularExpression plain(QStringLiteral("^[A-Za-z0-9_./:=@%+,-]+$"));
    QStringList quoted;
    for (QString word : words) {
        if (!plain.match(word).hasMatch()) {
            word.replace(QLatin1Char('\''), QStringLiteral("'\\''"));
            word = QLatin1Char('\'') + word + QLatin1Char('\'');
        }
        quoted << word;
    }
    return quoted.join(QLatin1Char(' '));
}

} // namespace vergence
