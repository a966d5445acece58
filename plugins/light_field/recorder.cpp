#include "plugins/light_field/recorder.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>

#include <fmt/format.h>

#include "core/artifact/gif.h"
#include "core/artifact/image_ops.h"
#include "core/artifact/npy.h"
#include "core/base/log.h"
#include "plugins/light_field/compute/eye_view.h"
#include "plugins/light_field/loss_plot.h"
#include "plugins/light_field/motion.h"
#include "plugins/light_field/pictures.h"

namespace vergence::light_field {

namespace {

/// Host copies of everything that one item writes; no tensor of the run is touched by the writer
/// thread.
struct ItemFiles {
    std::string folder, label;
    ItemResult result;
    Optics optics;
    bool rawExport = false;
    Image eyeView, target, error;
    std::vector<Image> contributions, focus, eyes;
    std::string planesName;
    std::vector<float> planeValues;
    std::vector<std::int64_t> planeShape;
};

void writeGifArtifact(ArtifactStore& artifacts, const std::string& name,
                      const std::vector<Image>& frames, int delay, const std::string& role,
                      const std::string& title)
{
    writeGif(artifacts.pathFor(name), frames, {.delayCentiseconds = delay});
    artifacts.add(name, role, title);
}

/// The lossless planes are packed on a thread of their own, beside the pictures of the planes.
void writePlanes(ArtifactStore& artifacts, const ItemFiles& files)
{
    std::future<void> packing;
    if (files.planesName.ends_with(".npz"))
        packing = std::async(std::launch::async, [&] {
            writeNpz(artifacts.pathFor(files.planesName), "planes", files.planeValues,
                     files.planeShape);
        });
    const std::vector<Image> planes =
        planeImages(files.planeValues, files.optics.panelResolution,
                    static_cast<int>(files.planeShape.back()), files.rawExport);
    for (std::size_t k = 0; k < planes.size(); ++k)
        artifacts.writePng(fmt::format("{}/planes/plane_{}.png", files.folder, k), planes[k],
                           "display-plane", fmt::format("Plane {} of {}", k, files.label));
    artifacts.writePng(files.folder + "/planes_contact.png", contactSheet(planes, files.optics),
                       "contact-sheet", "Planes of " + files.label);
    const std::string title = "Planes of " + files.label + ", linear floats";
    if (packing.valid()) {
        packing.get();
        artifacts.add(files.planesName, "display-planes", title);
    } else {
        artifacts.writeNpy(files.planesName, files.planeValues, files.planeShape, "display-planes",
                           title);
    }
}

void writeFiles(ArtifactStore& artifacts, const ItemFiles& files)
{
    const auto name = [&](const char* file) { return files.folder + "/" + file; };
    artifacts.writeText(name("loss.csv"), lossCsv(files.result), "loss", "Loss of " + files.label);
    artifacts.writePng(name("loss.png"), plotLoss(files.result, files.label), "loss-plot",
                       "Loss of " + files.label);
    artifacts.writePng(name("eye_view.png"), files.eyeView, "eye-view",
                       "Eye view of " + files.label);
    artifacts.writePng(name("target.png"), files.target, "target", "Target of " + files.label);
    artifacts.writePng(name("error.png"), files.error, "error", "Error of " + files.label);
    writePlanes(artifacts, files);
    for (std::size_t k = 0; k < files.contributions.size(); ++k)
        artifacts.writePng(fmt::format("{}/contributions/plane_{}.png", files.folder, k),
                           files.contributions[k], "contribution",
                           fmt::format("Eye view of plane {} alone, {}", k, files.label));
    if (!files.focus.empty())
        writeGifArtifact(artifacts, name("accommodation.gif"), files.focus, 20, "focus-sweep",
                         "Focus sweep of " + files.label);
    if (!files.eyes.empty())
        writeGifArtifact(artifacts, name("eyebox.gif"), files.eyes, 20, "eye-sweep",
                         "Eye movement of " + files.label);
    log("light_field").info("The files of {} are written to {}.", files.label, files.folder);
}

} // namespace

Recorder::~Recorder()
{
    if (m_writing.valid())
        m_writing.wait();
}

std::string Recorder::folderOf(const SweepItem& item)
{
    if (item.config.sweep == "boards")
        return "boards/" + item.folder;
    if (item.config.sweep == "parameter")
        return "values/" + item.folder;
    return item.config.sweep == "scenes" ? "scenes/" + item.folder : item.folder;
}

std::string Recorder::planesName(const SweepItem& item)
{
    return folderOf(item) + (item.config.isSeedProfile() ? "/planes.npz" : "/planes.npy");
}

int nominalState(const std::vector<EyeState>& states)
{
    int centred = 0;
    while (centred < static_cast<int>(states.size()) &&
           states[static_cast<std::size_t>(centred)].x == states[0].x &&
           states[static_cast<std::size_t>(centred)].y == states[0].y)
        ++centred;
    return (centred - 1) / 2;
}

void Recorder::writeItem(Stream& stream, const std::shared_ptr<Device>& device,
                         const SweepItem& item, const Geometry& geometry,
                         const ItemTargets& targets, const Tensor& planes, const Tensor& views,
                         const ItemResult& result)
{
    const LightFieldConfig& c = item.config;
    const int side = geometry.optics.renderResolution, channels = item.channels;
    const int nominal = nominalState(geometry.training);
    ItemFiles files;
    files.folder = folderOf(item);
    files.label = item.label;
    files.planesName = planesName(item);
    files.result = result;
    files.optics = geometry.optics;
    files.rawExport = c.rawExport;
    const std::vector<float> view = interleaved(stream, views, nominal, channels);
    const std::vector<float> target =
        interleaved(stream, targets.training.radiance, nominal, channels);
    files.eyeView = imageFromLinear(view, side, side, channels, c.rawExport);
    files.target = imageFromLinear(target, side, side, channels, c.rawExport);
    files.error = errorImage(view, target, side, side, channels);
    files.planeShape = {planes.extent(0), planes.extent(1), planes.extent(2), channels};
    files.planeValues = interleaved(
        stream,
        planes.reshaped({planes.extent(0) * planes.extent(1), planes.extent(2), planes.extent(3)}),
        0, channels);
    const bool isFull = c.output == "full" && !c.isSeedProfile() && !result.isPartial;
    if (isFull) {
        EyeRenderer renderer(stream, device, geometry.optics, c.raysPerPixel);
        const Tensor parts = renderer.contributions(
            stream, planes, geometry.training[static_cast<std::size_t>(nominal)]);
        for (int k = 0; k < geometry.optics.planes(); ++k)
            files.contributions.push_back(
                imageFromLinear(interleaved(stream, parts, k, channels), side, side, channels));
        files.eyes = eyeSweep(stream, device, item, geometry, planes);
    }
    const bool isChosenBoard = c.sweep == "boards" && c.gifBoard > 0 && item.x == c.gifBoard;
    if (isFull || (isChosenBoard && !c.isSeedProfile() && !result.isPartial))
        files.focus = focusSweep(stream, device, item, geometry, planes);

    wait();
    m_writing = std::async(std::launch::async,
                           [this, files = std::move(files)] { writeFiles(m_artifacts, files); });
}

void Recorder::wait()
{
    if (m_writing.valid())
        m_writing.get();
}

void Recorder::writeSweep(const std::vector<SweepItem>& items,
                          const std::vector<ItemResult>& results,
                          const std::function<bool()>& isStopped)
{
    wait();
    m_artifacts.writeText("sweep.csv", sweepCsv(items, results), "sweep", "Sweep");
    std::vector<Image> frames;
    for (const ItemResult& result : results) {
        if (isStopped())
            return;
        const SweepItem& item = items[static_cast<std::size_t>(result.index)];
        const auto path = m_artifacts.pathFor(folderOf(item) + "/eye_view.png");
        if (!result.failure.empty() || !std::filesystem::exists(path))
            continue;
        Image frame = toRgb(readPng(path));
        burnLabel(frame, item.label);
        frames.push_back(std::move(frame));
    }
    // A parameter sweep may vary the picture size; a GIF has one.
    std::erase_if(frames, [&](const Image& frame) { return frame.width != frames.front().width; });
    if (!frames.empty())
        writeGifArtifact(m_artifacts, "sweep.gif", frames, 200, "sweep-gif",
                         "Eye views over the sweep");
    log("light_field")
        .info("sweep.csv with {} solved items and sweep.gif with {} pictures are written.",
              results.size(), frames.size());
}

} // namespace vergence::light_field
