#!/usr/bin/env python3
"""The rows of bench_fvlm_encoder.cpp in PyTorch: the demo's micro-step (vision transformer with
kept keys and values, coarse and fine look, two passes of the language model, cross-entropy of 8
counted tokens per clip, clipping, fused AdamW), that of a scaled-down seed-phase1 (one clip of two
frames of 256 px, latents 4 x 32 x 32) and encoding with two looks at the sizes of the demo and of
DINOv2-small.

Not part of the build: run by hand where PyTorch is installed, for instance
    python3 torch_fvlm.py --threads 2 --seconds 3
Prints milliseconds of wall time (fastest, median) and of processor time per step. With --compile
the steps go through torch.compile.
"""
import argparse
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn


class VisionBlock(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc1, self.fc2 = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.scale1 = nn.Parameter(torch.ones(width))
        self.scale2 = nn.Parameter(torch.ones(width))

    def split(self, x):
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def finish(self, x, context):
        x = x + self.scale1 * self.out(context.transpose(1, 2).reshape(x.shape))
        return x + self.scale2 * self.fc2(F.gelu(self.fc1(self.norm2(x))))

    def keys_values(self, x):
        width = x.shape[-1]
        kv = F.linear(self.norm1(x), self.qkv.weight[width:], self.qkv.bias[width:])
        return [self.split(part) for part in kv.chunk(2, -1)]

    def forward(self, x):
        q, k, v = [self.split(part) for part in self.qkv(self.norm1(x)).chunk(3, -1)]
        return self.finish(x, F.scaled_dot_product_attention(q, k, v)), k, v

    def look(self, u, k, v):
        width = u.shape[-1]
        q = F.linear(self.norm1(u), self.qkv.weight[:width], self.qkv.bias[:width])
        return self.finish(u, F.scaled_dot_product_attention(self.split(q), k, v))


class Encoder(nn.Module):
    """Keys and values are computed once and the last block keeps nothing else of the patches."""

    def __init__(self, width, layers, heads, hidden, patch, grid, query):
        super().__init__()
        self.patches = nn.Linear(3 * patch * patch, width)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, 1 + grid * grid, width))
        self.blocks = nn.ModuleList(VisionBlock(width, heads, hidden) for _ in range(layers))
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.input = nn.Linear(query, width, bias=False)
        self.output = nn.Linear(width, width)

    def encode(self, patches):
        x = self.patches(patches)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.positions
        kept = []
        for block in self.blocks[:-1]:
            x, k, v = block(x)
            kept.append((k, v))
        kept.append(self.blocks[-1].keys_values(x))
        return kept

    def look(self, kept, queries):
        u = self.input(queries).unsqueeze(1)
        for block, (k, v) in zip(self.blocks, kept):
            u = block.look(u, k, v)
        return self.output(self.norm(u)).squeeze(1)


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * self.weight


