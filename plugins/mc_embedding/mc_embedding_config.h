#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/compute/precision.h"
#include "core/config/config.h"
#include "plugins/mc_embedding/io/residency.h"

namespace vergence::mc_embedding {

/// Every parameter of the lab with its default. Specification, section 7.
struct McEmbeddingConfig {
    std::vector<std::string> experiment = {"exp0"};
    std::uint64_t seed = 42;
    std::string maskIdentity = "content";

    std::vector<std::string> models = {"clip_b32", "siglip2_b16", "siglip2_so400m"};
    std::filesystem::path folderClipB32, folderClipL14, folderSiglip2B16, folderSiglip2So400m,
        folderSiglip2So400mP16, folderSiglip2G16;
    bool allowRandom = false;
    std::optional<Precision> precision;
    std::string activation = "canonical";

    std::filesystem::path folder, manifest;
    int count = 500;
    std::string sampling = "stratified";
    std::string filter = "per_model", crop = "torch";
    int size = 0; ///< side of preprocessed pictures, px; 0: that of the model
    bool exif = false;

    double p = 0.01;
    std::string placement = "all_linear";
    std::vector<int> blocks, sites;
    std::vector<std::string> extraSites;
    std::string kind = "dropout";
    double magnitude = 0.01;

    int trials = 10;
    std::vector<int> passes = {4, 16, 64};
    std::vector<std::string> metrics = {"trace_pre", "trace_post", "weighted_trace"};
    std::string variance = "unbiased";
    int geometryTrials = 5;
    int exp5Count = 0, exp5Trials = 1;
    std::vector<std::string> exp5Models; ///< empty: all
    std::filesystem::path reuseFrom;

    std::vector<std::string> comparePlacements, compareActivations;
    std::vector<double> compareP;
    std::vector<int> compareBlocks;
    std::vector<std::string> degradations = {"blur5", "blur15", "down4", "down8"};

    std::vector<double> exp1Rates; ///< empty: those of the experiment
    int exp2Each = 10;
    std::vector<std::string> exp3Placements; ///< empty: types A to E
    std::vector<std::string> exp8Prompts;    ///< empty: built in
    std::filesystem::path exp9Frames;
    int exp10Prompts = 1000, exp11Candidates = 24;

    std::filesystem::path classMap, textFeatures;
    std::vector<std::string> templates = {"a photo of a {}", "a {}", "an image of a {}"};
    std::string clean = "canonicalize";
    double quantile = 0.10;

    int bootstrap = 2000;
    double alpha = 0.05;

    int batchImages = 0, batchPasses = 0;
    bool deterministic = true;
    std::optional<Residency> residency;
    PixelType pixelCache = PixelType::U8;
    std::string storeFeatures = "none";
    std::filesystem::path cacheFolder;
    double previewSeconds = 1;

    /// Where the weights of a model lie; empty where the user named nothing.
    std::filesystem::path folderOf(const std::string& model) const;
    bool runs(const std::string& experimentName) const; ///< listed, or part of "phase1"
};

ConfigSchema mcEmbeddingSchema();
McEmbeddingConfig readMcEmbeddingConfig(const Config& config);

/// What `experiment` may name.
const std::vector<std::string>& experimentNames();
/// Models whose weights are made up, so that they need no folder.
bool isDemoModel(const std::string& key);
/// No folder, no manifest, only demo models: the run paints its pictures.
bool paintsImages(const McEmbeddingConfig& config);

} // namespace vergence::mc_embedding
