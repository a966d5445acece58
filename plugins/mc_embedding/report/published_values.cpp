// The only place with numbers of the original study: section 8 of the specification.

#include <algorithm>
#include <array>

#include "plugins/mc_embedding/report/published.h"

namespace vergence::mc_embedding {

// clang-format off
const std::vector<PublishedReliability>& publishedReliability()
{
    static const std::vector<PublishedReliability> kRows{
        {"clip_b32", 4, false, 4.44e-6, 2.72e-5, 0.163, 0.059, 0.362, 0.341, 0.380, "failed"},
        {"clip_b32", 4, true, 4.90e-10, 3.52e-9, 0.139, 0.038, 0.331, 0.301, 0.345, "failed"},
        {"clip_b32", 16, false, 3.36e-6, 1.03e-5, 0.327, 0.185, 0.365, 0.336, 0.382, "failed"},
        {"clip_b32", 16, true, 3.31e-10, 1.34e-9, 0.247, 0.128, 0.334, 0.300, 0.360, "failed"},
        {"clip_b32", 64, false, 2.84e-6, 2.80e-6, 1.014, 0.477, 0.486, 0.476, 0.509, "failed"},
        {"clip_b32", 64, true, 2.38e-10, 3.63e-10, 0.654, 0.356, 0.369, 0.350, 0.385, "failed"},
        {"siglip2_b16", 4, false, 1.68e-6, 1.74e-6, 0.966, 0.464, 0.482, 0.463, 0.500, "failed"},
        {"siglip2_b16", 4, true, 1.76e-10, 1.10e-10, 1.600, 0.600, 0.601, 0.587, 0.620, "marginal"},
        {"siglip2_b16", 16, false, 2.36e-6, 6.07e-7, 3.883, 0.791, 0.776, 0.769, 0.783, "marginal"},
        {"siglip2_b16", 16, true, 2.58e-10, 3.85e-11, 6.702, 0.868, 0.848, 0.843, 0.854, "usable"},
        {"siglip2_b16", 64, false, 2.48e-6, 1.65e-7, 15.029, 0.937, 0.930, 0.927, 0.933, "usable"},
        {"siglip2_b16", 64, true, 2.77e-10, 1.05e-11, 26.493, 0.963, 0.956, 0.955, 0.958, "usable"},
        {"siglip2_so400m", 4, false, 1.39e-6, 3.61e-6, 0.386, 0.222, 0.299, 0.274, 0.329, "failed"},
        {"siglip2_so400m", 4, true, 2.27e-11, 4.90e-11, 0.463, 0.266, 0.378, 0.342, 0.400, "failed"},
        {"siglip2_so400m", 16, false, 1.61e-6, 1.25e-6, 1.293, 0.544, 0.510, 0.494, 0.537, "failed"},
        {"siglip2_so400m", 16, true, 2.87e-11, 1.71e-11, 1.681, 0.613, 0.596, 0.582, 0.617, "failed"},
        {"siglip2_so400m", 64, false, 1.64e-6, 3.49e-7, 4.689, 0.821, 0.784, 0.775, 0.790, "marginal"},
        {"siglip2_so400m", 64, true, 2.95e-11, 4.75e-12, 6.222, 0.860, 0.837, 0.829, 0.843, "usable"},
    };
    return kRows;
}
// clang-format on

const std::vector<PublishedModel>& publishedModels()
{
    static const std::string kPrompts = "prompts were made of class ids (16.9)";
    static const std::vector<PublishedModel> kModels{
        {"clip_b32", 7.51e-3, 211, 0.512,
         "only the MLP was masked and the activation was erf-GELU (16.1, 16.4)", kPrompts},
        {"siglip2_b16", 9.37e-3, 13, 0.4957,
         "the head's attention had no mask (3.4, siglip_transformers)", kPrompts},
        {"siglip2_so400m", 8.42e-3, 42, 0,
         "the head's attention had no mask (3.4, siglip_transformers)", ""},
    };
    return kModels;
}

std::optional<double> publishedCrossModel(const std::string& a, const std::string& b)
{
    struct Pair {
        const char *first, *second;
        double rho;
    };
    static constexpr std::array<Pair, 3> kPairs{{{"clip_b32", "siglip2_b16", 0.54},
                                                 {"clip_b32", "siglip2_so400m", 0.16},
                                                 {"siglip2_b16", "siglip2_so400m", 0.25}}};
    for (const Pair& pair : kPairs)
        if ((a == pair.first && b == pair.second) || (b == pair.first && a == pair.second))
            return pair.rho;
    return std::nullopt;
}

std::optional<double> publishedDegradation(const std::string& model, const std::string& degradation)
{
    struct Entry {
        const char *model, *degradation;
        double fraction;
    };
    static constexpr std::array<Entry, 8> kEntries{{{"clip_b32", "blur5", 0.868},
                                                    {"clip_b32", "blur15", 0.636},
                                                    {"clip_b32", "down4", 0.828},
                                                    {"clip_b32", "down8", 0.880},
                                                    {"siglip2_b16", "blur5", 0.416},
                                                    {"siglip2_b16", "blur15", 0.244},
                                                    {"siglip2_b16", "down4", 0.524},
                                                    {"siglip2_b16", "down8", 0.386}}};
    for (const Entry& entry : kEntries)
        if (model == entry.model && degradation == entry.degradation)
            return entry.fraction;
    return std::nullopt;
}

const std::vector<std::pair<int, double>>& publishedScalingClip()
{
    static const std::vector<std::pair<int, double>> kPoints{
        {16, 0.433}, {32, 0.446}, {64, 0.574}, {128, 0.705}, {256, 0.821}};
    return kPoints;
}

const std::vector<std::string>& knownDeviations()
{
    static const std::vector<std::string> kTexts{
        "Published variances are biased (1/T); here they are unbiased (1/(T − 1)) unless the "
        "setting says otherwise. Ranks, ICC and SNR do not change.",
        "CLIP's attention was never masked in the original (its wrappers were dead), and its "
        "weights ran with erf-GELU instead of quick-GELU.",
        "SigLIP 2's pooling attention had no masks; later runs of the original masked some sites "
        "twice.",
        "The original's 500 images are the first of a sorted list: 100 neighbouring classes "
        "instead of 1,000. Here images are drawn stratified by class.",
        "Ambiguity was first judged with prompts made of class ids, and SigLIP 2 prompts were not "
        "padded to 64 tokens.",
        "Later experiments of the original nested their masks from trial to trial, which shows as "
        "SNR below 1/K and negative ICC; such drift raises a flag here.",
    };
    return kTexts;
}

std::optional<PublishedReliability> publishedReliability(const std::string& model, int passes,
                                                         bool isPost)
{
    for (const PublishedReliability& row : publishedReliability())
        if (row.model == model && row.passes == passes && row.isPost == isPost)
            return row;
    return std::nullopt;
}

std::optional<PublishedModel> publishedModel(const std::string& model)
{
    const auto found = std::ranges::find(publishedModels(), model, &PublishedModel::model);
    return found == publishedModels().end() ? std::nullopt : std::optional(*found);
}

} // namespace vergence::mc_embedding
