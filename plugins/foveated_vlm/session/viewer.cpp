#include "plugins/foveated_vlm/session/viewer.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/run/publish.h"
#include "plugins/foveated_vlm/view/picture_sheet.h"

namespace vergence::fvlm {

namespace {

constexpr int kShownClips = 16;

ViewControl chooser(const std::string& id, const std::string& title,
                    std::vector<std::string> labels, int chosen, const std::string& help)
{
    ViewControl control;
    control.id = id;
    control.title = title;
    control.help = help;
    control.kind = ViewControl::Kind::Choice;
    control.labels = std::move(labels);
    control.value = {static_cast<double>(chosen)};
    return control;
}

ViewControl questionLine(const std::string& typed)
{
    ViewControl control;
    control.id = GridAsking::kControl;
    control.title = "Question";
    control.help =
        "Ask for a cell, as \"b3\" (row b, column 3), and press Enter; or click the cell "
        "in the picture.";
    control.kind = ViewControl::Kind::Text;
    control.text = typed;
    return control;
}

std::vector<std::string> numbered(const std::string& first, const char* name, Index count)
{
    std::vector<std::string> labels{first};
    for (Index i = 1; i <= count; ++i)
        labels.push_back(fmt::format("{} {}", name, i));
    return labels;
}

std::string titleOf(const ClipLook& look)
{
    const std::string name = "clip " + clipName(look.info.id);
    return look.info.text.prompt.empty() ? name : name + ": " + look.info.text.prompt;
}

} // namespace

GazeScene gazeScene(const Session& session, const ClipLook& look, const GazeChoice& choice,
                    const std::string& note)
{
    const ClipSource& clips = session.sets().heldOut();
    const ModelSettings& model = session.model().settings();
    GazeScene scene;
    scene.height = clips.height();
    scene.width = clips.width();
    scene.frames = look.frames;
    scene.patch = model.vit.patch;
    const Index rows = clips.height() / model.vit.patch, columns = clips.width() / model.vit.patch;
    scene.coarse = gazeMaps(look.coarse, rows, columns, choice);
    if (look.fine.frames > 0)
        scene.fine = gazeMaps(look.fine, rows, columns, choice);
    else
        scene.fine = scene.coarse;
    scene.timestamps = look.info.timestamps;
    scene.title = titleOf(look);
    scene.note = note;
    return scene;
}

StripScene stripScene(const Session& session, const ClipLook& look)
{
    StripScene scene;
    scene.height = session.sets().heldOut().height();
    scene.width = session.sets().heldOut().width();
    scene.frames = look.frames;
    scene.timestamps = look.info.timestamps;
    scene.title = titleOf(look);
    const LatentSource* source = session.sets().heldOutLatents();
    if (look.predicted.empty() || source == nullptr)
        return scene;
    const auto [channels, height, width] = source->shape();
    const auto size = static_cast<std::size_t>(channels * height * width);
    scene.latentHeight = static_cast<int>(height);
    scene.latentWidth = static_cast<int>(width);
    scene.truth = look.latents;
    scene.predicted = look.predicted;
    scene.previous = look.firstLatent;
    scene.previous.insert(scene.previous.end(), look.latents.begin(),
                          look.latents.end() - static_cast<std::ptrdiff_t>(size));
    scene.provider = source->provider();
    scene.statistics = source->statistics();
    return scene;
}

QueryScene queryScene(const Session& session, const ClipLook& look)
{
    QueryScene scene;
    scene.width = session.model().settings().query.width;
    scene.queries = look.queries;
    scene.fixed = look.staticQuery;
    scene.initial = look.firstQuery;
    scene.title = titleOf(look);
    return scene;
}

Viewer::Viewer(Session& session) : m_session(session), m_looker(session)
{
    const auto shape = session.model().encoder().readoutShape();
    m_blocks = shape[0];
    m_heads = shape[1];
    const auto& members = session.sets().heldOutMembers;
    const auto& shown = members.empty() ? session.sets().members : members;
    m_clips.assign(shown.begin(),
                   shown.begin() + std::min<std::ptrdiff_t>(
                                       kShownClips, static_cast<std::ptrdiff_t>(shown.size())));
    m_refinement = session.config().refinements;
    const auto* grids = dynamic_cast<const GridClips*>(&session.sets().heldOut());
    if (grids == nullptr || m_clips.empty())
        return;
    m_asking.emplace(*grids);
    m_asking->show(shownClip());
}

void Viewer::declare(RunContext& context) const
{
    if (!m_session.hasHeldOut())
        return;
    std::vector<std::string> clips;
    for (const Index clip : m_clips)
        clips.push_back("clip " + clipName(m_session.sets().heldOut().info(clip).id));
    std::vector<std::string> refinements;
    for (int k = 1; k <= 8; ++k)
        refinements.push_back(k == 1 ? "1 pass" : fmt::format("{} passes", k));
    std::vector<ViewControl> controls{
        chooser("clip", "Clip", clips, m_clip, "Held-out clip that is looked at."),
        chooser("block", "Block", numbered(m_blocks <= 4 ? "all" : "last four", "block", m_blocks),
                m_block, "Blocks of the encoder whose attention is averaged."),
        chooser("head", "Head", numbered("all", "head", m_heads), m_head,
                "Heads whose attention is averaged."),
        chooser("refinement", "Fine passes", refinements, m_refinement - 1,
                "Fine passes after the coarse one."),
        chooser("scale", "Scale", {"per row", "per frame"}, m_scalesPerFrame ? 1 : 0,
                "What the brightest colour stands for.")};
    if (m_asking)
        controls.insert(controls.begin(), questionLine(m_asking->typed()));
    context.declareControls(controls);
}

bool Viewer::apply(const ViewInput& input, RunContext& context)
{
    bool isChanged = false;
    const int before = m_clip;
    const auto take = [&](const char* id, int& target, int first, int last) {
        const auto value = input.scalar(id);
        if (!value)
            return;
        const int chosen = std::clamp(static_cast<int>(*value) + first, first, last);
        isChanged |= chosen != target;
        target = chosen;
    };
    take("clip", m_clip, 0, static_cast<int>(m_clips.size()) - 1);
    take("block", m_block, 0, static_cast<int>(m_blocks));
    take("head", m_head, 0, static_cast<int>(m_heads));
    take("refinement", m_refinement, 1, 8);
    int scale = m_scalesPerFrame ? 1 : 0;
    take("scale", scale, 0, 1);
    m_scalesPerFrame = scale == 1;
    if (!m_asking)
        return isChanged;
    if (m_clip != before)
        m_asking->show(shownClip());
    else
        isChanged |= m_asking->apply(input);
    if (m_clip != before || m_asking->takeClicked())
        declare(context); // the line of the question says another one
    return isChanged;
}

GazeChoice Viewer::choice() const
{
    GazeChoice choice;
    if (m_block > 0)
        choice.blocks = {Index{m_block} - 1};
    if (m_head > 0)
        choice.heads = {Index{m_head} - 1};
    return choice;
}

std::string Viewer::choiceText() const
{
    const std::string block =
        m_block > 0 ? fmt::format("block {}", m_block)
                    : (m_blocks <= 4 ? std::string("all blocks")
                                     : fmt::format("blocks {}–{}", m_blocks - 3, m_blocks));
    return block + (m_head > 0 ? fmt::format(", head {}", m_head) : ", all heads");
}

void Viewer::publish(RunContext& context)
{
    if (!m_session.hasHeldOut())
        return;
    const Trainer::AverageScope average(m_session.trainer(), context.stream());
    ClipLooker::Wish wish{.refinements = m_refinement};
    if (m_asking) {
        wish.writes = true;
        wish.asked = m_asking->text();
    }
    const ClipLook look = m_looker.look(context.stream(), shownClip(), wish);
    publishGaze(context, look);
    publishImage(context, "strip", frameStrip(stripScene(m_session, look)));
    if (!look.queries.empty())
        publishDrawing(context, "queries", queryPanel(queryScene(m_session, look)));
}

void Viewer::publishGaze(RunContext& context, const ClipLook& look)
{
    GazeLook style;
    style.scalesPerFrame = m_scalesPerFrame;
    style.cell = m_session.config().gazeSize;
    GazeScene scene = gazeScene(m_session, look, choice(), choiceText());
    publishImage(context, "gaze",
                 m_asking ? askPicture(m_asking->scene(look, std::move(scene), style), style)
                          : gazePicture(scene, style));
}

} // namespace vergence::fvlm
