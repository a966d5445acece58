#!/usr/bin/env python3
"""Rows of bench_engine_*.cpp under the same names, computed by PyTorch on the same computer.

Not part of the build and no dependency of it: run by hand where PyTorch is installed, for instance
    python3 torch_engine.py --threads 2 --filter conv
Prints name, microseconds of the fastest call and GFLOP/s. Each part of the engine has one function
with the decorator @rows; it yields (name, flops, function).
"""
import argparse
import re
import time

import torch
import torch.nn.functional as F

PARTS = []


def rows(part):
    PARTS.append(part)
    return part


def best_seconds(call, budget):
    call()
    call()
    best, start, count = 1e9, time.perf_counter(), 0
    while time.perf_counter() - start < budget or count < 5:
        before = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - before)
        count += 1
    return best


TYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


@rows
def products():
    for batch, m, n, k, order, name in [
        (1, 257, 1536, 384, "NT", "f32"),
        (1, 257, 384, 1536, "NT", "f32"),
        (1, 257, 384, 1536, "NN", "f32"),
        (1, 1536, 384, 257, "TN", "f32"),
        (1, 1024, 1024, 1024, "NN", "f32"),
        (1, 1024, 1024, 1024, "NT", "f32"),
        (1, 1024, 1024, 1024, "TN", "f32"),
        (1, 384, 1536, 2056, "TN", "f32"),
        (6, 257, 257, 64, "NT", "f32"),
        (6, 257, 64, 257, "NN", "f32"),
        (96, 50, 50, 32, "NT", "f32"),
        (1, 1, 1536, 384, "NT", "f32"),
        (1, 4, 1536, 384, "NT", "f32"),
        (1, 16, 16, 16, "NN", "f32"),
        (1, 64, 64, 64, "NT", "f32"),
        (1, 257, 1536, 384, "NT", "bf16"),
        (1, 1024, 1024, 1024, "NN", "bf16"),
        (1, 1024, 1024, 1024, "TN", "bf16"),
        (6, 257, 257, 64, "NT", "bf16"),
    ]:
        kind = TYPES[name]
        lead = (batch,) if batch > 1 else ()
        a = torch.randn(lead + ((k, m) if order[0] == "T" else (m, k))).to(kind)
        b = torch.randn(lead + ((n, k) if order[1] == "T" else (k, n))).to(kind)
        a = a.mT if order[0] == "T" else a
        b = b.mT if order[1] == "T" else b
        y = torch.empty(lead + (m, n), dtype=kind)
        yield (f"matmul {batch}x{m}x{n}x{k} {order} {name}", 2.0 * batch * m * n * k,
               lambda a=a, b=b, y=y: torch.matmul(a, b, out=y))


@rows
def attention():
    shapes = [(8, 257, 257, 6, 6, False), (1, 512, 512, 9, 3, True), (1, 1024, 1024, 8, 8, False),
              (1, 4096, 4096, 8, 8, False), (1, 1, 1024, 8, 8, False), (1, 1, 1024, 9, 3, False)]
    for b, sq, sk, h, hkv, causal in shapes:
        q, grad = (torch.randn(b, sq, h, 64).transpose(1, 2) for _ in range(2))
        k, v = (torch.randn(b, sk, hkv, 64).transpose(1, 2) for _ in range(2))
        pairs = b * h * (sq * sk - (sq * (sq - 1) / 2 if causal else 0))
        name = f"B:{b}/Sq:{sq}/Sk:{sk}/H:{h}/Hkv:{hkv}/causal:{int(causal)}"

        def forward(q=q, k=k, v=v, causal=causal, shared=h != hkv):
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=shared)

        def both(q=q, k=k, v=v, grad=grad, forward=forward):
            inputs = [t.detach().requires_grad_(True) for t in (q, k, v)]
            forward(*inputs).backward(grad)

        if sq == 1:
            yield ("decode/" + name, 4.0 * 64 * pairs, forward)
            continue
        yield ("forward/" + name, 4.0 * 64 * pairs, forward)
        yield ("forwardBackward/" + name, 14.0 * 64 * pairs, both)


@rows
def linears():
    for m, n, k, gelu in [(257, 1536, 384, True), (257, 384, 1536, False), (1, 1536, 384, True)]:
        x, w, bias = torch.randn(m, k), torch.randn(n, k), torch.randn(n)
        name = f"1x{m}x{n}x{k} NT f32"
        if gelu:
            yield ("linear bias gelu " + name, 2.0 * m * n * k,
                   lambda x=x, w=w, bias=bias: F.gelu(F.linear(x, w, bias)))
        else:
            yield ("linear bias " + name, 2.0 * m * n * k,
                   lambda x=x, w=w, bias=bias: F.linear(x, w, bias))


