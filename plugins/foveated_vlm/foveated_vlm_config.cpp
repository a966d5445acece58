#include "plugins/foveated_vlm/foveated_vlm_config.h"

#include "plugins/foveated_vlm/clips/grid_names.h"
#include "plugins/foveated_vlm/config_groups.h"
#include "plugins/foveated_vlm/config_rules.h"

namespace vergence::fvlm {

namespace {

using C = FoveatedVlmConfig;
using Builder = SchemaBuilder<FoveatedVlmConfig>;

/// Keys that say which samples come when and what weights, moments and references mean; a run that
/// goes on must have them as it had. What the clips themselves are, their digest says.
constexpr const char* kDecisiveKeys[] = {"seed",
                                         "variant",
                                         "batch",
                                         "grad_accum",
                                         "frames_per_batch",
                                         "text_only",
                                         "tokens_per_batch",
                                         "hold_out",
                                         "order",
                                         "first_query",
                                         "text_mask",
                                         "text_limit",
                                         "system_message",
                                         "prompt",
                                         "tokenizer",
                                         "control",
                                         "control_tokens",
                                         "refinements",
                                         "weight_refinements",
                                         "dpo_beta",
                                         "latents",
                                         "query_mode",
                                         "temperature",
                                         "topk",
                                         "visual_norm",
                                         "visual_scale",
                                         "position_mode",
                                         "as_run"};

void addModel(Builder& b)
{
    b.group("model");
    b.add("variant", &C::variant)
        .choices({"A", "B", "joint", "dpo"})
        .help("What is learnt. A: the latent of the next frame. B: text. joint: both. dpo: to "
              "prefer chosen answers over rejected ones.");
    b.add("vit", &C::vit)
        .title("Vision encoder")
        .help("mini, tiny, dinov2-small, dinov2-base, dinov2-with-registers-small, "
              "dinov2-with-registers-base, or a folder with config.json and weights.");
    b.add("llm", &C::llm)
        .title("Language model")
        .help(
            "mini, tiny, smollm2-135m, smollm2-360m, smollm2-1.7b, each also with -instruct, or a "
            "folder with config.json, weights and tokenizer.");
    b.add("weights", &C::weights)
        .choices({"random", "hf_dir", "checkpoint"})
        .help("random: made up, needs no file. hf_dir: from the folders named in vit and llm; "
              "what joins them starts at random. checkpoint: all from one file.");
    b.add("checkpoint", &C::checkpoint)
        .title("Checkpoint")
        .visibleIf("weights=checkpoint")
        .help("A model.safetensors that this lab wrote.");
    b.add("tokenizer", &C::tokenizer)
        .advanced()
        .help("Folder with tokenizer.json. Empty: that of the language model's folder, or a small "
              "one made for the drawn clips.");
    b.add("position_mode", &C::positionMode)
        .title("Position resampling")
        .choices({"size", "offset"})
        .advanced()
        .help("How the encoder's positions are resampled to other grids. size: as recent "
              "releases. offset: as the original code. A checkpoint of this lab needs the one it "
              "was trained with.");
}

void addQuery(Builder& b)
{
    b.group("query");
    b.add("query_mode", &C::queryMode)
        .title("Path")
        .choices({"deep", "shallow_avg", "shallow_last"})
        .help("deep: the query passes all blocks of the encoder. shallow_avg: one product with "
              "the final features. shallow_last: the last block's heads alone.");
    b.add("query_dim", &C::queryDim).title("Width").range(4, 4'096).help("Numbers in a query.");
    b.add("query_std", &C::queryStd)
        .title("Start deviation")
        .range(1e-3, 4)
        .help("Standard deviation of the first queries' start values.");
    b.add("query_bias", &C::queryBias)
        .title("Bias")
        .advanced()
        .help("Adds a bias where queries enter the encoder; queries then look alike.");
    b.add("temperature", &C::temperature)
        .range(0.05, 4)
        .advanced()
        .help("Divides the scores of the queries' attention.");
    b.add("topk", &C::topk)
        .title("Largest scores")
        .range(0, 4'096)
        .advanced()
        .help("Only so many of the largest scores of a head count; 0: all.");
    b.add("first_query", &C::firstQuery)
        .title("First frame")
        .choices({"learned", "prompt"})
        .help("Where the query of the first frame comes from. learned: the same for all clips. "
              "prompt: from the question, which then stands before the frames.");
    b.add("refinements", &C::refinements).range(1, 8).help("Fine passes after the coarse one.");
    b.add("weight_refinements", &C::weightRefinements)
        .advanced()
        .help("The loss weighs the refinements 1 : 2 : … instead of taking the last alone.");
    b.add("visual_norm", &C::visualNorm)
        .title("Visual tokens")
        .choices({"scale", "token_rms", "batch_std", "none"})
        .help("How visual tokens are scaled for the language model. batch_std is for old "
              "checkpoints only: it lets samples and later frames leak into each other.");
    b.add("visual_scale", &C::visualScale)
        .title("Their size")
        .range(0.01, 2)
        .advanced()
        .help("0.14 is about the deviation of SmolLM2's embedding.");
    b.add("as_run", &C::asRun)
        .title("As the first run")
        .advanced()
        .help("Quirks of the first published run: the class token does not count, mode tokens "
              "start with deviation 1, the missing text is a zero vector.");
}

void addLoss(Builder& b)
{
    b.group("loss");
    b.add("lambda_coarse", &C::lambdaCoarse)
        .title("Weight of coarse")
        .range(0, 10)
        .live()
        .help("Weight of the loss with the coarse tokens beside that with the fine ones.");
    b.add("lambda_recon", &C::lambdaRecon)
        .title("Weight of latents")
        .range(0, 10)
        .live()
        .visibleIf("variant=joint")
        .help("Weight of the next latent's error beside the text's loss.");
    b.add("text_mask", &C::textMask)
        .choices({"answer", "all"})
        .help("Which tokens count: those of the answer with its end, or all.");
    b.add("dpo_beta", &C::dpoBeta)
        .title("β")
        .range(1e-4, 10)
        .visibleIf("variant=dpo")
        .help("How strongly preferences pull the model away from its reference.");
    b.add("lambda_contrast", &C::lambdaContrast)
        .title("Contrast")
        .range(0, 1)
        .advanced()
        .help("Weight of the cosine between coarse and fine tokens, which drives them apart.");
    b.add("entropy_margin", &C::entropyMargin)
        .range(0, 2)
        .unit("nats")
        .advanced()
        .help("Asks the fine attention to be sharper than the coarse by this; 0: not asked.");
    b.add("head_kind", &C::headKind)
        .title("Head")
        .choices({"film", "mlp", "cross_attention"})
        .advanced()
        .help("What predicts the next latent from a state of the language model.");
    b.add("head_film", &C::headFilm)
        .title("Head's hidden width")
        .range(1, 8'192)
        .advanced()
        .help("Hidden width between a state and the head's scales and shifts.");
    b.add("head_widths", &C::headWidths)
        .title("Head's channels")
        .range(1, 2'048)
        .count(1, 6)
        .advanced()
        .help("Channels of the head's convolutions after the latent's four; its second half "
              "mirrors them.");
}

void addData(Builder& b)
{
    b.group("data");
    b.add("clips", &C::clips)
        .title("Clips")
        .help("Folder of videos, of folders with frames, a WebDataset archive, .pt files, or a "
              "set of shards. Empty: clips are drawn.");
    b.add("captions", &C::captions)
        .help("JSONL with file, prompt, answer (chosen, rejected). Empty: a .txt beside each "
              "clip.");
    b.add("shards", &C::shards)
        .title("Decoded clips")
        .advanced()
        .help("Folder where decoded clips are kept for later runs; empty: in the run's folder.");
    b.add("task", &C::task)
        .choices({"ask", "tell", "next", "cell", "letter", "sign"})
        .visibleIf("clips=")
        .help("What drawn clips are for. ask: a prompt names a shape, the answer its colour and "
              "motion. tell: the only mover is described. next: no text. cell: the colour of one "
              "cell of a grid, named by row and column. letter: the letter in it. sign: a colour "
              "that is seen there in one frame.");
    b.add("objects", &C::objects)
        .range(1, 5)
        .visibleIf("clips=")
        .help("Most objects in a drawn clip; at least two, or one where this is one.");
    b.add("cells", &C::cells)
        .title("Cells along an edge")
        .range(1, 26)
        .visibleIf("task=cell|letter|sign")
        .help("Rows and columns of the grid.");
    b.add("clip_count", &C::clipCount)
        .title("Drawn clips")
        .range(0, 10'000'000)
        .visibleIf("clips=")
        .help("Different clips before they repeat; 0: as many as the run presents.");
    b.add("frames", &C::frames).range(1, 64).help("Frames of a clip.");
    b.add("size", &C::size)
        .range(28, 518)
        .unit("px")
        .help("Side of a frame; a multiple of the encoder's patch wastes nothing.");
    b.add("fit", &C::fit)
        .choices({"crop", "squash", "letterbox"})
        .help("How a picture becomes a square: its centre, squeezed, or with grey borders.");
    b.add("sampling", &C::sampling)
        .choices({"uniform_n", "linspace", "fps_1"})
        .help("Which frames of a video: middles of equal parts, first to last, or one a second.");
    b.add("latents", &C::latents)
        .choices({"patch_basis", "vae", "file"})
        .help("Where the latents of frames come from: a fixed basis of 8 × 8 blocks, the encoder "
              "of Stable Diffusion's autoencoder, or a shard.");
    b.add("latents_path", &C::latentsPath)
        .advanced()
        .help("The autoencoder's folder, or the shard of latents.");
    b.add("data_mode", &C::dataMode)
        .title("Frames on the device")
        .choices({"auto", "resident", "stream"})
        .advanced()
        .help("resident: all are uploaded once. stream: batches are uploaded while others are "
              "learnt from. auto: resident up to a quarter of the free memory.");
    b.add("hold_out", &C::holdOut)
        .title("Held out")
        .range(0, 0.9)
        .help("Share of the clips that only test. Drawn clips have others for that.");
    b.add("order", &C::order)
        .title("Sequence")
        .choices({"frames_text", "prompt_frames_answer"})
        .help("prompt_frames_answer: the question stands before the frames, so that the gaze can "
              "depend on it.");
    b.add("text_only", &C::textOnly)
        .title("Share of text alone")
        .range(0, 0.9)
        .advanced()
        .help("Share of the samples that lose their frames, so that language is not forgotten.");
    b.add("text_limit", &C::textLimit)
        .title("Longest text")
        .range(4, 8'192)
        .unit("tokens")
        .advanced()
        .help("Longer answers are cut at the end and keep their closing token.");
    b.add("frames_per_batch", &C::framesPerBatch)
        .range(1, 100'000)
        .advanced()
        .help("Frames in a batch at most; larger samples make batches of their own.");
    b.add("tokens_per_batch", &C::tokensPerBatch)
        .range(16, 10'000'000)
        .advanced()
        .help("Tokens in a batch at most.");
    b.add("system_message", &C::systemMessage)
        .advanced()
        .help("First message of every conversation.");
    b.add("prompt", &C::prompt)
        .title("Question")
        .help("Asked of clips whose captions bring no question.");
}

Builder newBuilder()
{
    Builder b("foveated_vlm");
    addModel(b);
    addQuery(b);
    addLoss(b);
    addData(b);
    addTraining(b);
    addEvaluation(b);
    addRules(b);
    return b;
}

/// Made once: runs read their live settings before every micro-step.
const Builder& builder()
{
    static const Builder made = newBuilder();
    return made;
}

} // namespace

bool FoveatedVlmConfig::isGrid() const
{
    return isDrawn() && gridTask(task) != nullptr;
}

std::int64_t FoveatedVlmConfig::totalMicroSteps() const
{
    return microSteps > 0 ? microSteps : (samples + batch - 1) / batch;
}

ConfigSchema foveatedVlmSchema()
{
    return builder().build();
}

FoveatedVlmConfig readFoveatedVlmConfig(const Config& config)
{
    return builder().read(config);
}

std::map<std::string, std::string> decisiveValues(const Config& config)
{
    std::map<std::string, std::string> values;
    for (const char* key : kDecisiveKeys)
        values[key] = toToml(config.value(key));
    return values;
}

} // namespace vergence::fvlm
