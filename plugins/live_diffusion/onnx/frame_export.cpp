#include "plugins/live_diffusion/onnx/frame_export.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.h"
#include "plugins/live_diffusion/model/blend.h"
#include "plugins/live_diffusion/onnx/graph_builder.h"

namespace vergence::live {

namespace {

constexpr OnnxType kWide = OnnxType::Float;

/// Repeats the graph of one evaluation, with the sampler's arithmetic between.
class FrameExporter {
public:
    FrameExporter(OnnxModel evaluation, const Sampler& sampler, const OnnxOptions& options)
        : m_evaluation(std::move(evaluation)),
          m_sampler(sampler),
          m_options(options)
    {
        m_model.initialisers = m_evaluation.initialisers;
        m_model.irVersion = m_evaluation.irVersion;
        m_model.opset = m_evaluation.opset;
        m_model.producer = m_evaluation.producer;
        m_model.name = fmt::format("{}, {} steps", m_evaluation.name, sampler.steps());
        m_model.metadata = {{"sampler", std::string(titleOf(sampler.settings().kind))},
                            {"timesteps", fmt::format("{}", fmt::join(sampler.times(), " "))}};
    }

    OnnxModel take() &&
    {
        declareInputs();
        findVarying();
        OnnxGraphBuilder build(m_model);
        m_build = &build;
        std::string x = sum("start", {{static_cast<float>(m_sampler.alpha(0)), "init"},
                                      {static_cast<float>(m_sampler.sigma(0)), "noise"}}),
                    clean;
        for (int step = 0; step < m_sampler.steps(); ++step)
            std::tie(x, clean) = advanced(step, x, clean);
        blend(clean);
        m_model.outputs = {{"frame", kWide, picture()}};
        return std::move(m_model);
    }

private:
    OnnxDims picture() const
    {
        return std::ranges::find(m_evaluation.inputs, "x", &OnnxValue::name)->dims;
    }

    void declareInputs()
    {
        m_model.inputs = {{"init", kWide, picture()}, {"noise", kWide, picture()}};
        for (const OnnxValue& input : m_evaluation.inputs)
            if (input.name != "x" && input.name != "t")
                m_model.inputs.push_back(input);
        m_model.inputs.push_back({"previous", kWide, picture()});
        m_model.inputs.push_back({"beta", kWide, {1}});
        for (int step = 0; step < m_sampler.steps(); ++step)
            if (m_sampler.usesNoise(step))
                m_model.inputs.push_back({noiseOf(step), kWide, picture()});
    }
    static std::string noiseOf(int step) { return fmt::format("noise_{}", step); }

    /// What depends on x or t has another value at each step.
    void findVarying()
    {
        m_varying = {"x", "t"};
        for (const OnnxNode& node : m_evaluation.nodes)
            if (std::ranges::any_of(node.inputs, [&](const std::string& input) {
                    return m_varying.contains(input);
                }))
                m_varying.insert(node.outputs.begin(), node.outputs.end());
    }

    /// The nodes of one evaluation at `x` and `t`.
    void evaluate(int step, const std::string& x, const std::string& t)
    {
        const bool isLast = step + 1 == m_sampler.steps();
        for (OnnxNode node : m_evaluation.nodes) {
            const bool varies = m_varying.contains(node.outputs.front());
            const bool isBlend = node.outputs.front() == "blend"; // read after the last step
            if ((!varies && step > 0) || (isBlend && !isLast))
                continue;
            if (varies) {
                node.name = inStep(step, node.name);
                for (auto* names : {&node.inputs, &node.outputs})
                    for (std::string& name : *names)
                        if (m_varying.contains(name))
                            name = name == "x" ? x : name == "t" ? t : inStep(step, name);
            }
            m_model.nodes.push_back(std::move(node));
        }
    }
    static std::string inStep(int step, const std::string& name)
    {
        return fmt::format("step{}/{}", step, name);
    }

