#include "plugins/foveated_vlm/train/multiple_choice.h"

#include <algorithm>

namespace vergence::fvlm {

namespace {

void expectsQuestion(const Question& question)
{
    expects(question.options.size() >= 2, "answerQuestions: a question has two options or more");
    expects(question.correct >= 0 && question.correct < static_cast<int>(question.options.size()),
            "answerQuestions: the right answer is one of the options");
}

/// The question as one sample with an ending per option.
SampleTokens sampleOf(const Question& question, const PlannedSample& planned,
                      const ChatTemplate& text)
{
    const ClipText words{question.prompt, {}, {}, {}, {}};
    PlannedSample sample = planned;
    sample.tokens = text.sample(words, question.options.front());
    SampleTokens tokens = sampleTokens(sample);
    for (std::size_t i = 1; i < question.options.size(); ++i) {
        const TextTokens other = text.sample(words, question.options[i]);
        tokens.others.push_back({other.after, other.afterMask});
    }
    // What comes before the answer is the same for all options, and counts for none.
    tokens.beforeMask.assign(tokens.before.size(), 0);
    return tokens;
}

int likeliest(const Evaluation& seen)
{
    int best = 0;
    const auto mean = [&](int i) {
        const auto at = static_cast<std::size_t>(i);
        return seen.nll[at] / std::max(1, seen.counted[at]);
    };
    for (int i = 1; i < static_cast<int>(seen.nll.size()); ++i)
        best = mean(i) < mean(best) ? i : best;
    return best;
}

} // namespace

ChoiceReport answerQuestions(Stream& stream, const Evaluator::Parts& parts,
                             const std::vector<Question>& questions, Mode mode,
                             const std::function<bool()>& isStopped)
{
    expects(parts.text != nullptr, "answerQuestions: questions need a template");
    const ParameterSet& parameters = parts.model.parameters();
    BatchLoader loader(parts.model, parts.feed, 4);
    Graph graph(stream, parameters.device(), {false, parameters.computeType()});
    ChoiceReport report;
    std::vector<int> right;
    for (const Question& question : questions) {
        expectsQuestion(question);
        if (isStopped && isStopped())
            break;
        const ClipInfo info = parts.clips.info(question.clip);
        MicroBatchPlan plan;
        plan.samples.push_back({question.clip, -1, info.frames, info.isImage, {}});
        const std::vector<SampleTokens> samples{
            sampleOf(question, plan.samples.front(), *parts.text)};
        const LoadedBatch& loaded = loader.load(stream, plan, samples);
        graph.reset();
        const ForwardPass pass{graph, parameters, nullptr, false, {}};
        report.chosen.push_back(likeliest(evaluate(pass, parts.model, loaded.batch, mode)));
        report.accuracy += report.chosen.back() == question.correct ? 1 : 0;
        report.chance += 1 / static_cast<double>(question.options.size());
        right.resize(std::max(right.size(), question.options.size()));
        ++right[static_cast<std::size_t>(question.correct)];
    }
    if (report.chosen.empty())
        return report;
    const auto count = static_cast<double>(report.chosen.size());
    report.accuracy /= count;
    report.chance /= count;
    report.constant = *std::max_element(right.begin(), right.end()) / count;
    return report;
}

} // namespace vergence::fvlm
