#include "plugins/live_diffusion/train/loss_scaler.h"

#include <algorithm>

#include "core/base/error.h"

namespace vergence::live {

void LossScaler::update(bool isFinite)
{
    if (!isFinite) {
        m_scale = std::max(m_settings.least, m_scale / 2);
        m_clean = 0;
    } else if (++m_clean == m_settings.cleanSteps) {
        m_scale = std::min(m_settings.most, m_scale * 2);
        m_clean = 0;
    }
}

void LossScaler::restore(double scale, Index clean)
{
    expects(scale > 0 && clean >= 0, "LossScaler: neither scale nor count is negative");
    m_scale = scale;
    m_clean = clean;
}

} // namespace vergence::live
