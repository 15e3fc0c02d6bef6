"""Times products of matrices of layers alone, in 8 and 16 bits, and beside tensor-parallel calls.

    python3 tools/recorder/experiments/products_beside_calls.py RANKS OUTPUT.tsv

One process a GPU of one host. A row is the mean over ranks of the median of five bursts, each as long as the power limit
needs to show, in microseconds. m, n, k: of the product on one rank; the call moves m x k (a gather before it) or m x n (a
sum after it) elements of 16 bits. What:

    bf16, fp8            the product alone (fp8: e4m3, one scale a matrix, into 16 bits)
    gather, scatter      NCCL's all-gather of the input, and reduce-scatter of the result, alone
    gather_pieces        PyTorch's fused_all_gather_matmul: the product in pieces, each while the next is on its way
    scatter_pieces       its fused_matmul_reduce_scatter
    scatter_beside       NCCL's reduce-scatter of m x n elements beside the product, as Megatron sums an input's gradients
    product_beside       until the product is over that runs beside that call

NVLink multicast stays off.
"""

import os
import statistics
import sys
import time

os.environ["NCCL_NVLS_ENABLE"] = "0"
os.environ["TORCH_SYMM_MEM_DISABLE_MULTICAST"] = "1"
os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] = "1"

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem
import torch.multiprocessing as mp

BURST = 0.08  # seconds
BURSTS = 5
TENSOR = 4  # matrices are cut so, whatever ranks there are
# tokens, hidden, ffn, gated
MODELS = {
    "gpt3-175b": (4096, 12288, 49152, False),
    "llama3-70b": (8192, 8192, 28672, True),
    "nemotron4-15b": (16384, 6144, 24576, False),
    "llama3-8b": (8192, 4096, 14336, True),
}


def products(tokens, hidden, ffn, gated):
    """Name, m, n, k and whether activations are gathered before (else summed after)."""
    yield "qkv", tokens, 3 * hidden // TENSOR, hidden, True
    yield "output", tokens, hidden, hidden // TENSOR, False
    yield "ffn_in", tokens, (2 if gated else 1) * ffn // TENSOR, hidden, True
    yield "ffn_out", tokens, hidden, ffn // TENSOR, False


def mean_over_ranks(value, device):
    total = torch.tensor([value], device=device)
    dist.all_reduce(total)
    return total.item() / dist.get_world_size()


def time_of(run, device):
    """Microseconds of a run: all ranks make as many."""
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    run()
    end.record()
    torch.cuda.synchronize()
    once = mean_over_ranks(begin.elapsed_time(end) * 1e-3, device)
    runs = max(5, min(2000, int(BURST / once)))
    times = []
    for _ in range(BURSTS):
        dist.barrier()
        torch.cuda.synchronize()
        begin.record()
        for _ in range(runs):
            run()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / runs)
    return mean_over_ranks(statistics.median(times), device)


