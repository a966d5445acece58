#include "plugins/foveated_vlm/session/flop.h"

#include <cmath>

namespace vergence::fvlm {

namespace {

double product(Index a, Index b)
{
    return 2 * static_cast<double>(a) * static_cast<double>(b);
}

} // namespace

double encoderFlop(const DinoConfig& vit, Index patches)
{
    const Index tokens = 1 + vit.registers + patches, width = vit.width;
    const double perToken =
        product(width, 4 * width) + 2 * product(width, vit.hidden) + 2 * product(tokens, width);
    const double last = product(width, 2 * width); // keys and values alone
    return static_cast<double>(tokens) * (perToken * (vit.layers - 1) + last) +
           static_cast<double>(patches) * product(width, 3 * vit.patch * vit.patch);
}

double languageFlop(const LlamaConfig& llm, Index length)
{
    const Index head = llm.headSize > 0 ? llm.headSize : llm.width / llm.heads;
    const Index queries = llm.heads * head, keys = llm.keyHeads * head;
    return llm.layers * (product(llm.width, 2 * queries + 2 * keys) +
                         3 * product(llm.width, llm.hidden) + product(length, queries));
}

double headFlop(const HeadSettings& head, Index state)
{
    const Index places = head.height * head.width, width = head.widths.back();
    if (head.kind == HeadKind::Mlp) {
        const Index latent = head.widths.front() * places, hidden = 4 * head.hidden;
        return 2 * (product(state + latent, hidden) + product(hidden, hidden) +
                    product(hidden, latent));
    }
    const auto area = static_cast<double>(places);
    double decoder = 0;
    for (std::size_t i = 0; i + 1 < head.widths.size(); ++i)
        decoder += 9 * product(head.widths[i], head.widths[i + 1]);
    if (head.kind == HeadKind::Film) // the latent encoder is as large
        return 3 * area * decoder +
               2 * (product(state, head.hidden) + product(head.hidden, 2 * width));
    const double encoder =
        9 * (product(head.widths[0], head.widths[1]) + product(head.widths[1], width));
    const double asked = product(2 * width, width) + 4 * product(width, width);
    return area * encoder +
           2 * (product(state, width) + area * (asked + 2 * product(places, width) + decoder));
}

double trainFlop(const WorkCounts& work, Index patches, const ModelSettings& model,
                 const TrainSettings& train)
{
    if (work.sequences == 0)
        return 0;
    const bool isControl = train.trainsCoarseOnly;
    const bool learnsCoarse = train.objective == Objective::Losses && train.live.coarse > 0;
    const DinoConfig& vit = model.vit;
    const double look =
        vit.layers * (product(vit.width, 2 * vit.width) + 2 * product(vit.width, vit.hidden) +
                      2 * product(patches + 1, vit.width));
    const double looks = (isControl ? 1 : 1 + train.refinements) * work.frames * look;
    const double encoder = work.encoded * encoderFlop(vit, patches);

    const auto read = [&](double tokens) {
        return tokens * languageFlop(model.llm, std::llround(tokens / work.sequences));
    };
    const double visual = work.visual + (model.hasLatents() ? 2 * work.sequences : 0);
    const double whole = visual + work.text;
    const double before =
        (learnsCoarse ? read(whole) : read(visual)) + (train.refinements - 1) * read(visual);
    const double judged = (learnsCoarse && !isControl ? 2 : 1) * work.counted;
    const double language = read(whole) + (isControl ? 0 : before) +
                            judged * product(model.llm.width, model.llm.vocabulary);
    const double head =
        model.hasLatents() ? work.frames * headFlop(model.head, model.llm.width) : 0;
    return (model.freezesVit ? 1 : 3) * encoder + (model.freezesVit ? 2 : 3) * looks +
           (model.freezesLlm ? 2 : 3) * language + 3 * head;
}

} // namespace vergence::fvlm
