#include "tests/support/cuda_emulation/convolutions/heuristics.h"

namespace vergence::emulation::convolutions {

namespace {

MeaningPointer interpretEngine(const Descriptor& d)
{
    const auto index = d.one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
    demand(index >= 0 && index < static_cast<std::int64_t>(engines().size()),
           CUDNN_STATUS_NOT_SUPPORTED, "there is no engine " + std::to_string(index));
    auto made = std::make_shared<GraphEngine>();
    made->graph = d.meant<Graph>(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
    made->index = static_cast<EngineIndex>(index);
    return made;
}

MeaningPointer interpretConfiguration(const Descriptor& d)
{
    auto made = std::make_shared<Configuration>();
    made->engine = d.meant<GraphEngine>(CUDNN_ATTR_ENGINECFG_ENGINE);
    if (const auto refusal = made->engine->engine().refusalOf(*made->engine->graph))
        throw *refusal;
    return made;
}

MeaningPointer interpretKnobChoice(const Descriptor&)
{
    throw Refusal{CUDNN_STATUS_NOT_SUPPORTED, "no engine has knobs that can be chosen", false};
}

MeaningPointer interpretHeuristic(const Descriptor& d)
{
    const auto mode = d.one<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE);
    demand(mode < CUDNN_HEUR_MODES_COUNT, "the mode of a heuristic is none");
    const auto graph = d.meant<Graph>(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    auto made = std::make_shared<Heuristic>();
    for (const EngineIndex index : preferences(*graph, mode)) {
        ++made->possible;
        auto engine = std::make_shared<GraphEngine>();
        engine->graph = graph;
        engine->index = index;
        if (engine->engine().refusalOf(*graph))
            continue;
        auto configuration = std::make_shared<Configuration>();
        configuration->engine = std::move(engine);
        made->configurations.push_back(std::move(configuration));
    }
    ++made->possible;
    return made;
}

} // namespace

const Kind kEngineKind = {
    CUDNN_BACKEND_ENGINE_DESCRIPTOR,
    "an engine",
    {{CUDNN_ATTR_ENGINE_OPERATION_GRAPH,
      "the graph",
      CUDNN_TYPE_BACKEND_DESCRIPTOR,
      AttributeRule::Required,
      1,
      {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR}},
     {CUDNN_ATTR_ENGINE_GLOBAL_INDEX, "the index", CUDNN_TYPE_INT64, AttributeRule::Required, 1},
     {CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, "the numerical notes", CUDNN_TYPE_NUMERICAL_NOTE,
      AttributeRule::ReadOnly, CUDNN_NUMERICAL_NOTE_TYPE_COUNT},
     {CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, "the behavior notes", CUDNN_TYPE_BEHAVIOR_NOTE,
      AttributeRule::ReadOnly, CUDNN_BEHAVIOR_NOTE_TYPE_COUNT}},
    interpretEngine};

const Kind kKnobChoiceKind = {CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR,
                              "a choice of a knob",
                              {{CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, "the knob", CUDNN_TYPE_KNOB_TYPE,
                                AttributeRule::Required, 1},
                               {CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, "the value", CUDNN_TYPE_INT64,
                                AttributeRule::Required, 1}},
                              interpretKnobChoice};

const Kind kConfigurationKind = {
    CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
    "a configuration",
    {{CUDNN_ATTR_ENGINECFG_ENGINE,
      "the engine",
      CUDNN_TYPE_BACKEND_DESCRIPTOR,
      AttributeRule::Required,
      1,
      {CUDNN_BACKEND_ENGINE_DESCRIPTOR}},
     {CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, "the knobs", CUDNN_TYPE_BACKEND_DESCRIPTOR,
      AttributeRule::ReadOnly, CUDNN_KNOB_TYPE_COUNTS},
     {CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, "the size of the workspace", CUDNN_TYPE_INT64,
      AttributeRule::ReadOnly, 1}},
    interpretConfiguration};

const Kind kHeuristicKind = {
    CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR,
    "a heuristic",
    {{CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
      "the graph",
      CUDNN_TYPE_BACKEND_DESCRIPTOR,
      AttributeRule::Required,
      1,
      {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR}},
     {CUDNN_ATTR_ENGINEHEUR_MODE, "the mode", CUDNN_TYPE_HEUR_MODE, AttributeRule::Required, 1},
     {CUDNN_ATTR_ENGINEHEUR_RESULTS, "the results", CUDNN_TYPE_BACKEND_DESCRIPTOR,
      AttributeRule::ReadOnly, 1000}},
    interpretHeuristic};

bool GraphEngine::answer(cudnnBackendAttributeName_t name, Answer& answer) const
{
    if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE)
        answer.give(engine().notesFor(*graph));
    else if (name == CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE)
        answer.give(engine().behavior());
    else if (name == CUDNN_ATTR_ENGINE_GLOBAL_INDEX)
        answer.give(std::vector{static_cast<std::int64_t>(index)});
    else if (name == CUDNN_ATTR_ENGINE_OPERATION_GRAPH)
        answer.give({graph}, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, 1);
    else
        return false;
    return true;
}

namespace {

std::vector<MeaningPointer> knobsOf(const Engine& engine)
{
    if (engine.summation.parts == 1)
        return {};
    auto choice = std::make_shared<KnobChoice>();
    choice->parts = engine.summation.parts;
    return {std::move(choice)};
}

} // namespace

bool KnobChoice::answer(cudnnBackendAttributeName_t name, Answer& answer) const
{
    if (name == CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE)
        answer.give(std::vector{CUDNN_KNOB_TYPE_SPLIT_K_SLC});
    else if (name == CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE)
        answer.give(std::vector{parts});
    else
        return false;
    return true;
}

bool Configuration::answer(cudnnBackendAttributeName_t name, Answer& answer) const
{
    if (name == CUDNN_ATTR_ENGINECFG_ENGINE)
        answer.give({engine}, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
    else if (name == CUDNN_ATTR_ENGINECFG_KNOB_CHOICES)
        answer.give(knobsOf(engine->engine()), CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, 1);
    else if (name == CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE)
        answer.give(std::vector{engine->engine().workspaceBytes(*engine->graph)});
    else
        return false;
    return true;
}

bool Heuristic::answer(cudnnBackendAttributeName_t name, Answer& answer) const
{
    if (name != CUDNN_ATTR_ENGINEHEUR_RESULTS)
        return false;
    answer.give(configurations, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, possible);
    return true;
}

} // namespace vergence::emulation::convolutions
