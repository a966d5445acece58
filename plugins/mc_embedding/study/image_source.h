#pragma once

#include <map>
#include <memory>
#include <set>

#include "core/compute/tensor.h"
#include "core/run/run_context.h"
#include "plugins/mc_embedding/io/pixel_cache.h"
#include "plugins/mc_embedding/mc_embedding_config.h"

namespace vergence::mc_embedding {

/// The pictures of a study: drawn once, decoded once per way of preprocessing, then read from
/// memory-mapped files. Pictures that cannot be decoded are left out of the study, counted and
/// named.
class ImageSource {
public:
    /// `painted`: where the demo's own pictures go.
    ImageSource(const McEmbeddingConfig& config, std::filesystem::path cacheFolder,
                std::filesystem::path painted);

    /// Draws at most `count` pictures. Throws InputError where there are none. This and the next
    /// leave an incomplete set where a stop was requested meanwhile.
    void list(RunContext& context, int count);
    /// Instead: paints `each` pictures of solid, gradient and noise, and adds as many of `natural`.
    void paintSynthetic(RunContext& context, std::size_t each, int side, const ImageSet& natural);
    /// What list() drew, whether or not it can be used.
    const ImageSet& drawn() const { return m_drawn; }
    /// Makes one way of preprocessing and degradation the current one, decoding what is missing.
    /// False where a stop was requested meanwhile: call again. The first call settles which
    /// pictures can be used; a later one throws InputError where more of them fail.
    bool open(RunContext& context, const Preprocess& how, const std::string& degradation);

    /// Those that can be used, in drawn order; complete after the first open().
    const ImageSet& images() const { return m_usable; }
    const std::vector<SkippedImage>& skipped() const { return m_skipped; }
    const std::filesystem::path& cacheFolder() const { return m_cacheFolder; }
    /// One line per image: what its masks and pixels depend on.
    std::vector<std::string> keys() const;

    /// Of the current preprocessing: U8 [count, side, side, 3] on the device, or F16 or F32
    /// [count, 3, side, side] where the cache keeps normalised values.
    Tensor pixels(Stream& stream, const std::shared_ptr<Device>& device, std::size_t first,
                  std::size_t count) const;
    std::size_t pixelBytes() const; ///< of one picture
    /// The same pixels one after the other in host memory.
    void copyPixels(std::size_t first, std::size_t count, std::uint8_t* target) const;
    /// Type and shape of pixels() of so many pictures.
    std::pair<DType, Shape> pixelLayout(std::size_t count) const;
    std::vector<std::uint32_t> maskIds(std::size_t first, std::size_t count) const;
    /// The preprocessed picture without degradation; empty before the first open().
    Image thumbnail(std::size_t index) const;

private:
    bool fill(RunContext& context, PixelCache& cache, const std::string& degradation);
    void settle(RunContext& context, const PixelCache& cache);

    McEmbeddingConfig m_config;
    std::filesystem::path m_cacheFolder, m_painted;
    ImageSet m_drawn, m_usable;
    std::vector<std::size_t> m_places; ///< of usable pictures among the drawn ones
    std::vector<SkippedImage> m_skipped;
    std::map<std::string, std::unique_ptr<PixelCache>> m_caches;
    std::set<std::string> m_filled; ///< keys of caches that are complete
    const PixelCache* m_current = nullptr;
    const PixelCache* m_clean = nullptr;
    bool m_isSettled = false;
};

} // namespace vergence::mc_embedding
