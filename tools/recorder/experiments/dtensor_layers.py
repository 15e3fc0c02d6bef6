"""Times layers of Llama 3 whose tensor parallelism is PyTorch's DTensor, and the same layers on one GPU.

    python3 tools/recorder/experiments/dtensor_layers.py RANKS OUTPUT.tsv

One process a GPU of one host. Layers are sequence parallel, as torchtitan lays them out: norms on parts of a sequence, one
gather before the products of each half and one sum after it. A row is the mean of four layers, forward and backward, in
milliseconds: `step` is the wall time (the median of three bursts), `host` until the host has issued all. What the GPU does is by
torch.profiler. 64 tokens say what the host takes. NVLink multicast stays off.
"""

import os
import statistics
import sys
import time

os.environ["NCCL_NVLS_ENABLE"] = "0"
os.environ["TORCH_SYMM_MEM_DISABLE_MULTICAST"] = "1"

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.utils.checkpoint import checkpoint

LAYERS = 4
BURST = 1.0  # seconds
# hidden, ffn, heads, heads of keys and values
MODELS = {
    "llama3-8b": (4096, 14336, 32, 8),
    "llama3-style-14.8b": (5120, 17920, 40, 8),
    "llama3-70b": (8192, 28672, 64, 8),
}
# model, batch, tokens, full recomputation, compiled
CASES = [
    ("llama3-8b", 4, 4096, True, False),
    ("llama3-8b", 1, 64, True, False),
    ("llama3-8b", 1, 64, False, False),
    ("llama3-8b", 1, 4096, False, False),
    ("llama3-70b", 2, 4096, True, False),
    ("llama3-style-14.8b", 4, 4096, True, False),
    ("llama3-8b", 4, 4096, True, True),
    ("llama3-70b", 2, 4096, True, True),
    ("llama3-8b", 1, 64, True, True),
]
# A part of a kernel's name, and the column that it counts in.
KINDS = [
    ("AllGather", "gather"),
    ("ReduceScatter", "sum"),
    ("CatArr", "copies"),
    ("gemm", "products"),
    ("nvjet", "products"),
    ("cutlass", "products"),
    ("flash", "attention"),
    ("cudnn", "attention"),
]
COLUMNS = ["products", "attention", "others", "gather", "sum", "copies"]


def linear(inputs, outputs):
    return nn.Linear(inputs, outputs, bias=False)


class Attention(nn.Module):
    def __init__(self, hidden, heads, kv_heads, ranks):
        super().__init__()
        self.size = hidden // heads
        self.wq, self.wo = linear(hidden, hidden), linear(hidden, hidden)
        self.wk, self.wv = (linear(hidden, kv_heads * self.size) for _ in range(2))
        self.heads, self.kv_heads = heads // ranks, kv_heads // ranks

    def forward(self, x, turns):
        batch = x.shape[0]
        q = self.wq(x).view(batch, -1, self.heads, self.size)
        k, v = (w(x).view(batch, -1, self.kv_heads, self.size) for w in (self.wk, self.wv))

        def turned(y):
            pairs = torch.view_as_complex(y.float().reshape(*y.shape[:-1], -1, 2))
            return torch.view_as_real(pairs * turns).flatten(3).type_as(y)

        q, k, v = (y.transpose(1, 2) for y in (turned(q), turned(k), v))
        result = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.wo(result.transpose(1, 2).reshape(batch, -1, self.heads * self.size))


class FeedForward(nn.Module):
    def __init__(self, hidden, ffn):
        super().__init__()
        self.w1, self.w2, self.w3 = linear(hidden, ffn), linear(ffn, hidden), linear(hidden, ffn)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Layer(nn.Module):
    def __init__(self, hidden, ffn, heads, kv_heads, ranks):
        super().__init__()
        self.attention = Attention(hidden, heads, kv_heads, ranks)
        self.network = FeedForward(hidden, ffn)
        self.norm1, self.norm2 = nn.RMSNorm(hidden), nn.RMSNorm(hidden)

    def forward(self, x, turns):
        x = x + self.attention(self.norm1(x), turns)
        return x + self.network(self.norm2(x))


