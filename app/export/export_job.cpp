#include "app/export/export_job.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <QBuffer>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/artifact/bundle.h"
#include "core/artifact/event_export.h"
#include "core/artifact/image_ops.h"
#include "core/artifact/video/video.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/metrics/metric_store.h"

namespace vergence {
namespace {

namespace fs = std::filesystem;
using Progress = std::function<void(std::uint64_t, std::uint64_t)>;

bool writePlan(const RunFolder& folder, const ZipPlan& plan, const fs::path& target,
               const Progress& progress, const std::atomic<bool>& cancelled)
{
    BundleOptions options;
    options.files = plan.files;
    options.includesCheckpoints = plan.includesCheckpoints;
    options.anonymisesPaths = plan.anonymisesPaths;
    options.progress = progress;
    options.cancelled = &cancelled;
    if (!writeBundle(folder, target, options))
        return false;
    if (!plan.verifies)
        return true;
    const VerifyResult result = verifyBundle(target);
    if (result.isGood())
        return true;
    fs::remove(target);
    throw Error("The ZIP was written but does not read back right, so it was removed: " +
                    result.problems.front() + " Check the disk and export again.",
                ExitCode::VerificationFailed);
}

/// Gives the pictures of a sequence one by one, all of the first one's size; false when cancelled.
bool eachFrame(const ImageSequence& sequence, double scale, const std::atomic<bool>& cancelled,
               const std::function<void(Image)>& give)
{
    int width = 0, height = 0;
    for (const fs::path& path : sequence.frames) {
        if (cancelled)
            return false;
        Image frame = scaled(toRgb(readImage(path)), scale);
        if (width == 0)
            width = frame.width, height = frame.height;
        give(centredOn(frame, width, height));
    }
    return !cancelled;
}

bool writePlan(const RunFolder&, const GifPlan& plan, const fs::path& target,
               const Progress& progress, const std::atomic<bool>& cancelled)
{
    std::vector<Image> frames;
    const std::uint64_t total = plan.sequence.frames.size() * 2; // reading, then encoding
    const bool isWhole = eachFrame(plan.sequence, plan.scale, cancelled, [&](Image frame) {
        frames.push_back(std::move(frame));
        progress(frames.size(), total);
    });
    if (!isWhole)
        return false;
    AtomicFile file(target);
    writeGif(file.temporaryPath(), frames, plan.options);
    if (cancelled)
        return false;
    file.commit();
    progress(total, total);
    return true;
}

bool writePlan(const RunFolder&, const VideoPlan& plan, const fs::path& target,
               const Progress& progress, const std::atomic<bool>& cancelled)
{
    std::unique_ptr<VideoWriter> writer;
    std::uint64_t done = 0;
    const bool isWhole = eachFrame(plan.sequence, plan.scale, cancelled, [&](const Image& frame) {
        if (writer == nullptr)
            writer = requireVideoModule().writer(
                target, {.width = frame.width, .height = frame.height, .fps = plan.fps});
        writer->add(frame);
        progress(++done, plan.sequence.frames.size());
    });
    if (!isWhole)
        return false;
    writer->finish();
    return true;
}

bool writePlan(const RunFolder&, const PngPlan& plan, const fs::path& target,
               const Progress& progress, const std::atomic<bool>&)
{
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    expects(!plan.image.isNull() && plan.image.save(&buffer, "PNG"),
            "the picture of the view is there");
    writeFileAtomic(target, std::string_view(bytes.constData(), bytes.size()));
    progress(1, 1);
    return true;
}

/// One row per step, one column per series, the last value where a step repeats.
std::string asColumns(const MetricStore& store)
{
    std::map<std::int64_t, std::map<std::string, double>> byStep;
    std::string text = "step";
    for (const std::string& name : store.names()) {
        const Series& series = *store.find(name);
        for (std::size_t i = 0; i < series.size(); ++i)
            byStep[series.steps()[i]][name] = series.values()[i];
        text.append(",").append(name);
    }
    text += "\n";
    for (const auto& [step, values] : byStep) {
        text += std::to_string(step);
        for (const std::string& name : store.names()) {
            const auto value = values.find(name);
            text.append(",");
            if (value != values.end())
                text.append(fmt::format("{}", value->second));
        }
        text += "\n";
    }
    return text;
}

/// JSON has no word for values that are not finite; they become the strings "nan", "inf" and
/// "-inf".
nlohmann::json numberOf(double value)
{
    return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(fmt::format("{}", value));
}

std::string asJson(const MetricStore& store, const RunFolder& folder)
{
    nlohmann::json all = nlohmann::json::object();
    for (const std::string& name : store.names()) {
        const Series& series = *store.find(name);
        nlohmann::json values = nlohmann::json::array();
        for (const double value : series.values())
            values.push_back(numberOf(value));
        all[name] = {{"step", series.steps()}, {"wall_s", series.walls()}, {"value", values}};
    }
    return nlohmann::json{{"format", "vergence-metrics/1"}, {"run", folder.id()}, {"series", all}}
               .dump(1) +
           "\n";
}

bool writePlan(const RunFolder& folder, const MetricsPlan& plan, const fs::path& target,
               const Progress& progress, const std::atomic<bool>& cancelled)
{
    std::string text = readFile(folder.metrics());
    if (plan.format == MetricsPlan::Format::TensorBoard) {
        text = exportEvents(folder).bytes;
    } else if (plan.format != MetricsPlan::Format::CsvRows) {
        const auto store = MetricStore::fromCsv(text, folder.metrics().string());
        text = plan.format == MetricsPlan::Format::Json ? asJson(store, folder) : asColumns(store);
    }
    if (cancelled)
        return false;
    writeFileAtomic(target, std::string_view(text));
    progress(1, 1);
    return true;
}

QString problemIdOf(const Error& error)
{
    if (const auto* output = dynamic_cast<const OutputError*>(&error))
        return output->diskIsFull() ? QStringLiteral("E-DISK") : QStringLiteral("E-OUTPUT");
    if (dynamic_cast<const InputError*>(&error) != nullptr)
        return QStringLiteral("E-DATA");
    return QStringLiteral("E-EXPORT");
}

} // namespace

bool writeExport(const RunFolder& folder, const ExportPlan& plan, const fs::path& target,
                 const Progress& progress, const std::atomic<bool>& cancelled)
{
    std::error_code code;
    fs::create_directories(target.parent_path(), code);
    if (code)
        throw OutputError("The folder " + target.parent_path().string() +
                          " cannot be made: " + code.message() + ". Choose another destination.");
    return std::visit(
        [&](const auto& chosen) { return writePlan(folder, chosen, target, progress, cancelled); },
        plan);
}

ExportJob::ExportJob(RunFolder folder, ExportPlan plan, fs::path target, QObject* parent)
    : QObject(parent),
      m_folder(std::move(folder)),
      m_plan(std::move(plan)),
      m_target(std::move(target))
{
}

ExportJob::~ExportJob()
{
    m_cancelled = true;
}

void ExportJob::start()
{
    m_thread = std::jthread([this] { work(); });
}

void ExportJob::work()
{
    // Signals of the worker thread reach receivers on the GUI thread through their event queue.
    int last = -1;
    const auto progress = [&](std::uint64_t done, std::uint64_t total) {
        const int now = total == 0 ? 1000 : static_cast<int>(1000.0 * done / total);
        if (now != last)
            Q_EMIT progressed(last = now);
    };
    try {
        if (writeExport(m_folder, m_plan, m_target, progress, m_cancelled))
            Q_EMIT finished(QString::fromStdString(m_target.string()));
        else
            Q_EMIT cancelledCleanly();
    } catch (const Error& error) {
        Q_EMIT failed(problemIdOf(error), QString::fromUtf8(error.what()));
    } catch (const std::exception& error) {
        Q_EMIT failed(QStringLiteral("E-EXPORT"),
                      tr("The export stopped: %1").arg(QString::fromUtf8(error.what())));
    }
}

} // namespace vergence
