// What a checkpoint holds of a trainer.

#include "plugins/sugar/train/trainer.h"

namespace vergence::sugar {

std::vector<Trainer::Named> Trainer::tensors() const
{
    const Index count = m_state.count();
    std::vector<Named> all;
    addNamed(all, "value.", m_state.gaussians.value, count);
    addNamed(all, "moment1.", m_state.moment1, count);
    addNamed(all, "moment2.", m_state.moment2, count);
    const DensityStatistics& s = m_state.statistics;
    addNamed(all, "statistics.gradient", s.gradient, count);
    addNamed(all, "statistics.absolute_gradient", s.absoluteGradient, count);
    addNamed(all, "statistics.visible", s.visible, count);
    addNamed(all, "statistics.radius", s.radius, count);
    if (!m_state.gaussians.filter.isEmpty())
        addNamed(all, "filter", m_state.gaussians.filter, count);
    return all;
}

void Trainer::restore(Stream& stream, std::int64_t step, Index count, int degree,
                      const NamedReader& read)
{
    expects(count > 0, "Trainer: a checkpoint without Gaussians cannot be resumed");
    const Index capacity = capacityFor(count);
    Gaussians gaussians;
    gaussians.count = count;
    gaussians.value = GaussianArrays::zeros(stream, m_device, capacity, degree);
    if (m_settings.mip)
        gaussians.filter = Tensor::zeros(stream, m_device, {capacity});
    m_state = trained(stream, std::move(gaussians), m_settings.moments);
    readNamed(stream, m_state.gaussians.value, count, "value.", read);
    readNamed(stream, m_state.moment1, count, "moment1.", read);
    readNamed(stream, m_state.moment2, count, "moment2.", read);
    const DensityStatistics& s = m_state.statistics;
    readNamed(stream, s.gradient, count, "statistics.gradient", read);
    readNamed(stream, s.absoluteGradient, count, "statistics.absolute_gradient", read);
    readNamed(stream, s.visible, count, "statistics.visible", read);
    readNamed(stream, s.radius, count, "statistics.radius", read);
    if (m_settings.mip)
        readNamed(stream, m_state.gaussians.filter, count, "filter", read);
    m_step = step;
}

} // namespace vergence::sugar
