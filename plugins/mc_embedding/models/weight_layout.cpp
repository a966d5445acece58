#include "plugins/mc_embedding/models/weight_layout.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "core/artifact/digest.h"
#include "core/artifact/mapped_file.h"
#include "core/base/error.h"

namespace vergence::mc_embedding {

namespace {

constexpr std::size_t kDigestPiece = std::size_t{1} << 24;

/// Where a layout keeps what tells towers apart.
struct LayoutNames {
    const char* patches;
    const char* classToken; ///< null: the family has none
    const char* positions;
    const char* blocks; ///< followed by the number and a dot
};

LayoutNames namesOf(WeightLayout layout)
{
    switch (layout) {
    case WeightLayout::OpenClip:
        return {"visual.conv1.weight", "visual.class_embedding", "visual.positional_embedding",
                "visual.transformer.resblocks."};
    case WeightLayout::OpenClipTimm:
        return {"visual.trunk.patch_embed.proj.weight", nullptr, "visual.trunk.pos_embed",
                "visual.trunk.blocks."};
    default:
        return {"vision_model.embeddings.patch_embedding.weight",
                "vision_model.embeddings.class_embedding",
                "vision_model.embeddings.position_embedding.weight",
                "vision_model.encoder.layers."};
    }
}

int countBlocks(const WeightFile& file, const std::string& prefix)
{
    int count = 0;
    for (const WeightEntry& entry : file.entries()) {
        if (!entry.name.starts_with(prefix))
            continue;
        int block = -1;
        std::from_chars(entry.name.data() + prefix.size(), entry.name.data() + entry.name.size(),
                        block);
        count = std::max(count, block + 1);
    }
    return count;
}

/// What the names and shapes of a file say.
struct FoundTower {
    Family family = Family::Clip;
    Index width = 0, tokens = 0, patch = 0;
    int layers = 0;

