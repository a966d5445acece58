#!/usr/bin/env python3
"""The loop of bench_mc_embedding.cpp in PyTorch: CLIP B/32 with random weights, dropout after q, k,
v, out, fc1 and fc2 of every block, the whole forward in every pass.

Not part of the build: run by hand where PyTorch is installed, for instance
    python3 torch_mc_embedding.py --threads 2 --images 4 --passes 8
Prints images x passes per second of the fastest turn, and of processor time: pass after pass as
published code does it, and with all passes of a turn as one batch.
"""
import argparse
import time

import torch
import torch.nn.functional as F
from torch import nn

WIDTH, HIDDEN, LAYERS, HEADS, PATCH, SIDE, FEATURE = 768, 3072, 12, 12, 32, 224, 512


class Block(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.fc1, self.fc2 = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)
        self.p = p

    def forward(self, x):
        batch, tokens, _ = x.shape
        qkv = F.dropout(self.qkv(self.norm1(x)), self.p)
        q, k, v = qkv.view(batch, tokens, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        context = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape)
        x = x + F.dropout(self.out(context), self.p)
        hidden = F.dropout(self.fc1(self.norm2(x)), self.p)
        hidden = hidden * torch.sigmoid(1.702 * hidden)
        return x + F.dropout(self.fc2(hidden), self.p)


class Tower(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, PATCH, PATCH, bias=False)
        self.token = nn.Parameter(torch.randn(1, 1, WIDTH))
        self.positions = nn.Parameter(torch.randn(1, (SIDE // PATCH) ** 2 + 1, WIDTH))
        self.pre, self.post = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.blocks = nn.Sequential(*[Block(p) for _ in range(LAYERS)])
        self.projection = nn.Linear(WIDTH, FEATURE, bias=False)

    def forward(self, pixels):
        x = self.patches(pixels).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.positions
        return self.projection(self.post(self.blocks(self.pre(x))[:, 0]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--images", type=int, default=4)
    parser.add_argument("--passes", type=int, default=8)
    parser.add_argument("--turns", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    tower = Tower(0.01)
    pixels = torch.randn(args.images, 3, SIDE, SIDE)

    def one_by_one():
        for _ in range(args.passes):
            tower(pixels)

    def together():
        tower(pixels.repeat(args.passes, 1, 1, 1))

    count = args.images * args.passes
    with torch.inference_mode():
        for name, turn in [("pass after pass", one_by_one), ("one batch", together)]:
            wall, processor = 1e9, 1e9
            for _ in range(args.turns + 1):
                before, used = time.perf_counter(), time.process_time()
                turn()
                wall = min(wall, time.perf_counter() - before)
                processor = min(processor, time.process_time() - used)
            print(f"{name}: {count / wall:.2f}/s wall, {count / processor:.2f}/s of processor time")


if __name__ == "__main__":
    main()
