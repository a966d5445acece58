#include <array>
#include <cstring>

#include "tests/support/cuda_emulation/engine/block.h"
#include "tests/support/cuda_emulation/engine/findings.h"
#include "tests/support/cuda_emulation/engine/settings.h"
#include "tests/support/cuda_emulation/language/instructions.h"

// Instructions that the 32 lanes of a warp do together, as PTX's manual lays numbers out among
// them.

namespace vergence::emulation {

namespace {

constexpr unsigned kAllLanes = 0xffffffffu;

bool canDo(const char* name, unsigned came, Site site, int leastCapability)
{
    if (came != kAllLanes)
        report(name, site, "not done by all lanes of a warp");
    else if (settings().capability < leastCapability)
        report(name, site, "an instruction that the device does not have");
    else
        return true;
    return false;
}

/// Arguments of one lane; lane l gives the address of row l % 8 of matrix l / 8.
struct MatrixLoad {
    std::array<std::uint32_t*, 4> result;
    unsigned address;
    bool isTransposed;
};

using Row = std::array<std::uint16_t, 8>;

Row loadedRow(const MatrixLoad& load, int lane, Site site)
{
    Row row;
    row.fill(0xffff);
    if (load.address % sizeof(row) != 0) {
        report("ldmatrix", site, "an address is no multiple of 16");
    } else if (load.address + sizeof(row) > kSharedRoomBytes) {
        report("ldmatrix", site, "an address outside of shared memory");
    } else {
        readShared(theBlock.current / kWarpSize * kWarpSize + lane, load.address, sizeof(row),
                   site);
        std::memcpy(row.data(), sharedMemory.first + load.address, sizeof(row));
    }
    return row;
}

/// ldmatrix: lane l gets elements (l / 4, 2 (l % 4)) and its neighbour of each of four matrices.
void loadMatrices(void** arguments, unsigned came, Site site)
{
    if (!canDo("ldmatrix", came, site, 75))
        return;
    std::array<std::array<Row, 8>, 4> matrices;
    for (std::size_t lane = 0; lane < kWarpSize; ++lane)
        matrices[lane / 8][lane % 8] = loadedRow(*static_cast<const MatrixLoad*>(arguments[lane]),
                                                 static_cast<int>(lane), site);
    for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
        const auto& mine = *static_cast<const MatrixLoad*>(arguments[lane]);
        const std::size_t i = lane / 4, j = lane % 4 * 2;
        for (std::size_t number = 0; number < 4; ++number) {
            const auto& x = matrices[number];
            const std::uint32_t low = mine.isTransposed ? x[j][i] : x[i][j];
            const std::uint32_t high = mine.isTransposed ? x[j + 1][i] : x[i][j + 1];
            *mine.result[number] = low | high << 16;
        }
    }
}

float fromHalf(std::uint16_t bits)
{
    return static_cast<float>(__builtin_bit_cast(_Float16, bits));
}
float fromBfloat(std::uint16_t bits)
{
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
}

/// Arguments of one lane.
struct MatrixProduct {
    std::array<float*, 4> d;
    std::array<std::uint32_t, 4> a;
    std::array<std::uint32_t, 2> b;
    std::array<float, 4> c;
};

/// mma.m16n8k16: D [16, 8] = A [16, 16] · B [16, 8] + C
template <float (*ToFloat)(std::uint16_t)>
void multiplyMatrices(void** arguments, unsigned came, Site site)
{
    if (!canDo("mma", came, site, 80))
        return;
    const auto half = [](std::uint32_t pair, std::size_t which) {
        return ToFloat(static_cast<std::uint16_t>(pair >> 16 * which));
    };
    float a[16][16], b[16][8];
    for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
        const auto& mine = *static_cast<const MatrixProduct*>(arguments[lane]);
        const std::size_t group = lane / 4, pair = lane % 4 * 2;
        for (std::size_t i = 0; i < 8; ++i)
            a[group + i / 2 % 2 * 8][pair + i % 2 + i / 4 * 8] = half(mine.a[i / 2], i % 2);
        for (std::size_t i = 0; i < 4; ++i)
            b[pair + i % 2 + i / 2 * 8][group] = half(mine.b[i / 2], i % 2);
    }
    for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
        const auto& mine = *static_cast<const MatrixProduct*>(arguments[lane]);
        for (std::size_t i = 0; i < 4; ++i) {
            const std::size_t row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
            double sum = static_cast<double>(mine.c[i]);
            for (std::size_t k = 0; k < 16; ++k)
                sum += static_cast<double>(a[row][k]) * static_cast<double>(b[k][column]);
            *mine.d[i] = static_cast<float>(sum);
        }
    }
}

} // namespace

namespace ptx {

void ldmatrix_sync_aligned_m8n8_x4_shared_b16(Site site, std::uint32_t& r0, std::uint32_t& r1,
                                              std::uint32_t& r2, std::uint32_t& r3,
                                              unsigned address)
{
    MatrixLoad mine{{&r0, &r1, &r2, &r3}, address, false};
    meet(kAllLanes, site, &loadMatrices, &mine);
}

void ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16(Site site, std::uint32_t& r0, std::uint32_t& r1,
                                                    std::uint32_t& r2, std::uint32_t& r3,
                                                    unsigned address)
{
    MatrixLoad mine{{&r0, &r1, &r2, &r3}, address, true};
    meet(kAllLanes, site, &loadMatrices, &mine);
}

void mma_sync_aligned_m16n8k16_row_col_f32_f16_f16_f32(Site site, float& d0, float& d1, float& d2,
                                                       float& d3, std::uint32_t a0,
                                                       std::uint32_t a1, std::uint32_t a2,
                                                       std::uint32_t a3, std::uint32_t b0,
                                                       std::uint32_t b1, float c0, float c1,
                                                       float c2, float c3)
{
    MatrixProduct mine{{&d0, &d1, &d2, &d3}, {a0, a1, a2, a3}, {b0, b1}, {c0, c1, c2, c3}};
    meet(kAllLanes, site, &multiplyMatrices<&fromHalf>, &mine);
}

void mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32(Site site, float& d0, float& d1, float& d2,
                                                         float& d3, std::uint32_t a0,
                                                         std::uint32_t a1, std::uint32_t a2,
                                                         std::uint32_t a3, std::uint32_t b0,
                                                         std::uint32_t b1, float c0, float c1,
                                                         float c2, float c3)
{
    MatrixProduct mine{{&d0, &d1, &d2, &d3}, {a0, a1, a2, a3}, {b0, b1}, {c0, c1, c2, c3}};
    meet(kAllLanes, site, &multiplyMatrices<&fromBfloat>, &mine);
}

} // namespace ptx

} // namespace vergence::emulation
