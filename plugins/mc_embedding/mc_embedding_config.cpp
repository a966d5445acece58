#include "plugins/mc_embedding/mc_embedding_config.h"

#include <algorithm>
#include <array>

#include "plugins/mc_embedding/compute/model_zoo.h"
#include "plugins/mc_embedding/compute/sites.h"
#include "plugins/mc_embedding/config_rules.h"
#include "plugins/mc_embedding/study/score_kinds.h"

namespace vergence::mc_embedding {

namespace {

using C = McEmbeddingConfig;
using Builder = SchemaBuilder<McEmbeddingConfig>;

struct WeightFolder {
    const char* key;
    std::filesystem::path C::*member;
};
constexpr std::array kWeightFolders{
    WeightFolder{"clip_b32", &C::folderClipB32},
    WeightFolder{"clip_l14", &C::folderClipL14},
    WeightFolder{"siglip2_b16", &C::folderSiglip2B16},
    WeightFolder{"siglip2_so400m", &C::folderSiglip2So400m},
    WeightFolder{"siglip2_so400m_p16", &C::folderSiglip2So400mP16},
    WeightFolder{"siglip2_g16", &C::folderSiglip2G16},
};

const std::vector<std::string> kActivations{"canonical", "quick", "erf", "tanh"};

std::vector<std::string> modelKeys()
{
    std::vector<std::string> keys;
    for (const TowerShape& tower : modelZoo())
        keys.push_back(tower.key);
    return keys;
}

std::vector<std::string> scoreNames()
{
    std::vector<std::string> names;
    for (const ScoreKind& kind : scoreKinds())
        names.push_back(kind.name);
    return names;
}

void addGeneral(Builder& b)
{
    b.group("general");
    b.add("experiment", &C::experiment)
        .choices(experimentNames())
        .distinct()
        .title("Experiments")
        .count(1, 32)
        .help("What is worked out from the measurements: exp0 (repeatability), exp0b (shape of the "
              "cloud), exp4 (models side by side), exp5 (against zero-shot ambiguity), phase1 (all "
              "of these), exp1 (ranks over p), exp2 (painted against natural), exp3 (placements), "
              "exp6 (linear leverage), exp7 (degraded copies as noise of the data), exp8 (space of "
              "texts), exp9 (tracking), exp10 (text tower), exp11 (rates by depth), "
              "mean_convergence, degradation, conformal, mnist_grid. Passes that several need are "
              "run once.");
    b.add("seed", &C::seed)
        .decisive()
        .help("Seed of masks, sampling, demo weights and demo images.");
    b.add("mask_identity", &C::maskIdentity)
        .decisive()
        .choices({"content", "index"})
        .advanced()
        .help("What a mask belongs to: the content of the image file, so that masks do not depend "
              "on which other images are there, or its place in the list.");
}

void addModels(Builder& b)
{
    b.group("models");
    b.add("models", &C::models)
        .choices(modelKeys())
        .distinct()
        .count(1, 16)
        .help("Image encoders: clip_b32, clip_l14, siglip2_b16, siglip2_so400m, "
              "siglip2_so400m_p16, siglip2_g16; and with made-up weights tiny_clip, tiny_siglip, "
              "toy_linear.");
    for (const WeightFolder& folder : kWeightFolders)
        b.add("folder_" + std::string(folder.key), folder.member)
            .title("Weights of " + std::string(folder.key))
            .help("Folder with its weights (safetensors) in the Transformers or open_clip layout. "
                  "Without it the model is left out.");
    b.add("allow_random", &C::allowRandom)
        .advanced()
        .help("Give models without a folder random weights, to measure time; their scores mean "
              "nothing.");
    b.add("precision", &C::precision)
        .decisive()
        .help("Of matrix products; sums, norms, softmax and statistics are wider. auto: fp16 on "
              "CUDA, fp32 on the CPU. tf32: fp32 whose operands tensor cores round to 10 bits, "
              "much faster on CUDA; fp32 elsewhere. Where fp16 overflows, the model starts anew "
              "in bf16.");
    b.add("activation", &C::activation)
        .decisive()
        .choices(kActivations)
        .advanced()
        .help("Activation of the MLPs in place of the model's own (canonical: as the configuration "
              "file of its folder says, else as published); erf gives the published CLIP numbers, "
              "which used the wrong one.");
}

void addImages(Builder& b)
{
    b.group("images");
    b.add("folder", &C::folder)
        .folder()
        .title("Image folder")
        .help("Folder of JPEG or PNG pictures; subfolders are classes. Demo models "
              "paint their own pictures where neither folder nor manifest is given.");
    b.add("manifest", &C::manifest)
        .file()
        .title("Image list")
        .help("JSON with \"paths\", one path per line, or path<TAB>label; relative to the folder.");
    b.add("count", &C::count)
        .title("Images N")
        .range(1, 1'000'000)
        .help("Images to draw; fewer are taken, with a warning, where there are fewer.");
    b.add("sampling", &C::sampling)
        .choices({"stratified", "uniform", "manifest"})
        .help("How they are drawn: in turn from every subfolder, uniformly, or in the list's "
              "order.");
    b.group("preprocess");
    b.add("filter", &C::filter)
        .decisive()
        .choices({"per_model", "bicubic", "bilinear"})
        .advanced()
        .help("Resampling; per_model: bicubic for CLIP, bilinear for SigLIP 2.");
    b.add("crop", &C::crop)
        .decisive()
        .choices({"torch", "floor"})
        .advanced()
        .help("Rounding of odd margins of CLIP's centre crop; floor is that of Transformers.");
    b.add("size", &C::size)
        .decisive()
        .title("Side of the pictures")
        .range(0, 4096)
        .unit("px")
        .advanced()
        .help("Side of the preprocessed pictures; 0: that of the model. Others must give the model "
              "as many patches: 378 is what open_clip shows siglip2_so400m instead of 384.");
    b.add("exif", &C::exif)
        .decisive()
        .advanced()
        .help("Turn pictures as their EXIF orientation says; the original did not.");
}

void addPerturbation(Builder& b)
{
    b.group("dropout");
    b.add("p", &C::p)
        .decisive()
        .title("Drop probability p")
        .range(0, 0.9)
        .help("Share of the values that a mask sets to 0; what is left is scaled by 1/(1 − p).");
    b.add("placement", &C::placement)
        .decisive()
        .choices(placementPresets())
        .help("Which values are masked. all_linear: outputs of all linear layers of blocks and "
              "head. mlp_only and siglip_transformers are what the published numbers really used.");
    b.add("blocks", &C::blocks)
        .decisive()
        .range(0, 100)
        .advanced()
        .help("Only these blocks, counted from 0; the head of SigLIP counts as one more. Empty: "
              "all.");
    b.add("sites", &C::sites)
        .decisive()
        .range(0, 65535)
        .visibleIf("placement=sites")
        .help("Exactly these sites, 16 · block + code; codes: 0 q, 1 k, 2 v, 3 out, 4 fc1, 5 fc2.");
    b.add("extra_sites", &C::extraSites)
        .choices(extraSiteNames())
        .distinct()
        .decisive()
        .advanced()
        .help("Sites beside those of the placement: patch_embedding, final_projection, "
              "position_add, attention_probabilities, after_activation, block_output.");
    b.group("perturbation");
    b.add("kind", &C::kind)
        .decisive()
        .choices({"dropout", "gaussian", "scale", "stochastic_depth"})
        .help("What happens at a site: a dropout mask, noise in units of the value's own spread, "
              "random scaling, or whole branches skipped (with the placement stochastic_depth).");
    b.add("magnitude", &C::magnitude)
        .decisive()
        .range(0, 10)
        .visibleIf("kind=gaussian|scale")
        .help("Strength of noise or scaling.");
}

void addStudy(Builder& b)
{
    b.group("study");
    b.add("trials", &C::trials)
        .title("Trials K")
        .range(1, 65535)
        .help("Repetitions of the whole estimate, from which repeatability follows.");
    b.add("passes", &C::passes)
        .title("Passes T")
        .range(2, 65535)
        .count(1, 16)
        .help("Passes of a trial, ascending; smaller ones are the beginnings of the largest and "
              "cost nothing.");
    b.add("metrics", &C::metrics)
        .choices(scoreNames())
        .distinct()
        .count(1, 32)
        .help("Scores per image and trial: trace_pre, trace_post, weighted_trace, topk_trace, "
              "trace_sum, angular_var, angular_msq, circular_variance, tangent_trace, anisotropy, "
              "effective_rank, logdet_pseudo, logdet_eps, offdiag_l1_sum, offdiag_l1_ratio, "
              "offdiag_fro_ratio, norm_var, max_dim_var, top_eigenvalue.");
    b.add("variance", &C::variance)
        .decisive()
        .choices({"unbiased", "biased"})
        .advanced()
        .help(
            "Divide by T − 1, or by T as the published numbers do. Of traces and weighted traces; "
            "scores of the cloud's shape, Exp 0b and mean_convergence always divide by T − 1.");
    b.add("geometry_trials", &C::geometryTrials)
        .range(1, 65535)
        .advanced()
        .help("Exp 0b looks at the first so many trials.");
    b.add("exp5_count", &C::exp5Count)
        .range(0, 1'000'000)
        .advanced()
        .help("Images for exp5 beside other experiments; 0: the same images and trials.");
    b.add("exp5_trials", &C::exp5Trials)
        .range(1, 65535)
        .advanced()
        .help("Trials for exp5 where exp5_count is not 0.");
    b.add("exp5_models", &C::exp5Models)
        .advanced()
        .help("Which of the models exp5 judges; empty: all.");
    b.add("reuse_from", &C::reuseFrom)
        .folder()
        .advanced()
        .help("Folder of an earlier run: what it measured under the same settings is taken over, "
              "with fewer images, trials or passes too.");
    b.group("compare");
    b.add("compare_placements", &C::comparePlacements)
        .advanced()
        .help("Measure each model once per placement of this list; \"+\" adds extra sites: "
              "\"block_output+final_projection\". Empty: only `placement`.");
    b.add("compare_activations", &C::compareActivations)
        .choices(kActivations)
        .distinct()
        .advanced()
        .help("Measure each model once per activation of this list.");
    b.add("compare_p", &C::compareP)
        .range(0, 0.9)
        .advanced()
        .help("Measure each model once per drop probability of this list.");
    b.add("compare_blocks", &C::compareBlocks)
        .range(0, 100)
        .advanced()
        .help("Measure each model once per block of this list, masks in that block alone.");
    b.group("degradation");
    b.add("degradations", &C::degradations)
        .count(1, 16)
        .help("Degraded copies for the experiment degradation, under the masks of the clean "
              "image: blurN (radius), downN (factor), jpegN (quality), occludeX (share).");
}

void addLater(Builder& b)
{
    b.group("later");
    b.add("exp1_rates", &C::exp1Rates)
        .title("Rates of exp1")
        .range(1e-6, 0.9)
        .advanced()
        .help("Drop probabilities of exp1; empty: 0.001 to 0.1.");
    b.add("exp2_each", &C::exp2Each)
        .title("Pictures of exp2")
        .range(2, 1000)
        .advanced()
        .help("Pictures of each group of exp2: solid, gradient, noise; and so many of the study's "
              "own as natural ones.");
    b.add("exp3_placements", &C::exp3Placements)
        .title("Placements of exp3")
        .advanced()
        .help("Placements of exp3, \"+\" adds extra sites; empty: A attention_only, B mlp_only, C "
              "stochastic_depth, D fc2 of the last block, E all_linear.");
    b.add("exp8_prompts", &C::exp8Prompts)
        .title("Prompts of exp8")
        .advanced()
        .help("Texts that span the space of exp8, at least 2; empty: twenty everyday scenes.");
    b.add("exp9_frames", &C::exp9Frames)
        .file()
        .title("Frames of exp9")
        .help("JSON with the frames of a tracker: tracks, truth, motion and appearance costs, "
              "uncertainty of the detections. Demo models make their own where it is empty.");
    b.add("exp10_prompts", &C::exp10Prompts)
        .title("Prompts of exp10")
        .range(10, 1500)
        .advanced()
        .help("Prompts of exp10, in five styles from vague to exact.");
    b.add("exp11_candidates", &C::exp11Candidates)
        .title("Candidates of exp11")
        .range(1, 99)
        .advanced()
        .help("Settings of exp11 beside p everywhere, drawn log-uniformly from 0.001 to 0.1 for "
              "each quarter of the depth.");
}

void addJudgement(Builder& b)
{
    b.group("labels");
    b.add("class_map", &C::classMap)
        .file()
        .help("JSON object or TSV from folder name to class name; needed where folder names are "
              "WordNet ids.");
    b.add("templates", &C::templates)
        .count(1, 100)
        .help("Prompts, {} stands for the class. The first gives margin and entropy, all together "
              "prompt sensitivity.");
    b.add("clean", &C::clean)
        .choices({"canonicalize", "lower"})
        .advanced()
        .help("How SigLIP prompts are cleaned: punctuation dropped and lower case, or lower case "
              "only.");
    b.add("text_features", &C::textFeatures)
        .folder()
        .advanced()
        .help("Folder with prompt features made elsewhere, <model>.npy beside <model>.txt or "
              "<model>.safetensors, in place of the model's own text tower.");
    b.add("quantile", &C::quantile)
        .range(0.001, 0.499)
        .advanced()
        .help("Share of images that count as ambiguous: lowest margin, highest entropy; charts and "
              "the report's comparison always take a tenth.");
    b.group("statistics");
    b.add("bootstrap", &C::bootstrap)
        .range(0, 100'000)
        .advanced()
        .help("Resamples of bootstrap intervals; 0: none.");
    b.add("alpha", &C::alpha)
        .range(0.001, 0.499)
        .advanced()
        .help("Intervals hold with probability 1 − alpha; those of charts always with 95 %.");
}

void addEngine(Builder& b)
{
    b.group("batch");
    b.add("batch_images", &C::batchImages)
        .range(0, 4096)
        .advanced()
        .help("Images of a chunk; 0 chooses. Results do not depend on it.");
    b.add("batch_passes", &C::batchPasses)
        .range(0, 65535)
        .advanced()
        .help("Passes computed at once, of several trials where one has fewer; 0 chooses. Results "
              "do not depend on it.");
    b.add("deterministic", &C::deterministic)
        .decisive()
        .advanced()
        .help("Products always take the same number of rows, so that scores do not depend, bit for "
              "bit, on batches, interruptions and resumption. Without it the rows of short batches "
              "are left out and CUDA takes the fastest product it finds: a little faster, the last "
              "digits may differ from run to run.");
    b.add("residency", &C::residency)
        .advanced()
        .help("Where the pixels are while passes run: all on the device (resident), all in host "
              "memory and copied a chunk ahead (pinned), or in the cache file and read a chunk "
              "ahead (mapped). auto: resident where pixels, weights and work space take at most "
              "85 % of the free device memory, else pinned where they take at most 60 % of the "
              "free host memory, else mapped; mapped on the CPU. Results do not depend on it.");
    b.group("cache");
    b.add("pixel_cache", &C::pixelCache)
        .advanced()
        .help("What is kept of preprocessed pictures: 8 bits, which lose nothing; or normalised "
              "values as 16-bit floats, which are rounded, or as 32-bit floats, which give the "
              "scores of u8 from four times the memory.");
    b.add("store_features", &C::storeFeatures)
        .choices({"none", "fp16", "fp32"})
        .advanced()
        .help("Keep the features of all passes of the study's images in the run folder: tensor "
              "`features` [trials, passes, images, dimensions] of the files in "
              "checkpoints/chunks/<model>/none. The log says before the run how large they "
              "become. none: only as many images as the views show.");
    b.add("cache_folder", &C::cacheFolder)
        .advanced()
        .help("Where preprocessed pictures and text features are kept; empty: the user's cache.");
    b.group("preview");
    b.add("preview_seconds", &C::previewSeconds)
        .range(0.1, 3600)
        .unit("s")
        .live()
        .advanced()
        .help("At least so long between two drawings of the views while the run is going on.");
}

Builder builder()
{
    Builder b("mc_embedding");
    addGeneral(b);
    addModels(b);
    addImages(b);
    addPerturbation(b);
    addStudy(b);
    addLater(b);
    addJudgement(b);
    addEngine(b);
    addRules(b);
    return b;
}

} // namespace

std::filesystem::path McEmbeddingConfig::folderOf(const std::string& model) const
{
    for (const WeightFolder& known : kWeightFolders) {
        if (model == known.key)
            return this->*known.member;
    }
    return {};
}

bool McEmbeddingConfig::runs(const std::string& experimentName) const
{
    const auto lists = [&](const char* name) {
        return std::find(experiment.begin(), experiment.end(), name) != experiment.end();
    };
    static const std::array kPhase1{"exp0", "exp0b", "exp4", "exp5"};
    const bool isPhase1 =
        std::find(kPhase1.begin(), kPhase1.end(), experimentName) != kPhase1.end();
    return lists(experimentName.c_str()) || (isPhase1 && lists("phase1"));
}

ConfigSchema mcEmbeddingSchema()
{
    return builder().build();
}

McEmbeddingConfig readMcEmbeddingConfig(const Config& config)
{
    return builder().read(config);
}

const std::vector<std::string>& experimentNames()
{
    static const std::vector<std::string> kNames{
        "exp0",        "exp0b",     "exp4",      "exp5",  "phase1",
        "exp1",        "exp2",      "exp3",      "exp6",  "exp7",
        "exp8",        "exp9",      "exp10",     "exp11", "mean_convergence",
        "degradation", "conformal", "mnist_grid"};
    return kNames;
}

bool isDemoModel(const std::string& key)
{
    return key == "tiny_clip" || key == "tiny_siglip" || key == "toy_linear";
}

bool paintsImages(const McEmbeddingConfig& config)
{
    return config.folder.empty() && config.manifest.empty() &&
           std::all_of(config.models.begin(), config.models.end(), isDemoModel);
}

} // namespace vergence::mc_embedding
