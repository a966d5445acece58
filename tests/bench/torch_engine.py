#!/usr/bin/env python3
"""Rows of bench_engine_*.cpp under the same names, computed by PyTorch on the same computer.

Not part of the build and no dependency of it: run by hand where PyTorch is installed, for instance
    python3 torch_engine.py --threads 2 --filter conv
Prints name, microseconds of the fastest call and GFLOP/s. On a GPU (--device cuda) that is a
twentieth of twenty calls in a row, with --graph of a call that was recorded and is replayed. Each
part of the engine has one function with the decorator @rows; it yields (name, flops, function), or
(name, bytes, function, GBS).
"""
import argparse
import itertools
import re
import time

import torch
import torch.nn.functional as F

PARTS = []


def rows(part):
    PARTS.append(part)
    return part


def best_seconds(call, budget, on_gpu):
    def wait():
        if on_gpu:
            torch.cuda.synchronize()

    calls = 20 if on_gpu else 1
    call()
    call()
    wait()
    best, start, count = 1e9, time.perf_counter(), 0
    while time.perf_counter() - start < budget or count < 5:
        before = time.perf_counter()
        for _ in range(calls):
            call()
        wait()
        best = min(best, (time.perf_counter() - before) / calls)
        count += 1
    return best


def recorded(call):
    """A function that replays `call` as one graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


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
        (1, 257, 384, 1536, "NT", "bf16"),
        (1, 1024, 1024, 1024, "NN", "bf16"),
        (1, 1024, 1024, 1024, "TN", "bf16"),
        (1, 384, 1536, 2056, "TN", "bf16"),
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
            with torch.enable_grad():
                inputs = [t.detach().requires_grad_(True) for t in (q, k, v)]
                forward(*inputs).backward(grad)

        if sq == 1:
            yield ("decode/" + name, 4.0 * 64 * pairs, forward)
            continue
        yield ("forward/" + name, 4.0 * 64 * pairs, forward)
        yield ("forwardBackward/" + name, 14.0 * 64 * pairs, both)


@rows
def linears():
    shapes = [(257, 1536, 384, True), (257, 384, 1536, False), (32, 1536, 384, True),
              (1, 1536, 384, True)]
    for (m, n, k, gelu), (type_, kind) in itertools.product(shapes, TYPES.items()):
        x, w, bias = (torch.randn(shape).to(kind) for shape in ((m, k), (n, k), (n,)))
        name = f"1x{m}x{n}x{k} NT {type_}"
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
    adam = torch.optim.AdamW([weight], lr=1e-3, weight_decay=0.01, fused=True,
                             capturable=weight.is_cuda)

    def clipped():
        torch.nn.utils.clip_grad_norm_([weight], 1.0)
        adam.step()

    yield ("AdamW on 25 M parameters", 0.0, adam.step)
    yield ("AdamW on 25 M parameters, clipped", 0.0, clipped)


GBS = "GB/s"  # of rows that name bytes instead of flops


@rows
def copies():
    for count in (262144, 789504, 3158016, 12582912):
        x, y = torch.randn(count), torch.empty(count)
        yield f"copy {count}", 8.0 * count, lambda x=x, y=y: y.copy_(x), GBS


@rows
def element_wise():
    aten = torch.ops.aten
    m, n = 2056, 1536
    size, bytes_ = f" {m}x{n}", 4.0 * m * n
    x, g, y, scale = torch.randn(m, n), torch.randn(m, n), torch.empty(m, n), torch.randn(n)
    half, bf16, sums = x.half(), x.bfloat16(), torch.zeros(n)
    for name, how in (("gelu erf", "none"), ("gelu tanh", "tanh")):
        yield (name + size, 2 * bytes_, lambda how=how: aten.gelu.out(x, approximate=how, out=y),
               GBS)
        yield (name + " backward" + size, 3 * bytes_,
               lambda how=how: aten.gelu_backward.grad_input(g, x, approximate=how, grad_input=y),
               GBS)
    yield "silu" + size, 2 * bytes_, lambda: aten.silu.out(x, out=y), GBS
    yield ("silu backward" + size, 3 * bytes_,
           lambda: aten.silu_backward.grad_input(g, x, grad_input=y), GBS)
    yield "dropout 0.1" + size, 2 * bytes_, lambda: aten.native_dropout(x, 0.1, True), GBS
    yield "add" + size, 3 * bytes_, lambda: torch.add(x, g, out=y), GBS
    yield "cast f32 bf16" + size, 1.5 * bytes_, lambda: bf16.copy_(x), GBS
    yield "cast f16 f32" + size, 1.5 * bytes_, lambda: y.copy_(half), GBS
    yield "column sums" + size, bytes_, lambda: sums.add_(x.sum(0)), GBS
    yield "layer scale residual" + size, 3 * bytes_, lambda: torch.addcmul(g, x, scale, out=y), GBS
    both, grads = torch.randn(m, 2 * n), torch.empty(m, 2 * n)
    gate, up = both.split(n, dim=1)
    yield "swiglu" + size, 3 * bytes_, lambda: torch.mul(F.silu(gate), up, out=y), GBS

    def swiglu_backward():
        grads[:, :n] = aten.silu_backward(g * up, gate)
        torch.mul(g, F.silu(gate), out=grads[:, n:])

    yield "swiglu backward" + size, 5 * bytes_, swiglu_backward, GBS


@rows
def norms():
    aten = torch.ops.aten
    m, n = 2056, 384
    for kind, name in ((torch.float32, "f32"), (torch.bfloat16, "bf16")):
        size, bytes_ = f" {m}x{n} {name}", float(m * n * (4 if name == "f32" else 2))
        x, g = torch.randn(m, n).to(kind), torch.randn(m, n).to(kind)
        w, b = torch.randn(n), torch.randn(n)  # F32 beside bf16 numbers, as mixed training has them
        if x.is_cuda:
            w, b = w.to(kind), b.to(kind)  # which PyTorch wants alike there
        _, mean, rstd = aten.native_layer_norm(x, [n], w, b, 1e-5)
        yield ("layer norm" + size, 2 * bytes_,
               lambda x=x, w=w, b=b: aten.native_layer_norm(x, [n], w, b, 1e-5), GBS)
        yield ("layer norm backward" + size, 3 * bytes_,
               lambda x=x, g=g, w=w, b=b, mean=mean, rstd=rstd: aten.native_layer_norm_backward(
                   g, x, [n], mean, rstd, w, b, [True] * 3), GBS)
        w = w.to(kind)
        yield "rms norm" + size, 2 * bytes_, lambda x=x, w=w: F.rms_norm(x, [n], w, 1e-5), GBS
        leaf, weight = x.clone().requires_grad_(), w.clone().requires_grad_()
        with torch.enable_grad():
            y = F.rms_norm(leaf, [n], weight, 1e-5)
        yield ("rms norm backward" + size, 3 * bytes_,
               lambda y=y, leaf=leaf, weight=weight, g=g: torch.autograd.grad(
                   y, (leaf, weight), g, retain_graph=True), GBS)
    for silu in (False, True):
        for side, c, layout in ((64, 64, "nhwc"), (64, 64, "nchw"), (32, 128, "nhwc"),
                                (16, 256, "nhwc")):
            size = f"{' silu' if silu else ''} 1x{c}x{side}x{side} {layout}"
            bytes_, p = 4.0 * c * side * side, side * side
            form = torch.channels_last if layout == "nhwc" else torch.contiguous_format
            x = torch.randn(1, c, side, side).contiguous(memory_format=form)
            g = torch.randn(1, c, side, side).contiguous(memory_format=form)
            w, b = torch.randn(c), torch.randn(c)

            def forward(x=x, w=w, b=b, silu=silu, c=c, p=p):
                y, mean, rstd = aten.native_group_norm(x, w, b, 1, c, p, 32, 1e-5)
                return (F.silu(y) if silu else y), y, mean, rstd

            _, inner, mean, rstd = forward()

            def backward(x=x, w=w, g=g, silu=silu, c=c, p=p, y=inner, mean=mean, rstd=rstd):
                inner_grad = aten.silu_backward(g, y) if silu else g
                return aten.native_group_norm_backward(inner_grad, x, mean, rstd, w, 1, c, p, 32,
                                                       [True] * 3)

            yield "group norm" + size, 2 * bytes_, forward, GBS
            yield "group norm backward" + size, 3 * bytes_, backward, GBS


@rows
def losses():
    aten = torch.ops.aten
    m, n = 12336, 257
    x, g, y = torch.randn(m, n), torch.randn(m, n), torch.empty(m, n)
    yield (f"softmax {m}x{n}", 8.0 * m * n, lambda: aten._softmax.out(x, -1, False, out=y), GBS)
    p = torch.softmax(x, -1)
    yield (f"softmax backward {m}x{n}", 12.0 * m * n,
           lambda: aten._softmax_backward_data.out(g, p, -1, torch.float32, grad_input=y), GBS)
    m, n = 128, 49152
    z, labels, one = torch.randn(m, n), torch.randint(0, n, (m,)), torch.ones(())
    yield f"cross entropy {m}x{n}", 4.0 * m * n, lambda: F.cross_entropy(z, labels), GBS
    logp, total = torch.log_softmax(z, -1), torch.tensor(float(m))

    def backward():
        inner = aten.nll_loss_backward(one, logp, labels, None, 1, -100, total)
        return aten._log_softmax_backward_data(inner, logp, -1, torch.float32)

    yield f"cross entropy backward {m}x{n}", 8.0 * m * n, backward, GBS
    count = 1048576
    a, b, grad = torch.randn(count), torch.randn(count), torch.empty(count)
    yield f"mse {count}", 8.0 * count, lambda: F.mse_loss(a, b), GBS
    yield (f"mse backward {count}", 12.0 * count,
           lambda: aten.mse_loss_backward.grad_input(one, a, b, 1, grad_input=grad), GBS)


@rows
def structure():
    x, y = torch.randn(8, 257, 6, 64), torch.empty(8, 6, 257, 64)
    yield ("heads first 8x257x6x64", 8.0 * x.numel(),
           lambda x=x, y=y: y.copy_(x.permute(0, 2, 1, 3)), GBS)
    x, y = torch.randn(1, 64, 64, 64), torch.empty(1, 64, 64, 64)
    yield ("channels first 1x64x64x64", 8.0 * x.numel(),
           lambda x=x, y=y: y.copy_(x.permute(0, 3, 1, 2)), GBS)
    x, y = torch.randn(2056, 1536), torch.empty(1536, 2056)
    yield "transpose 2056x1536", 8.0 * x.numel(), lambda x=x, y=y: y.copy_(x.t()), GBS
    table, ids = torch.randn(49152, 576), torch.arange(2048) * 7919 % 49152
    y = torch.randn(2048, 576)
    yield ("gather 2048 of 49152x576", 8.0 * y.numel(),
           lambda: torch.index_select(table, 0, ids, out=y), GBS)
    yield ("scatter add 2048 of 49152x576", 12.0 * y.numel(),
           lambda: table.index_add_(0, ids, y), GBS)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=0, help="0: PyTorch's choice")
    parser.add_argument("--filter", default="", help="regular expression over names")
    parser.add_argument("--seconds", type=float, default=0.3, help="per row")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--graph", action="store_true", help="each call recorded once, replayed")
    options = parser.parse_args()
    on_gpu = options.device != "cpu"
    torch.set_default_device(options.device)
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.set_grad_enabled(False)
    torch.manual_seed(1)
    print(f"# PyTorch {torch.__version__}, {torch.get_num_threads()} threads")
    for part in PARTS:
        for name, work, call, *unit in part():
            if re.search(options.filter, name):
                try:
                    timed = recorded(call) if options.graph else call
                except RuntimeError as error:
                    print(f"# {name} cannot be recorded: {error}".splitlines()[0])
                    continue
                seconds = best_seconds(timed, options.seconds, on_gpu)
                print(f"{name:56s} {seconds * 1e6:10.1f} us {work / seconds * 1e-9:8.1f} "
                      f"{unit[0] if unit else 'GFLOP/s'}", flush=True)


if __name__ == "__main__":
    main()
