#include "plugins/mc_embedding/models/tower_config.h"

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence::mc_embedding {

namespace {

constexpr const char* kRemedy =
    "put the file that belongs to these weights beside them, or choose the folder of another model";

std::string familyName(Family family)
{
    return family == Family::Siglip ? "SigLIP" : "CLIP";
}

/// Compares what a section says with what the weights and the model key have.
class Comparison {
public:
    Comparison(const HfConfig& section, const TowerShape& tower)
        : m_section(section),
          m_tower(tower)
    {
    }
    void expect(const char* key, Index said, Index held) const
    {
        if (said != held)
            m_section.complain(fmt::format("`{}` is {}, and {} has {}; {}", key, said, m_tower.key,
                                           held, kRemedy));
    }
    void expectIfThere(const char* key, Index held) const
    {
        if (m_section.has(key))
            expect(key, m_section.whole(key), held);
    }
    /// A side of pictures that gives as many patches.
    int side(Index said) const
    {
        if (said > 1 << 20 || !fitsSize(m_tower, static_cast<int>(said)))
            m_section.complain(fmt::format("`image_size` is {}, and {} reads {} × {} patches of {} "
                                           "px; {}",
                                           said, m_tower.key, m_tower.grid(), m_tower.grid(),
                                           m_tower.patch, kRemedy));
        return static_cast<int>(said);
    }
    double epsilon(const char* key, double said) const
    {
        if (!(said > 0 && said < 1))
            m_section.complain(
                fmt::format("`{}` is {}; a number between 0 and 1 is needed", key, said));
        return said;
    }

private:
    const HfConfig& m_section;
    const TowerShape& m_tower;
};

/// Of a transformers config.json.
TowerShape fromTransformers(const HfConfig& whole, TowerShape tower)
{
    const HfClip config = clipConfig(whole);
    const bool isSiglip = tower.family == Family::Siglip;
    if (config.isSiglip != isSiglip)
        whole.complain(fmt::format("`model_type` is {}, and {} is {}; {}", whole.text("model_type"),
                                   tower.key, familyName(tower.family), kRemedy));
    const bool isImageAlone = whole.text("model_type").ends_with("vision_model");
    const HfConfig vision = isImageAlone ? whole : whole.section("vision_config", true);
    const Comparison image(vision, tower);
    image.expect("hidden_size", config.image.hiddenSize, tower.width);
    image.expect("num_hidden_layers", config.image.layers, tower.layers);
    image.expect("num_attention_heads", config.image.heads, tower.heads);
    image.expect("intermediate_size", config.image.intermediateSize, tower.hidden);
    image.expect("patch_size", config.image.patchSize, tower.patch);
    image.expect("num_channels", config.image.channels, 3);
    if (!isSiglip)
        Comparison(whole, tower).expect("projection_dim", config.projectionSize, tower.feature);
    tower.imageSize = image.side(config.image.imageSize);
    tower.epsilon = image.epsilon("layer_norm_eps", config.image.epsilon);
    tower.activation = vision.has("hidden_act") ? hiddenActivation(vision) : tower.activation;
    return tower;
}

/// Of an open_clip_config.json; towers of timm describe themselves by a name alone.
TowerShape fromOpenClip(const HfConfig& whole, WeightLayout layout, TowerShape tower)
{
    const HfConfig model = whole.section("model_cfg");
    const HfConfig vision = model.section("vision_cfg");
    Comparison(model, tower).expectIfThere("embed_dim", tower.feature);
    const Comparison image(vision, tower);
    if (vision.has("image_size"))
        tower.imageSize = image.side(vision.whole("image_size"));
    if (layout != WeightLayout::OpenClip)
        return tower;
    image.expectIfThere("width", tower.width);
    image.expectIfThere("layers", tower.layers);
    image.expectIfThere("patch_size", tower.patch);
    image.expectIfThere("head_width", tower.headSize());
    const HfConfig norm = vision.section("norm_kwargs", true);
    tower.epsilon = Comparison(norm, tower).epsilon("eps", norm.real("eps", tower.epsilon));
    tower.activation = openClipActivation(model, vision);
    return tower;
}

} // namespace

std::string activationName(Activation activation)
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

Activation hiddenActivation(const HfConfig& tower)
{
    const std::string name = tower.text("hidden_act");
    if (name == "gelu_new") // the same under an older name
        return Activation::GeluTanh;
    for (const auto known : {Activation::QuickGelu, Activation::GeluErf, Activation::GeluTanh}) {
        if (name == activationName(known))
            return known;
    }
    tower.complain(fmt::format("`hidden_act` is {}; the lab computes quick_gelu, gelu and "
                               "gelu_pytorch_tanh. Correct the file if it errs, else take the "
                               "model out of `models`",
                               name));
}

Activation openClipActivation(const HfConfig& model, const HfConfig& tower)
{
    if (model.flag("quick_gelu", false))
        return Activation::QuickGelu;
    const HfConfig options = tower.section("act_kwargs", true);
    const std::string approximation = options.text("approximate", "none");
    if (approximation != "none" && approximation != "tanh")
        options.complain(fmt::format("`approximate` is {}; none or tanh is needed", approximation));
    return approximation == "tanh" ? Activation::GeluTanh : Activation::GeluErf;
}

TowerShape describedTower(const std::filesystem::path& folder, WeightLayout layout,
                          const TowerShape& tower, std::vector<std::string>& notes)
{
    const bool isTransformers = layout == WeightLayout::Transformers;
    const auto path = folder / (isTransformers ? "config.json" : "open_clip_config.json");
    if (!std::filesystem::exists(path))
        return tower;
    const HfConfig config = HfConfig::read(path);
    const TowerShape said =
        isTransformers ? fromTransformers(config, tower) : fromOpenClip(config, layout, tower);
    const auto note = [&](const char* what, const auto& value, const auto& usual) {
        if (value != usual)
            notes.push_back(fmt::format("{} is {} as {} has it; the published {} has {}", what,
                                        value, path.string(), tower.key, usual));
    };
    note("activation", activationName(said.activation), activationName(tower.activation));
    note("epsilon of norms", said.epsilon, tower.epsilon);
    note("side of pictures", said.imageSize, tower.imageSize);
    return said;
}

} // namespace vergence::mc_embedding
