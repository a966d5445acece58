#include "core/compute/graph/parameter.h"

#include <fmt/format.h>

#include "core/compute/ops/pointwise.h"
#include "core/compute/ops/random.h"

namespace vergence {

namespace {
constexpr Index kParameterAlignment = 64;

bool isSixteenBit(DType type)
{
    return type == DType::F16 || type == DType::BF16;
}

bool typesFit(DType master, DType compute)
{
    if (master == compute)
        return master == DType::F32 || master == DType::F64 || isSixteenBit(master);
    return master == DType::F32 && isSixteenBit(compute);
}
} // namespace

ParameterSet::ParameterSet(std::shared_ptr<Device> device, DType master, DType compute)
    : m_device(std::move(device)),
      m_master(master),
      m_compute(compute)
{
    expects(m_device != nullptr, "ParameterSet: no device");
    expects(typesFit(master, compute),
            fmt::format("ParameterSet: masters in {} do not go with computing in {}",
                        nameOf(master), nameOf(compute)));
}

int ParameterSet::addGroup(ParameterGroup group)
{
    expects(m_values.isEmpty(), "ParameterSet: groups are declared before allocate()");
    m_groups.push_back(std::move(group));
    return static_cast<int>(m_groups.size()) - 1;
}

int ParameterSet::add(std::string name, Shape shape, int group, InitialValue initial)
{
    expects(m_values.isEmpty(), "ParameterSet: parameters are declared before allocate()");
    if (m_groups.empty())
        m_groups.push_back({"all", 0, false});
    expects(group >= 0 && group < static_cast<int>(m_groups.size()),
            fmt::format("ParameterSet: {} is in group {}, which was not declared", name, group));
    expects(!m_byName.contains(name) && !m_windows.contains(name),
            fmt::format("ParameterSet: {} is declared twice", name));
    expects(elementCount(shape) > 0,
            fmt::format("ParameterSet: {} {} has no elements", name, toString(shape)));
    const int index = count();
    m_byName.emplace(name, index);
    m_parameters.push_back({std::move(name), std::move(shape), group, initial, {}, {}, {}});
    return index;
}

void ParameterSet::addWindow(std::string name, int parameter, Index firstRow, Index rows)
{
    expects(parameter >= 0 && parameter < count(),
            fmt::format("ParameterSet: window {} of parameter {}, which was not declared", name,
                        parameter));
    const Shape& shape = (*this)[parameter].shape;
    expects(!shape.empty() && firstRow >= 0 && rows > 0 && firstRow + rows <= shape[0],
            fmt::format("ParameterSet: window {} has rows {} to {} of {}", name, firstRow,
                        firstRow + rows, toString(shape)));
    expects(!m_byName.contains(name) && !m_windows.contains(name),
            fmt::format("ParameterSet: {} is declared twice", name));
    m_windows.emplace(std::move(name), ParameterWindow{parameter, firstRow, rows});
}

Index ParameterSet::layOut()
{
    m_ranges.assign(m_groups.size(), {0, 0});
    m_offsets.assign(m_parameters.size(), 0);
    Index end = 0;
    for (const bool frozen : {false, true}) {
        for (std::size_t g = 0; g < m_groups.size(); ++g) {
            if (m_groups[g].frozen != frozen)
                continue;
            m_ranges[g].first = end;
            for (std::size_t i = 0; i < m_parameters.size(); ++i) {
                if (m_parameters[i].group != static_cast<int>(g))
                    continue;
                m_offsets[i] = end;
                const Index size = elementCount(m_parameters[i].shape);
                end += (size + kParameterAlignment - 1) / kParameterAlignment * kParameterAlignment;
            }
            m_ranges[g].second = end;
        }
        if (!frozen)
            m_trained = end;
    }
    return end;
}

void ParameterSet::allocate(Stream& stream)
{
    expects(m_values.isEmpty(), "ParameterSet: allocate() is called once");
    expects(!m_parameters.empty(), "ParameterSet: no parameter was declared");
    const Index n = layOut();
    expects(!isSixteenBit(m_master) || m_trained == 0,
            "ParameterSet: 16-bit masters are for frozen groups alone");
    m_values = Tensor::zeros(stream, m_device, {n}, m_master);
    if (m_compute != m_master)
        m_shadows = Tensor::zeros(stream, m_device, {n}, m_compute);
    if (m_trained > 0)
        m_gradients = Tensor::zeros(stream, m_device, {m_trained}, m_master);
    for (int i = 0; i < count(); ++i) {
        Parameter& parameter = m_parameters[static_cast<std::size_t>(i)];
        parameter.value = part(m_values, i);
        if (!m_shadows.isEmpty())
            parameter.shadow = part(m_shadows, i);
        if (!m_groups[static_cast<std::size_t>(parameter.group)].frozen)
            parameter.gradient = part(m_gradients, i);
    }
}

void ParameterSet::initialise(Stream& stream, std::uint64_t seed,
                              const std::function<bool()>& isStopped)
{
    for (int i = 0; i < count() && !(isStopped && isStopped()); ++i) {
        const auto& [mean, spread, isUniform] = (*this)[i].initial;
        const Tensor& value = (*this)[i].value;
        if (spread == 0)
            fill(stream, value, mean);
        else if (isUniform)
            fillUniform(stream, value, mean - spread, mean + spread, seed,
                        static_cast<std::uint64_t>(i));
        else
            fillNormal(stream, value, mean, spread, seed, static_cast<std::uint64_t>(i));
    }
    refreshShadows(stream);
}

int ParameterSet::find(const std::string& name) const
{
    const auto found = m_byName.find(name);
    return found == m_byName.end() ? -1 : found->second;
}

Tensor ParameterSet::named(const std::string& name) const
{
    if (const int index = find(name); index >= 0)
        return (*this)[index].value;
    const auto window = m_windows.find(name);
    if (window == m_windows.end())
        return {};
    const auto [parameter, first, rows] = window->second;
    return (*this)[parameter].value.narrow(0, first, rows);
}

std::pair<Index, Index> ParameterSet::range(int group) const
{
    return m_ranges.at(static_cast<std::size_t>(group));
}

Tensor ParameterSet::part(const Tensor& flat, int parameter) const
{
    const Shape& shape = (*this)[parameter].shape;
    const Index first = m_offsets.at(static_cast<std::size_t>(parameter));
    return flat.narrow(0, first, elementCount(shape)).reshaped(shape);
}

std::vector<std::pair<std::string, ParameterWindow>> ParameterSet::fileEntries() const
{
    std::vector<std::vector<std::pair<std::string, ParameterWindow>>> windowsOf(
        m_parameters.size());
    for (const auto& [name, window] : m_windows)
        windowsOf[static_cast<std::size_t>(window.parameter)].emplace_back(name, window);
    std::vector<std::pair<std::string, ParameterWindow>> entries;
    for (int i = 0; i < count(); ++i) {
        const auto& windows = windowsOf[static_cast<std::size_t>(i)];
        const Parameter& parameter = (*this)[i];
        if (windows.empty()) {
            const Index rows = parameter.shape.empty() ? 1 : parameter.shape[0];
            entries.emplace_back(parameter.name, ParameterWindow{i, 0, rows});
        }
        entries.insert(entries.end(), windows.begin(), windows.end());
    }
    return entries;
}

void ParameterSet::zeroGradients(Stream& stream)
{
    if (!m_gradients.isEmpty())
        stream.fillBytes(m_gradients.data(), 0, m_gradients.bytes());
}

void ParameterSet::refreshShadows(Stream& stream)
{
    if (!m_shadows.isEmpty())
        cast(stream, m_values, m_shadows);
}

} // namespace vergence
