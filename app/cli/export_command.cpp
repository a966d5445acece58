#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "app/cli/animation.h"
#include "app/cli/command.h"
#include "app/cli/run_access.h"
#include "app/cli/text.h"
#include "core/artifact/bundle.h"
#include "core/artifact/event_export.h"
#include "core/artifact/export_names.h"
#include "core/artifact/gif.h"
#include "core/artifact/image_ops.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/metrics/metric_store.h"

namespace vergence::cli {

namespace {

namespace fs = std::filesystem;

struct ExportOptions {
    std::string run, runsFolder, output, pattern;
    std::vector<std::string> files, series;
    bool dryRun = false, withCheckpoints = false, keepsPaths = false, dithers = false, once = false;
    bool replaces = false;
    double delayMilliseconds = 80, scale = 1;

    RunFolder folder() const
    {
        return findRun(run, runsFolder.empty() ? defaultRunsFolder() : fs::path(runsFolder));
    }
    /// Where the export goes: a name that is free where none was given.
    fs::path target(const RunFolder& from, const std::string& name) const
    {
        return output.empty() ? freePath(from.exports() / name) : fs::path(output);
    }
};

/// Makes the folder of an export. Throws OutputError, also where a file is there that nobody said
/// may be replaced.
void prepare(const fs::path& target, const ExportOptions& options)
{
    if (!options.output.empty() && !options.replaces && fs::exists(fs::symlink_status(target)))
        throw OutputError(fmt::format(
            "{} exists and was left as it is. Name another file, or give --force to replace it.",
            target.string()));
    if (target.parent_path().empty())
        return;
    std::error_code code;
    fs::create_directories(target.parent_path(), code);
    if (code)
        throw OutputError(
            fmt::format("Cannot create {}: {}.", target.parent_path().string(), code.message()));
}

int exportZip(const ExportOptions& options)
{
    const RunFolder folder = options.folder();
    const fs::path target = options.target(folder, folder.id() + ".zip");
    if (options.dryRun) {
        std::cout << fmt::format(
            "Would write {} with {} of {}.\n", target.string(),
            options.files.empty() ? "all files" : fmt::format("{} files", options.files.size()),
            folder.root.string());
        return 0;
    }
    BundleOptions bundle;
    bundle.files = options.files;
    bundle.includesCheckpoints = options.withCheckpoints;
    bundle.anonymisesPaths = !options.keepsPaths;
    prepare(target, options);
    writeBundle(folder, target, bundle);
    std::cout << target.string() << '\n';
    return 0;
}

ImageSequence chooseSequence(const ExportOptions& options, const RunFolder& folder)
{
    if (!options.pattern.empty()) {
        ImageSequence sequence = matchSequence(folder, options.pattern);
        if (sequence.files.empty())
            throw InputError(
                fmt::format("No PNG file in {} fits `{}`.", folder.root.string(), options.pattern));
        return sequence;
    }
    std::vector<ImageSequence> sequences = findSequences(folder);
    if (sequences.empty())
        throw InputError(fmt::format("{} has no numbered PNG files; name some with --images.",
                                     folder.root.string()));
    if (sequences.size() == 1)
        return std::move(sequences.front());
    std::string choices;
    for (const ImageSequence& sequence : sequences)
        choices +=
            fmt::format("\n  --images '{}'  ({} images)", sequence.pattern, sequence.files.size());
    throw Error("The run has several sequences of images; choose one:" + choices, ExitCode::Usage);
}

int exportGif(const ExportOptions& options)
{
    const RunFolder folder = options.folder();
    const ImageSequence sequence = chooseSequence(options, folder);
    const fs::path target = options.target(
        folder, fmt::format("{}_{}.gif", folder.id(), animationWord(sequence.pattern)));
    if (options.dryRun) {
        std::cout << fmt::format("Would write {} from {} images:\n", target.string(),
                                 sequence.files.size());
        for (const fs::path& file : sequence.files)
            std::cout << "  " << file.lexically_relative(folder.root).string() << '\n';
        return 0;
    }
    std::vector<Image> frames;
    for (const fs::path& file : sequence.files) {
        frames.push_back(scaled(toRgb(readPng(file)), options.scale));
        if (frames.back().width != frames.front().width ||
            frames.back().height != frames.front().height) {
            throw InputError(fmt::format(
                "{} is {}×{} px, the first image is {}×{} px; an animation needs one size.",
                file.string(), frames.back().width, frames.back().height, frames.front().width,
                frames.front().height));
        }
    }
    GifOptions gif;
    gif.delayCentiseconds =
        std::max(1, static_cast<int>(std::lround(options.delayMilliseconds / 10)));
    gif.loops = !options.once;
    gif.dithers = options.dithers;
    prepare(target, options);
    writeGif(target, frames, gif);
    std::cout << target.string() << '\n';
    return 0;
}

std::string csvOf(const RunFolder& folder, const std::vector<std::string>& wanted)
{
    const std::string text = readFile(folder.metrics());
    if (wanted.empty())
        return text;
    const MetricStore store = MetricStore::fromCsv(text, folder.metrics().filename().string());
    std::string csv = MetricStore::csvHeader();
    for (const std::string& name : wanted) {
        const Series* series = store.find(name);
        if (!series) {
            throw Error(
                fmt::format("The run has no series `{}`.{}", name, suggestion(name, store.names())),
                ExitCode::Usage);
        }
        std::vector<MetricPoint> points;
        for (std::size_t i = 0; i < series->size(); ++i)
            points.push_back({series->steps()[i], series->walls()[i], name, series->values()[i]});
        csv += MetricStore::toCsv(points);
    }
    return csv;
}

int exportCsv(const ExportOptions& options)
{
    const RunFolder folder = options.folder();
    const std::string csv = csvOf(folder, options.series);
    if (options.output.empty() || options.output == "-") {
        std::cout << csv;
        return 0;
    }
    if (options.dryRun) {
        std::cout << fmt::format("Would write {} ({}).\n", options.output, bytesText(csv.size()));
        return 0;
    }
    prepare(options.output, options);
    writeFileAtomic(options.output, csv);
    std::cout << options.output << '\n';
    return 0;
}

int exportTensorBoard(const ExportOptions& options)
{
    const RunFolder folder = options.folder();
    const EventExport events = exportEvents(folder);
    // The name is that of the run's numbers: written again, they replace themselves.
    const fs::path target =
        options.output.empty() ? folder.exports() / events.name : fs::path(options.output);
    if (options.dryRun) {
        std::cout << fmt::format("Would write {} ({}).\n", target.string(),
                                 bytesText(events.bytes.size()));
        return 0;
    }
    prepare(target, options);
    writeFileAtomic(target, events.bytes);
    std::cout << target.string() << '\n';
    return 0;
}

std::shared_ptr<ExportOptions> addAction(CLI::App* command, Session& session,
                                         int (*action)(const ExportOptions&))
{
    auto options = std::make_shared<ExportOptions>();
    command->add_option("run", options->run, "Run folder or id.")->required()->type_name("RUN");
    command->add_option("-o,--output", options->output, "File to write.")->type_name("FILE");
    command->add_option("--runs-dir", options->runsFolder, "Where runs are looked for.")
        ->type_name("DIR");
    command->add_flag("-f,--force", options->replaces,
                      "Replace the file of --output where it exists.");
    command->add_flag("-n,--dry-run", options->dryRun,
                      "Say what would be written and write nothing.");
    command->callback([options, &session, action] {
        session.action = [options, action] { return action(*options); };
    });
    return options;
}

} // namespace

void addExportCommand(CLI::App& app, Session& session)
{
    CLI::App* exports =
        addLevel(app, "export", "Write a bundle, an animation or a table of a run.");
    exports->require_subcommand(1);

    CLI::App* command =
        addLevel(*exports, "zip", "Bundle with hashes; open it again with the window or unzip.");
    auto options = addAction(command, session, exportZip);
    addRepeatable(*command, "--file", options->files, "Only this file of the run (repeatable).")
        ->type_name("PATH");
    command->add_flag("--with-checkpoints", options->withCheckpoints, "Take checkpoints along.");
    command->add_flag("--keep-paths", options->keepsPaths,
                      "Leave absolute paths and names in text files.");

    command = addLevel(*exports, "gif", "Animation from a sequence of PNG files.");
    options = addAction(command, session, exportGif);
    command
        ->add_option("--images", options->pattern,
                     "Files to take, relative to the run: 'artifacts/focal/*.png'.")
        ->type_name("PATTERN");
    command->add_option("--delay", options->delayMilliseconds, "Time per image.")
        ->check(CLI::Range(10.0, 60000.0))
        ->type_name("MS")
        ->capture_default_str();
    command->add_option("--scale", options->scale, "Size against the images.")
        ->check(CLI::Range(0.01, 8.0))
        ->capture_default_str();
    command->add_flag("--dither", options->dithers, "Floyd–Steinberg dithering.");
    command->add_flag("--once", options->once, "Play once instead of for ever.");

    command = addLevel(*exports, "csv", "Every number a run reported; standard output by default.");
    options = addAction(command, session, exportCsv);
    addRepeatable(*command, "--series", options->series, "Only this series (repeatable).")
        ->type_name("NAME");

    command = addLevel(*exports, "tensorboard", "Every number as an event file of TensorBoard.");
    addAction(command, session, exportTensorBoard);
}

} // namespace vergence::cli
