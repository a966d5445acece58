#include "plugins/live_diffusion/onnx/onnx_reader.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "core/artifact/mapped_file.h"
#include "core/base/error.h"

namespace vergence::live {

namespace {

using Bytes = std::span<const std::byte>;

/// One field of a message: a number or a run of bytes.
struct Field {
    int number = 0, wireType = 0;
    std::uint64_t integer = 0;
    Bytes bytes;

    std::string text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
    float real() const { return std::bit_cast<float>(static_cast<std::uint32_t>(integer)); }
};

/// Walks the fields of one message.
class Fields {
public:
    Fields(Bytes bytes, const std::string& file) : m_rest(bytes), m_file(file) {}

    bool next(Field& field)
    {
        if (m_rest.empty())
            return false;
        const std::uint64_t tag = varint();
        field = {static_cast<int>(tag >> 3), static_cast<int>(tag & 7), 0, {}};
        switch (field.wireType) {
        case 0:
            field.integer = varint();
            break;
        case 1:
            field.integer = fixed(8);
            break;
        case 2:
            field.bytes = take(varint());
            break;
        case 5:
            field.integer = fixed(4);
            break;
        default:
            fail(fmt::format("a field of kind {}", field.wireType));
        }
        return true;
    }

private:
    std::uint64_t varint()
    {
        std::uint64_t value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            const auto byte = static_cast<std::uint64_t>(take(1)[0]);
            value |= (byte & 0x7F) << shift;
            if (byte < 0x80)
                return value;
        }
        fail("a number of more than ten bytes");
    }
    std::uint64_t fixed(std::size_t count)
    {
        const Bytes bytes = take(count);
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < count; ++i)
            value |= static_cast<std::uint64_t>(bytes[i]) << 8 * i;
        return value;
    }
    Bytes take(std::uint64_t count)
    {
        if (count > m_rest.size())
            fail("an end in the middle of a message");
        const Bytes taken = m_rest.first(static_cast<std::size_t>(count));
        m_rest = m_rest.subspan(static_cast<std::size_t>(count));
        return taken;
    }
    [[noreturn]] void fail(const std::string& what) const
    {
        throw InputError(fmt::format("{} is damaged: it has {}.", m_file, what));
    }

    Bytes m_rest;
    const std::string& m_file;
};

/// Builds a model from the messages of one file.
class Reader {
public:
    explicit Reader(const std::filesystem::path& path)
        : m_path(path),
          m_name(path.string()),
          m_mapped(std::make_shared<MappedFile>(path))
    {
    }

    OnnxModel read()
    {
        OnnxModel model;
        model.irVersion = model.opset = 0;
        bool hasGraph = false;
        each(m_mapped->bytes(), [&](const Field& field) {
            switch (field.number) {
            case 1:
                model.irVersion = static_cast<int>(field.integer);
                break;
            case 2:
                model.producer = field.text();
                break;
            case 3:
                model.producerVersion = field.text();
                break;
            case 6:
                model.description = field.text();
                break;
            case 7:
                graph(field.bytes, model);
                hasGraph = true;
                break;
            case 8:
                opset(field.bytes, model);
                break;
            case 14: {
                const auto [key, value] = entry(field.bytes);
                model.metadata[key] = value;
                break;
            }
            default:
                break;
            }
        });
        if (!hasGraph || model.irVersion == 0 || model.opset == 0)
            fail("no graph, IR version or operator set");
        return model;
    }

private:
    template <class Use>
    void each(Bytes bytes, const Use& use) const
    {
        Fields fields(bytes, m_name);
        for (Field field; fields.next(field);)
            use(field);
    }
    [[noreturn]] void fail(const std::string& what) const
    {
        throw InputError(fmt::format("Cannot use {}: it has {}.", m_name, what));
    }

