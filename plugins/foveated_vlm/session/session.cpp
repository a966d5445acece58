#include "plugins/foveated_vlm/session/session.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/file.h"
#include "core/base/log.h"
#include "plugins/foveated_vlm/model/known_names.h"
#include "plugins/foveated_vlm/model/model_weights.h"
#include "plugins/foveated_vlm/session/drawn_clips.h"
#include "plugins/foveated_vlm/session/flop.h"
#include "plugins/foveated_vlm/text/bpe_trainer.h"

namespace vergence::fvlm {

namespace {

constexpr Index kMostTexts = 100'000;
constexpr const char* kTokenizerFile = "tokenizer.json";

std::string namesOf(const std::vector<std::string>& names)
{
    constexpr std::size_t kShown = 3;
    std::string text;
    for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i)
        text += (i > 0 ? ", " : "") + names[i];
    if (names.size() > kShown)
        text += fmt::format(" and {} more", names.size() - kShown);
    return text;
}

bool isFolder(const std::filesystem::path& value)
{
    std::error_code failure;
    return std::filesystem::is_directory(value, failure);
}

/// Throws InputError for weights whose file says that they were trained with other positions; files
/// of others say nothing.
void expectPositions(const FoveatedVlmConfig& config)
{
    const WeightFile file = WeightFile::open(config.checkpoint);
    const auto said = file.metadata().find("position_mode");
    if (said != file.metadata().end() && said->second != config.positionMode)
        throw InputError(fmt::format("The weights of {} were trained with position_mode = {}; the "
                                     "configuration says {}. Set it to theirs.",
                                     config.checkpoint.string(), said->second,
                                     config.positionMode));
}

/// Where the tokenizer lies: where the user says, beside a checkpoint, in the language model's
/// folder; empty where one is to be made.
std::filesystem::path tokenizerSource(const FoveatedVlmConfig& config)
{
    if (!config.tokenizer.empty())
        return config.tokenizer;
    const std::filesystem::path beside = config.checkpoint.parent_path();
    std::error_code failure;
    if (config.weights == "checkpoint" && std::filesystem::exists(beside / kTokenizerFile, failure))
        return beside;
    return isFolder(config.llm) ? std::filesystem::path(config.llm) : std::filesystem::path();
}

} // namespace

Session::Session(Stream& stream, std::shared_ptr<Device> device, FoveatedVlmConfig config,
                 const std::filesystem::path& folder, const Hooks& hooks)
    : m_stream(stream),
      m_device(std::move(device)),
      m_config(std::move(config)),
      m_sets(openClipSets(m_config, folder / "clips", m_device, hooks.opening))
{
    if (!m_sets.training)
        return;
    tellClips(hooks);
    if (m_config.hasText())
        makeText(folder, hooks); // nothing where it was stopped
    if (hooks.opening.isStopped())
        return;
    hooks.opening.doing("preparing the model");
    makeModel(stream, hooks);
    if (hooks.opening.isStopped())
        return;
    makeFeeds(hooks);
    if (hooks.opening.isStopped())
        return;
    m_batches = std::make_unique<BatchMaker>(*m_sets.training, m_sets.members, m_text.get(),
                                             &m_texts, batchSettings(m_config));
    if (!m_sets.heldOutMembers.empty())
        m_evaluator = std::make_unique<Evaluator>(heldOutParts(), m_sets.heldOutMembers,
                                                  evaluationSettings(m_config));
    m_trainer = std::make_unique<Trainer>(
        stream, Trainer::Parts{*m_model, m_feed.get(), *m_batches, *m_sets.training, m_text.get()},
        trainSettings(m_config));
}

Session::~Session() = default;

/// Clips that were left out are told, not swallowed.
void Session::tellClips(const Hooks& hooks) const
{
    const ClipSource& clips = *m_sets.training;
    log("foveated_vlm")
        .info("{} clips to learn from, {} held out; frames of {} × {} px.", m_sets.members.size(),
              m_sets.heldOutMembers.size(), clips.width(), clips.height());
    const PredecodeReport& decoded = m_sets.decoded;
    if (!decoded.skipped.empty()) {
        std::vector<std::string> files;
        for (const SkippedVideo& video : decoded.skipped)
            files.push_back(fmt::format("{} ({})", video.file, video.reason));
        hooks.warn("W-CLIPS", fmt::format("{} files gave no clip and are left out: {}.",
                                          files.size(), namesOf(files)));
    }
    if (!m_sets.withoutText.empty())
        hooks.warn("W-CAPTIONS",
                   fmt::format("{} clips are left out: nothing is said of them, or they have too "
                               "few frames ({}).",
                               m_sets.withoutText.size(), namesOf(m_sets.withoutText)));
    if (m_sets.heldOutMembers.empty())
        hooks.warn("W-HELD-OUT", "No clips are held out: nothing tells learning from memorising.");
}

