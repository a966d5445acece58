#include "plugins/mc_embedding/study/model_session.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "core/base/clock.h"
#include "plugins/mc_embedding/study/ambiguity.h"
#include "plugins/mc_embedding/study/experiments/semantic_space.h"
#include "plugins/mc_embedding/study/experiments/text_uncertainty.h"

// The text side of a session: the prompts of exp10 as a measurement of their own, the judgement of
// exp5 and the prompts of exp8 by the model's text tower.

namespace vergence::mc_embedding {

/// Prompts and text tower of exp10; the measurement is left out where there is no tower.
bool ModelSession::openTexts(RunContext& context)
{
    if (context.stopRequested())
        return false;
    TextScores scores;
    for (const StyledPrompt& prompt : textUncertaintyPrompts(images(), m_p.config.seed)) {
        scores.prompts.push_back(prompt.text);
        scores.styles.push_back(prompt.style);
    }
    try {
        m_text = textModel(context);
        const PassId probe[] = {{0, 0}};
        m_text->encodeMasked(context.stream(), {scores.prompts.front()}, m_p.config.clean,
                             textDropout(), probe);
        m_text->isStopped = {}; // a context is not kept; blocks of passes are short
    } catch (const InputError& failure) {
        skipMeasurement(context, "exp10", failure.what());
        return true;
    }
    if (context.stopRequested()) {
        m_text.reset();
        return false;
    }
    scores.trace = Matrix(static_cast<std::size_t>(current().trials), images(),
                          std::numeric_limits<double>::quiet_NaN());
    openStore(scores.prompts);
    study().texts = std::move(scores);
    m_isReady = true;
    return true;
}

Perturbation ModelSession::textDropout() const
{
    Perturbation dropout;
    dropout.p = current().variant.p;
    dropout.seed = m_p.config.seed;
    return dropout;
}

ModelSession::Outcome ModelSession::stepTexts(RunContext& context)
{
    if (!m_textChunk) {
        if (takeStored(context))
            return isDone() ? Outcome::Done : Outcome::Continue;
        const std::size_t count = std::min(kTextsAtOnce, images() - m_first);
        const auto& all = study().texts->prompts;
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(m_first);
        m_textChunk = std::make_unique<TextMeasurement>(
            *m_text,
            TextMeasurement::Prompts{
                m_first, {begin, begin + static_cast<std::ptrdiff_t>(count)}, m_p.config.clean},
            textDropout(), current(), m_p.config.variance == "biased");
    }
    if (context.stopRequested())
        return Outcome::Interrupted;
    m_textChunk->runBlock(context.stream());
    if (m_textChunk->isDone()) {
        const ChunkResult result = m_textChunk->result();
        m_textChunk.reset();
        completeChunk(context, result, true);
    }
    return isDone() ? Outcome::Done : Outcome::Continue;
}

std::int64_t ModelSession::textBlocksLeft(const MeasurementPlan& plan, bool isCurrent) const
{
    const auto all = static_cast<std::size_t>(plan.images);
    std::size_t left = all - (isCurrent ? std::min(all, m_first) : 0);
    std::int64_t blocks = 0;
    if (isCurrent && m_textChunk) {
        blocks = m_textChunk->blocksLeft();
        left -= std::min(left, kTextsAtOnce);
    }
    return blocks + textBlocks(plan, left);
}

/// The text side of exp5 and exp8. False where a stop left something out.
bool ModelSession::readPrompts(RunContext& context)
{
    const bool readsOwn = m_p.config.runs("exp8");
    if (m_p.plan.judges && !study().ambiguity)
        judge(context);
    if (readsOwn && !study().prompts)
        takePrompts(context);
    const bool hasAll = (!m_p.plan.judges || study().ambiguity) && (!readsOwn || study().prompts);
    return hasAll || !context.stopRequested();
}

/// The prompts of exp8 without masks.
void ModelSession::takePrompts(RunContext& context)
{
    const auto& own = m_p.config.exp8Prompts;
    try {
        const auto text = textModel(context);
        PromptFeatures taken{own.empty() ? semanticPrompts() : own, {}, text->logitScale()};
        taken.features = text->encode(context.stream(), taken.prompts, m_p.config.clean);
        if (context.stopRequested())
            return;
        study().prompts = std::move(taken);
    } catch (const InputError& failure) {
        const std::string sentence =
            fmt::format("{} has no part in exp8: {}", m_p.plan.label, failure.what());
        study().warnings.push_back(sentence);
        context.warn("W-exp8/" + m_p.plan.label, sentence);
    }
}

/// The text side for exp5: features made elsewhere, the model's own tower, or the demo's.
std::unique_ptr<TextModel> ModelSession::textModel(RunContext& context) const
{
    const std::string& key = m_p.plan.model;
    const std::filesystem::path& made = m_p.config.textFeatures;
    if (!made.empty()) {
        const std::filesystem::path npy = made / (key + ".npy");
        return importedTextModel(std::filesystem::exists(npy) ? npy
                                                              : made / (key + ".safetensors"));
    }
    const std::filesystem::path folder = m_p.config.folderOf(key);
    if (folder.empty())
        return demoTextModel(key, static_cast<std::size_t>(m_vision->encoder->tower().feature),
                             m_p.config.seed, context.device());
    return loadTextModel(context.stream(), context.device(), key, folder,
                         m_p.source.cacheFolder() / "text",
                         [&context] { return context.stopRequested(); });
}

/// Zero-shot judgement by the features without masks. Want of class names or of a text tower is no
/// reason to lose what was measured.
void ModelSession::judge(RunContext& context)
{
    try {
        ImageSet set = m_p.source.images();
        set.images.resize(images());
        const ClassMap map =
            m_p.config.classMap.empty() ? ClassMap{} : readClassMap(m_p.config.classMap);
        const StudyClasses classes = studyClasses(set, map);
        const auto text = textModel(context);
        Ambiguity judged = computeAmbiguity(context.stream(), *text, study().deterministic, classes,
                                            {m_p.config.templates, m_p.config.clean});
        if (context.stopRequested())
            return;
        study().ambiguity = std::move(judged);
        for (const auto& notes : {classes.notes, text->notes()})
            study().warnings.insert(study().warnings.end(), notes.begin(), notes.end());
    } catch (const InputError& failure) {
        const std::string sentence =
            fmt::format("{} has no part in exp5: {}", m_p.plan.label, failure.what());
        study().warnings.push_back(sentence);
        context.warn("W-EXP5/" + m_p.plan.label, sentence);
    }
}

} // namespace vergence::mc_embedding
