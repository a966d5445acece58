#pragma once

// PTX that kernel files write as text, named as there with _ for each dot, operands in the order of
// the text; bodies in engine/matrices.cpp. rewriter/instructions.cpp has the same list.

#include <cstdint>

#include "tests/support/cuda_emulation/language/engine_calls.h"

#define __cvta_generic_to_shared(pointer)                                                          \
    ::vergence::emulation::sharedAddress((pointer), VERGENCE_EMULATED_SITE)

namespace vergence::emulation::ptx {

void ldmatrix_sync_aligned_m8n8_x4_shared_b16(Site site, std::uint32_t& r0, std::uint32_t& r1,
                                              std::uint32_t& r2, std::uint32_t& r3,
                                              unsigned address);
void ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16(Site site, std::uint32_t& r0, std::uint32_t& r1,
                                                    std::uint32_t& r2, std::uint32_t& r3,
                                                    unsigned address);
void mma_sync_aligned_m16n8k16_row_col_f32_f16_f16_f32(Site site, float& d0, float& d1, float& d2,
                                                       float& d3, std::uint32_t a0,
                                                       std::uint32_t a1, std::uint32_t a2,
                                                       std::uint32_t a3, std::uint32_t b0,
                                                       std::uint32_t b1, float c0, float c1,
                                                       float c2, float c3);
void mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32(Site site, float& d0, float& d1, float& d2,
                                                         float& d3, std::uint32_t a0,
                                                         std::uint32_t a1, std::uint32_t a2,
                                                         std::uint32_t a3, std::uint32_t b0,
                                                         std::uint32_t b1, float c0, float c1,
                                                         float c2, float c3);

} // namespace vergence::emulation::ptx
