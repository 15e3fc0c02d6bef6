"""Times PyTorch's peer kernels: one-shot and two-shot all-reduces of symmetric memory, beside NCCL's.

    python3 tools/recorder/experiments/peer_kernels.py RANKS OUTPUT.tsv

One process a GPU of one host, bf16. A row is the mean over ranks of the median of 10 replays of a CUDA graph of 20
calls each (`graph`), or of 20 calls in a row (`eager`), in microseconds a call. NVLink multicast stays off, so that
the multimem kernels do not run.
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

CALLS = 20
REPEATS = 10
SIZES = [1 << power for power in range(8, 25)]


def kernels(buffer, copy):
    group = dist.group.WORLD.group_name
    return {
        "one_shot": lambda: torch.ops.symm_mem.one_shot_all_reduce(buffer, "sum", group),
        "two_shot": lambda: torch.ops.symm_mem.two_shot_all_reduce_(buffer, "sum", group),
        "nccl": lambda: dist.all_reduce(copy),
    }


def time_once(launch):
    torch.cuda.synchronize()
    dist.barrier()
    torch.cuda.synchronize()
    start = time.perf_counter()
    launch()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / CALLS * 1e6


def times_of(call):
    def many():
        for _ in range(CALLS):
            call()

    many()
    many()
    result = {"eager": statistics.median(time_once(many) for _ in range(REPEATS))}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        many()
    graph.replay()
    result["graph"] = statistics.median(time_once(graph.replay) for _ in range(REPEATS))
    return result


def right(call, buffer, rank, ranks):
    """Whether the call adds up: rank r gives r + 1 everywhere."""
    buffer.fill_(rank + 1)
    torch.cuda.synchronize()
    dist.barrier()
    result = call()
    torch.cuda.synchronize()
    dist.barrier()
    wanted = ranks * (ranks + 1) / 2
    return bool(((result if result is not None else buffer) == wanted).all())


def run(rank, ranks, path):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29517")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=ranks, device_id=torch.device("cuda", rank))
    whole = symm_mem.empty(SIZES[-1] // 2, dtype=torch.bfloat16, device=torch.device("cuda", rank))
    symm_mem.rendezvous(whole, dist.group.WORLD)
    copy = torch.zeros_like(whole)
    rows = []
    for size in SIZES:
        buffer = whole[: size // 2]
        for name, call in kernels(buffer, copy[: size // 2]).items():
            good = name == "nccl" or right(call, buffer, rank, ranks)
            buffer.zero_()
            for mode, us in times_of(call).items():
                mean = torch.tensor([us, float(good)], device="cuda")
                dist.all_reduce(mean)
                mean /= ranks
                rows.append((name, mode, size, mean[0].item(), mean[1].item()))
    if rank == 0:
        with open(path, "w", encoding="utf-8") as out:
            print(f"# {torch.cuda.get_device_name()}, {ranks} ranks, PyTorch {torch.__version__}, "
                  f"NCCL {'.'.join(map(str, torch.cuda.nccl.version()))}, bf16", file=out)
            print("kernel\tmode\tbytes\tus\tright", file=out)
            for name, mode, size, us, good in rows:
                print(f"{name}\t{mode}\t{size}\t{us:.3f}\t{good:g}", file=out)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(run, args=(int(sys.argv[1]), sys.argv[2]), nprocs=int(sys.argv[1]))
