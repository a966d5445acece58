#pragma once

#include "core/compute/kernel.h"
#include "core/compute/view.h"
#include "plugins/sugar/compute/adam_math.h"

namespace vergence::sugar {

/// One parameter group: `width` numbers a row.
struct AdamColumns {
    int width = 0; ///< 0: the group is absent
    const float* gradient = nullptr;
    void *moment1 = nullptr, *moment2 = nullptr;
    float* value = nullptr;
};

struct AdamArguments {
    Index rows = 0;
    AdamColumns group[kAdamGroups];
    bool compactMoments = false;           ///< see MomentFormat
    const std::uint8_t* visible = nullptr; ///< null: all rows
    AdamFactors<float> factors;
    unsigned long long* skipped = nullptr; ///< on the device; rows left out are added
};
inline const Kernel<void(const AdamArguments&)> adamRows{"sugar.adam_rows"};

/// Quaternions to norm 1; those of norm 0 become the identity.
struct NormaliseArguments {
    Index rows = 0;
    float* rotation = nullptr; ///< [rows, 4]
};
inline const Kernel<void(const NormaliseArguments&)> normaliseRows{"sugar.normalise_rows"};

} // namespace vergence::sugar
