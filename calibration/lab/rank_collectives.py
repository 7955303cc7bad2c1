"""One rank that times Gloo's collectives by size.

usage: rank_collectives.py OPS SIZES BUDGET_S LATE_S RESULTS.json   (OPS, SIZES: comma-separated)

A size is that of gradwire's CollectiveKind: of all ranks' parts together for all_gather, else of
each rank's vector, in bytes of fp32. `all_reduce_pair` is two all-reduces posted together.
The last rank enters LATE_S after the others. A repetition's time is from the last rank's entry to
the last one's end, by the clock of the machine that they share.
"""

import json
import os
import sys
import time

import torch
import torch.distributed as dist

from group import join

REPETITIONS = (5, 100)
PAUSE_S = 0.002  # after a barrier, until its last messages are gone


def operation(name, size, world):
    part = torch.ones(size // 4 // (world if name == "all_gather" else 1))
    if name == "all_reduce":
        return lambda: dist.all_reduce(part)
    if name == "all_reduce_pair":
        other = torch.ones_like(part)

        def pair():
            for work in [dist.all_reduce(t, async_op=True) for t in (part, other)]:
                work.wait()

        return pair
    if name == "all_gather":
        parts = [torch.empty_like(part) for _ in range(world)]
        return lambda: dist.all_gather(parts, part)
    if name == "broadcast":
        return lambda: dist.broadcast(part, 0)
    if name == "reduce":
        return lambda: dist.reduce(part, 0)
    raise ValueError(f"unknown collective '{name}'")


def timed(run, late):
    """Entry and end of one repetition on this rank."""
    dist.barrier()
    time.sleep(PAUSE_S + late)
    start = time.monotonic()
    run()
    return start, time.monotonic()


def main():
    rank, world = join()
    late = float(sys.argv[4]) if rank == world - 1 else 0
    rows = []
    for name in sys.argv[1].split(","):
        for size in map(int, sys.argv[2].split(",")):
            run = operation(name, size, world)
            run()
            start, end = timed(run, late)
            first = torch.tensor([end - start])
            dist.all_reduce(first, op=dist.ReduceOp.MAX)
            least, most = REPETITIONS
            count = max(least, min(most, int(float(sys.argv[3]) / first.item())))
            own = [timed(run, late) for _ in range(count)]
            of_all = [None] * world
            dist.all_gather_object(of_all, own)
            if rank == 0:
                slowest = [round(max(ends) - max(starts), 7)
                           for starts, ends in (zip(*of_rank) for of_rank in zip(*of_all))]
                rows.append({"op": name, "bytes": size, "ranks": world, "times_s": slowest})
                middle = sorted(slowest)[count // 2]
                print(f"  {name:<16} {size:>9} B {world} ranks {middle * 1e3:9.3f} ms", flush=True)
                with open(sys.argv[5], "w", encoding="utf-8") as file:
                    json.dump(rows, file)
    dist.barrier()
    os._exit(0)


if __name__ == "__main__":
    main()
