"""One rank of training with parameter servers over Gloo's sends and receives; only compute is emulated.

usage: rank_servers.py EXPERIMENTS.json RESULTS.json   (RANK, WORLD_SIZE, ... in the environment)

Of each experiment the last `servers` ranks are servers, the others workers. Gradients travel in chunks
of consecutive tensors, of at least CHUNK_BYTES, in the order of backward, by turns to the servers. A
worker pushes a chunk when its last gradient is there, and begins the next iteration when it has pulled
all of them. Modes:
  alone     workers compute, and nothing is sent
  ps_sync   a server sums a chunk of all workers, then sends the sum to all
  ps_async  a server adds a worker's chunk to its own, and answers that worker at once
"""

import json
import os
import statistics
import sys
import threading
import time

import torch
import torch.distributed as dist

import models
from group import join

CHUNK_BYTES = 1 << 20
FLOAT_BYTES = 4


def chunks_of(layers):
    """[(index of the last tensor, elements)] in the order of backward."""
    chunks, elements = [], 0
    for i in reversed(range(len(layers))):
        elements += torch.Size(layers[i]["shape"]).numel()
        if elements * FLOAT_BYTES >= CHUNK_BYTES or i == 0:
            chunks.append((i, elements))
            elements = 0
    return chunks


def work(layers, chunks, server_of, mode, count):
    """Iterations of a worker; @return their times."""
    pushed = [torch.ones(elements) for _, elements in chunks]
    pulled = [torch.empty(elements) for _, elements in chunks]
    chunk_after = {last: c for c, (last, _) in enumerate(chunks)}
    talks = mode != "alone"
    times = []
    for _ in range(count):
        start = time.perf_counter()
        handles = [dist.irecv(pulled[c], src=server_of(c), tag=c)
                   for c in range(len(chunks)) if talks]
        for layer in layers:
            if layer["forward_s"] > 0:
                time.sleep(layer["forward_s"])
        for i in reversed(range(len(layers))):
            if layers[i]["backward_s"] > 0:
                time.sleep(layers[i]["backward_s"])
            if talks and i in chunk_after:
                c = chunk_after[i]
                handles.append(dist.isend(pushed[c], dst=server_of(c), tag=c))
        for handle in handles:
            handle.wait()
        times.append(time.perf_counter() - start)
    return times


def serve_sync(own, workers, count):
    """@param own  chunk -> elements."""
    sums = {c: torch.empty(elements) for c, elements in own.items()}
    got = {c: [torch.empty(elements) for _ in range(workers)] for c, elements in own.items()}
    for _ in range(count):
        receives = {c: [dist.irecv(got[c][k], src=k, tag=c) for k in range(workers)] for c in own}
        sends = []
        for c in own:
            for handle in receives[c]:
                handle.wait()
            sums[c].copy_(got[c][0])
            for k in range(1, workers):
                sums[c].add_(got[c][k])
            sends += [dist.isend(sums[c], dst=k, tag=c) for k in range(workers)]
        for handle in sends:
            handle.wait()


def serve_async(own, workers, count):
    parameters = {c: torch.zeros(elements) for c, elements in own.items()}
    lock = threading.Lock()

    def serve(worker):
        got = {c: torch.empty(elements) for c, elements in own.items()}
        answers = {c: torch.empty(elements) for c, elements in own.items()}
        for _ in range(count):
            receives = {c: dist.irecv(got[c], src=worker, tag=c) for c in own}
            sends = []
            for c in own:
                receives[c].wait()
                with lock:
                    parameters[c].add_(got[c])
                    answers[c].copy_(parameters[c])
                sends.append(dist.isend(answers[c], dst=worker, tag=c))
            for handle in sends:
                handle.wait()

    threads = [threading.Thread(target=serve, args=(worker,)) for worker in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def run(experiment, rank, world):
    """@return times of the iterations; of a server none."""
    layers = models.layers(experiment["model"])
    chunks, mode = chunks_of(layers), experiment["mode"]
    workers = world - experiment["servers"]
    count = experiment["warmup"] + experiment["iterations"]

    def server_of(chunk):
        return workers + chunk % experiment["servers"]

    dist.barrier()
    if rank < workers:
        times = work(layers, chunks, server_of, mode, count)
        return [round(value, 6) for value in times[experiment["warmup"]:]]
    own = {c: elements for c, (_, elements) in enumerate(chunks) if server_of(c) == rank}
    if mode == "ps_sync":
        serve_sync(own, workers, count)
    elif mode == "ps_async":
        serve_async(own, workers, count)
    return []


def main():
    rank, world = join()
    with open(sys.argv[1], encoding="utf-8") as file:
        experiments = json.load(file)
    results = []
    for experiment in experiments:
        of_all = [None] * world
        dist.all_gather_object(of_all, run(experiment, rank, world))
        if rank == 0:
            results.append(dict(experiment, iterations_s=[times for times in of_all if times]))
            with open(sys.argv[2], "w", encoding="utf-8") as file:
                json.dump(results, file)
            middle = statistics.median(t for times in of_all for t in times)
            print(f"  {experiment['id']:<40} {middle * 1e3:8.1f} ms", flush=True)
    dist.barrier()
    os._exit(0)  # Gloo's threads are not waited for


if __name__ == "__main__":
    main()
