#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/artifact/weights.h"
#include "plugins/mc_embedding/compute/model_zoo.h"

namespace vergence::mc_embedding {

/// Extents of one text tower. Specification, section 2.5.
struct TextShape {
    std::string key; ///< "clip_b32"
    Family family = Family::Clip;
    Index width = 0, hidden = 0, feature = 0; ///< w, MLP, D
    int layers = 0, heads = 0;
    Index context = 0, vocabulary = 0;
    Activation activation = Activation::QuickGelu;
    double epsilon = 1e-5;
};
/// As the specification has it; nothing where the key has no published text tower.
std::optional<TextShape> textShape(const std::string& key);

/// How a file calls its tensors.
enum class TextLayout { Transformers, OpenClip };

/// The text tower that a model file holds.
struct TextSource {
    TextShape shape;
    TextLayout layout = TextLayout::Transformers;
    double logitScale = 0, logitBias = 0; ///< factor of the cosine, not its logarithm
    std::string weightsSha256;            ///< of the names, shapes and bytes of the text tensors
    std::vector<std::string> notes;       ///< where config and shapes disagree
};

/// The file of a folder that holds text weights. Throws InputError: none, pickled.
WeightFile openTextWeights(const std::filesystem::path& folder);
/// Shapes decide; what they do not tell (heads, activation, epsilon) is taken from the config file
/// of the folder, else from the table. Throws InputError for the tower of another model.
/// `isStopped` is asked between the tensors of the hash, which is then of no use.
TextSource readTextSource(const WeightFile& file, const std::filesystem::path& folder,
                          const std::string& key, const std::function<bool()>& isStopped = {});
/// Names of the file's text tensors to those of the tower's parameters.
NameMap textNames(const TextSource& source);

} // namespace vergence::mc_embedding