    bool isOf(const TowerShape& t) const
    {
        return t.family == family && t.width == width && t.tokens() == tokens && t.patch == patch &&
               t.layers == layers;
    }
    std::string text() const
    {
        return fmt::format("{} with width {}, {} tokens, patches of {} px and {} blocks",
                           family == Family::Clip ? "CLIP" : "SigLIP", width, tokens, patch,
                           layers);
    }
};

FoundTower foundTower(const WeightFile& file, WeightLayout layout)
{
    const LayoutNames names = namesOf(layout);
    const WeightEntry* patches = file.find(names.patches);
    const WeightEntry* positions = file.find(names.positions);
    if (!patches || patches->shape.size() != 4 || !positions || positions->shape.size() < 2)
        throw InputError(fmt::format("{}: {} or {} is missing or of another rank.", file.source(),
                                     names.patches, names.positions));
    FoundTower found;
    const bool hasClass = names.classToken && file.find(names.classToken);
    found.family = hasClass ? Family::Clip : Family::Siglip;
    found.width = patches->shape[0];
    found.patch = patches->shape[3];
    found.tokens = positions->shape[positions->shape.size() - 2];
    found.layers = countBlocks(file, names.blocks);
    return found;
}

NameMap openClipNames()
{
    NameMap names;
    names.only("visual.")
        .replace("visual.conv1.", "vision_model.embeddings.patch_embedding.")
        .replace("visual.class_embedding", "vision_model.embeddings.class_embedding")
        .replace("visual.positional_embedding", "vision_model.embeddings.position_embedding.weight")
        .replace("visual.ln_pre.", "vision_model.pre_layrnorm.")
        .replace("visual.ln_post.", "vision_model.post_layernorm.")
        .replace("visual.proj", "visual_projection.weight")
        .replace("visual.transformer.resblocks.", "vision_model.encoder.layers.")
        .replace(".ln_1.", ".layer_norm1.")
        .replace(".ln_2.", ".layer_norm2.")
        .replace(".attn.in_proj_", ".attention.qkv.")
        .replace(".attn.out_proj.", ".self_attn.out_proj.")
        .replace(".mlp.c_fc.", ".mlp.fc1.")
        .replace(".mlp.c_proj.", ".mlp.fc2.")
        .transposed("visual_projection.weight");
    return names;
}

NameMap timmNames()
{
    NameMap names;
    names.only("visual.trunk.")
        .replace("visual.trunk.patch_embed.proj.", "vision_model.embeddings.patch_embedding.")
        .replace("visual.trunk.pos_embed", "vision_model.embeddings.position_embedding.weight")
        .replace("visual.trunk.norm.", "vision_model.post_layernorm.")
        .replace("visual.trunk.attn_pool.latent", "vision_model.head.probe")
        .replace("visual.trunk.attn_pool.q.", "vision_model.head.attention.q.")
        .replace("visual.trunk.attn_pool.kv.", "vision_model.head.attention.kv.")
        .replace("visual.trunk.attn_pool.proj.", "vision_model.head.attention.out_proj.")
        .replace("visual.trunk.attn_pool.norm.", "vision_model.head.layernorm.")
        .replace("visual.trunk.attn_pool.mlp.", "vision_model.head.mlp.")
        .replace("visual.trunk.blocks.", "vision_model.encoder.layers.")
        .replace(".norm1.", ".layer_norm1.")
        .replace(".norm2.", ".layer_norm2.")
        .replace(".attn.qkv.", ".attention.qkv.")
        .replace(".attn.proj.", ".self_attn.out_proj.");
    return names;
}

} // namespace

WeightLayout weightLayout(const WeightFile& file)
{
    for (const auto layout :
         {WeightLayout::Transformers, WeightLayout::OpenClip, WeightLayout::OpenClipTimm}) {
        if (file.find(namesOf(layout).patches))
            return layout;
    }
    throw InputError(fmt::format("{} holds no image tower of CLIP or SigLIP: none of {}, {}, {} is "
                                 "there.",
                                 file.source(), namesOf(WeightLayout::Transformers).patches,
                                 namesOf(WeightLayout::OpenClip).patches,
                                 namesOf(WeightLayout::OpenClipTimm).patches));
}

std::string nameOf(WeightLayout layout)
{
    return layout == WeightLayout::Transformers ? "transformers" : "open_clip";
}

NameMap visionNames(WeightLayout layout)
{
    switch (layout) {
    case WeightLayout::OpenClip:
        return openClipNames();
    case WeightLayout::OpenClipTimm:
        return timmNames();
    default:
        return NameMap().ignore("text_").ignore("logit_").ignore("position_ids");
    }
}

void expectTower(const WeightFile& file, WeightLayout layout, const TowerShape& tower)
{
    const FoundTower found = foundTower(file, layout);
    if (found.isOf(tower))
        return;
    const auto& zoo = modelZoo();
    const auto known =
        std::ranges::find_if(zoo, [&](const TowerShape& t) { return found.isOf(t); });
    throw InputError(fmt::format("{} holds weights of {}, not of {}. Choose the folder of that "
                                 "model.",
                                 file.source(), known == zoo.end() ? found.text() : known->key,
                                 tower.key));
}

std::filesystem::path weightPath(const std::filesystem::path& folder)
{
    namespace fs = std::filesystem;
    const auto openClip = folder / "open_clip_model.safetensors";
    if (fs::exists(folder / "model.safetensors") ||
        fs::exists(folder / "model.safetensors.index.json") || !fs::is_directory(folder))
        return folder;
    if (fs::exists(openClip))
        return openClip;
    for (const auto& entry : fs::directory_iterator(folder)) {
        const auto kind = entry.path().extension();
        if (kind == ".bin" || kind == ".pt" || kind == ".pth")
            throw InputError(fmt::format("{} is a pickled checkpoint, which may run foreign code "
                                         "when read. Convert it to safetensors first.",
                                         entry.path().string()));
    }
    return folder;
}

std::string weightDigest(const std::filesystem::path& path, const std::function<bool()>& isStopped)
{
    std::vector<std::filesystem::path> files;
    if (!std::filesystem::is_directory(path)) {
        files.push_back(path);
    } else if (std::filesystem::exists(path / "model.safetensors")) {
        files.push_back(path / "model.safetensors");
    } else {
        for (const auto& entry : std::filesystem::directory_iterator(path)) {
            if (entry.path().extension() == ".safetensors")
                files.push_back(entry.path());
        }
        std::ranges::sort(files);
    }
    Digest digest;
    for (const auto& file : files) {
        const MappedFile mapped(file);
        const std::string_view bytes(reinterpret_cast<const char*>(mapped.bytes().data()),
                                     mapped.bytes().size());
        for (std::size_t at = 0; at < bytes.size(); at += kDigestPiece) {
            if (isStopped && isStopped())
                return {};
            digest.add(bytes.substr(at, kDigestPiece));
        }
    }
    return digest.hex();
}

} // namespace vergence::mc_embedding