    /// x at the next time, and the estimate that is shown.
    std::pair<std::string, std::string> advanced(int step, const std::string& x,
                                                 const std::string& previousClean)
    {
        const auto name = [&](const char* what) { return inStep(step, what); };
        const int time = m_sampler.times()[static_cast<std::size_t>(step)];
        const std::vector<float> times(static_cast<std::size_t>(m_options.batch),
                                       static_cast<float>(time));
        evaluate(step, cast(name("x"), x, m_options.type),
                 m_build->floats(fmt::format("time({})", time), times, {m_options.batch}, kWide));
        const std::string prediction = cast(name("prediction.wide"), name("pred"), kWide);
        const StepCoefficients<float>& c = m_sampler.coefficients(step);
        std::string estimate =
            sum(name("estimate"), {{c.fromX, x}, {c.fromPrediction, prediction}});
        if (m_sampler.settings().clampsClean)
            estimate = clamped(name("clamped"), estimate, -1);
        const std::string clean = sum(name("clean"), {{c.keepX, x}, {c.keepClean, estimate}});
        return {sum(name("next"), {{c.nextX, x},
                                   {c.nextClean, clean},
                                   {c.nextPrevious, previousClean},
                                   {c.nextNoise, noiseOf(step)}}),
                clean};
    }

    /// y = clamp(x̂₀ + (1 − w′)(y_{k−1} − x̂₀)), 1 − w′ = β (1 − max(σ(logit), 1/4)).
    void blend(const std::string& clean)
    {
        const std::string logits =
            cast("blend/logits", inStep(m_sampler.steps() - 1, "blend"), kWide);
        std::string share = m_build->node("Sigmoid", "blend/sigmoid", {logits});
        share = clamped("blend/share", share, static_cast<float>(kLeastBlend));
        share = sum("blend/rest", {{-1, share}, {1, m_build->scalar(1, kWide)}});
        share = m_build->node("Mul", "blend/ofLast", {share, "beta"});
        const std::string change = sum("blend/change", {{1, "previous"}, {-1, clean}});
        const std::string moved = m_build->node("Mul", "blend/moved", {share, change});
        clamped("frame", m_build->node("Add", "blend/mixed", {clean, moved}), -1);
    }

    std::string cast(const std::string& name, const std::string& x, OnnxType to)
    {
        if (m_options.type == kWide)
            return x;
        return m_build->node("Cast", name, {x}, {{"to", static_cast<std::int64_t>(to)}});
    }
    /// To [least, 1].
    std::string clamped(const std::string& name, const std::string& x, float least)
    {
        return m_build->node("Clip", name,
                             {x, m_build->scalar(least, kWide), m_build->scalar(1, kWide)});
    }
    /// Σ factor · value; terms whose factor is 0 are left out.
    std::string sum(const std::string& name,
                    const std::vector<std::pair<float, std::string>>& terms)
    {
        std::vector<std::string> parts;
        for (const auto& [factor, value] : terms) {
            if (factor == 0)
                continue;
            parts.push_back(factor == 1
                                ? value
                                : m_build->node("Mul", fmt::format("{}/{}", name, parts.size()),
                                                {value, m_build->scalar(factor, kWide)}));
        }
        std::string y = parts.at(0);
        for (std::size_t i = 1; i < parts.size(); ++i)
            y = m_build->node("Add", i + 1 == parts.size() ? name : fmt::format("{}+{}", name, i),
                              {y, parts[i]});
        return y;
    }

    OnnxModel m_evaluation, m_model;
    const Sampler& m_sampler;
    const OnnxOptions& m_options;
    OnnxGraphBuilder* m_build = nullptr;
    std::set<std::string> m_varying; ///< values of the evaluation
};

} // namespace

OnnxModel exportFrame(const Program& unet, const WeightSource& weights, const Sampler& sampler,
                      const OnnxOptions& options)
{
    return FrameExporter(exportProgram(unet, weights, options), sampler, options).take();
}

} // namespace vergence::live
