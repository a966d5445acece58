#include <algorithm>

#include "core/artifact/npz_archive.h"
#include "core/base/error.h"
#include "plugins/mc_embedding/study/ambiguity.h"

namespace vergence::mc_embedding {

void writeExp5Arrays(const std::filesystem::path& path, const ModelStudy& study,
                     const ImageSet& images, const Exp5Options& options)
{
    expects(study.ambiguity.has_value(), "exp5: the study has no zero-shot judgement");
    const Ambiguity& ambiguity = *study.ambiguity;
    const std::size_t n = std::min(study.imagesDone, ambiguity.margin.size());
    const auto count = static_cast<std::int64_t>(n);
    const auto firstOf = [n](const auto& values) { return std::span(values).first(n); };
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < std::min(n, images.images.size()); ++i)
        paths.push_back(images.images[i].path);
    const std::vector<double> u = uncertaintyOf(study, options.metric);
    const std::vector<std::int64_t> truth(ambiguity.truth.begin(), ambiguity.truth.end());
    const std::vector<std::int64_t> predicted(ambiguity.predicted.begin(),
                                              ambiguity.predicted.end());
    const std::size_t classes = ambiguity.logits.columns;
    NpzWriter file(path);
    file.add("paths", paths);
    file.add("classes", ambiguity.classes);
    file.add("uncertainty", firstOf(u), {count});
    file.add("margin", firstOf(ambiguity.margin), {count});
    file.add("entropy", firstOf(ambiguity.entropy), {count});
    file.add("prompt_sensitivity", firstOf(ambiguity.promptSensitivity), {count});
    file.add("logits", std::span(ambiguity.logits.values).first(n * classes),
             {count, static_cast<std::int64_t>(classes)});
    file.add("gt_labels", firstOf(truth), {count});
    file.add("pred_labels", firstOf(predicted), {count});
    file.commit();
}

} // namespace vergence::mc_embedding