def plan():
    parts, whole = Shard(1), Replicate()
    return {
        "norm1": SequenceParallel(),
        "norm2": SequenceParallel(),
        "attention": PrepareModuleInput(
            input_layouts=(parts, None), desired_input_layouts=(whole, None)
        ),
        "attention.wq": ColwiseParallel(),
        "attention.wk": ColwiseParallel(),
        "attention.wv": ColwiseParallel(),
        "attention.wo": RowwiseParallel(output_layouts=parts),
        "network": PrepareModuleInput(input_layouts=(parts,), desired_input_layouts=(whole,)),
        "network.w1": ColwiseParallel(),
        "network.w3": ColwiseParallel(),
        "network.w2": RowwiseParallel(output_layouts=parts),
    }


def kinds_of(step):
    """Milliseconds and kernels of a layer, by kind."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        step()
        torch.cuda.synchronize()
    times, counts = dict.fromkeys(COLUMNS, 0.0), dict.fromkeys(COLUMNS, 0)
    for event in profile.events():
        is_kernel = event.device_type == torch.autograd.DeviceType.CUDA
        if not is_kernel or event.name.startswith(("nccl:", "record")):
            continue
        kind = next((kind for part, kind in KINDS if part in event.name), "others")
        times[kind] += event.device_time / 1e3 / LAYERS
        counts[kind] += 1 / LAYERS
    return times, counts


def time_case(case, ranks, mesh):
    model, batch, tokens, full, compiled = case
    hidden, ffn, heads, kv_heads = MODELS[model]
    torch._dynamo.reset()
    with torch.device("cuda"):
        layers = [Layer(hidden, ffn, heads, kv_heads, ranks).bfloat16() for _ in range(LAYERS)]
        angles = torch.rand(tokens, 1, hidden // heads // 2)
        x = torch.randn(batch, tokens // ranks, hidden, dtype=torch.bfloat16, requires_grad=True)
    turns = torch.polar(torch.ones_like(angles), angles)
    for layer in layers:
        if ranks > 1:
            parallelize_module(layer, mesh, plan())
        if compiled:
            layer.compile()

    def step():
        y = x
        for layer in layers:
            y = checkpoint(layer, y, turns, use_reentrant=False) if full else layer(y, turns)
        y.backward(x.detach())
        x.grad = None
        for layer in layers:
            layer.zero_grad(set_to_none=True)

    def burst(steps):
        torch.cuda.synchronize()
        dist.barrier()
        begin = time.perf_counter()
        for _ in range(steps):
            step()
        issued = time.perf_counter()
        torch.cuda.synchronize()
        of_layer = 1e3 / steps / LAYERS
        return (time.perf_counter() - begin) * of_layer, (issued - begin) * of_layer

    for _ in range(3):
        step()
    steps = max(3, int(1e3 * BURST / (burst(2)[0] * LAYERS)))
    bursts = [burst(steps) for _ in range(3)]
    wall, host = (statistics.median(each[i] for each in bursts) for i in range(2))
    return wall, host, kinds_of(step)


def run(rank, ranks, output):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=ranks, device_id=torch.device("cuda", rank))
    mesh = init_device_mesh("cuda", (ranks,))
    lines = []
    for case in CASES:
        for parts in (1, ranks):
            wall, host, (times, counts) = time_case(case, parts, mesh)
            model, batch, tokens, full, compiled = case
            row = [model, parts, batch, tokens, "full" if full else "none", "yes" if compiled else "no"]
            row += [f"{wall:.3f}", f"{host:.3f}"]
            for kind in COLUMNS:
                row.append(f"{times[kind]:.3f}")
                if kind in ("gather", "sum"):
                    row.append(f"{counts[kind]:.0f}")
            lines.append("\t".join(map(str, row)))
    if rank == 0:
        with open(output, "w", encoding="utf-8") as file:
            head = "model ranks batch tokens recompute compiled step host products attention others"
            head += " gather gathers sum sums copies"
            file.write("\n".join(["\t".join(head.split()), *lines]) + "\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29511")
    mp.spawn(run, (int(sys.argv[1]), sys.argv[2]), int(sys.argv[1]))
