#include "plugins/mc_embedding/models/text_shape.h"

#include <array>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "core/artifact/digest.h"
#include "core/base/error.h"
#include "core/compute/half.h"
#include "plugins/mc_embedding/models/tower_config.h"

namespace vergence::mc_embedding {

namespace {

constexpr Index kClipVocabulary = 49'408, kGemmaVocabulary = 256'000;

TextShape clipShape(const char* key, Index width, int heads, Index feature)
{
    return {key, Family::Clip, width, 4 * width, feature, 12, heads, 77, kClipVocabulary};
}

TextShape siglipShape(const char* key, Index width, Index hidden, Index feature, int layers,
                      int heads)
{
    TextShape shape{key,    Family::Siglip, width, hidden,          feature,
                    layers, heads,          64,    kGemmaVocabulary};
    shape.activation = Activation::GeluTanh;
    shape.epsilon = 1e-6;
    return shape;
}

/// The published towers, and the one that belongs to the small CLIP of the tests.
const std::array<TextShape, 7>& table()
{
    static const std::array<TextShape, 7> shapes{
        clipShape("clip_b32", 512, 8, 512),
        clipShape("clip_l14", 768, 12, 768),
        siglipShape("siglip2_b16", 768, 3072, 768, 12, 12),
        siglipShape("siglip2_so400m", 1152, 4304, 1152, 27, 16),
        siglipShape("siglip2_so400m_p16", 1152, 4304, 1152, 27, 16),
        siglipShape("siglip2_g16", 1152, 4304, 1536, 27, 16),
        TextShape{"tiny_clip", Family::Clip, 64, 256, 48, 2, 4, 16, 96},
    };
    return shapes;
}

const char* familyName(Family family)
{
    return family == Family::Siglip ? "SigLIP" : "CLIP";
}

/// Names of the tensors that tell a layout and its extents.
struct Marks {
    TextLayout layout;
    std::string tokens, positions, firstLinear; ///< the last with {} for the block
    std::string clipProjection, siglipProjection;
};

Marks openClipMarks(const std::string& prefix)
{
    return {TextLayout::OpenClip,
            prefix + "token_embedding.weight",
            prefix + "positional_embedding",
            prefix + "transformer.resblocks.{}.mlp.c_fc.weight",
            prefix + "text_projection",
            prefix + "text_projection.weight"};
}

/// The layout of the file; nothing where it holds no text tower.
std::optional<Marks> marksOf(const WeightFile& file)
{
    const Marks transformers{TextLayout::Transformers,
                             "text_model.embeddings.token_embedding.weight",
                             "text_model.embeddings.position_embedding.weight",
                             "text_model.encoder.layers.{}.mlp.fc1.weight",
                             "text_projection.weight",
                             "text_model.head.weight"};
    for (const Marks& marks : {transformers, openClipMarks(""), openClipMarks("text.")}) {
        if (file.find(marks.tokens))
            return marks;
    }
    return std::nullopt;
}

const WeightEntry& matrixOf(const WeightFile& file, const std::string& name)
{
    const WeightEntry* entry = file.find(name);
    if (!entry || entry->shape.size() != 2)
        throw InputError(
            fmt::format("The weights in {} have {} `{}`; a whole text tower is needed.",
                        file.source(), entry ? "no matrix as" : "no", name));
    return *entry;
}

std::string blockName(const std::string& pattern, int block)
{
    std::string name = pattern;
    return name.replace(name.find("{}"), 2, std::to_string(block));
}

/// What the tensors say of the extents.
TextShape shapeOf(const WeightFile& file, const Marks& marks)
{
    TextShape shape;
    const Shape tokens = matrixOf(file, marks.tokens).shape;
    shape.vocabulary = tokens[0];
    shape.width = tokens[1];
    shape.context = matrixOf(file, marks.positions).shape[0];
    while (file.find(blockName(marks.firstLinear, shape.layers)))
        ++shape.layers;
    shape.hidden = matrixOf(file, blockName(marks.firstLinear, 0)).shape[0];
    const bool isSiglip =
        file.find(marks.siglipProjection) &&
        (marks.layout == TextLayout::OpenClip || !file.find(marks.clipProjection));
    shape.family = isSiglip ? Family::Siglip : Family::Clip;
    const bool isTransposed = !isSiglip && marks.layout == TextLayout::OpenClip;
    const Shape projection =
        matrixOf(file, isSiglip ? marks.siglipProjection : marks.clipProjection).shape;
    shape.feature = projection[isTransposed ? 1 : 0];
    shape.activation = isSiglip ? Activation::GeluTanh : Activation::QuickGelu;
    shape.epsilon = isSiglip ? 1e-6 : 1e-5;
    return shape;
}

double scalarOf(const WeightEntry& entry)
{
    const auto as = [&]<class T>(T value) {
        if (entry.bytes.size() != sizeof(T))
            throw InputError(fmt::format("`{}` is no single number.", entry.name));
        std::memcpy(&value, entry.bytes.data(), sizeof(T));
        return static_cast<double>(static_cast<Accumulator<T>>(value));
    };
    switch (entry.dtype) {
    case DType::F64:
        return as(double{});
    case DType::F16:
        return as(Float16{});
    case DType::BF16:
        return as(BFloat16{});
    case DType::F32:
        return as(float{});
    default:
        throw InputError(fmt::format("`{}` is no floating-point number.", entry.name));
    }
}

void readLogits(const WeightFile& file, TextSource& source)
{
    const WeightEntry* scale = file.find("logit_scale");
    const WeightEntry* bias = file.find("logit_bias");
    const bool needsBias = source.shape.family == Family::Siglip;
    if (!scale || (needsBias && !bias))
        throw InputError(fmt::format("The weights in {} have no `{}`, without which cosines are no "
                                     "logits.",
                                     file.source(), scale ? "logit_bias" : "logit_scale"));
    source.logitScale = std::exp(scalarOf(*scale));
    source.logitBias = bias ? scalarOf(*bias) : 0;
}

/// Keys that name the same extents in the two kinds of config file.
struct ConfigKeys {
    const char *width, *layers, *heads, *hidden, *context, *vocabulary;
};
constexpr ConfigKeys kTransformersKeys{
    "hidden_size",       "num_hidden_layers",       "num_attention_heads",
    "intermediate_size", "max_position_embeddings", "vocab_size"};
constexpr ConfigKeys kOpenClipKeys{"width", "layers", "heads", "", "context_length", "vocab_size"};

void compare(const HfConfig& config, const char* key, Index held, TextSource& source)
{
    if (!*key || !config.has(key))
        return;
    const Index said = config.whole(key);
    if (said != held)
        source.notes.push_back(
            fmt::format("{} says `{}` {}, the weights have {}; the weights decide.",
                        config.source(), key, said, held));
}

void setActivation(Activation said, const HfConfig& config, TextSource& source)
{
    if (said != source.shape.activation)
        source.notes.push_back(fmt::format("{} asks for another activation than {} usually has; "
                                           "the config decides.",
                                           config.source(), familyName(source.shape.family)));
    source.shape.activation = said;
}

void readOpenClipActivation(const HfConfig& model, const HfConfig& text, TextSource& source)
{
    // SigLIP's towers that say nothing are those of the table.
    if (source.shape.family == Family::Clip || model.has("quick_gelu") || text.has("act_kwargs"))
        setActivation(openClipActivation(model, text), model, source);
}

void readConfig(const std::filesystem::path& folder, TextSource& source)
{
    const bool isOpenClip = source.layout == TextLayout::OpenClip;
    const auto path = folder / (isOpenClip ? "open_clip_config.json" : "config.json");
    if (!std::filesystem::exists(path)) {
        source.notes.push_back(fmt::format("{} is not there; heads, activation and epsilon are "
                                           "those of the table.",
                                           path.string()));
        return;
    }
    const HfConfig whole = HfConfig::read(path);
    const HfConfig model = isOpenClip ? whole.section("model_cfg", true) : whole;
    const HfConfig text = model.section(isOpenClip ? "text_cfg" : "text_config", true);
    const ConfigKeys& keys = isOpenClip ? kOpenClipKeys : kTransformersKeys;
    TextShape& shape = source.shape;
    compare(text, keys.width, shape.width, source);
    compare(text, keys.layers, shape.layers, source);
    compare(text, keys.hidden, shape.hidden, source);
    compare(text, keys.context, shape.context, source);
    compare(text, keys.vocabulary, shape.vocabulary, source);
    shape.heads = static_cast<int>(text.whole(keys.heads, Index{shape.heads}, 0));
    if (isOpenClip) {
        shape.epsilon = text.section("norm_kwargs", true).real("eps", shape.epsilon);
        readOpenClipActivation(model, text, source);
        return;
    }
    shape.epsilon = text.real("layer_norm_eps", shape.epsilon);
    if (text.has("hidden_act"))
        setActivation(hiddenActivation(text), text, source);
}

/// Refuses the tower of another model; fills in the heads that shapes do not tell.
void compareWithTable(const WeightFile& file, TextSource& source)
{
    TextShape& shape = source.shape;
    const auto wanted = textShape(shape.key);
    if (!wanted)
        return;
    if (wanted->family != shape.family)
        throw InputError(fmt::format("{} holds the text tower of a {} model; `{}` is none.",
                                     file.source(), familyName(shape.family), shape.key));
    if (wanted->width != shape.width || wanted->layers != shape.layers ||
        wanted->feature != shape.feature)
        throw InputError(fmt::format(
            "{} holds a text tower of width {}, {} layers and {} features; `{}` has width {}, {} "
            "layers and {} features. Name the folder of that model.",
            file.source(), shape.width, shape.layers, shape.feature, shape.key, wanted->width,
            wanted->layers, wanted->feature));
    shape.heads = wanted->heads;
}

bool isTextTensor(const std::string& name, TextLayout layout)
{
    if (layout == TextLayout::Transformers)
        return name.starts_with("text_");
    return !name.starts_with("visual.") && !name.starts_with("logit_");
}

std::string hashOf(const WeightFile& file, TextLayout layout,
                   const std::function<bool()>& isStopped)
{
    Digest digest;
    for (const WeightEntry& entry : file.entries()) {
        if (isStopped && isStopped())
            break;
        if (!isTextTensor(entry.name, layout))
            continue;
        digest.add(
            fmt::format("{} {} {}\n", entry.name, nameOf(entry.dtype), toString(entry.shape)));
        digest.add({reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size()});
    }
    return digest.hex();
}

} // namespace

std::optional<TextShape> textShape(const std::string& key)
{
    for (const TextShape& shape : table()) {
        if (shape.key == key)
            return shape;
    }
    return std::nullopt;
}

WeightFile openTextWeights(const std::filesystem::path& folder)
{
    const auto openClip = folder / "open_clip_model.safetensors";
    if (!std::filesystem::is_directory(folder) || !std::filesystem::exists(openClip))
        return WeightFile::open(folder);
    const bool hasOther = std::filesystem::exists(folder / "model.safetensors") ||
                          std::filesystem::exists(folder / "model.safetensors.index.json");
    if (hasOther) { // which may be the image tower alone
        WeightFile file = WeightFile::open(folder);
        if (marksOf(file))
            return file;
    }
    return WeightFile::open(openClip);
}

TextSource readTextSource(const WeightFile& file, const std::filesystem::path& folder,
                          const std::string& key, const std::function<bool()>& isStopped)
{
    const auto marks = marksOf(file);
    if (!marks)
        throw InputError(fmt::format("{} holds no text tower; name a folder with the whole model, "
                                     "or import text features made elsewhere.",
                                     file.source()));
    TextSource source;
    source.layout = marks->layout;
    source.shape = shapeOf(file, *marks);
    source.shape.key = key;
    compareWithTable(file, source);
    readConfig(folder, source);
    TextShape& shape = source.shape;
    if (shape.heads == 0) {
        constexpr Index kUsualHead = 64;
        shape.heads = static_cast<int>(std::max<Index>(1, shape.width / kUsualHead));
        source.notes.push_back(
            fmt::format("Nothing says how many heads the text tower of {} has; {} are taken.",
                        file.source(), shape.heads));
    }
    if (shape.width % shape.heads != 0)
        throw InputError(fmt::format("{}: a width of {} does not divide into {} heads.",
                                     file.source(), shape.width, shape.heads));
    readLogits(file, source);
    source.weightsSha256 = hashOf(file, source.layout, isStopped);
    return source;
}

NameMap textNames(const TextSource& source)
{
    NameMap names;
    names.ignore("logit_").ignore("position_ids");
    if (source.layout == TextLayout::Transformers)
        return names.only("text_");
    const bool isSiglip = source.shape.family == Family::Siglip;
    names.ignore("visual.")
        .ignore("attn_mask")
        .dropPrefix("text.")
        .replace("token_embedding.weight", "text_model.embeddings.token_embedding.weight")
        .replace("positional_embedding", "text_model.embeddings.position_embedding.weight")
        .replace("transformer.resblocks.", "text_model.encoder.layers.")
        .replace(".ln_1.", ".layer_norm1.")
        .replace(".ln_2.", ".layer_norm2.")
        .replace(".attn.in_proj_", ".attention.qkv.")
        .replace(".attn.out_proj.", ".self_attn.out_proj.")
        .replace(".mlp.c_fc.", ".mlp.fc1.")
        .replace(".mlp.c_proj.", ".mlp.fc2.")
        .replace("ln_final.", "text_model.final_layer_norm.");
    if (isSiglip)
        names.replace("text_projection.", "text_model.head.");
    else
        names.replace("text_projection", "text_projection.weight")
            .transposed("text_projection.weight");
    return names;
}

} // namespace vergence::mc_embedding
