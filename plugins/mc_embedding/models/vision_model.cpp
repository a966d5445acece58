#include "plugins/mc_embedding/models/vision_model.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "core/artifact/digest.h"
#include "plugins/mc_embedding/models/tower_config.h"

namespace vergence::mc_embedding {

namespace {

Activation activationOf(const std::string& name, Activation canonical)
{
    if (name == "canonical")
        return canonical;
    if (name == "quick")
        return Activation::QuickGelu;
    if (name == "erf")
        return Activation::GeluErf;
    if (name == "tanh")
        return Activation::GeluTanh;
    throw InputError(
        fmt::format("There is no activation {}; choose canonical, quick, erf or tanh.", name));
}

/// Weights of a folder before they are read.
struct WeightSource {
    std::filesystem::path folder, path;
    WeightFile file;
    WeightLayout layout;
};

/// Throws InputError where the folder has weights of no model, or not of this one.
WeightSource openWeights(const std::filesystem::path& folder, const TowerShape& tower)
{
    const auto path = weightPath(folder);
    WeightFile file = WeightFile::open(path);
    const WeightLayout layout = weightLayout(file);
    expectTower(file, layout, tower);
    return {folder, path, std::move(file), layout};
}

void readWeights(Stream& stream, const WeightSource& source, const std::function<bool()>& isStopped,
                 VisionModel& model)
{
    const WeightReport report = loadWeights(stream, model.encoder->parameters(), source.file,
                                            visionNames(source.layout), {}, isStopped);
    if (!report.unexpected.empty())
        model.notes.push_back(fmt::format("{} tensors were not used, the first is {}",
                                          report.unexpected.size(), report.unexpected.front()));
    model.encoder->refreshWeights(stream, isStopped);
    model.source = source.folder.string();
    model.layout = mc_embedding::nameOf(source.layout);
    model.weightsSha256 = weightDigest(source.path, isStopped);
}

/// SHA-256 of all values; empty where stopped.
std::string valuesDigest(Stream& stream, const Tensor& values,
                         const std::function<bool()>& isStopped)
{
    constexpr Index kPiece = Index{1} << 22;
    const Tensor flat = values.reshaped({values.size()});
    Digest digest;
    for (Index at = 0; at < flat.size(); at += kPiece) {
        if (isStopped && isStopped())
            return {};
        const auto piece =
            flat.narrow(0, at, std::min(kPiece, flat.size() - at)).toHost<float>(stream);
        const auto bytes = std::as_bytes(std::span(piece));
        digest.add(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    }
    return digest.hex();
}

void makeDemo(Stream& stream, const VisionModelOptions& options, VisionModel& model)
{
    setDemoWeights(stream, *model.encoder, options.demoSeed, options.isStopped);
    model.source = "random weights";
    model.layout = "random";
    model.weightsSha256 =
        valuesDigest(stream, model.encoder->parameters().values(), options.isStopped);
}

/// What the user has chosen in place of the model's own.
void choose(const VisionModelOptions& options, TowerShape& tower, std::vector<std::string>& notes)
{
    if (options.imageSize > 0) {
        if (!fitsSize(tower, options.imageSize))
            throw InputError(
                fmt::format("{} has {} × {} patches of {} px; pictures of {} px do not "
                            "give as many.",
                            tower.key, tower.grid(), tower.grid(), tower.patch, options.imageSize));
        tower.imageSize = options.imageSize;
    }
    if (tower.family == Family::ToyLinear)
        return;
    const Activation own = tower.activation;
    tower.activation = activationOf(options.activation, own);
    if (tower.activation != own)
        notes.push_back(fmt::format("activation {} instead of {}", activationName(tower.activation),
                                    activationName(own)));
}

} // namespace

VisionModel loadVisionModel(Stream& stream, std::shared_ptr<Device> device, const std::string& key,
                            const std::filesystem::path& folder, const VisionModelOptions& options)
{
    auto tower = towerShape(key);
    if (!tower)
        throw InputError(fmt::format("There is no model {}.", key));
    if (tower->family == Family::ToyLinear && !folder.empty())
        throw InputError(fmt::format("{} has random weights only; leave its folder empty.", key));
    VisionModel model;
    model.key = key;
    std::optional<WeightSource> source;
    if (!folder.empty()) {
        source = openWeights(folder, *tower);
        tower = describedTower(folder, source->layout, *tower, model.notes);
    }
    choose(options, *tower, model.notes);
    model.preprocess = defaultPreprocess(*tower);
    EncoderOptions encoder = options.encoder;
    encoder.compute = options.compute;
    encoder.mean = model.preprocess.mean;
    encoder.deviation = model.preprocess.deviation;
    model.encoder = std::make_unique<Encoder>(stream, std::move(device), *tower, encoder);
    if (source)
        readWeights(stream, *source, options.isStopped, model);
    else
        makeDemo(stream, options, model);
    return model;
}

FolderReport inspectFolder(const std::string& key, const std::filesystem::path& folder)
{
    FolderReport report;
    const TowerShape tower = towerShape(key).value();
    std::optional<WeightSource> source;
    try {
        source = openWeights(folder, tower);
    } catch (const InputError& failure) {
        report.unusable = failure.what();
        return report;
    }
    try {
        const TowerShape said = describedTower(folder, source->layout, tower, report.notes);
        report.summary = fmt::format("{}: {} layout, pictures of {} px, {}", key,
                                     mc_embedding::nameOf(source->layout), said.imageSize,
                                     activationName(said.activation));
    } catch (const InputError& failure) {
        report.contradiction = failure.what();
    }
    return report;
}

} // namespace vergence::mc_embedding
