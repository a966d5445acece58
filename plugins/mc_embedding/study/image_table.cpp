#include "plugins/mc_embedding/study/image_table.h"

#include <cmath>

#include <fmt/format.h>

#include "plugins/mc_embedding/study/study_numbers.h"

namespace vergence::mc_embedding {

namespace {

/// A CSV field: quoted where it must be.
std::string field(const std::string& text)
{
    if (text.find_first_of(",\"\n\r") == std::string::npos)
        return text;
    std::string quoted = "\"";
    for (const char c : text) {
        quoted += c;
        if (c == '"')
            quoted += c;
    }
    return quoted + "\"";
}

std::string number(double value)
{
    return std::isfinite(value) ? fmt::format("{:.9g}", value) : "";
}

/// margin, entropy, prompt_sensitivity, predicted, correct
std::string judgement(const ModelStudy& study, std::size_t i)
{
    if (!study.ambiguity || i >= study.ambiguity->margin.size())
        return ",,,,";
    const Ambiguity& a = *study.ambiguity;
    const auto predicted =
        a.predicted[i] >= 0 ? a.classes[static_cast<std::size_t>(a.predicted[i])] : std::string();
    const char* correct = a.truth[i] < 0 ? "" : a.truth[i] == a.predicted[i] ? "1" : "0";
    return fmt::format("{},{},{},{},{}", number(a.margin[i]), number(a.entropy[i]),
                       i < a.promptSensitivity.size() ? number(a.promptSensitivity[i]) : "",
                       field(predicted), correct);
}

} // namespace

std::string imageTable(const StudyState& state, const ModelStudy& study)
{
    std::string text = "path,class,index,mask_id,model,T,space,score_mean,score_se";
    for (int k = 0; k < study.trials; ++k)
        text += fmt::format(",score_k{}", k);
    text += ",margin,entropy,prompt_sensitivity,predicted,correct\n";
    for (std::size_t t = 0; t < study.passes.size(); ++t) {
        for (const char* space : {"pre", "post"}) {
            const Matrix& scores = study.scores.at(std::string("trace_") + space)[t];
            const std::vector<double> means = meansOverTrials(scores),
                                      errors = errorsOverTrials(scores);
            for (std::size_t i = 0; i < study.imagesDone; ++i) {
                const StudyImage& image = state.images.images[i];
                text += fmt::format("{},{},{},{},{},{},{},{},{}", field(image.path),
                                    field(image.label), i, image.maskId, study.label,
                                    study.passes[t], space, number(means[i]), number(errors[i]));
                for (std::size_t k = 0; k < scores.rows; ++k)
                    text += "," + number(scores(k, i));
                text += "," + judgement(study, i) + "\n";
            }
        }
    }
    return text;
}

} // namespace vergence::mc_embedding