@rows
def convolutions():
    for n, c, side, o, k, s, layout, name in [
        (1, 32, 64, 32, 3, 1, "nhwc", "f32"),
        (1, 64, 32, 64, 3, 1, "nhwc", "f32"),
        (1, 128, 16, 128, 3, 1, "nhwc", "f32"),
        (1, 64, 64, 64, 3, 1, "nhwc", "f32"),
        (1, 128, 32, 128, 3, 1, "nhwc", "f32"),
        (1, 256, 16, 256, 3, 1, "nhwc", "f32"),
        (1, 256, 8, 256, 3, 1, "nhwc", "f32"),
        (1, 64, 64, 64, 3, 2, "nhwc", "f32"),
        (1, 256, 16, 128, 1, 1, "nhwc", "f32"),
        (8, 32, 32, 64, 3, 1, "nhwc", "f32"),
        (1, 64, 64, 64, 3, 1, "nchw", "f32"),
        (1, 256, 16, 256, 3, 1, "nchw", "f32"),
        (1, 64, 64, 64, 3, 1, "nhwc", "bf16"),
    ]:
        kind, pad = TYPES[name], k // 2
        x, w = torch.randn(n, c, side, side).to(kind), torch.randn(o, c, k, k).to(kind)
        bias = torch.randn(o).to(kind)
        if layout == "nhwc":
            x = x.contiguous(memory_format=torch.channels_last)
            w = w.contiguous(memory_format=torch.channels_last)
        y = F.conv2d(x, w, bias, stride=s, padding=pad)
        flops = 2.0 * n * y.shape[2] * y.shape[3] * o * c * k * k
        label = f"{c}->{o} {side}x{side} k{k} s{s} n{n} {layout} {name}"
        yield ("conv " + label, flops,
               lambda x=x, w=w, bias=bias, s=s, pad=pad: F.conv2d(x, w, bias, stride=s, padding=pad))
        yield ("conv backward " + label, 2 * flops,
               lambda x=x, w=w, y=y, o=o, s=s, pad=pad: torch.ops.aten.convolution_backward(
                   y, x, w, [o], [s, s], [pad, pad], [1, 1], False, [0, 0], 1, [True] * 3))


class Block(torch.nn.Module):
    """A pre-norm block of ViT-S/14 with LayerScale."""

    def __init__(self, width=384, heads=6):
        super().__init__()
        linear, norm, ones = torch.nn.Linear, torch.nn.LayerNorm, torch.ones
        self.heads = heads
        self.norm1, self.norm2 = norm(width, eps=1e-6), norm(width, eps=1e-6)
        self.qkv, self.out = linear(width, 3 * width), linear(width, width)
        self.fc1, self.fc2 = linear(width, 4 * width), linear(4 * width, width)
        self.scale1 = torch.nn.Parameter(ones(width))
        self.scale2 = torch.nn.Parameter(ones(width))

    def forward(self, x):
        b, n, d = x.shape
        qkv = self.qkv(self.norm1(x)).reshape(b, n, 3, self.heads, d // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        context = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, d)
        x = x + self.scale1 * self.out(context)
        return x + self.scale2 * self.fc2(F.gelu(self.fc1(self.norm2(x))))


class Tower(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = torch.nn.Conv2d(3, 384, 14, 14)
        self.token = torch.nn.Parameter(torch.zeros(1, 1, 384))
        self.positions = torch.nn.Parameter(torch.zeros(1, 257, 384))
        self.blocks = torch.nn.ModuleList(Block() for _ in range(12))
        self.norm = torch.nn.LayerNorm(384, eps=1e-6)

    def forward(self, image):
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


@rows
def transformer():
    flops = 2.0 * 8 * 257 * 12 * 384**2 + 4.0 * 8 * 257**2 * 384
    block, tower, grad = Block(), Tower(), torch.randn(8, 257, 384)
    x, image = torch.randn(8, 257, 384), torch.randn(8, 3, 224, 224)

    def both():
        with torch.enable_grad():
            block.zero_grad()
            inputs = x.clone().requires_grad_(True)
            (block(inputs) * grad).sum().backward()

    yield ("ViT-S/14 block forward [8,257,384]", flops, lambda: block(x))
    yield ("ViT-S/14 block forward+backward [8,257,384]", 3 * flops, both)
    yield ("ViT-S/14 forward [8,3,224,224]", 12 * flops + 2.0 * 8 * 256 * 588 * 384,
           lambda: tower(image))


@rows
def optimizers():
    weight = torch.nn.Parameter(torch.randn(25_000_000))
    weight.grad = 1e-3 * torch.randn(25_000_000)
    adam = torch.optim.AdamW([weight], lr=1e-3, weight_decay=0.01, fused=True)

    def clipped():
        torch.nn.utils.clip_grad_norm_([weight], 1.0)
        adam.step()

    yield ("AdamW on 25 M parameters", 0.0, adam.step)
    yield ("AdamW on 25 M parameters, clipped", 0.0, clipped)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=0, help="0: PyTorch's choice")
    parser.add_argument("--filter", default="", help="regular expression over names")
    parser.add_argument("--seconds", type=float, default=0.3, help="per row")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.set_grad_enabled(False)
    torch.manual_seed(1)
    print(f"# PyTorch {torch.__version__}, {torch.get_num_threads()} threads")
    for part in PARTS:
        for name, flops, call in part():
            if re.search(options.filter, name):
                seconds = best_seconds(call, options.seconds)
                print(f"{name:56s} {seconds * 1e6:10.1f} us {flops / seconds * 1e-9:8.1f} GFLOP/s",
                      flush=True)


if __name__ == "__main__":
    main()
