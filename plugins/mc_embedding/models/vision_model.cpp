#include "plugins/mc_embedding/models/vision_model.h"

#include <span>
#include <string_view>

#include <fmt/format.h>

#include "core/artifact/digest.h"
#include "core/artifact/hf_config.h"
#include "plugins/mc_embedding/models/weight_layout.h"

namespace vergence::mc_embedding {

namespace {

const char* nameOf(Activation activation)
{
    switch (activation) {
    case Activation::QuickGelu:
        return "quick_gelu";
    case Activation::GeluTanh:
        return "gelu_pytorch_tanh";
    case Activation::GeluErf:
        return "gelu";
    default:
        return "none";
    }
}

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

/// Collects what configuration files say otherwise than the model that is built.
class Conflicts {
public:
    Conflicts(std::string source, std::vector<std::string>& notes)
        : m_source(std::move(source)),
          m_notes(notes)
    {
    }
    template <class A, class B>
    void compare(const char* what, const A& said, const B& used)
    {
        if (said != static_cast<A>(used))
            m_notes.push_back(fmt::format("{} says {} {}; {} is used", m_source, what, said, used));
    }

private:
    std::string m_source;
    std::vector<std::string>& m_notes;
};

void compareTransformers(const std::filesystem::path& path, const TowerShape& tower,
                         std::vector<std::string>& notes)
{
    const HfClip config = clipConfig(HfConfig::read(path));
    Conflicts conflicts(path.filename().string(), notes);
    const auto& said = config.image;
    conflicts.compare("hidden_size", said.hiddenSize, tower.width);
    conflicts.compare("num_hidden_layers", said.layers, tower.layers);
    conflicts.compare("num_attention_heads", said.heads, tower.heads);
    conflicts.compare("intermediate_size", said.intermediateSize, tower.hidden);
    conflicts.compare("patch_size", said.patchSize, tower.patch);
    conflicts.compare("image_size", said.imageSize, tower.imageSize);
    conflicts.compare("layer_norm_eps", said.epsilon, tower.epsilon);
    conflicts.compare("hidden_act", said.activation, std::string(nameOf(tower.activation)));
    if (!config.isSiglip)
        conflicts.compare("projection_dim", config.projectionSize, tower.feature);
}

void compareOpenClip(const std::filesystem::path& path, const TowerShape& tower,
                     std::vector<std::string>& notes)
{
    const HfConfig config = HfConfig::read(path).section("model_cfg");
    const HfConfig vision = config.section("vision_cfg");
    Conflicts conflicts(path.filename().string(), notes);
    const auto compare = [&](const HfConfig& section, const char* key, Index used) {
        if (section.has(key))
            conflicts.compare(key, section.whole(key), used);
    };
    compare(config, "embed_dim", tower.feature);
    compare(vision, "image_size", tower.imageSize);
    compare(vision, "width", tower.width);
    compare(vision, "layers", tower.layers);
    compare(vision, "patch_size", tower.patch);
    const bool isQuick = tower.activation == Activation::QuickGelu;
    if (tower.family == Family::Clip && config.flag("quick_gelu", false) != isQuick)
        conflicts.compare("activation", std::string(isQuick ? "gelu" : "quick_gelu"),
                          std::string(nameOf(tower.activation)));
}

void loadFolder(Stream& stream, const std::filesystem::path& folder,
                const std::function<bool()>& isStopped, VisionModel& model)
{
    const TowerShape& tower = model.encoder->tower();
    const auto path = weightPath(folder);
    const WeightFile file = WeightFile::open(path);
    const WeightLayout layout = weightLayout(file);
    expectTower(file, layout, tower);
    const WeightReport report =
        loadWeights(stream, model.encoder->parameters(), file, visionNames(layout), {}, isStopped);
    if (!report.unexpected.empty())
        model.notes.push_back(fmt::format("{} tensors were not used, the first is {}",
                                          report.unexpected.size(), report.unexpected.front()));
    model.encoder->refreshWeights(stream);
    model.source = folder.string();
    model.layout = mc_embedding::nameOf(layout);
    model.weightsSha256 = weightDigest(path, isStopped);
    if (const auto config = folder / "config.json";
        std::filesystem::exists(config) && layout == WeightLayout::Transformers)
        compareTransformers(config, tower, model.notes);
    if (const auto config = folder / "open_clip_config.json"; std::filesystem::exists(config))
        compareOpenClip(config, tower, model.notes);
}

void makeDemo(Stream& stream, std::uint64_t seed, VisionModel& model)
{
    setDemoWeights(stream, *model.encoder, seed);
    const auto values = model.encoder->parameters().values().toHost<float>(stream);
    const auto bytes = std::as_bytes(std::span(values));
    Digest digest;
    digest.add(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    model.weightsSha256 = digest.hex();
    model.source = "random weights";
    model.layout = "random";
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
    if (options.imageSize > 0) {
        if (!fitsSize(*tower, options.imageSize))
            throw InputError(
                fmt::format("{} has {} × {} patches of {} px; pictures of {} px do not "
                            "give as many.",
                            key, tower->grid(), tower->grid(), tower->patch, options.imageSize));
        tower->imageSize = options.imageSize;
    }
    VisionModel model;
    model.key = key;
    if (tower->family != Family::ToyLinear) {
        const Activation canonical = tower->activation;
        tower->activation = activationOf(options.activation, canonical);
        if (tower->activation != canonical)
            model.notes.push_back(fmt::format("activation {} instead of {}",
                                              nameOf(tower->activation), nameOf(canonical)));
    }
    model.preprocess = defaultPreprocess(*tower);
    EncoderOptions encoder = options.encoder;
    encoder.compute = options.compute;
    encoder.mean = model.preprocess.mean;
    encoder.deviation = model.preprocess.deviation;
    model.encoder = std::make_unique<Encoder>(stream, std::move(device), *tower, encoder);
    if (folder.empty())
        makeDemo(stream, options.demoSeed, model);
    else
        loadFolder(stream, folder, options.isStopped, model);
    return model;
}

} // namespace vergence::mc_embedding
