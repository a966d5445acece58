#!/usr/bin/env python3
"""Rows of bench_live_diffusion.cpp under the same names: the same denoiser, computed by PyTorch.

Not part of the build and no dependency of it: run by hand where PyTorch is installed, for instance
    python3 torch_live.py --threads 2 --filter Pico
What only depends on the step (time embedding) or on writes to the memory (keys and values) is
computed once, as there. Prints parameters, then milliseconds of the fastest and the median call, and the least processor
time of one.
"""
import argparse
import time

import torch
import torch.nn.functional as F
from torch import nn

from torch_engine import recorded

SIZES = {  # C0, multipliers, R, attention levels, native grid
    "Pico": (32, (1, 2, 4), 1, (2,), 32),
    "S": (64, (1, 2, 4, 4), 2, (1, 2, 3), 64),
}


def rounded(count, to=8):
    return -(-count // to) * to


def norm(channels):
    return nn.GroupNorm(32 if channels >= 128 else channels // 4, channels, eps=1e-5)


class Residual(nn.Module):
    def __init__(self, inner, outer, base):
        super().__init__()
        self.n1, self.c1 = norm(inner), nn.Conv2d(inner, outer, 3, padding=1)
        self.emb = nn.Linear(4 * base, outer)
        self.n2, self.c2 = norm(outer), nn.Conv2d(outer, outer, 3, padding=1)
        self.skip = nn.Conv2d(inner, outer, 1) if inner != outer else None

    def prepare(self, embedding):
        self.addend = self.emb(embedding)[:, :, None, None]

    def forward(self, x):
        y = self.c1(F.silu(self.n1(x))) + self.addend
        y = self.c2(F.silu(self.n2(y)))
        return y + (self.skip(x) if self.skip is not None else x)


class Attention(nn.Module):
    def __init__(self, channels, width):
        super().__init__()
        self.heads = max(1, channels // 64)
        self.n1, self.n2 = norm(channels), nn.LayerNorm(channels, eps=1e-5)
        self.qkv = nn.Linear(channels, 3 * channels, bias=False)
        self.o1, self.o2 = nn.Linear(channels, channels), nn.Linear(channels, channels)
        self.q = nn.Linear(channels, channels, bias=False)
        self.kv = nn.Linear(width, 2 * channels, bias=False)

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def prepare(self, memory):
        self.k, self.v = (self.split(part).contiguous() for part in self.kv(memory).chunk(2, -1))

    def forward(self, x, bias):
        n, c, h, w = x.shape
        tokens = x.flatten(2).transpose(1, 2)
        y = self.qkv(self.n1(x).flatten(2).transpose(1, 2))
        q, k, v = (self.split(part) for part in y.chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v)
        tokens = tokens + self.o1(y.transpose(1, 2).flatten(2))
        q = self.split(self.q(self.n2(tokens)))
        y = F.scaled_dot_product_attention(q, self.k, self.v, attn_mask=bias)
        tokens = tokens + self.o2(y.transpose(1, 2).flatten(2))
        return tokens.transpose(1, 2).unflatten(2, (h, w))


class Denoiser(nn.Module):
    def __init__(self, size, patch):
        super().__init__()
        base, factors, blocks, levels, grid = SIZES[size]
        self.base, self.grid, self.frame = base, grid, 3 * patch * patch
        self.inputs = rounded(3 * self.frame)
        outputs, width = rounded(self.frame + 1), 4 * base
        widths = [base * factor for factor in factors]

        def embedding():
            return nn.Sequential(nn.Linear(base, 4 * base), nn.SiLU(), nn.Linear(4 * base, 4 * base))

        def attention(level):
            return Attention(widths[level], width) if level in levels else None

        self.t, self.b = embedding(), embedding()
        self.stem = nn.Conv2d(self.inputs, base, 3, padding=1)
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        skips, x = [base], base
        for level, c in enumerate(widths):
            for _ in range(blocks):
                self.down.append(nn.ModuleList([Residual(x, c, base), attention(level)]))
                x = c
                skips.append(x)
            if level + 1 < len(widths):
                self.down.append(nn.Conv2d(c, c, 3, stride=2, padding=1))
                skips.append(c)
        self.middle = nn.ModuleList(
            [Residual(x, x, base), Attention(x, width), Residual(x, x, base)])
        for level in reversed(range(len(widths))):
            c = widths[level]
            for _ in range(blocks + 1):
                self.up.append(nn.ModuleList([Residual(x + skips.pop(), c, base), attention(level)]))
                x = c
            if level > 0:
                self.up.append(nn.Conv2d(c, c, 3, padding=1))
        self.norm, self.head = norm(x), nn.Conv2d(x, outputs, 3, padding=1)
        kernel = grid // 16
        self.mem1 = nn.Conv2d(rounded(self.frame), base, kernel, stride=kernel)
        self.mem2 = nn.Conv2d(base, width, 4, stride=4)
        self.position = nn.Parameter(torch.randn(16, width))
        self.mem_norm = nn.LayerNorm(width, eps=1e-5)
        self.null = nn.Parameter(torch.randn(1, width))

    def halve_prepared(self):
        self.bias = self.bias.half()
        for module in self.modules():
            for name in ("addend", "k", "v"):
                if isinstance(getattr(module, name, None), torch.Tensor):
                    setattr(module, name, getattr(module, name).half())

    def sinusoid(self, number):
        half = self.base // 2
        angles = number * 10000 ** (-torch.arange(half) / half)
        return torch.cat([angles.cos(), angles.sin()])[None]

    def prepare(self, timestep, bucket):
        e = F.silu(self.t(self.sinusoid(timestep)) + self.b(self.sinusoid(100 * bucket)))
        memory = torch.randn(1, 264, 4 * self.base)
        self.bias = torch.full((1, 1, 1, 264), -30000.0)
        self.bias[..., 256] = 0
        for module in self.modules():
            if isinstance(module, Residual):
                module.prepare(e)
            elif isinstance(module, Attention):
                module.prepare(memory)

    def forward(self, x, u, h):
        y = torch.cat([x, u, h], 1)
        if y.shape[1] < self.inputs:
            y = F.pad(y, (0, 0, 0, 0, 0, self.inputs - y.shape[1]))
        y = self.stem(y)
        skips = [y]
        for layer in self.down:
            y = self.apply_layer(layer, y)
            skips.append(y)
        y = self.middle[0](y)
        y = self.middle[2](self.middle[1](y, self.bias))
        for layer in self.up:
            if isinstance(layer, nn.Conv2d):
                y = layer(F.interpolate(y, scale_factor=2, mode="nearest"))
            else:
                y = self.apply_layer(layer, torch.cat([y, skips.pop()], 1))
        y = self.head(F.silu(self.norm(y)))
        return y[:, : self.frame], y[:, self.frame : self.frame + 1]

    def apply_layer(self, layer, y):
        if isinstance(layer, nn.Conv2d):
            return layer(y)
        y = layer[0](y)
        return layer[1](y, self.bias) if layer[1] is not None else y


def measure(step, seconds):
    def call():
        step()
        if torch.get_default_device().type == "cuda":
            torch.cuda.synchronize()

    call()
    call()
    times, cpu, start = [], 1e9, time.perf_counter()
    while time.perf_counter() - start < seconds or len(times) < 5:
        before, processor = time.perf_counter(), time.process_time()
        call()
        cpu = min(cpu, time.process_time() - processor)
        times.append(time.perf_counter() - before)
    times.sort()
    return times[0] * 1e3, times[len(times) // 2] * 1e3, cpu * 1e3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--filter", default="")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--half", action="store_true", help="weights and pictures of 16 bits")
    parser.add_argument("--graph", action="store_true", help="a recorded graph, replayed")
    options = parser.parse_args()
    torch.set_default_device(options.device)
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    print("PyTorch", torch.__version__)
    for size, pixels in (("Pico", 64), ("S", 64)):
        patch = pixels // SIZES[size][4]
        name = f"{size} {pixels} px p{patch}"
        if options.filter not in name:
            continue
        with torch.inference_mode():
            for layout in ("contiguous", "channels last"):
                network = Denoiser(size, patch).eval()
                if layout == "contiguous":
                    count = sum(p.numel() for p in network.parameters())
                    print(f"{name}: {count} parameters")
                network.prepare(599.0, 1)
                order = torch.channels_last if layout != "contiguous" else torch.contiguous_format
                network = network.to(memory_format=order)
                images = [torch.randn(1, 3 * patch * patch, network.grid, network.grid)
                          .contiguous(memory_format=order) for _ in range(3)]
                if options.half:
                    network.half()
                    network.halve_prepared()
                    images = [image.half() for image in images]
                step = lambda: network(*images)  # noqa: E731
                if options.graph:
                    step = recorded(step)
                best, median, cpu = measure(step, options.seconds)
                print(f"{name} eval, {layout}{', half' * options.half}"
                      f"{', graph' * options.graph}: best_ms {best:.2f} median_ms {median:.2f} "
                      f"cpu_ms {cpu:.2f}")


if __name__ == "__main__":
    main()
