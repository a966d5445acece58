#!/usr/bin/env python3
"""The loop of bench_mc_embedding.cpp in PyTorch: CLIP B/32 with random weights, dropout after q, k,
v, out, fc1 and fc2 of every block, the whole forward in every pass.

Not part of the build: run by hand where PyTorch is installed, for instance
    python3 torch_mc_embedding.py --threads 2 --images 4 --passes 8
Prints images x passes per second of the fastest turn, and of processor time, of two peers, each
pass after pass as published code does it, with all passes of a turn as one batch, and in batches of
16:
  dropout   torch.nn.functional.dropout, one random number per value
  careful   what a careful author would write with the same library: weights and biases scaled by
            1 / (1 - p) once, and only the positions that are dropped are drawn (gaps between them
            are geometric) and zeroed in place
"""
import argparse
import math
import time

import torch
import torch.nn.functional as F
from torch import nn

WIDTH, HIDDEN, LAYERS, HEADS, PATCH, SIDE, FEATURE = 768, 3072, 12, 12, 32, 224, 512


def dropout(y, p):
    return F.dropout(y, p)


def zero_dropped(y, p):
    """Zeroes each value with probability p; the scale is in the weights already."""
    count = y.numel()
    most = int(count * p + 8 * math.sqrt(count * p) + 16)
    places = torch.empty(most).geometric_(p).cumsum(0).long() - 1
    y.view(-1).index_fill_(0, places[places < count], 0)
    return y


class Block(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.drop = dropout
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.fc1, self.fc2 = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)
        self.p = p

    def forward(self, x):
        batch, tokens, _ = x.shape
        qkv = self.drop(self.qkv(self.norm1(x)), self.p)
        q, k, v = qkv.view(batch, tokens, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        context = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape)
        x = x + self.drop(self.out(context), self.p)
        hidden = self.drop(self.fc1(self.norm2(x)), self.p)
        hidden = hidden * torch.sigmoid(1.702 * hidden)
        return x + self.drop(self.fc2(hidden), self.p)


class Tower(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, PATCH, PATCH, bias=False)
        self.token = nn.Parameter(torch.randn(1, 1, WIDTH))
        self.positions = nn.Parameter(torch.randn(1, (SIDE // PATCH) ** 2 + 1, WIDTH))
        self.pre, self.post = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.blocks = nn.Sequential(*[Block(p) for _ in range(LAYERS)])
        self.projection = nn.Linear(WIDTH, FEATURE, bias=False)

    def careful(self):
        """From now on the careful peer."""
        with torch.no_grad():
            for block in self.blocks:
                block.drop = zero_dropped
                for layer in (block.qkv, block.out, block.fc1, block.fc2):
                    layer.weight.mul_(1 / (1 - block.p))
                    layer.bias.mul_(1 / (1 - block.p))

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
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--half", action="store_true", help="weights and pixels of 16 bits")
    args = parser.parse_args()
    torch.set_default_device(args.device)
    torch.set_num_threads(args.threads)
    tower = Tower(0.01).eval()
    pixels = torch.randn(args.images, 3, SIDE, SIDE)
    if args.half:
        tower, pixels = tower.half(), pixels.half()
    count = args.images * args.passes

    def batches(of):
        """A turn of all passes, `of` images and passes at a time."""
        all_pixels = pixels.repeat(-(-of // args.images), 1, 1, 1)

        def turn():
            for first in range(0, count, of):
                tower(all_pixels[:min(of, count - first)])
            if args.device != "cpu":
                torch.cuda.synchronize()

        return turn

    ways = {"pass after pass": batches(args.images), "one batch": batches(count),
            "batches of 16": batches(16)}
    with torch.inference_mode():
        for peer in (dropout, zero_dropped):
            if peer is zero_dropped:
                tower.careful()
            for name, turn in ways.items():
                wall, processor = 1e9, 1e9
                for _ in range(args.turns + 1):
                    before, used = time.perf_counter(), time.process_time()
                    turn()
                    wall = min(wall, time.perf_counter() - before)
                    processor = min(processor, time.process_time() - used)
                label = "dropout" if peer is dropout else "careful"
                print(f"{label}, {name}: {count / wall:.2f}/s wall, "
                      f"{count / processor:.2f}/s of processor time", flush=True)


if __name__ == "__main__":
    main()
