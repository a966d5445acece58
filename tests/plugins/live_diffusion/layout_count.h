#pragma once

#include <cstdint>
#include <vector>

namespace vergence::test {

/// The published layout of the denoiser, counted by walking it on paper: no program, no settings.
/// For comparison with what the programs say.
struct LayoutCount {
    using Count = std::int64_t;
    Count channels = 64, blocks = 2, middle = 1, grid = 64, patch = 1, rounding = 8;
    Count memoryKernel = 4;
    std::vector<Count> multipliers{1, 2, 4, 4};
    std::vector<int> attention{1, 2, 3};
    bool feedForward = false;

    Count parameters = 0, flop = 0, timeWidth = 0, writeFlop = 0;

    void run()
    {
        const Count width = 4 * channels;
        for (int mlp = 0; mlp < 2; ++mlp)
            parameters += channels * width + width + width * width + width;
        conv(padded(9 * patch * patch), channels, 3, grid);
        std::vector<Count> skips{channels};
        Count c = channels, g = grid;
        const int levels = static_cast<int>(multipliers.size());
        for (int level = 0; level < levels; ++level) {
            for (Count i = 0; i < blocks; ++i) {
                residual(c, at(level), g);
                c = at(level);
                attend(level, c, g);
                skips.push_back(c);
            }
            if (level + 1 == levels)
                break;
            g /= 2;
            conv(c, c, 3, g);
            skips.push_back(c);
        }
        residual(c, c, g);
        for (Count i = 0; i < middle; ++i)
            attention1(c, g);
        residual(c, c, g);
        for (int level = levels - 1; level >= 0; --level) {
            for (Count i = 0; i <= blocks; ++i) {
                residual(c + skips.back(), at(level), g);
                skips.pop_back();
                c = at(level);
                attend(level, c, g);
            }
            if (level == 0)
                break;
            g *= 2;
            conv(c, c, 3, g);
        }
        parameters += 2 * c;
        conv(c, padded(3 * patch * patch + 1), 3, g);
        encoder(width);
    }

private:
    Count padded(Count n) const { return (n + rounding - 1) / rounding * rounding; }
    Count at(int level) const { return channels * multipliers[static_cast<std::size_t>(level)]; }

    void conv(Count in, Count out, Count kernel, Count side)
    {
        parameters += in * out * kernel * kernel + out;
        flop += 2 * side * side * in * out * kernel * kernel;
    }
    void linear(Count in, Count out, Count rows, bool bias)
    {
        parameters += in * out + (bias ? out : 0);
        flop += 2 * rows * in * out;
    }
    void residual(Count in, Count out, Count side)
    {
        parameters += 2 * in + 2 * out + 4 * channels * out + out;
        timeWidth += out;
        conv(in, out, 3, side);
        conv(out, out, 3, side);
        if (in != out)
            conv(in, out, 1, side);
    }
    void attend(int level, Count c, Count side)
    {
        for (const int one : attention)
            if (one == level)
                attention1(c, side);
    }
    void attention1(Count c, Count side)
    {
        const Count n = side * side, width = 4 * channels;
        parameters += 4 * c;
        linear(c, 3 * c, n, false);
        flop += 4 * n * n * c;
        linear(c, c, n, true);
        linear(c, c, n, false);
        parameters += width * 2 * c; // keys and values, once per write
        writeFlop += 2 * 16 * width * 2 * c;
        flop += 4 * n * 264 * c;
        linear(c, c, n, true);
        if (!feedForward)
            return;
        parameters += 2 * c;
        linear(c, 8 * c, n, true);
        linear(4 * c, c, n, true);
    }
    void encoder(Count width)
    {
        const Count in = padded(3 * patch * patch), k = memoryKernel;
        const Count side = grid / k;
        parameters += in * channels * k * k + channels + channels * width * 16 + width;
        parameters += 16 * width + 2 * width + width;
        writeFlop += 2 * side * side * in * channels * k * k + 2 * 16 * channels * width * 16;
    }
};

} // namespace vergence::test
