"""Times layers of a transformer that decodes with tensor parallelism, from CUDA graphs.

    python3 tools/recorder/experiments/decode_layers.py RANKS OUTPUT.tsv

One process a GPU of one host, bf16. The layers are those of Llama 3 70B (hidden 8192, 64 heads of 128 of which 8 hold
keys and values, ffn 28672) and 8B (4096, 32, 8, 14336), cut as Megatron cuts them: norm, qkv, attention over what was
said before, projection, all-reduce, norm, gate and up, SiLU, down, all-reduce. A row is the median over replays of a graph of LAYERS
layers, divided by LAYERS, in microseconds, mean over ranks. `reduce`: nccl; one_shot and two_shot, PyTorch's symmetric memory; none:
the same without all-reduces. NVLink multicast stays off.
"""

import os
import statistics
import sys
import time

os.environ["NCCL_NVLS_ENABLE"] = "0"
os.environ["TORCH_SYMM_MEM_DISABLE_MULTICAST"] = "1"

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem
import torch.multiprocessing as mp
import torch.nn.functional as F

LAYERS = 8
REPEATS = 20
MODELS = {"llama3-70b": (8192, 64, 8, 28672), "llama3-8b": (4096, 32, 8, 14336)}
HEAD = 128


class Layer:
    def __init__(self, shape, ranks, batch, context, device):
        hidden, heads, kv_heads, ffn = shape
        def make(*size):
            return torch.randn(*size, device=device, dtype=torch.bfloat16) * 0.02
        self.heads, self.kv = heads // ranks, max(kv_heads // ranks, 1)
        self.qkv = make(hidden, (self.heads + 2 * self.kv) * HEAD)
        self.out = make(self.heads * HEAD, hidden)
        self.up = make(hidden, 2 * ffn // ranks)
        self.down = make(ffn // ranks, hidden)
        self.norm = make(hidden)
        self.keys = make(batch, self.kv, context, HEAD)
        self.values = make(batch, self.kv, context, HEAD)

    def run(self, x, reduce):
        batch, hidden = x.shape
        y = F.rms_norm(x, (hidden,), self.norm) @ self.qkv
        query = y[:, : self.heads * HEAD].view(batch, self.heads, 1, HEAD)
        y = F.scaled_dot_product_attention(query, self.keys, self.values, enable_gqa=self.heads > self.kv)
        x = x + reduce(y.reshape(batch, -1) @ self.out)
        gate, up = (F.rms_norm(x, (hidden,), self.norm) @ self.up).chunk(2, dim=1)
        return x + reduce((F.silu(gate) * up) @ self.down)


def reducers(batch, hidden, device):
    group = dist.group.WORLD.group_name
    shared = symm_mem.empty(batch * hidden, dtype=torch.bfloat16, device=device)
    symm_mem.rendezvous(shared, dist.group.WORLD)
    window = shared.view(batch, hidden)

    def nccl(y):
        dist.all_reduce(y)
        return y

    def one_shot(y):
        window.copy_(y)
        return torch.ops.symm_mem.one_shot_all_reduce(window, "sum", group)

    def two_shot(y):
        window.copy_(y)
        torch.ops.symm_mem.two_shot_all_reduce_(window, "sum", group)
        return window.clone()

    return {"none": lambda y: y, "nccl": nccl, "one_shot": one_shot, "two_shot": two_shot}


def time_layers(layers, x, reduce):
    def step():
        y = x
        for layer in layers:
            y = layer.run(y, reduce)
        return y

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    times = []
    for _ in range(REPEATS):
        dist.barrier()
        torch.cuda.synchronize()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / 2 / LAYERS)
    return statistics.median(times)


def run(rank, ranks, path):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29519")
    torch.cuda.set_device(rank)
    device = torch.device("cuda", rank)
    dist.init_process_group("nccl", rank=rank, world_size=ranks, device_id=device)
    rows = []
    with torch.no_grad():
        for model, shape in MODELS.items():
            for batch in (1, 8, 32, 128):
                for context in (1024, 8192):
                    layers = [Layer(shape, ranks, batch, context, device) for _ in range(LAYERS)]
                    x = torch.randn(batch, shape[0], device=device, dtype=torch.bfloat16)
                    for name, reduce in reducers(batch, shape[0], device).items():
                        if ranks == 1 and name != "none":
                            continue
                        mean = torch.tensor([time_layers(layers, x, reduce)], device=device)
                        dist.all_reduce(mean)
                        rows.append((model, batch, context, name, mean.item() / ranks))
                    del layers
                    torch.cuda.empty_cache()
    if rank == 0:
        with open(path, "w", encoding="utf-8") as out:
            print(f"# {torch.cuda.get_device_name()}, PyTorch {torch.__version__}, "
                  f"NCCL {'.'.join(map(str, torch.cuda.nccl.version()))}, bf16, CUDA graphs", file=out)
            print("model\tranks\tbatch\tcontext\treduce\tus_per_layer", file=out)
            for model, batch, context, name, us in rows:
                print(f"{model}\t{ranks}\t{batch}\t{context}\t{name}\t{us:.3f}", file=out)
    dist.destroy_process_group()


if __name__ == "__main__":
    started = time.time()
    mp.spawn(run, args=(int(sys.argv[1]), sys.argv[2]), nprocs=int(sys.argv[1]))
    print(f"{time.time() - started:.0f} s")