void Session::makeText(const std::filesystem::path& folder, const Hooks& hooks)
{
    const TextSettings settings = textSettings(m_config);
    const std::filesystem::path source = tokenizerSource(m_config);
    if (!source.empty()) {
        m_tokenizer = readTokenizerFolder(source);
    } else {
        hooks.opening.doing("making a tokenizer");
        const auto texts = m_config.isDrawn()
                               ? captionsOf(*drawnClips(m_config, DrawnSet::Tokenizer), settings)
                               : captionsOf(*m_sets.training, settings);
        const std::string json = trainedTokenizerJson(texts, {}, hooks.opening.isStopped);
        if (json.empty())
            return; // stopped
        writeFileAtomic(folder / kTokenizerFile, json);
        m_tokenizer = parseTokenizerJson(json, kTokenizerFile);
    }
    m_text = std::make_unique<ChatTemplate>(*m_tokenizer, settings);
    if (m_config.textOnly <= 0)
        return;
    const Index count = std::min(kMostTexts, static_cast<Index>(m_sets.members.size()));
    for (Index i = 0; i < count; ++i)
        m_texts.push_back(m_sets.training->info(m_sets.members[static_cast<std::size_t>(i)]).text);
}

void Session::makeModel(Stream& stream, const Hooks& hooks)
{
    const auto shape = m_sets.latents ? m_sets.latents->shape() : std::array<Index, 3>{0, 0, 0};
    const ModelSettings settings = modelSettings(
        m_config, m_tokenizer ? m_tokenizer->vocabularySize() : 0, shape[1], shape[2]);
    const Precision precision = precisionOf(m_config, m_device->info());
    m_model =
        std::make_unique<FoveatedModel>(m_device, settings, precision.master, precision.compute);
    m_model->allocate(stream);
    m_model->initialise(stream, m_config.seed, hooks.opening.isStopped);
    if (hooks.opening.isStopped())
        return;
    loadWeightFiles(stream, hooks);
    const Index grid = m_config.size / settings.vit.patch;
    m_model->prepare(stream, grid, grid);
    const auto counts = m_model->counts();
    log("foveated_vlm")
        .info("{:.2f} M parameters: encoder {:.2f}, connector {:.2f}, language model {:.2f}.",
              1e-6 * static_cast<double>(counts.all()), 1e-6 * static_cast<double>(counts.vit),
              1e-6 * static_cast<double>(counts.connector), 1e-6 * static_cast<double>(counts.llm));
}

void Session::loadWeightFiles(Stream& stream, const Hooks& hooks)
{
    const auto tell = [](const char* what, const WeightReport& report) {
        log("foveated_vlm")
            .info("{}: {} tensors read, {} not wanted{}.", what, report.loaded.size(),
                  report.unexpected.size(),
                  report.unexpected.empty() ? "" : " (" + namesOf(report.unexpected) + ")");
    };
    const std::function<bool()>& isStopped = hooks.opening.isStopped;
    if (m_config.weights == "hf_dir") {
        hooks.opening.doing("reading weights");
        tell("Vision encoder", loadVit(stream, *m_model, m_config.vit, isStopped));
        if (!isStopped())
            tell("Language model", loadLanguage(stream, *m_model, m_config.llm, isStopped));
    } else if (m_config.weights == "checkpoint") {
        hooks.opening.doing("reading weights");
        expectPositions(m_config);
        tell("Checkpoint", loadCheckpointWeights(stream, *m_model, m_config.checkpoint,
                                                 {"pred_head.", "z_vae_init", "coarse_token",
                                                  "fine_token", "no_text_token", "video_end_token"},
                                                 isStopped));
    } else if (!isMadeForDrawnClips(m_config.vit) || !isMadeForDrawnClips(m_config.llm)) {
        hooks.warn("W-RANDOM", "The model starts with random weights; speed and memory are those "
                               "of the real one, what it says is not. Name folders in vit and llm "
                               "and set weights to hf_dir to start from trained ones.");
    }
    m_model->parameters().refreshShadows(stream);
}

void Session::makeFeeds(const Hooks& hooks)
{
    FeedSettings settings;
    settings.mode = feedModeFromName(m_config.dataMode);
    settings.patch = m_model->settings().vit.patch;
    settings.isStopped = hooks.opening.isStopped;
    // Drawn clips never repeat: there is nothing to keep.
    if (m_sets.drawnHeldOut && m_config.clipCount == 0 && settings.mode == FeedMode::Auto)
        settings.mode = FeedMode::Stream;
    m_feed =
        std::make_unique<FrameFeed>(m_device, *m_sets.training, m_sets.latents.get(), settings);
    log("foveated_vlm").info("{}", m_feed->reason());
    if (m_sets.drawnHeldOut)
        m_heldOutFeed = std::make_unique<FrameFeed>(m_device, m_sets.heldOut(),
                                                    m_sets.heldOutLatents(), settings);
}

Evaluator::Parts Session::heldOutParts()
{
    return {*m_model, &heldOutFeed(), m_sets.heldOut(), m_sets.heldOutLatents(), m_text.get()};
}

double Session::flop() const
{
    const Index grid = m_config.size / m_model->settings().vit.patch;
    return trainFlop(m_trainer->work(), grid * grid, m_model->settings(), m_trainer->settings());
}

void Session::change(Stream& stream, const FoveatedVlmConfig& config)
{
    m_config = config;
    m_trainer->change(stream, liveSettings(config));
}

} // namespace vergence::fvlm
