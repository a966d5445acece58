#include "plugins/mc_embedding/study/ambiguity.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/mc_embedding/statistics/cloud.h"
#include "plugins/mc_embedding/statistics/prediction.h"
#include "plugins/mc_embedding/study/prompts.h"

namespace vergence::mc_embedding {

namespace {

void requireFinite(const Matrix& features, const char* what)
{
    for (std::size_t i = 0; i < features.values.size(); ++i) {
        if (!std::isfinite(features.values[i]))
            throw NumericsError(
                fmt::format("The {} feature in row {} is not finite.", what, i / features.columns));
    }
}

std::vector<std::string> promptsOf(const std::vector<std::string>& templates,
                                   const std::vector<std::string>& names)
{
    std::vector<std::string> prompts;
    for (const std::string& one : templates) {
        for (const std::string& name : names)
            prompts.push_back(promptOf(one, name));
    }
    return prompts;
}

Matrix rowsOf(const Matrix& all, std::size_t first, std::size_t count)
{
    Matrix rows(count, all.columns);
    const auto begin = all.values.begin() + static_cast<std::ptrdiff_t>(first * all.columns);
    std::copy(begin, begin + static_cast<std::ptrdiff_t>(rows.values.size()), rows.values.begin());
    return rows;
}

std::vector<double> rowOf(const Matrix& matrix, std::size_t row)
{
    return rowsOf(matrix, row, 1).values;
}

} // namespace

Matrix zeroShotLogits(const Matrix& images, const Matrix& texts, double scale, double bias)
{
    expects(images.columns == texts.columns, "zeroShotLogits: features of two lengths");
    const Matrix a = normalisedRows(images), b = normalisedRows(texts);
    Matrix turned(b.columns, b.rows); // so that the inner loop walks along classes
    for (std::size_t c = 0; c < b.rows; ++c) {
        for (std::size_t d = 0; d < b.columns; ++d)
            turned(d, c) = b(c, d);
    }
    Matrix logits(a.rows, b.rows);
    for (std::size_t i = 0; i < a.rows; ++i) {
        double* row = &logits.values[i * b.rows];
        for (std::size_t d = 0; d < a.columns; ++d) {
            const double factor = a(i, d);
            const double* text = &turned.values[d * b.rows];
            for (std::size_t c = 0; c < b.rows; ++c)
                row[c] += factor * text[c];
        }
        for (std::size_t c = 0; c < b.rows; ++c)
            row[c] = scale * row[c] + bias;
    }
    return logits;
}

Ambiguity computeAmbiguity(Stream& stream, TextModel& text, const Matrix& features,
                           const StudyClasses& classes, const AmbiguityOptions& options)
{
    checkTemplates(options.templates);
    const std::size_t count = classes.names.size();
    expects(count >= 2 && classes.truth.size() == features.rows,
            "computeAmbiguity: two classes and a truth (or −1) for every image are needed");
    const Matrix prompts =
        text.encode(stream, promptsOf(options.templates, classes.names), options.clean);
    if (text.isStopped && text.isStopped())
        return {};
    if (prompts.columns != features.columns)
        throw InputError(fmt::format("Text features have {} dimensions, image features {}: {} is "
                                     "the text side of another model.",
                                     prompts.columns, features.columns, text.describe()));
    requireFinite(features, "image");
    requireFinite(prompts, "text");
    std::vector<Matrix> logits;
    for (std::size_t t = 0; t < options.templates.size(); ++t)
        logits.push_back(zeroShotLogits(features, rowsOf(prompts, t * count, count),
                                        text.logitScale(), text.logitBias()));
    Ambiguity result;
    result.classes = classes.names;
    result.templates = options.templates;
    result.truth = classes.truth;
    for (std::size_t i = 0; i < features.rows; ++i) {
        std::vector<std::vector<double>> perTemplate;
        for (const Matrix& one : logits)
            perTemplate.push_back(rowOf(one, i));
        const std::vector<double>& first = perTemplate.front();
        result.margin.push_back(margin(first));
        result.entropy.push_back(entropy(softmax(first)));
        result.promptSensitivity.push_back(promptSensitivity(perTemplate));
        result.predicted.push_back(
            static_cast<int>(std::max_element(first.begin(), first.end()) - first.begin()));
    }
    result.logits = std::move(logits.front());
    return result;
}

} // namespace vergence::mc_embedding
