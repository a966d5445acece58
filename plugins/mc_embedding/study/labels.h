#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "plugins/mc_embedding/io/image_set.h"

namespace vergence::mc_embedding {

/// Names of classes by the label of an image (its folder).
using ClassMap = std::map<std::string, std::string>;

/// JSON {"n01440764": "tench"}, the index file of Keras {"0": ["n01440764", "tench"]}, lines of
/// label<TAB>name, or lines of WordNet id, blank, synonyms (the first is taken). Throws InputError
/// with file and place, also where names are WordNet ids themselves.
ClassMap readClassMap(const std::filesystem::path& path);

/// Classes that images are judged among, and the true one of each.
struct StudyClasses {
    std::vector<std::string> names;
    std::vector<int> truth; ///< [N]; −1: no label, or one that the map does not have
    std::vector<std::string> notes;
};
/// With a map all of its classes, so that few images do not make an easier task; else the labels
/// of the images with "_" as blanks. Throws InputError where labels look like WordNet ids (n and
/// eight digits) and there is no map, where the map knows none of the labels, and for fewer than
/// two classes.
StudyClasses studyClasses(const ImageSet& images, const ClassMap& map = {});

} // namespace vergence::mc_embedding
