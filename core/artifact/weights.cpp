#include "core/artifact/weights.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "core/artifact/safetensors.h"
#include "core/base/error.h"
#include "core/compute/ops/pointwise.h"

namespace vergence {

NameMap& NameMap::dropPrefix(std::string prefix)
{
    m_dropped.push_back(std::move(prefix));
    return *this;
}

NameMap& NameMap::replace(std::string part, std::string replacement)
{
    expects(!part.empty(), "NameMap: nothing is to be replaced");
    m_replaced.emplace_back(std::move(part), std::move(replacement));
    return *this;
}

NameMap& NameMap::only(std::string prefix)
{
    m_only = std::move(prefix);
    return *this;
}

NameMap& NameMap::ignore(std::string part)
{
    m_ignored.push_back(std::move(part));
    return *this;
}

NameMap& NameMap::transposed(std::string modelName)
{
    m_transposed.insert(std::move(modelName));
    return *this;
}

NameMap& NameMap::under(std::string prefix)
{
    m_under = std::move(prefix);
    return *this;
}

std::string NameMap::modelName(const std::string& fileName) const
{
    std::string name = fileName;
    for (const std::string& prefix : m_dropped) {
        if (name.starts_with(prefix))
            name.erase(0, prefix.size());
    }
    if (!name.starts_with(m_only))
        return {};
    for (const std::string& part : m_ignored) {
        if (name.find(part) != std::string::npos)
            return {};
    }
    for (const auto& [part, replacement] : m_replaced) {
        for (std::size_t at = name.find(part); at != std::string::npos;
             at = name.find(part, at + replacement.size()))
            name.replace(at, part.size(), replacement);
    }
    return m_under + name;
}

namespace {

bool isFloat(DType type)
{
    return type == DType::F32 || type == DType::F64 || type == DType::F16 || type == DType::BF16;
}

bool startsWithOneOf(const std::string& name, const std::vector<std::string>& prefixes)
{
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](const std::string& prefix) { return name.starts_with(prefix); });
}

Shape withoutOnes(Shape shape)
{
    std::erase(shape, Index{1});
    return shape;
}

bool shapesAgree(const Shape& entry, const Shape& parameter)
{
    const Shape a = withoutOnes(entry), b = withoutOnes(parameter);
    const bool isMatrixOfPatches = parameter.size() == 2 && entry.size() > 2 &&
                                   entry[0] == parameter[0] &&
                                   elementCount(entry) == elementCount(parameter);
    return a == b || isMatrixOfPatches;
}

/// One entry on its way into a parameter.
struct Copy {
    const WeightEntry* entry = nullptr;
    std::string modelName;
    bool isTransposed = false;
};

/// Decides for every name before anything is written.
class LoadPlan {
public:
    LoadPlan(const ParameterSet& parameters, const WeightFile& file, const NameMap& names)
        : m_parameters(parameters),
          m_file(file),
          m_names(names)
    {
        for (const WeightEntry& entry : file.entries())
            place(entry);
        for (const auto& [name, window] : parameters.fileEntries()) {
            const std::string& whole = parameters[window.parameter].name;
            const bool isWanted = whole.starts_with(names.prefix());
            if (isWanted && !m_sources.contains(name) && !m_sources.contains(whole) &&
                !m_mismatchedNames.contains(name) && !m_mismatchedNames.contains(whole))
                m_report.missing.push_back(name);
        }
    }

    /// Throws InputError that lists what is missing or mismatched and not `initialised`.
    void expectComplete(const std::vector<std::string>& initialised) const
    {
        std::vector<std::string> faults;
        for (const auto& [name, sentence] : m_mismatchedNames) {
            if (!startsWithOneOf(name, initialised))
                faults.push_back(sentence);
        }
        for (const std::string& name : m_report.missing) {
            if (!startsWithOneOf(name, initialised))
                faults.push_back(fmt::format("`{}` is missing", name));
        }
        if (faults.empty())
            return;
        constexpr std::size_t kShown = 8;
        std::string text;
        for (std::size_t i = 0; i < std::min(faults.size(), kShown); ++i)
            text += (i > 0 ? "; " : "") + faults[i];
        if (faults.size() > kShown)
            text += fmt::format("; and {} more", faults.size() - kShown);
        throw InputError(
            fmt::format("The weights in {} do not fit the model: {}.", m_file.source(), text));
    }

