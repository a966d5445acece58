// What a checkpoint holds of a trainer.

#include "plugins/sugar/train/trainer.h"

namespace vergence::sugar {

namespace {

const char* const kGroups[] = {"position", "log_scale", "rotation", "opacity", "sh_dc", "sh_rest"};

Tensor rowsInUse(const Tensor& tensor, Index count)
{
    return tensor.narrow(0, 0, count);
}

void addArrays(std::vector<Trainer::Named>& all, const std::string& prefix,
               const GaussianArrays& arrays, Index count)
{
    const std::vector<Tensor> groups = arrays.groups();
    for (std::size_t i = 0; i < groups.size(); ++i)
        all.push_back({prefix + kGroups[i], rowsInUse(groups[i], count)});
}

using Reader = std::function<std::vector<float>(const std::string&)>;

void readInto(Stream& stream, const Tensor& tensor, Index count, const std::string& name,
              const Reader& read)
{
    const std::vector<float> values = read(name);
    const Index width = tensor.size() / tensor.extent(0);
    if (static_cast<Index>(values.size()) != count * width)
        throw InputError("The checkpoint is damaged: " + name + " has another size than " +
                         std::to_string(count) + " Gaussians need.");
    stream.copy(tensor.data(), values.data(), values.size() * sizeof(float));
}

void readArrays(Stream& stream, const GaussianArrays& arrays, Index count,
                const std::string& prefix, const Reader& read)
{
    const std::vector<Tensor> groups = arrays.groups();
    for (std::size_t i = 0; i < groups.size(); ++i)
        readInto(stream, groups[i], count, prefix + kGroups[i], read);
}

} // namespace

std::vector<Trainer::Named> Trainer::tensors() const
{
    const Index count = m_state.count();
    std::vector<Named> all;
    addArrays(all, "value.", m_state.gaussians.value, count);
    addArrays(all, "moment1.", m_state.moment1, count);
    addArrays(all, "moment2.", m_state.moment2, count);
    const DensityStatistics& s = m_state.statistics;
    all.push_back({"statistics.gradient", rowsInUse(s.gradient, count)});
    all.push_back({"statistics.absolute_gradient", rowsInUse(s.absoluteGradient, count)});
    all.push_back({"statistics.visible", rowsInUse(s.visible, count)});
    all.push_back({"statistics.radius", rowsInUse(s.radius, count)});
    if (!m_state.gaussians.filter.isEmpty())
        all.push_back({"filter", rowsInUse(m_state.gaussians.filter, count)});
    return all;
}

void Trainer::restore(Stream& stream, std::int64_t step, Index count, int degree,
                      const Reader& read)
{
    expects(count > 0, "Trainer: a checkpoint without Gaussians cannot be resumed");
    const Index capacity = count + count / 4;
    Gaussians gaussians;
    gaussians.count = count;
    gaussians.value = GaussianArrays::zeros(stream, m_device, capacity, degree);
    if (m_settings.mip)
        gaussians.filter = Tensor::zeros(stream, m_device, {capacity});
    m_state = trained(stream, std::move(gaussians));
    readArrays(stream, m_state.gaussians.value, count, "value.", read);
    readArrays(stream, m_state.moment1, count, "moment1.", read);
    readArrays(stream, m_state.moment2, count, "moment2.", read);
    const DensityStatistics& s = m_state.statistics;
    readInto(stream, s.gradient, count, "statistics.gradient", read);
    readInto(stream, s.absoluteGradient, count, "statistics.absolute_gradient", read);
    readInto(stream, s.visible, count, "statistics.visible", read);
    readInto(stream, s.radius, count, "statistics.radius", read);
    if (m_settings.mip)
        readInto(stream, m_state.gaussians.filter, count, "filter", read);
    m_step = step;
}

} // namespace vergence::sugar
