#include "plugins/foveated_vlm/view/verdict.h"

#include <cmath>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/error.h"

namespace vergence::fvlm {

namespace {

constexpr double kEven = 0.005;         ///< ratios this close to 1 make no difference
constexpr std::size_t kFewestClips = 8; ///< for an interval
constexpr double kMostEpochs = 20;

bool isKnown(const Interval& interval)
{
    return std::isfinite(interval.value);
}

/// Ratios of totals come without.
bool hasBounds(const Interval& interval)
{
    return std::isfinite(interval.low) && std::isfinite(interval.high);
}

Interval ratioOf(const EvaluationRecord& record, double ClipScore::*numerator,
                 double ClipScore::*denominator)
{
    std::vector<double> above, below;
    for (const ClipScore& score : record.scores) {
        above.push_back(score.*numerator);
        below.push_back(score.*denominator);
    }
    return ratioInterval(above, below);
}

/// Coarse losses of the control over fine losses of the run, of the clips that both have.
Interval matchedRatio(const EvaluationRecord& record, const EvaluationRecord& control)
{
    std::map<std::uint64_t, const ClipScore*> byId;
    for (const ClipScore& score : control.scores)
        byId[score.id] = &score;
    std::vector<double> above, below;
    for (const ClipScore& score : record.scores)
        if (const auto found = byId.find(score.id);
            found != byId.end() && found->second->counted == score.counted) {
            above.push_back(found->second->coarse);
            below.push_back(score.fine);
        }
    return ratioInterval(above, below);
}

std::string percent(double share)
{
    return fmt::format("{:.{}f} %", 100 * share, std::abs(share) < 0.0995 ? 1 : 0);
}

/// What is 12 % lower and how surely.
std::string lowered(const Interval& ratio)
{
    return fmt::format("{} (95 % interval {} to {})", percent(1 - 1 / ratio.value),
                       percent(1 - 1 / ratio.low), percent(1 - 1 / ratio.high));
}

/// Mean nats of a fine answer.
double answerNats(const EvaluationRecord& record)
{
    double sum = 0, count = 0;
    for (const ClipScore& score : record.scores)
        if (std::isfinite(score.fine)) {
            sum += score.fine;
            count += 1;
        }
    return count > 0 ? sum / count : NAN;
}

/// Half of what guessing costs: a gaze that has found what it is asked for is far below, one look
/// over everything far above.
bool isLearnt(const EvaluationRecord& record)
{
    return !(answerNats(record) > record.blindNats / 2);
}

/// For people who have never heard of a loss.
std::string helps(const EvaluationRecord& record, const EvaluationRecord& control,
                  const Interval& ratio)
{
    const Interval with = shareInterval(record.right, record.answers);
    const Interval without = shareInterval(control.right, control.answers);
    return fmt::format(
        "Looking helps: with its gaze the model answers {:.0f} % of {} held-out questions right "
        "(95 % interval {:.0f} to {:.0f} %), the same model trained alike without one, the matched "
        "control, {:.0f} % ({:.0f} to {:.0f} %); an answer costs the control {:.3g} times as many "
        "nats ({:.3g} to {:.3g}).",
        100 * with.value, record.answers, 100 * with.low, 100 * with.high, 100 * without.value,
        100 * without.low, 100 * without.high, ratio.value, ratio.low, ratio.high);
}

void decide(Verdict& verdict, const EvaluationRecord& record, const EvaluationRecord* matched)
{
    using Outcome = Verdict::Outcome;
    if (!isLearnt(record)) {
        verdict.outcome = Outcome::NotYetLearnt;
        verdict.sentence = fmt::format(
            "Not yet learnt: after {} updates an answer costs {:.2f} nats, where guessing costs "
            "{:.2f}. Whether looking helps shows when the task is learnt; train on.",
            record.update, answerNats(record), record.blindNats);
        return;
    }
    const bool hasMatched = matched != nullptr;
    const Interval& ratio = hasMatched ? verdict.matched : verdict.ratio;
    const std::string against =
        hasMatched ? "of a model trained without looking" : "of the coarse pass";
    if (verdict.clips < kFewestClips || !isKnown(ratio)) {
        verdict.sentence =
            fmt::format("Cannot tell: {} held-out clips are too few.", verdict.clips);
        return;
    }
    const bool isEven = ratio.low >= 1 - kEven && ratio.high <= 1 + kEven;
    if (ratio.high < 1 || isEven) {
        verdict.outcome = Outcome::DoesNot;
        verdict.sentence = fmt::format(
            "Looking does not help: the loss is {} that {} (ratio {:.3f}, 95 % interval {:.3f} to "
            "{:.3f}).",
            ratio.high < 1 ? "above" : "the same as", against, ratio.value, ratio.low, ratio.high);
        return;
    }
    if (ratio.low <= 1 + kEven) {
        verdict.sentence = fmt::format(
            "Cannot tell: the interval of the ratio, {:.4f} to {:.4f}, {}.", ratio.low, ratio.high,
            ratio.low <= 1 ? "includes 1" : "reaches into 1 ± 0.005, which makes no difference");
        return;
    }
    for (const auto& [control, name] :
         {std::pair{&verdict.random, "random"}, std::pair{&verdict.shuffled, "shuffled"}})
        if (isKnown(*control) &&
            (hasBounds(*control) ? control->low : control->value) <= 1 + kEven) {
            verdict.sentence = fmt::format("Cannot tell: the loss is lower than that {}, but {} "
                                           "queries do no worse than the learned ones.",
                                           against, name);
            return;
        }
    if (!hasMatched && !verdict.record.trainsCoarse) {
        verdict.sentence = "Cannot tell: the coarse pass was not trained, so its loss says little. "
                           "Train the matched control and compare.";
        return;
    }
    verdict.outcome = Outcome::Helps;
    verdict.sentence = hasMatched && record.answers > 0 && matched->answers > 0
                           ? helps(record, *matched, ratio)
                           : fmt::format("Looking helps: the loss is below that {} by {}.", against,
                                         lowered(ratio));
}

nlohmann::json intervalJson(const Interval& interval)
{
    if (!isKnown(interval))
        return nullptr;
    nlohmann::json json{{"value", interval.value}};
    if (hasBounds(interval))
        json.update({{"low", interval.low}, {"high", interval.high}});
    return json;
}

} // namespace

Verdict judge(const EvaluationRecord& record, const HealthFigures& health,
              const EvaluationRecord* matched)
{
    expects(!matched || matched->isCoarseOnly, "verdict: the control is trained without looks");
    Verdict verdict;
    verdict.record = record;
    verdict.record.scores.clear();
    verdict.lights = healthLights(health);
    verdict.ratio = ratioOf(record, &ClipScore::coarse, &ClipScore::fine);
    verdict.random = ratioOf(record, &ClipScore::random, &ClipScore::fine);
    if (!isKnown(verdict.random))
        verdict.random.value = record.randomRatio;
    verdict.shuffled = ratioOf(record, &ClipScore::shuffled, &ClipScore::fine);
    if (!isKnown(verdict.shuffled))
        verdict.shuffled.value = record.shuffledRatio;
    verdict.sequential = ratioOf(record, &ClipScore::sequential, &ClipScore::fine);
    for (const ClipScore& score : record.scores)
        verdict.clips += std::isfinite(score.fine);
    if (matched)
        verdict.matched = matchedRatio(record, *matched);
    const bool hasMatched = isKnown(verdict.matched);
    if (record.isCoarseOnly)
        verdict.sentence = "This run is a control: it was trained without looking.";
    else
        decide(verdict, record, hasMatched ? matched : nullptr);

    if (matched && !hasMatched)
        verdict.remarks.push_back("The matched control was measured on other clips.");
    if (hasMatched && matched->update != record.update)
        verdict.remarks.push_back(fmt::format("The matched control was trained for {} updates, "
                                              "this run for {}.",
                                              matched->update, record.update));
    if (!matched && !record.isCoarseOnly)
        verdict.remarks.push_back("No matched control: train one with control-coarse.");
    if (record.epochs > kMostEpochs)
        verdict.remarks.push_back(fmt::format(
            "{:.0f} passes over the data: what is measured may be memory.", record.epochs));
    if (isKnown(verdict.sequential) && std::abs(verdict.sequential.value - 1) > 0.01)
        verdict.remarks.push_back(fmt::format("Sequential inference has {:.3f} times the loss.",
                                              verdict.sequential.value));
    verdict.remarks.push_back("One seed; repeat with others before believing small differences.");
    return verdict;
}

nlohmann::json verdictJson(const Verdict& verdict)
{
    static const char* const kOutcomes[] = {"helps", "does_not", "cannot_tell", "not_yet_learnt"};
    nlohmann::json lights = nlohmann::json::object();
    for (const HealthLight& light : verdict.lights)
        lights[light.id] = {{"state", light.state == HealthLight::State::Bad    ? "bad"
                                      : light.state == HealthLight::State::Good ? "good"
                                                                                : "unknown"},
                            {"reading", light.reading}};
    return {{"format", "vergence-verdict/1"},
            {"outcome", kOutcomes[static_cast<int>(verdict.outcome)]},
            {"sentence", verdict.sentence},
            {"remarks", verdict.remarks},
            {"ratio", intervalJson(verdict.ratio)},
            {"matched", intervalJson(verdict.matched)},
            {"random", intervalJson(verdict.random)},
            {"shuffled", intervalJson(verdict.shuffled)},
            {"sequential", intervalJson(verdict.sequential)},
            {"clips", verdict.clips},
            {"update", verdict.record.update},
            {"epochs", verdict.record.epochs},
            {"lights", std::move(lights)}};
}

} // namespace vergence::fvlm
