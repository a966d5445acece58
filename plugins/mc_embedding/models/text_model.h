#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/compute/tensor.h"
#include "plugins/mc_embedding/compute/perturbation.h"
#include "plugins/mc_embedding/statistics/figure.h"

namespace vergence::mc_embedding {

/// The text side of a model: prompts to features, not normalised. Specification, section 2.5.
class TextModel {
public:
    virtual ~TextModel();
    virtual std::string describe() const = 0;
    virtual double logitScale() const = 0; ///< factor of the cosine
    virtual double logitBias() const = 0;  ///< 0 for CLIP
    /// [prompts, D]. `clean`: "canonicalize" or "lower" (SigLIP).
    virtual Matrix encode(Stream& stream, const std::vector<std::string>& prompts,
                          const std::string& clean = "canonicalize") = 0;
    /// Features under masks on the linears of the text tower (Exp 10), [passes · prompts, D], pass
    /// by pass. Throws InputError where there is no tower to mask.
    virtual Matrix encodeMasked(Stream& stream, const std::vector<std::string>& prompts,
                                const std::string& clean, const Perturbation& dropout,
                                std::span<const PassId> passes);
    /// What all features depend on beside prompt and cleaning.
    virtual std::string identity() const { return describe(); }
    /// Asked between tensors of weights and batches of prompts; what is encoded then ends early,
    /// with zeros for the rest.
    std::function<bool()> isStopped;
    /// What is to be known of them: config and shapes disagree, a constant is assumed.
    virtual std::vector<std::string> notes() const { return {}; }
};

/// From the folder of a model (weights, config, tokenizer). Throws InputError that says which is
/// missing. Features are cached below `cacheFolder` (empty: not) by (weights, tokenizer, text). The
/// model takes `isStopped` over; asked for while its files are read, it is then of no use.
std::unique_ptr<TextModel> loadTextModel(Stream& stream, std::shared_ptr<Device> device,
                                         const std::string& key,
                                         const std::filesystem::path& folder,
                                         const std::filesystem::path& cacheFolder,
                                         std::function<bool()> isStopped = {});
/// For models with random weights: features of a prompt are a fixed random function of its text
/// (Philox purpose 6 of its SHA-256); scale 100, bias 0. Masks act on a small tower with random
/// weights that reads bytes. Only to show the machinery.
std::unique_ptr<TextModel> demoTextModel(const std::string& key, std::size_t dimensions,
                                         std::uint64_t seed, std::shared_ptr<Device> device = {});
/// Features that the user made elsewhere: .npy [prompts, D] beside a .txt of the prompts, or a
/// .safetensors with one tensor per prompt and the model's `logit_scale` (and `logit_bias`), else
/// 100 and 0. Throws InputError; encode() too, for a prompt that is not there.
std::unique_ptr<TextModel> importedTextModel(const std::filesystem::path& path);

} // namespace vergence::mc_embedding
