#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/compute/nn/layers.h"

namespace vergence::fvlm {

/// Encoder of the autoencoder of latent diffusion; defaults are the published one, 34 163 664
/// parameters with the convolution after it.
struct VaeConfig {
    std::vector<Index> widths = {128, 256, 512, 512}; ///< of the levels; each but the last halves
    int blocksPerLevel = 2;
    Index latentChannels = 4;
    int groups = 32; ///< of the norms; divides all widths
    double epsilon = 1e-6;
    double scaling = 0.18215; ///< of the mean
};

/// How names of other files become those of VaeEncoder.
struct VaeNames {
    /// Each occurrence of the first becomes the second, in this order: older Diffusers files,
    /// original latent-diffusion files. Names of today stay as they are.
    std::vector<std::pair<std::string, std::string>> replacements;
    std::vector<std::string> unwanted; ///< parts of names of what is not the encoder's
    std::vector<std::string> prefixes; ///< that some files put in front of all names
};
VaeNames vaeNames();

/// Image → mean of its latent distribution, for inference. Source: High-Resolution Image Synthesis
/// with Latent Diffusion Models (2022), section 3.1 and appendix G.
class VaeEncoder {
public:
    /// Declares "encoder.*" and "quant_conv.*" under `where` with the names of current Diffusers
    /// files; kernels as there, [out, in, height, width].
    VaeEncoder(const Declaration& where, const VaeConfig& config = {});

    /// pixels [B, 3, h, w] in [−1, 1], any real type; h, w multiples of reduction() → means ·
    /// scaling, [B, 4, h/8, w/8] in the type that the parameters compute in. Parts are segments of
    /// the tape, so not within another one. Throws ContractError for other shapes.
    Value latents(const ForwardPass& pass, Value pixels) const;

    const VaeConfig& config() const { return m_config; }
    /// Pixels per latent and side: 8 for four levels.
    Index reduction() const { return Index(1) << (m_config.widths.size() - 1); }

private:
    struct Residual {
        NormLayer norm1, norm2;
        LinearLayer conv1, conv2, shortcut; ///< shortcut: none where widths agree
    };
    struct Level {
        std::vector<Residual> blocks;
        LinearLayer down; ///< none in the last one
    };
    struct Attention {
        NormLayer norm;
        LinearLayer query, key, value, out;
    };

    Residual declareResidual(const Declaration& where, Index in, Index out) const;
    Attention declareAttention(const Declaration& where, Index width) const;
    Value normed(const ForwardPass& pass, const NormLayer& norm, Value x, bool silu) const;
    Value residual(const ForwardPass& pass, const Residual& block, Value x) const;
    Value attend(const ForwardPass& pass, Value x) const;

    VaeConfig m_config;
    LinearLayer m_first, m_last, m_quantise;
    std::vector<Level> m_levels;
    Residual m_middle[2];
    Attention m_attention;
    NormLayer m_lastNorm;
};

} // namespace vergence::fvlm
