#include "plugins/mc_embedding/io/image_set.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/artifact/digest.h"
#include "core/artifact/json_text.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "plugins/mc_embedding/io/image_random.h"

namespace vergence::mc_embedding {

namespace fs = std::filesystem;

namespace {

bool isPicture(const fs::path& path)
{
    std::string extension = path.extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(), [](unsigned char c) {
        return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    });
    static const std::set<std::string> kKnown = {".jpg", ".jpeg", ".png", ".bmp", ".webp"};
    return kKnown.contains(extension);
}

/// Class of a picture: its parent folder, empty for those that lie in the folder itself.
std::string folderLabel(const std::string& path)
{
    return fs::path(path).parent_path().filename().generic_string();
}

/// Collects pictures below a folder. Links to folders are followed, but not back to where one came
/// from.
class Lister {
public:
    Lister(const fs::path& root, const std::function<bool()>& isStopped)
        : m_root(root),
          m_isStopped(isStopped)
    {
    }

    std::vector<std::string> list()
    {
        descend({});
        // std::string compares bytes as unsigned, so the order is that of the bytes.
        std::sort(m_paths.begin(), m_paths.end());
        return std::move(m_paths);
    }

private:
    void descend(const fs::path& relative)
    {
        const fs::path folder = relative.empty() ? m_root : m_root / relative;
        std::error_code code;
        const fs::path real = fs::canonical(folder, code);
        fs::directory_iterator entries(folder, code);
        if (code)
            throw InputError(
                fmt::format("Cannot list the images of {}: {}.", folder.string(), code.message()));
        if (std::find(m_above.begin(), m_above.end(), real) != m_above.end())
            return;
        m_above.push_back(real);
        for (const fs::directory_entry& entry : entries) {
            if (m_isStopped && m_isStopped())
                break;
            const fs::path name = relative / entry.path().filename();
            if (entry.is_directory(code))
                descend(name);
            else if (entry.is_regular_file(code) && isPicture(entry.path()))
                m_paths.push_back(name.generic_string());
        }
        m_above.pop_back();
    }

    fs::path m_root;
    const std::function<bool()>& m_isStopped;
    std::vector<fs::path> m_above;
    std::vector<std::string> m_paths;
};

template <class T>
void shuffle(std::vector<T>& items, std::uint64_t seed, std::uint32_t owner)
{
    Draws draws(seed, Purpose::Sampling, owner);
    // From the front, so that a smaller draw is the beginning of a larger one.
    for (std::size_t i = 0; i + 1 < items.size(); ++i)
        std::swap(items[i], items[i + draws.below(static_cast<std::uint32_t>(items.size() - i))]);
}

std::vector<StudyImage> inTurns(std::vector<StudyImage> images, std::uint64_t seed)
{
    std::map<std::string, std::vector<StudyImage>> classes;
    const std::size_t total = images.size();
    for (StudyImage& image : images)
        classes[image.label].push_back(std::move(image));
    std::vector<std::vector<StudyImage>*> order;
    for (auto& [label, members] : classes) {
        order.push_back(&members);
        shuffle(members, seed, static_cast<std::uint32_t>(order.size()));
    }
    shuffle(order, seed, 0);
    std::vector<StudyImage> drawn;
    for (std::size_t round = 0; drawn.size() < total; ++round) {
        for (std::vector<StudyImage>* members : order) {
            if (round < members->size())
                drawn.push_back(std::move((*members)[round]));
        }
    }
    return drawn;
}

ImageSet drawnSet(const fs::path& folder, std::vector<StudyImage> images,
                  const SamplingOptions& options)
{
    expects(options.sampling == "stratified" || options.sampling == "uniform" ||
                options.sampling == "manifest",
            "sampling is stratified, uniform or manifest");
    if (options.sampling == "stratified")
        images = inTurns(std::move(images), options.seed);
    else if (options.sampling == "uniform")
        shuffle(images, options.seed, 0);
    ImageSet set{folder, std::move(images), options.idsFromIndex};
    if (set.images.size() > options.count)
        set.images.resize(options.count);
    for (std::size_t i = 0; options.idsFromIndex && i < set.images.size(); ++i)
        set.images[i].maskId = static_cast<std::uint32_t>(i);
    return set;
}

[[noreturn]] void throwNoImages(const fs::path& where)
{
    throw InputError(fmt::format("{} holds no images (jpg, jpeg, png, bmp, webp). Choose a folder "
                                 "with images.",
                                 where.string()));
}

std::vector<StudyImage> imagesOfJson(const std::string& text, const fs::path& manifest)
{
    const nlohmann::json json = parseJson(text, manifest.string());
    const auto fail = [&](const std::string& what) {
        throw InputError(fmt::format("{}: {}.", manifest.string(), what));
    };
    if (!json.is_object() || !json.contains("paths") || !json["paths"].is_array())
        fail("an object with the list \"paths\" is expected");
    const nlohmann::json labels = json.value("labels", nlohmann::json::array());
    if (!labels.is_array() || (!labels.empty() && labels.size() != json["paths"].size()))
        fail("\"labels\" must be a list as long as \"paths\"");
    std::vector<StudyImage> images;
    for (const nlohmann::json& path : json["paths"]) {
        if (!path.is_string())
            fail(fmt::format("paths[{}] is no string", images.size()));
        StudyImage image;
        image.path = path.get<std::string>();
        image.label = folderLabel(image.path);
        if (!labels.empty()) {
            if (!labels[images.size()].is_string())
                fail(fmt::format("labels[{}] is no string", images.size()));
            image.label = labels[images.size()].get<std::string>();
        }
        images.push_back(std::move(image));
    }
    return images;
}

/// A path per line, with a label after a tabulator where one is given.
std::vector<StudyImage> imagesOfLines(const std::string& text)
{
    std::vector<StudyImage> images;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        std::string line = text.substr(at, end - at);
        at = end + 1;
        if (!line.empty() && line.back() == '\r')
            line.pop_back();
        const std::size_t tab = line.find('\t');
        StudyImage image;
        image.path = line.substr(0, tab);
        image.label = tab == std::string::npos ? folderLabel(image.path) : line.substr(tab + 1);
        if (!image.path.empty())
            images.push_back(std::move(image));
    }
    return images;
}

} // namespace