    std::pair<std::string, std::string> entry(Bytes bytes) const
    {
        std::pair<std::string, std::string> pair;
        each(bytes, [&](const Field& field) {
            (field.number == 1 ? pair.first : pair.second) = field.text();
        });
        return pair;
    }
    void opset(Bytes bytes, OnnxModel& model) const
    {
        std::string domain;
        std::uint64_t version = 0;
        each(bytes, [&](const Field& field) {
            if (field.number == 1)
                domain = field.text();
            else if (field.number == 2)
                version = field.integer;
        });
        if (!domain.empty() && domain != "ai.onnx")
            fail(fmt::format("operations of the domain {}", domain));
        model.opset = static_cast<int>(version);
    }
    void graph(Bytes bytes, OnnxModel& model)
    {
        each(bytes, [&](const Field& field) {
            switch (field.number) {
            case 1:
                model.nodes.push_back(node(field.bytes));
                break;
            case 2:
                model.name = field.text();
                break;
            case 5:
                model.initialisers.push_back(tensor(field.bytes));
                break;
            case 11:
                model.inputs.push_back(value(field.bytes));
                break;
            case 12:
                model.outputs.push_back(value(field.bytes));
                break;
            default:
                break;
            }
        });
    }
    OnnxNode node(Bytes bytes) const
    {
        OnnxNode node;
        each(bytes, [&](const Field& field) {
            switch (field.number) {
            case 1:
                node.inputs.push_back(field.text());
                break;
            case 2:
                node.outputs.push_back(field.text());
                break;
            case 3:
                node.name = field.text();
                break;
            case 4:
                node.op = field.text();
                break;
            case 5:
                node.attributes.push_back(attribute(field.bytes));
                break;
            case 7:
                if (!field.bytes.empty())
                    fail(fmt::format("a node of the domain {}", field.text()));
                break;
            default:
                break;
            }
        });
        return node;
    }
    OnnxAttribute attribute(Bytes bytes) const
    {
        OnnxAttribute attribute;
        std::int64_t integer = 0, type = 0;
        float real = 0;
        std::string text;
        OnnxDims integers;
        each(bytes, [&](const Field& field) {
            switch (field.number) {
            case 1:
                attribute.name = field.text();
                break;
            case 2:
                real = field.real();
                break;
            case 3:
                integer = static_cast<std::int64_t>(field.integer);
                break;
            case 4:
                text = field.text();
                break;
            case 8:
                append(field, integers);
                break;
            case 20:
                type = static_cast<std::int64_t>(field.integer);
                break;
            default:
                break;
            }
        });
        switch (type) {
        case 1:
            attribute.value = real;
            break;
        case 2:
            attribute.value = integer;
            break;
        case 3:
            attribute.value = text;
            break;
        case 7:
            attribute.value = integers;
            break;
        default:
            fail(fmt::format("an attribute {} of kind {}", attribute.name, type));
        }
        return attribute;
    }
    /// One number, or several packed into one field.
    void append(const Field& field, OnnxDims& to) const
    {
        if (field.wireType == 0) {
            to.push_back(static_cast<std::int64_t>(field.integer));
            return;
        }
        Bytes rest = field.bytes;
        while (!rest.empty()) {
            std::uint64_t number = 0;
            std::size_t used = 0;
            for (int shift = 0; used < rest.size() && shift < 64; shift += 7) {
                const auto byte = static_cast<std::uint64_t>(rest[used++]);
                number |= (byte & 0x7F) << shift;
                if (byte < 0x80)
                    break;
            }
            to.push_back(static_cast<std::int64_t>(number));
            rest = rest.subspan(used);
        }
    }
    OnnxType elementType(std::uint64_t type, const std::string& of) const
    {
        for (const OnnxType known : {OnnxType::Float, OnnxType::Int64, OnnxType::Float16})
            if (type == static_cast<std::uint64_t>(known))
                return known;
        fail(fmt::format("elements of type {} in {}", type, of));
    }
    OnnxValue value(Bytes bytes) const
    {
        OnnxValue value;
        Bytes type, tensor, shape;
        each(bytes, [&](const Field& field) {
            if (field.number == 1)
                value.name = field.text();
            else if (field.number == 2)
                type = field.bytes;
        });
        each(type, [&](const Field& field) {
            if (field.number == 1)
                tensor = field.bytes;
        });
        std::uint64_t element = 0;
        each(tensor, [&](const Field& field) {
            if (field.number == 1)
                element = field.integer;
            else if (field.number == 2)
                shape = field.bytes;
        });
        value.type = elementType(element, value.name);
        each(shape, [&](const Field& field) {
            if (field.number == 1)
                value.dims.push_back(extent(field.bytes, value.name));
        });
        return value;
    }
    std::int64_t extent(Bytes bytes, const std::string& of) const
    {
        std::int64_t dim = -1;
        each(bytes, [&](const Field& field) {
            if (field.number == 1)
                dim = static_cast<std::int64_t>(field.integer);
        });
        if (dim < 0)
            fail(fmt::format("a dynamic axis in {}", of));
        return dim;
    }
    OnnxTensor tensor(Bytes bytes)
    {
        OnnxTensor tensor;
        std::map<std::string, std::string> external;
        std::uint64_t type = 0;
        bool isExternal = false;
        Bytes raw;
        each(bytes, [&](const Field& field) {
            switch (field.number) {
            case 1:
                append(field, tensor.dims);
                break;
            case 2:
                type = field.integer;
                break;
            case 8:
                tensor.name = field.text();
                break;
            case 9:
                raw = field.bytes;
                break;
            case 13:
                external.insert(entry(field.bytes));
                break;
            case 14:
                isExternal = field.integer == 1;
                break;
            default:
                break;
            }
        });
        tensor.type = elementType(type, tensor.name);
        constexpr std::int64_t kMost = std::int64_t(1) << 40;
        std::int64_t count = 1;
        for (const std::int64_t dim : tensor.dims) {
            if (dim < 0 || (dim > 0 && count > kMost / dim))
                fail(fmt::format("extents of {} that cannot be", tensor.name));
            count *= dim;
        }
        std::shared_ptr<MappedFile> file = m_mapped;
        if (isExternal)
            raw = outside(external, tensor, file);
        if (raw.size() != tensor.bytes())
            fail(fmt::format("{} bytes for {} of {}, not {}", raw.size(), tensor.name,
                             toString(tensor.dims), tensor.bytes()));
        tensor.load = [file, raw](std::span<std::byte> to) {
            expects(to.size() == raw.size(), "OnnxTensor: room for all bytes");
            std::memcpy(to.data(), raw.data(), raw.size());
        };
        return tensor;
    }
    Bytes outside(const std::map<std::string, std::string>& external, const OnnxTensor& tensor,
                  std::shared_ptr<MappedFile>& file)
    {
        const auto location = external.find("location");
        if (location == external.end() || location->second.empty() ||
            location->second.find('/') != std::string::npos)
            fail(fmt::format("no file beside it for {}", tensor.name));
        const auto number = [&](const char* key, std::uint64_t otherwise) {
            const auto found = external.find(key);
            if (found == external.end())
                return otherwise;
            std::uint64_t value = 0;
            const std::string& text = found->second;
            const auto [end, error] =
                std::from_chars(text.data(), text.data() + text.size(), value);
            if (error != std::errc() || end != text.data() + text.size())
                fail(fmt::format("no number as {} of {}", key, tensor.name));
            return value;
        };
        auto& mapped = m_outside[location->second];
        if (!mapped)
            mapped = std::make_shared<MappedFile>(m_path.parent_path() / location->second);
        file = mapped;
        const std::uint64_t offset = number("offset", 0), length = number("length", tensor.bytes());
        if (offset > mapped->bytes().size() || length > mapped->bytes().size() - offset)
            fail(fmt::format("{} beyond the end of {}", tensor.name, location->second));
        return mapped->bytes().subspan(static_cast<std::size_t>(offset),
                                       static_cast<std::size_t>(length));
    }

    std::filesystem::path m_path;
    std::string m_name;
    std::shared_ptr<MappedFile> m_mapped;
    std::map<std::string, std::shared_ptr<MappedFile>> m_outside;
};

} // namespace

OnnxModel readOnnx(const std::filesystem::path& path)
{
    return Reader(path).read();
}

} // namespace vergence::live
