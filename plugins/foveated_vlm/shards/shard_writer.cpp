#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/artifact/digest.h"
#include "core/artifact/json_text.h"
#include "core/artifact/output_file.h"
#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "plugins/foveated_vlm/shards/fvshard.h"
#include "plugins/foveated_vlm/shards/shard_layout.h"

namespace vergence::fvlm {

namespace fs = std::filesystem;

namespace {

/// Room before the data: the header with its facts.
constexpr std::size_t kHeaderBytes = 4 * kShardPage;

fs::path withEnding(const fs::path& path, const char* ending)
{
    return path.string() + ending;
}

/// The file that grows; locked while it is open.
class DraftFile {
public:
    explicit DraftFile(const fs::path& path)
        : m_path(path),
          m_file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644))
    {
        if (m_file < 0)
            throwCannotWrite(path, errno);
        if (::flock(m_file, LOCK_EX | LOCK_NB) != 0) {
            ::close(m_file);
            throw InputError(fmt::format("{} is being written by another process.", path.string()));
        }
    }
    ~DraftFile() { ::close(m_file); }
    DraftFile(const DraftFile&) = delete;
    DraftFile& operator=(const DraftFile&) = delete;

    const fs::path& path() const { return m_path; }
    std::uint64_t size() const
    {
        const off_t end = ::lseek(m_file, 0, SEEK_END);
        return end < 0 ? 0 : static_cast<std::uint64_t>(end);
    }
    void cut(std::uint64_t size)
    {
        if (::ftruncate(m_file, static_cast<off_t>(size)) != 0)
            throwCannotWrite(m_path, errno);
    }
    void write(std::uint64_t offset, std::span<const std::byte> bytes)
    {
        while (!bytes.empty()) {
            if (::lseek(m_file, static_cast<off_t>(offset), SEEK_SET) < 0)
                throwCannotWrite(m_path, errno);
            const ssize_t written = ::write(m_file, bytes.data(), bytes.size());
            if (written < 0 && errno == EINTR)
                continue;
            if (written < 0)
                throwCannotWrite(m_path, errno);
            bytes = bytes.subspan(static_cast<std::size_t>(written));
            offset += static_cast<std::uint64_t>(written);
        }
    }
    bool read(std::uint64_t offset, std::span<std::byte> bytes) const
    {
        while (!bytes.empty()) {
            const ssize_t got =
                ::pread(m_file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
            if (got < 0 && errno == EINTR)
                continue;
            if (got <= 0)
                return false;
            bytes = bytes.subspan(static_cast<std::size_t>(got));
            offset += static_cast<std::uint64_t>(got);
        }
        return true;
    }
    void flush()
    {
        if (::fsync(m_file) != 0 && errno != EINVAL && errno != EROFS)
            throwCannotWrite(m_path, errno);
    }

private:
    fs::path m_path;
    int m_file;
};

std::array<std::uint8_t, 32> bytesOfHex(const std::string& hex)
{
    std::array<std::uint8_t, 32> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::uint8_t>(std::stoul(hex.substr(i * 2, 2), nullptr, 16));
    return bytes;
}

template <class T>
std::span<const std::byte> bytesOfValue(const T& value)
{
    return std::as_bytes(std::span(&value, 1));
}

/// Names of files may be no UTF-8.
std::string lineOf(const nlohmann::json& json)
{
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

} // namespace

struct ShardWriter::Parts {
    Parts(const fs::path& where, const ShardShape& given, const std::string& fingerprint)
        : path(where),
          shape(given),
          isKept(!fingerprint.empty()),
          draft(withEnding(where, ".draft")),
          journalPath(withEnding(where, ".draft.jsonl"))
    {
        expects(shape.channels > 0 && shape.height > 0 && shape.width > 0,
                "ShardWriter: frames have pixels");
        const nlohmann::json first = {{"fingerprint", fingerprint},
                                      {"shape",
                                       {shape.frames, shape.channels, shape.height, shape.width,
                                        static_cast<std::uint32_t>(shape.type)}}};
        if (isKept)
            restore(first);
        if (!wasRestored) {
            draft.cut(0);
            std::error_code code;
            fs::remove(journalPath, code);
        }
        draft.cut(kHeaderBytes + dataBytes);
        if (!isKept)
            return;
        journal = std::make_unique<AppendFile>(journalPath);
        if (!wasRestored)
            journal->append(lineOf(first));
    }

    ~Parts()
    {
        if (isKept || isCommitted)
            return;
        std::error_code code;
        fs::remove(draft.path(), code);
    }

    /// Takes over what an earlier writer left, as far as its bytes are whole.
    void restore(const nlohmann::json& first);
    bool takeOver(const nlohmann::json& line);
    void append(const ShardClip& clip, std::string_view text, std::size_t stored);
    void note(const nlohmann::json& line)
    {
        if (journal)
            journal->append(lineOf(line));
    }