std::vector<std::string> ImageSet::labels() const
{
    std::vector<std::string> distinct;
    std::set<std::string> seen;
    for (const StudyImage& image : images) {
        if (seen.insert(image.label).second)
            distinct.push_back(image.label);
    }
    return distinct;
}

std::string ImageSet::digest() const
{
    Digest digest;
    for (const StudyImage& image : images)
        digest.add(fmt::format("{}\n{}\n", image.path, image.sha256));
    return digest.hex();
}

std::uint32_t maskIdOf(const std::string& sha256)
{
    expects(sha256.size() == 64, "maskIdOf: a SHA-256 in hex");
    std::uint32_t id = 0;
    for (int byte = 3; byte >= 0; --byte)
        id = id << 8 | static_cast<std::uint32_t>(std::stoul(
                           sha256.substr(static_cast<std::size_t>(byte) * 2, 2), nullptr, 16));
    return id;
}

ImageSet sampleFolder(const fs::path& folder, const SamplingOptions& options)
{
    std::vector<StudyImage> images;
    for (std::string& path : Lister(folder, options.isStopped).list()) {
        StudyImage image;
        image.label = folderLabel(path);
        image.path = std::move(path);
        images.push_back(std::move(image));
    }
    if (options.isStopped && options.isStopped())
        return {};
    if (images.empty())
        throwNoImages(folder);
    return drawnSet(folder, std::move(images), options);
}

ImageSet readImageManifest(const fs::path& manifest, const fs::path& folder,
                           const SamplingOptions& options)
{
    const std::string text = readFile(manifest);
    const std::size_t front = text.find_first_not_of(" \t\r\n");
    const bool isJson = front != std::string::npos && text[front] == '{';
    std::vector<StudyImage> images = isJson ? imagesOfJson(text, manifest) : imagesOfLines(text);
    if (images.empty())
        throw InputError(fmt::format("{} lists no images. One path per line is expected, or JSON "
                                     "with \"paths\".",
                                     manifest.string()));
    return drawnSet(folder.empty() ? manifest.parent_path() : folder, std::move(images), options);
}

void writeImageManifest(const fs::path& path, const ImageSet& set)
{
    nlohmann::json json = {{"folder", set.folder.generic_string()},
                           {"paths", nlohmann::json::array()},
                           {"labels", nlohmann::json::array()},
                           {"sha256", nlohmann::json::array()}};
    for (const StudyImage& image : set.images) {
        json["paths"].push_back(image.path);
        json["labels"].push_back(image.label);
        json["sha256"].push_back(image.sha256);
    }
    writeFileAtomic(path, prettyJson(json));
}

} // namespace vergence::mc_embedding
