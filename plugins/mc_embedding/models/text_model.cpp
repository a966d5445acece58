#include "plugins/mc_embedding/models/text_model.h"

#include <optional>
#include <set>

#include <fmt/format.h>

#include "core/artifact/artifact_store.h"
#include "core/artifact/tokenizer/clip_text.h"
#include "core/artifact/tokenizer/tokenizer.h"
#include "core/base/error.h"
#include "plugins/mc_embedding/models/text_cache.h"
#include "plugins/mc_embedding/models/text_passes.h"

namespace vergence::mc_embedding {

TextModel::~TextModel() = default;

Matrix TextModel::encodeMasked(Stream&, const std::vector<std::string>&, const std::string&,
                               const Perturbation&, std::span<const PassId>)
{
    throw InputError("Masks need a text tower; these are features made elsewhere: " + describe());
}

namespace {

SiglipCleaning cleaningOf(const std::string& clean)
{
    if (clean == "canonicalize")
        return SiglipCleaning::Canonicalize;
    if (clean == "lower")
        return SiglipCleaning::Lower;
    throw ContractError(
        fmt::format("TextModel: cleaning is canonicalize or lower, not \"{}\"", clean));
}

/// Tower and tokenizer of a folder. Weights lie on the device only while features are computed that
/// the cache does not hold.
class LoadedTextModel final : public TextModel {
public:
    LoadedTextModel(std::shared_ptr<Device> device, const std::string& key,
                    const std::filesystem::path& folder, const std::filesystem::path& cacheFolder,
                    const std::function<bool()>& stop)
        : m_device(std::move(device)),
          m_folder(folder),
          m_weights(openTextWeights(folder)),
          m_source(readTextSource(m_weights, folder, key, stop)),
          m_tokenizer(readTokenizerFolder(folder)),
          m_cache(cacheFolder, identity(), static_cast<std::size_t>(m_source.shape.feature))
    {
        isStopped = stop;
        checkVocabulary();
    }

    std::string describe() const override
    {
        const TextShape& shape = m_source.shape;
        return fmt::format("text tower of {}: {} layers of width {}, {} tokens, {} layout, {}",
                           shape.key, shape.layers, shape.width, shape.context,
                           m_source.layout == TextLayout::OpenClip ? "open_clip" : "transformers",
                           m_folder.string());
    }
    double logitScale() const override { return m_source.logitScale; }
    double logitBias() const override { return m_source.logitBias; }
    std::vector<std::string> notes() const override { return m_source.notes; }

    Matrix encode(Stream& stream, const std::vector<std::string>& prompts,
                  const std::string& clean) override
    {
        const auto cleaning = cleaningOf(clean);
        std::vector<std::string> cleaned, missing;
        std::set<std::string> asked;
        for (const std::string& prompt : prompts) {
            cleaned.push_back(cleanedText(prompt, cleaning));
            if (!m_cache.find(cleaned.back()) && asked.insert(cleaned.back()).second)
                missing.push_back(cleaned.back());
        }
        if (!missing.empty())
            compute(stream, missing);
        Matrix features(prompts.size(), static_cast<std::size_t>(m_source.shape.feature));
        for (std::size_t i = 0; i < cleaned.size(); ++i) {
            if (const std::vector<float>* feature = m_cache.find(cleaned[i])) // else: stopped
                std::copy(feature->begin(), feature->end(), &features(i, 0));
        }
        return features;
    }

    Matrix encodeMasked(Stream& stream, const std::vector<std::string>& prompts,
                        const std::string& clean, const Perturbation& dropout,
                        std::span<const PassId> passes) override
    {
        const auto cleaning = cleaningOf(clean);
        std::vector<TextContext> texts;
        for (const std::string& prompt : prompts) {
            const std::string text = cleanedText(prompt, cleaning);
            texts.push_back({text, contextOf(text)});
        }
        if (!m_tower)
            m_tower.emplace(stream, m_device, m_weights, m_source, isStopped);
        if (isStopped && isStopped()) {
            m_tower.reset(); // half its weights may be missing
            return Matrix(passes.size() * texts.size(),
                          static_cast<std::size_t>(m_source.shape.feature));
        }
        return maskedPasses(stream, *m_tower, texts, dropout, passes);
    }

    /// All that a feature depends on beside its text.
    std::string identity() const override
    {
        const TextShape& shape = m_source.shape;
        std::string facts =
            fmt::format("{} heads {} activation {} epsilon {}", m_source.weightsSha256, shape.heads,
                        static_cast<int>(shape.activation), shape.epsilon);
        for (const auto& file : tokenizerFiles(m_folder))
            facts += " " + sha256OfFile(file);
        return sha256Hex(facts);
    }

private:
    std::string cleanedText(const std::string& prompt, SiglipCleaning cleaning) const
    {
        return isSiglip() ? siglipText(prompt, cleaning) : clipText(prompt);
    }
    bool isSiglip() const { return m_source.shape.family == Family::Siglip; }

    std::vector<int> contextOf(const std::string& text) const
    {
        const int length = static_cast<int>(m_source.shape.context);
        return isSiglip() ? siglipContext(*m_tokenizer, text, length)
                          : clipContext(*m_tokenizer, text, length);
    }

    /// Both come from one folder, so a tokenizer that does not fit is found before a run starts.
    void checkVocabulary() const
    {
        const Index vocabulary = m_source.shape.vocabulary;
        const bool lacksEnds = !isSiglip() && (m_tokenizer->find("<|startoftext|>") < 0 ||
                                               m_tokenizer->find("<|endoftext|>") < 0);
        if (lacksEnds || m_tokenizer->vocabularySize() > vocabulary)
            throw InputError(fmt::format(
                "The tokenizer in {} has {} pieces{}; the text tower has {}. It belongs to another "
                "model.",
                m_folder.string(), m_tokenizer->vocabularySize(),
                lacksEnds ? " and no <|startoftext|> and <|endoftext|>" : "", vocabulary));
        contextOf(""); // throws where SigLIP's end or padding is missing
    }

    void compute(Stream& stream, const std::vector<std::string>& texts)
    {
        std::vector<std::vector<int>> contexts;
        for (const std::string& text : texts)
            contexts.push_back(contextOf(text));
        const TextTower tower(stream, m_device, m_weights, m_source, isStopped);
        const Matrix features = tower.features(stream, contexts, isStopped);
        if (isStopped && isStopped())
            return;
        for (std::size_t i = 0; i < texts.size(); ++i) {
            const auto row =
                features.values.begin() + static_cast<std::ptrdiff_t>(i * features.columns);
            m_cache.add(texts[i], std::vector<float>(
                                      row, row + static_cast<std::ptrdiff_t>(features.columns)));
        }
        m_cache.save();
    }

    std::shared_ptr<Device> m_device;
    std::filesystem::path m_folder;
    WeightFile m_weights;
    TextSource m_source;
    std::unique_ptr<Tokenizer> m_tokenizer;
    TextCache m_cache;
    std::optional<TextTower> m_tower; ///< for masks
};

} // namespace

std::unique_ptr<TextModel> loadTextModel(Stream&, std::shared_ptr<Device> device,
                                         const std::string& key,
                                         const std::filesystem::path& folder,
                                         const std::filesystem::path& cacheFolder,
                                         std::function<bool()> isStopped)
{
    return std::make_unique<LoadedTextModel>(std::move(device), key, folder, cacheFolder,
                                             isStopped);
}

} // namespace vergence::mc_embedding