    fs::path path;
    ShardShape shape;
    bool isKept, wasRestored = false, isCommitted = false;
    DraftFile draft;
    fs::path journalPath;
    std::unique_ptr<AppendFile> journal;
    std::vector<ShardClip> clips;
    std::vector<std::string> notes;
    std::string texts;
    std::uint64_t dataBytes = 0;
    Digest digest;
};

void ShardWriter::Parts::restore(const nlohmann::json& first)
{
    std::error_code code;
    if (!fs::exists(journalPath, code))
        return;
    { // cuts a torn last line
        const AppendFile whole(journalPath);
    }
    const std::string lines = readFile(journalPath);
    std::size_t begin = 0, kept = 0;
    while (begin < lines.size()) {
        const std::size_t end = std::min(lines.find('\n', begin), lines.size());
        const auto line =
            nlohmann::json::parse(lines.begin() + static_cast<std::ptrdiff_t>(begin),
                                  lines.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
        if (line.is_discarded() || (begin == 0 ? line != first : !takeOver(line)))
            break;
        begin = kept = end + 1;
        wasRestored = true;
    }
    if (wasRestored)
        fs::resize_file(journalPath, std::min(kept, lines.size()), code);
}

bool ShardWriter::Parts::takeOver(const nlohmann::json& line)
try {
    if (line.contains("clip")) {
        const auto& values = line.at("clip");
        ShardClip clip;
        clip.id = values.at(0);
        clip.frames = values.at(1);
        clip.flags = values.at(2);
        clip.seconds = values.at(3);
        clip.fps = values.at(4);
        clip.crc = values.at(5);
        std::vector<std::byte> bytes(clip.frames * shape.frameBytes());
        if (!draft.read(kHeaderBytes + dataBytes, bytes) || crc32c(bytes) != clip.crc)
            return false;
        digest.add({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
        append(clip, line.at("text").get<std::string>(), bytes.size());
    }
    notes.push_back(line.at("note"));
    return true;
} catch (const nlohmann::json::exception&) {
    return false;
}

void ShardWriter::Parts::append(const ShardClip& clip, std::string_view text, std::size_t stored)
{
    clips.push_back(clip);
    clips.back().offset = dataBytes;
    clips.back().textOffset = texts.size();
    clips.back().textBytes = static_cast<std::uint32_t>(text.size());
    texts += text;
    dataBytes += pagesFor(stored);
    digest.add(std::string(pagesFor(stored) - stored, '\0'));
}

ShardWriter::ShardWriter(const fs::path& path, const ShardShape& shape)
    : m_parts(std::make_unique<Parts>(path, shape, ""))
{
}

ShardWriter::ShardWriter(const fs::path& path, const ShardShape& shape,
                         const std::string& fingerprint)
    : m_parts(std::make_unique<Parts>(path, shape, fingerprint))
{
    expects(!fingerprint.empty(), "ShardWriter: a draft that is kept has a fingerprint");
}

ShardWriter::~ShardWriter() = default;

void ShardWriter::add(ShardClip clip, std::span<const std::byte> frames, std::string_view text,
                      const std::string& note)
{
    Parts& p = *m_parts;
    expects(p.shape.frames == 0 || clip.frames == p.shape.frames,
            "ShardWriter: as many frames as every clip has");
    expects(frames.size() == clip.frames * p.shape.frameBytes(),
            "ShardWriter: as many bytes as the frames have");
    clip.crc = crc32c(frames);
    const std::uint64_t at = kHeaderBytes + p.dataBytes;
    p.draft.write(at, frames);
    p.draft.cut(at + pagesFor(frames.size())); // fills up to the page
    p.note({{"clip", {clip.id, clip.frames, clip.flags, clip.seconds, clip.fps, clip.crc}},
            {"text", text},
            {"note", note}});
    p.digest.add({reinterpret_cast<const char*>(frames.data()), frames.size()});
    p.append(clip, text, frames.size());
    p.notes.push_back(note);
}

void ShardWriter::addNote(const std::string& note)
{
    m_parts->note({{"note", note}});
    m_parts->notes.push_back(note);
}

const std::vector<std::string>& ShardWriter::notes() const
{
    return m_parts->notes;
}

std::size_t ShardWriter::count() const
{
    return m_parts->clips.size();
}

const ShardClip& ShardWriter::clip(std::size_t index) const
{
    return m_parts->clips.at(index);
}

std::string ShardWriter::commit(const std::string& facts)
{
    Parts& p = *m_parts;
    expects(facts.size() <= 16000, "ShardWriter: facts of at most 16,000 bytes");
    ShardHeader header;
    header.headerBytes = kHeaderBytes;
    header.clips = p.clips.size();
    header.dataOffset = kHeaderBytes;
    header.dataBytes = p.dataBytes;
    header.indexOffset = kHeaderBytes + p.dataBytes;
    header.indexBytes = p.clips.size() * sizeof(ShardEntry);
    header.textOffset = header.indexOffset + header.indexBytes;
    header.textBytes = p.texts.size();
    header.frames = p.shape.frames;
    header.channels = p.shape.channels;
    header.height = p.shape.height;
    header.width = p.shape.width;
    header.type = static_cast<std::uint32_t>(p.shape.type);
    const std::size_t stride = pagesFor(p.shape.frames * p.shape.frameBytes());
    header.stride = stride <= 0xffffffffu ? static_cast<std::uint32_t>(stride) : 0;
    const std::string digest = p.digest.hex();
    header.digest = bytesOfHex(digest);
    header.factsBytes = static_cast<std::uint32_t>(facts.size());

    p.draft.cut(header.indexOffset);
    std::vector<ShardEntry> index;
    for (const ShardClip& clip : p.clips)
        index.push_back({clip.id,
                         clip.offset,
                         clip.frames,
                         clip.flags,
                         clip.seconds,
                         clip.fps,
                         clip.textOffset,
                         clip.textBytes,
                         clip.crc,
                         {}});
    p.draft.write(header.indexOffset, std::as_bytes(std::span(index)));
    p.draft.write(header.textOffset, std::as_bytes(std::span(p.texts)));
    p.draft.write(0, bytesOfValue(header));
    p.draft.write(kShardFactsAt, std::as_bytes(std::span(facts)));
    p.draft.flush();
    if (::rename(p.draft.path().c_str(), p.path.c_str()) != 0)
        throwCannotWrite(p.path, errno);
    p.isCommitted = true;
    flushFolder(fs::absolute(p.path).parent_path());
    p.journal.reset();
    std::error_code code;
    fs::remove(p.journalPath, code);
    return digest;
}

} // namespace vergence::fvlm