    const std::vector<Copy>& copies() const { return m_copies; }
    const WeightReport& report() const { return m_report; }

private:
    void place(const WeightEntry& entry)
    {
        const std::string name = m_names.modelName(entry.name);
        if (name.empty())
            return;
        const Tensor target = m_parameters.named(name);
        if (!target.device()) {
            m_report.unexpected.push_back(entry.name);
            return;
        }
        const bool isTransposed = m_names.isTransposed(name);
        Shape shape = entry.shape;
        if (isTransposed)
            std::reverse(shape.begin(), shape.end());
        std::string fault;
        if (!isFloat(entry.dtype))
            fault = fmt::format("`{}` holds {} in the file where {} is needed", entry.name,
                                nameOf(entry.dtype), nameOf(target.dtype()));
        else if ((isTransposed && shape.size() != 2) || !shapesAgree(shape, target.shape()))
            fault = fmt::format("`{}` is {} in the file and {} in the model", entry.name,
                                toString(shape), toString(target.shape()));
        if (!fault.empty()) {
            m_report.mismatched.push_back(fault);
            m_mismatchedNames.emplace(name, fault);
            return;
        }
        const auto [earlier, isNew] = m_sources.emplace(name, entry.name);
        if (!isNew)
            throw InputError(fmt::format("In {} both `{}` and `{}` stand for `{}`.",
                                         m_file.source(), earlier->second, entry.name, name));
        m_report.loaded.push_back(entry.name);
        m_copies.push_back({&entry, name, isTransposed});
    }

    const ParameterSet& m_parameters;
    const WeightFile& m_file;
    const NameMap& m_names;
    WeightReport m_report;
    std::vector<Copy> m_copies;
    std::map<std::string, std::string> m_sources;         ///< model name to file name
    std::map<std::string, std::string> m_mismatchedNames; ///< model name to sentence
};

std::vector<std::byte> transposedBytes(const WeightEntry& entry)
{
    const auto rows = static_cast<std::size_t>(entry.shape[0]);
    const auto columns = static_cast<std::size_t>(entry.shape[1]);
    const std::size_t width = sizeOf(entry.dtype);
    std::vector<std::byte> bytes(entry.bytes.size());
    for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t c = 0; c < columns; ++c)
            std::memcpy(bytes.data() + (c * rows + r) * width,
                        entry.bytes.data() + (r * columns + c) * width, width);
    }
    return bytes;
}

/// Copies numbers of a file into a dense tensor, converting on the device piece by piece.
void copyInto(Stream& stream, std::span<const std::byte> bytes, DType type, const Tensor& target)
{
    constexpr Index kPiece = Index{1} << 20;
    const Tensor flat = target.reshaped({target.size()});
    if (type == target.dtype()) {
        stream.copy(flat.data(), bytes.data(), bytes.size());
        return;
    }
    const Tensor room = Tensor::empty(target.device(), {std::min(kPiece, target.size())}, type);
    for (Index at = 0; at < target.size(); at += kPiece) {
        const Index count = std::min(kPiece, target.size() - at);
        const Tensor piece = room.narrow(0, 0, count);
        stream.copy(piece.data(), bytes.data() + static_cast<std::size_t>(at) * sizeOf(type),
                    piece.bytes());
        cast(stream, piece, flat.narrow(0, at, count));
    }
    stream.synchronize(); // `room` goes away
}

} // namespace

WeightReport loadWeights(Stream& stream, ParameterSet& parameters, const WeightFile& file,
                         const NameMap& names, const std::vector<std::string>& initialised,
                         const std::function<bool()>& isStopped)
{
    const LoadPlan plan(parameters, file, names);
    plan.expectComplete(initialised);
    for (const Copy& copy : plan.copies()) {
        if (isStopped && isStopped())
            return plan.report();
        const Tensor target = parameters.named(copy.modelName);
        if (target.isEmpty())
            continue;
        if (copy.isTransposed)
            copyInto(stream, transposedBytes(*copy.entry), copy.entry->dtype, target);
        else
            copyInto(stream, copy.entry->bytes, copy.entry->dtype, target);
    }
    parameters.refreshShadows(stream);
    return plan.report();
}

void saveWeights(Stream& stream, const ParameterSet& parameters, const std::filesystem::path& path,
                 DType type, const std::string& prefix,
                 const std::map<std::string, std::string>& metadata)
{
    expects(isFloat(type), "saveWeights: the type must be F64, F32, F16 or BF16");
    std::vector<HostTensor> tensors;
    for (const auto& [name, window] : parameters.fileEntries()) {
        if (!name.starts_with(prefix))
            continue;
        const Tensor value = parameters.named(name);
        HostTensor tensor;
        tensor.name = name.substr(prefix.size());
        tensor.dtype = type;
        tensor.shape = value.shape();
        Tensor converted = value;
        if (value.dtype() != type) {
            converted = Tensor::empty(value.device(), value.shape(), type);
            cast(stream, value, converted);
        }
        tensor.bytes.resize(converted.bytes());
        stream.copy(tensor.bytes.data(), converted.data(), converted.bytes());
        stream.synchronize();
        tensors.push_back(std::move(tensor));
    }
    writeSafetensors(path, tensors, metadata);
}

} // namespace vergence
