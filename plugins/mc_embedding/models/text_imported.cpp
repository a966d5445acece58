#include <cmath>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "core/artifact/npy.h"
#include "core/artifact/safetensors.h"
#include "core/artifact/tokenizer/tokenizer.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "plugins/mc_embedding/models/text_model.h"

namespace vergence::mc_embedding {

namespace {

using Features = std::map<std::string, std::vector<float>>;

/// Features by prompt, and the logits' constants where the file has them.
struct Imported {
    Features features;
    double scale = 100, bias = 0;
    bool hasScale = false;
};

void add(Imported& imported, const std::string& prompt, std::vector<float> feature,
         const std::string& source)
{
    const auto refuse = [&](const std::string& reason) {
        throw InputError(fmt::format("{}: the feature of \"{}\" {}.", source, prompt, reason));
    };
    if (feature.empty())
        refuse("is empty");
    if (!imported.features.empty() && imported.features.begin()->second.size() != feature.size())
        refuse(fmt::format("has {} numbers, others have {}", feature.size(),
                           imported.features.begin()->second.size()));
    for (const float value : feature) {
        if (!std::isfinite(value))
            refuse("is not finite");
    }
    if (!imported.features.emplace(prompt, std::move(feature)).second)
        refuse("is there twice");
}

Imported readArray(const std::filesystem::path& path)
{
    const NpyArray array = readNpy(path);
    auto list = path;
    list.replace_extension(".txt");
    if (array.shape.size() != 2 || array.shape[1] < 1)
        throw InputError(
            fmt::format("{}: text features are an array of prompts by dimensions.", path.string()));
    std::vector<std::string> prompts;
    std::istringstream lines(readFile(list));
    for (std::string line; std::getline(lines, line);) {
        if (line.ends_with('\r'))
            line.pop_back();
        prompts.push_back(line);
    }
    if (prompts.size() != static_cast<std::size_t>(array.shape[0]))
        throw InputError(
            fmt::format("{} has {} lines, {} has {} rows; one prompt per row is needed.",
                        list.string(), prompts.size(), path.string(), array.shape[0]));
    Imported imported;
    const auto width = static_cast<std::ptrdiff_t>(array.shape[1]);
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        const auto row = array.values.begin() + static_cast<std::ptrdiff_t>(i) * width;
        add(imported, prompts[i], {row, row + width}, path.string());
    }
    return imported;
}

Imported readTensors(const std::filesystem::path& path)
{
    Imported imported;
    for (const HostTensor& tensor : readSafetensors(path).tensors) {
        const auto values = tensor.as<float>();
        if (tensor.name == "logit_scale" && values.size() == 1) {
            imported.scale = std::exp(static_cast<double>(values[0]));
            imported.hasScale = true;
        } else if (tensor.name == "logit_bias" && values.size() == 1) {
            imported.bias = static_cast<double>(values[0]);
        } else {
            add(imported, tensor.name, {values.begin(), values.end()}, path.string());
        }
    }
    return imported;
}

class ImportedTextModel final : public TextModel {
public:
    explicit ImportedTextModel(const std::filesystem::path& path)
        : m_path(path),
          m_data(path.extension() == ".npy" ? readArray(path) : readTensors(path))
    {
        if (m_data.features.empty())
            throw InputError(fmt::format("{} holds no text features.", path.string()));
        for (const auto& [prompt, feature] : m_data.features)
            m_byCleaned.emplace(siglipText(prompt, SiglipCleaning::Canonicalize), &feature);
    }
    std::string describe() const override
    {
        return fmt::format("{} text features from {}", m_data.features.size(), m_path.string());
    }
    double logitScale() const override { return m_data.scale; }
    double logitBias() const override { return m_data.bias; }
    std::vector<std::string> notes() const override
    {
        if (m_data.hasScale)
            return {};
        return {fmt::format("{} has no `logit_scale`: cosines are multiplied by 100.",
                            m_path.string())};
    }
    Matrix encode(Stream&, const std::vector<std::string>& prompts, const std::string&) override
    {
        Matrix features(prompts.size(), m_data.features.begin()->second.size());
        for (std::size_t i = 0; i < prompts.size(); ++i) {
            const std::vector<float>& feature = find(prompts[i]);
            std::copy(feature.begin(), feature.end(), &features(i, 0));
        }
        return features;
    }

private:
    /// By the very text, else by what is left of it after cleaning.
    const std::vector<float>& find(const std::string& prompt) const
    {
        const auto exact = m_data.features.find(prompt);
        if (exact != m_data.features.end())
            return exact->second;
        const auto alike = m_byCleaned.find(siglipText(prompt, SiglipCleaning::Canonicalize));
        if (alike == m_byCleaned.end())
            throw InputError(
                fmt::format("{} has no feature of the prompt \"{}\"; add it, or change "
                            "templates and class names to those that are there.",
                            m_path.string(), prompt));
        return *alike->second;
    }

    std::filesystem::path m_path;
    Imported m_data;
    std::map<std::string, const std::vector<float>*> m_byCleaned;
};

} // namespace

std::unique_ptr<TextModel> importedTextModel(const std::filesystem::path& path)
{
    const auto extension = path.extension();
    if (extension != ".npy" && extension != ".safetensors")
        throw InputError(fmt::format("{}: text features come as .npy with a .txt of the prompts "
                                     "beside it, or as .safetensors.",
                                     path.string()));
    return std::make_unique<ImportedTextModel>(path);
}

} // namespace vergence::mc_embedding
