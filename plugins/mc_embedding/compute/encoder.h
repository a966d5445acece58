#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/compute/graph/parameter.h"
#include "plugins/mc_embedding/compute/perturbation.h"
#include "plugins/mc_embedding/compute/sites.h"

namespace vergence::mc_embedding {

struct EncoderOptions {
    DType compute = DType::F32; ///< of products; residual stream, norms, softmax, features are F32
    /// Products always have the rows of a full tile, so that features do not depend on how passes
    /// are batched; false: those of a short tile are left out.
    bool fixedRows = true;
    bool sharesPrefix = true; ///< what comes before the first live site is computed once per image
    bool classTokenOnly = true; ///< last CLIP block for the class token alone; exact
    std::array<float, 3> mean{}, deviation{1, 1, 1}; ///< of normalised pixels, in units of 255
};

/// Told how many sites were reached, of how many; false ends the search.
using ProbeProgress = std::function<bool(std::size_t, std::size_t)>;

/// A frozen image encoder whose live sites are perturbed anew in every pass. Features of an image
/// depend on weights, image, mask id, trial, pass and placement alone: neither on the batch, its
/// order, nor on how passes are grouped (bit for bit on one kind of device; on the CPU also for one
/// number of threads, by which products choose their pieces).
class Encoder {
public:
    /// Declares and allocates the parameters under the names of Hugging Face's CLIPModel or
    /// SiglipModel (vision part and projection); fill parameters() before use.
    Encoder(Stream& stream, std::shared_ptr<Device> device, const TowerShape& tower,
            const EncoderOptions& options = {});
    ~Encoder();

    const TowerShape& tower() const;
    ParameterSet& parameters();
    /// After the weights changed. The weights are of no use where `isStopped` said yes meanwhile.
    void refreshWeights(Stream& stream, const std::function<bool()>& isStopped = {});

    /// Sites and what happens there, from the next begin() on. Calling it again replaces, never
    /// adds (section 16.2).
    void setPerturbation(std::vector<Site> sites, const Perturbation& perturbation);
    const std::vector<Site>& sites() const;
    const Perturbation& perturbation() const;

    /// A chunk of images: pixels U8 [B, side, side, 3] (RGB, rows from the top) on the device, or
    /// F32 or F16 [B, 3, side, side] normalised already, and one mask id each. Computes the
    /// deterministic features and whatever no mask touches. `isStopped` is asked before every
    /// product of begin() and of run(); once it said yes, their results are of no use.
    void begin(Stream& stream, const Tensor& pixels, std::span<const std::uint32_t> maskIds,
               const std::function<bool()>& isStopped = {});
    /// [B, D] F32, all masks off; valid until the next begin().
    const Tensor& deterministic() const;
    /// Features of all images of the chunk in these passes, [passes, B, D] F32; valid until the
    /// next call.
    const Tensor& run(Stream& stream, std::span<const PassId> passes,
                      const std::function<bool()>& isStopped = {});

    /// Products are done for that many sequences at once; B · P should be a multiple of it.
    Index sequencesPerTile() const;
    std::size_t weightBytes() const; ///< 16-bit copies included
    /// Bytes that a chunk of B images with P passes at a time needs beside the weights.
    std::size_t workspaceBytes(Index images, Index passes) const;
    /// Floating-point operations of begin() and of one pass, for one image; what is shared or
    /// skipped does not count.
    double prefixFlop() const;
    double passFlop() const;

private:
    friend std::vector<Site> deadSites(Stream&, Encoder&, const Tensor&, const ProbeProgress&);
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

/// Live sites whose masks change nothing (section 3.6): two passes with p = 0.5 on the first image
/// of `pixels` ([1, ..]), one site at a time. All are tried in one batch, in which each leaves the
/// unmasked sequence at its own step, and on four patches from the middle of the image, as every
/// path from a site to the feature is there too. Empty when all are alive, and where `progress`
/// said no.
std::vector<Site> deadSites(Stream& stream, Encoder& encoder, const Tensor& pixels,
                            const ProbeProgress& progress = {});

} // namespace vergence::mc_embedding
