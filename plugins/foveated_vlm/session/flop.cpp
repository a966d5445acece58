#include "plugins/foveated_vlm/session/flop.h"

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
    if (head.kind != HeadKind::Film)
        return 0;
    double encoder = 0;
    for (std::size_t i = 0; i + 1 < head.widths.size(); ++i)
        encoder += 9 * product(head.widths[i], head.widths[i + 1]);
    const double area = static_cast<double>(head.height * head.width);
    const Index film = head.hidden;
    // one latent encoder, two decoders as large
    return 3 * area * encoder + 2 * (product(state, film) + product(film, 2 * head.widths.back()));
}

double microStepFlop(const FoveatedVlmConfig& config, const ModelSettings& model)
{
    const Index grid = config.size / model.vit.patch;
    const double frames = static_cast<double>(config.batch) * config.frames;
    const Index visual = config.frames + 2, text = model.hasText() ? 24 : 0;
    const double encoder = frames * encoderFlop(model.vit, grid * grid);
    const double looks = 2 * frames * model.vit.layers *
                         (product(model.vit.width, 2 * model.vit.width) +
                          2 * product(model.vit.width, model.vit.hidden) +
                          2 * product(grid * grid + 1, model.vit.width));
    const double language = static_cast<double>(config.batch) *
                            static_cast<double>(2 * visual + text) *
                            languageFlop(model.llm, visual + text);
    const double head = model.hasLatents() ? frames * headFlop(model.head, model.llm.width) : 0;
    const double logits = static_cast<double>(config.batch) * (text > 0 ? text / 2 : 0) *
                          product(model.llm.width, model.llm.vocabulary);
    return (config.freezeVit ? 1 : 3) * encoder + 3 * looks +
           (config.freezeLlm ? 2 : 3) * (language + logits) + 3 * head;
}

} // namespace vergence::fvlm