class LanguageBlock(nn.Module):
    def __init__(self, width, heads, key_heads, hidden):
        super().__init__()
        self.heads, self.key_heads, self.size = heads, key_heads, width // heads
        self.norm1, self.norm2 = RmsNorm(width), RmsNorm(width)
        self.qkv = nn.Linear(width, (heads + 2 * key_heads) * self.size, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, 2 * hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x, cosine, sine):
        batch, length, width = x.shape
        heads = self.qkv(self.norm1(x)).view(batch, length, -1, self.size).transpose(1, 2)
        turned, v = heads.split([self.heads + self.key_heads, self.key_heads], 1)
        left, right = turned.chunk(2, -1)
        turned = turned * cosine + torch.cat([-right, left], -1) * sine
        q, k = turned.split([self.heads, self.key_heads], 1)
        k, v = [part.repeat_interleave(self.heads // self.key_heads, 1) for part in (k, v)]
        context = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(context.transpose(1, 2).reshape(batch, length, width))
        gate, up = self.up(self.norm2(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class Language(nn.Module):
    def __init__(self, width, layers, heads, key_heads, hidden, vocabulary):
        super().__init__()
        self.size = width // heads
        self.embedding = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(
            LanguageBlock(width, heads, key_heads, hidden) for _ in range(layers))
        self.norm = RmsNorm(width)

    def forward(self, x):
        place = torch.arange(x.shape[1])[:, None]
        turn = place * 10000.0 ** (-torch.arange(0, self.size, 2) / self.size)
        cosine, sine = [torch.cat([part, part], -1) for part in (turn.cos(), turn.sin())]
        for block in self.blocks:
            x = block(x, cosine, sine)
        return self.norm(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder(64, 3, 4, 256, 8, 8, 64)
        self.language = Language(96, 3, 3, 1, 256, 512)
        self.enter, self.leave = nn.Linear(64, 96), nn.Linear(96, 64)
        self.static, self.first = nn.Parameter(torch.randn(1, 64)), nn.Parameter(torch.randn(1, 64))

    def states(self, tokens, prompt, answer):
        clips = len(prompt)
        visual = 0.14 * self.enter(tokens).view(clips, -1, 96)
        return self.language(torch.cat([prompt, visual, answer], 1))

    def loss(self, states, labels):
        counted = states[:, -labels.shape[1] - 1:-1]
        return F.cross_entropy(F.linear(counted, self.language.embedding.weight).flatten(0, 1),
                               labels.flatten())

    def forward(self, patches, prompt_ids, answer_ids):
        clips, frames = len(prompt_ids), len(patches) // len(prompt_ids)
        kept = self.encoder.encode(patches)
        prompt, answer = self.language.embedding(prompt_ids), self.language.embedding(answer_ids)
        coarse = self.states(self.encoder.look(kept, self.static.expand(len(patches), -1)), prompt,
                             answer)
        first = prompt.shape[1]
        queries = self.leave(coarse[:, first:first + frames - 1])
        shifted = torch.cat([self.first.expand(clips, 1, -1), queries], 1).flatten(0, 1)
        fine = self.states(self.encoder.look(kept, shifted), prompt, answer)
        return self.loss(fine, answer_ids) + 0.2 * self.loss(coarse, answer_ids)


class LatentModel(nn.Module):
    """Phase 1 of the seed: states modulate a convolutional head that predicts the next latent."""

    def __init__(self, side):
        super().__init__()
        self.encoder = Encoder(384, 12, 6, 1536, 14, 18, 384)
        self.language = Language(576, 30, 9, 3, 1536, 49152)
        self.enter, self.leave = nn.Linear(384, 576), nn.Linear(576, 384)
        self.static, self.first = nn.Parameter(torch.randn(1, 384)), nn.Parameter(torch.randn(1, 384))
        self.text, self.coarse, self.fine = [nn.Parameter(torch.randn(1, 1, 576)) for _ in range(3)]
        self.first_latent = nn.Parameter(torch.zeros(1, 1, 4, side, side))
        self.film = nn.Sequential(nn.Linear(576, 512), nn.GELU(), nn.Linear(512, 512))
        widths = [4, 64, 128, 256]
        self.down = self.convolutions(widths)
        self.up = self.convolutions(widths[::-1])

    @staticmethod
    def convolutions(widths):
        layers = []
        for before, after in zip(widths, widths[1:]):
            layers += [nn.Conv2d(before, after, 3, padding=1), nn.GELU()]
        return nn.Sequential(*layers[:-1])

    def states(self, tokens, mode, clips):
        visual = self.enter(tokens).view(clips, -1, 576)
        visual = 0.14 * visual * torch.rsqrt(visual.square().mean(-1, keepdim=True) + 1e-6)
        return self.language(torch.cat(
            [self.text.expand(clips, 1, -1), mode.expand(clips, 1, -1), visual], 1))

    def forward(self, patches, latents):
        clips, frames = latents.shape[:2]
        before = torch.cat([self.first_latent.expand(clips, -1, -1, -1, -1), latents[:, :-1]], 1)
        features = self.down(before.flatten(0, 1))

        def loss(states):
            gain, shift = self.film(states[:, 1:1 + frames]).flatten(0, 1).chunk(2, -1)
            return F.mse_loss(self.up(gain[..., None, None] * features + shift[..., None, None]),
                              latents.flatten(0, 1))

        kept = self.encoder.encode(patches)
        coarse = self.states(self.encoder.look(kept, self.static.expand(len(patches), -1)),
                             self.coarse, clips)
        queries = torch.cat([self.first.expand(clips, 1, -1), self.leave(coarse[:, 2:1 + frames])], 1)
        fine = self.states(self.encoder.look(kept, queries.flatten(0, 1)), self.fine, clips)
        return loss(fine) + loss(coarse)


def measure(name, work, seconds):
    def step():
        work()
        if torch.get_default_device().type == "cuda":
            torch.cuda.synchronize()

    for _ in range(3):
        step()
    walls = []
    start, processor = time.perf_counter(), time.process_time()
    while time.perf_counter() - start < seconds or len(walls) < 3:
        before = time.perf_counter()
        step()
        walls.append(1e3 * (time.perf_counter() - before))
    processor = 1e3 * (time.process_time() - processor) / len(walls)
    print(f"{name:32} {min(walls):9.2f} ms  median {statistics.median(walls):9.2f} ms"
          f"  processor {processor:9.2f} ms  ({len(walls)} steps)", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--filter", default="")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    options = parser.parse_args()
    torch.set_default_device(options.device)
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)

    def run(name, step):
        if options.filter in name:
            measure(name, step, options.seconds)

    sizes = {"tiny": (Encoder(64, 3, 4, 256, 8, 8, 64), 48, 64, 192, 64),
             "small": (Encoder(384, 12, 6, 1536, 14, 16, 384), 8, 256, 588, 384)}
    for name, (encoder, frames, places, numbers, query) in sizes.items():
        patches = torch.randn(frames, places, numbers)
        static, queries = torch.randn(1, query), torch.randn(frames, query)

        def looks(encoder=encoder, patches=patches, static=static, queries=queries):
            kept = encoder.encode(patches)
            return (encoder.look(kept, static.expand(len(patches), -1)).sum() +
                    encoder.look(kept, queries).sum())

        compiled = torch.compile(looks) if options.compile else looks

        def forward(compiled=compiled):
            with torch.no_grad():
                compiled()

        def both(encoder=encoder, compiled=compiled):
            encoder.zero_grad(set_to_none=False)
            compiled().backward()

        run(name + "Forward", forward)
        run(name + "ForwardBackward", both)

    def micro_steps(name, model, *inputs):
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
        loss = torch.compile(model) if options.compile else model

        def micro_step():
            optimizer.zero_grad(set_to_none=False)
            loss(*inputs).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()

        run(name, micro_step)

    micro_steps("demoMicroStep", Model(), torch.randn(48, 64, 192),
                torch.randint(0, 512, (8, 12)), torch.randint(0, 512, (8, 8)))
    micro_steps("seedMicroStep", LatentModel(32), torch.randn(2, 324, 588),
                torch.randn(1, 2, 4, 32, 32))


if __name__ == "__main__":
    main()