def measures(m, n, k, gathers, ranks, device):
    """What is timed of a product, by name."""
    group = dist.group.WORLD.group_name
    x = torch.randn(m, k, device=device, dtype=torch.bfloat16)
    w = torch.randn(n, k, device=device, dtype=torch.bfloat16) * 0.02
    y = torch.empty(m, n, device=device, dtype=torch.bfloat16)
    x8, w8 = x.to(torch.float8_e4m3fn), w.to(torch.float8_e4m3fn)
    one = torch.ones((), device=device)
    yield "bf16", lambda: torch.mm(x, w.t(), out=y)
    yield "fp8", lambda: torch._scaled_mm(x8, w8.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
    if ranks == 1:
        return
    if gathers:
        part = x[: m // ranks].contiguous()
        yield "gather", lambda: dist.all_gather_into_tensor(x, part)
        yield "gather_pieces", lambda: torch.ops.symm_mem.fused_all_gather_matmul(part, [w.t()], 0, group)
    else:
        summed = torch.empty(m // ranks, n, device=device, dtype=torch.bfloat16)
        yield "scatter", lambda: dist.reduce_scatter_tensor(summed, y)
        yield "scatter_pieces", lambda: torch.ops.symm_mem.fused_matmul_reduce_scatter(x, w.t(), "sum", 0, group)
        beside = torch.empty_like(y)
        calls = torch.cuda.Stream()
        done = torch.cuda.Event()

        def both():
            calls.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(calls):
                dist.reduce_scatter_tensor(summed, beside)
                done.record()
            torch.mm(x, w.t(), out=y)
            torch.cuda.current_stream().wait_event(done)

        yield "scatter_beside", both


def product_beside(m, n, k, ranks, device):
    """Until the product is over that begins with a call, median of single ones."""
    x = torch.randn(m, k, device=device, dtype=torch.bfloat16)
    w = torch.randn(n, k, device=device, dtype=torch.bfloat16) * 0.02
    y = torch.empty(m, n, device=device, dtype=torch.bfloat16)
    beside = torch.empty_like(y)
    summed = torch.empty(m // ranks, n, device=device, dtype=torch.bfloat16)
    calls = torch.cuda.Stream()
    times = []
    for _ in range(30):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.mm(x, w.t(), out=y)
        torch.mm(x, w.t(), out=y)
        begin.record()
        calls.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(calls):
            dist.reduce_scatter_tensor(summed, beside)
        torch.mm(x, w.t(), out=y)
        end.record()
        torch.cuda.current_stream().wait_stream(calls)
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    return mean_over_ranks(statistics.median(times), device)


def run(rank, ranks, path):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29521")
    torch.cuda.set_device(rank)
    device = torch.device("cuda", rank)
    dist.init_process_group("nccl", rank=rank, world_size=ranks, device_id=device)
    if ranks > 1:
        symm_mem.enable_symm_mem_for_group(dist.group.WORLD.group_name)
    rows = []

    def add(model, name, shape, what, measure):
        try:
            us = measure()
        except Exception as error:  # what a release lacks: all ranks alike
            if rank == 0:
                print(f"{model} {name} {what}: {error}", flush=True)
            return
        rows.append((model, name, *shape, what, us))
        if rank == 0:
            print(model, name, *shape, what, f"{us:.1f}", flush=True)

    with torch.no_grad():
        for model, sizes in MODELS.items():
            for name, m, n, k, gathers in products(*sizes):
                for what, call in measures(m, n, k, gathers, ranks, device):
                    add(model, name, (m, n, k), what, lambda: time_of(call, device))
                if ranks > 1 and not gathers:
                    add(model, name, (m, n, k), "product_beside",
                        lambda: product_beside(m, n, k, ranks, device))
                # Backward: of the input's gradient, and of the weights'.
                for part, shape in (("input", (m, k, n)), ("weights", (n, k, m))):
                    for what, call in measures(*shape, True, 1, device):
                        add(model, f"{name}_{part}", shape, what, lambda: time_of(call, device))
                torch.cuda.empty_cache()
    if rank == 0:
        with open(path, "w", encoding="utf-8") as out:
            print(f"# {torch.cuda.get_device_name()}, PyTorch {torch.__version__}, "
                  f"NCCL {'.'.join(map(str, torch.cuda.nccl.version()))}, driver of CUDA {torch.version.cuda}", file=out)
            print("model\tproduct\tm\tn\tk\tranks\twhat\tus", file=out)
            for model, name, m, n, k, what, us in rows:
                print(f"{model}\t{name}\t{m}\t{n}\t{k}\t{ranks}\t{what}\t{us:.2f}", file=out)
    dist.destroy_process_group()


if __name__ == "__main__":
    started = time.time()
    mp.spawn(run, args=(int(sys.argv[1]), sys.argv[2]), nprocs=int(sys.argv[1]))
    print(f"{time.time() - started:.0f} s")
