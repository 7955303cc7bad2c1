"""Records of `lab.py measure` -> what gradwire reads: a profile a model, and a validation series.

It also keeps what was measured, as percentiles: OUT/lab/records.json.

What is fitted, all of it from 1, 2 and 4 hosts at one rate:
  compute     forward and backward of each tensor: the median over the records
  link        payload of a plain socket, as a share of the shaped rate
  step        of Gloo: the least all-reduce over its 2(n-1) steps
The rest, copies into buckets, is fitted by `gradwire validate lab` to the rows of 1 host.
"""

import json
import math
import pathlib
import statistics

import models

STEP_BYTES = 4096  # the least all-reduce measured
HEAD = "# Made by calibration/lab/lab.py fit; do not edit.\n"
# Mode of an experiment -> method of its row, and the strategy that predicts it. A connection carries
# one message after the other: in_flight.
METHODS = {
    "ddp": ("DDP", '{name: ddp, version: "1.13"}'),
    "no_overlap": ("no overlap", "{name: bsp}"),
    "fp16": ("DDP, fp16", '{name: ddp, version: "1.13", compression: {name: fp16}}'),
    "powersgd": ("DDP, PowerSGD", '{name: powersgd, version: "1.13", start_powerSGD_iter: 2}'),
    "ps_sync": ("PS, synchronous", "{name: ps_sync, message: 1 MiB, in_flight: 1, pull: variable, "
                                   "forward_wait: all}"),
    "ps_async": ("PS, asynchronous", "{name: ps_async, message: 1 MiB, in_flight: 1, "
                                     "pull: variable}"),
}


def read_records(folder):
    """The records of a folder, one a network and repetition."""
    paths = sorted(pathlib.Path(folder).glob("*-run*.json"))
    records = [json.loads(path.read_text()) for path in paths]
    if not records:
        raise SystemExit(f"lab.py: no records in {folder}; expected those of 'lab.py measure'")
    for record in records:
        record["kernel"] = ".".join(record["kernel"].split(".")[:2])  # the build is of no interest
    return records


def p50_ms(experiment):
    """Median over the iterations of all ranks."""
    return 1e3 * statistics.median(t for rank in experiment["iterations_s"] for t in rank)


def profile_text(name, measured, dates):
    """The compute profile of a model: medians over the compute records of 2 and 4 hosts."""
    layers = models.layers(name)
    lines = [HEAD + "schema: gradwire.compute_profile/1", f"model: {name}",
             "gpu: rtx2080ti   # of node host_1gpu: there is none, a process sleeps",
             "batch_per_gpu: 1", "dtype: fp32",
             "source: {kind: recorded, tool: calibration/lab, date: " + dates[-1] +
             ", notes: emulated compute}"]
    middle = {key: [statistics.median(record[key][i] for record in measured)
                    for i in range(len(layers))] for key in ("forward_s", "backward_s")}
    total = statistics.median(p50_ms(record) for record in measured)
    parts = 1e3 * (sum(middle["forward_s"]) + sum(middle["backward_s"]))
    lines.append(f"iteration: {{p50: {max(total, parts):.3f} ms}}")
    lines.append("optimizer: {p50: 0 ms}")
    lines.append("layers:")
    for i, layer in enumerate(layers):
        lines.append(f"  - {{name: {layer['name']}, kind: other, "
                     f"forward: {1e6 * middle['forward_s'][i]:.1f} us, "
                     f"backward: {1e6 * middle['backward_s'][i]:.1f} us, "
                     f"parameters: [{{name: {layer['name']}, shape: {layer['shape']}}}]}}")
    return "\n".join(lines) + "\n"


def of_fit(record):
    network = record["network"]
    return network["hosts"] in (2, 4) and not network["uplink_mbit"]


def link_share(records):
    """Payload of a plain socket / shaped rate."""
    return statistics.median(8e-6 * record["goodput_bytes_per_s"] / record["network"]["rate_mbit"]
                             for record in records if of_fit(record))


def step_us(records):
    """A step of Gloo's ring without bytes."""
    steps = [statistics.median(row["times_s"]) / (2 * (row["ranks"] - 1))
             for record in records if of_fit(record)
             for row in record.get("collectives", [])
             if row["op"] == "all_reduce" and row["bytes"] == STEP_BYTES]
    return 1e6 * statistics.median(steps)


def percentiles(times_s):
    """Of times in seconds, in milliseconds; nearest rank: the ceil(p n)-th smallest."""
    rising = sorted(times_s)
    kept = {"n": len(rising), "min_ms": rising[0], "max_ms": rising[-1]}
    for percent in (25, 50, 75, 90):
        kept[f"p{percent}_ms"] = rising[max(1, math.ceil(percent * len(rising) / 100)) - 1]
    return {key: value if key == "n" else round(1e3 * value, 4) for key, value in kept.items()}


def kept(record):
    """A record without its single times."""
    short = dict(record)
    short["training"] = []
    for experiment in record["training"]:
        times = [t for rank in experiment["iterations_s"] for t in rank]
        facts = {key: value for key, value in experiment.items() if not key.endswith("_s")}
        short["training"].append(dict(facts, **percentiles(times)))
    short["collectives"] = []
    for row in record.get("collectives", []):
        facts = {key: value for key, value in row.items() if key != "times_s"}
        short["collectives"].append(dict(facts, **percentiles(row["times_s"])))
    return short


def row_text(group_rows, experiment_id, role, gate, alone_ms):
    experiments = [experiment for experiment, _ in group_rows]
    network = group_rows[0][1]["network"]
    first = experiments[0]
    times = [p50_ms(experiment) for experiment in experiments]
    nodes = network["hosts"] - first.get("servers", 0)
    changes = []
    if "bucket_cap_mib" in first:
        changes.append(f"strategy.bucket_cap: {first['bucket_cap_mib']} MiB")
    if "passes" in first:
        changes.append(f"strategy.grad_accumulation: {first['passes']}")
    if "powersgd_rank" in first:
        changes.append(f"strategy.matrix_approximation_rank: {first['powersgd_rank']}")
    if "slow" in first:
        rank, factor = next(iter(first["slow"].items()))
        changes.append(f"stragglers: [{{ranks: [{rank}], compute: {factor}}}]")
    if "servers" in first:
        changes += [f"strategy.servers: {{count: {first['servers']}, placement: separate}}",
                    f"profile.iteration_time: {alone_ms:.2f} ms", "run.iterations: 12"]
    text = (f"      - {{id: {experiment_id}, model: {first['model']}, "
            f"method: \"{METHODS[first['mode']][0]}\", "
            f"nodes: {nodes}, gpus_per_node: 1, measured: {statistics.median(times):.2f}")
    if len(times) > 1:
        text += f", stdev: {statistics.stdev(times):.2f}"
    text += f", role: {role}, gate: {gate}"
    if changes:
        text += ", set: {" + ", ".join(changes) + "}"
    return text + "}"


def groups_of(records):
    """(hosts, rate, ...) -> experiment id -> [(experiment, record)], without compute alone."""
    groups = {}
    for record in records:
        network = record["network"]
        key = (network["hosts"], network["rate_mbit"], network["uplink_mbit"] or 0,
               network.get("interleaved", False), tuple(network.get("slow") or ()),
               record["training"][0].get("servers", 0))
        for experiment in record["training"]:
            if experiment["mode"] in METHODS:
                rows = groups.setdefault(key, {}).setdefault(experiment["id"], [])
                rows.append((experiment, record))
    return groups


def alone_ms(records, model):
    """What a worker of parameter servers takes by itself."""
    times = [p50_ms(experiment) for record in records for experiment in record["training"]
             if experiment["mode"] == "alone" and experiment["model"] == model]
    return statistics.median(times) if times else 0


def series_text(records, share, step):
    """results/reference/lab.yaml."""
    dates = sorted({record["date"] for record in records})
    versions = sorted({f"torch {record['torch']}, Linux {record['kernel']}" for record in records})
    loads = [record["load"] for record in records]
    lines = [HEAD + f"""\
# PyTorch DDP over Gloo on emulated hosts (calibration/lab): compute sleeps, the rest is real.
schema: gradwire.reference.training/1
name: lab
source:
  file: calibration/lab, {', '.join(dates)}
  software: "{'; '.join(versions)}, Gloo 20220518.5b14351"
  machines: network namespaces of one machine of 2 cores; veth, a bridge, tbf each way at each host
  protocol: >-
    p50 of all ranks' iterations, 12 after 3 of warm-up; median over repetitions, their standard
    deviation; load of the machine beside the ranks, which run SCHED_RR: {min(loads):.1f} to {max(loads):.1f}
  quality: our own measurements
  calibrated: >-
    compute of each tensor, link payload (a plain socket, {share:.4f} of the shaped rate) and Gloo's
    step ({step:.1f} us, all-reduce of 4 KiB): on 2 and 4 hosts at 300 Mbit/s; copies: on 1 host
unit: ms
scenario:
  schema: gradwire.scenario/1
  cluster: {{node: host_1gpu, fabric: {{kind: single_switch, link: {{bandwidth: {share * 300:.2f} Mbit/s, latency: 0 us, kind: tcp}}}}}}
  collective: {{library: gloo, tensors: host, step: {step:.1f} us}}
  gpu: {{memory_efficiency: 100 %}}
  jitter: {{rank: 0 %}}   # hosts of one machine
  run: {{iterations: 2, warmup: 2}}
gates:
  fit: {{median: 2 %, worst: 6 %}}
  lab: {{median: 2 %, worst: 6 %}}
calibrate:
  - {{key: gpu.kernel_overhead, from: 1 us, to: 200 us}}
  - {{key: gpu.memory_bandwidth, from: 1 GB/s, to: 30 GB/s}}
models:"""]
    for name in models.MODELS:
        lines.append(f"  {name}: {{set: {{profile: {{file: lab/{name}.yaml}}}}}}")
    groups = groups_of(records)
    lines.append("methods:")
    made = {experiment["mode"] for rows in groups.values() for pairs in rows.values()
            for experiment, _ in pairs}
    for mode, (method, strategy) in METHODS.items():
        if mode in made:
            lines.append(f'  "{method}": {{set: {{strategy: {strategy}}}}}')
    lines.append("groups:")
    for (hosts, rate, uplink, interleaved, slow, servers), experiments in sorted(groups.items()):
        name = f"{hosts} host{'s' if hosts > 1 else ''}, {rate} Mbit/s"
        if servers:
            name += f", {servers} of them server{'s' if servers > 1 else ''}"
        changes = []
        if rate != 300:
            changes.append(f"cluster.fabric.link.bandwidth: {share * rate:.2f} Mbit/s")
        if uplink:
            name += f", racks joined at {uplink} Mbit/s"
            half = hosts // 2
            changes.append(f"cluster.fabric: {{kind: fat_tree, nodes_per_leaf: {half}, spines: 1, "
                           f"oversubscription: {half * rate / uplink:g}, trunk: {{bandwidth: {share * uplink:.6f} "
                           f"Mbit/s, latency: 0 us}}, link: {{bandwidth: {share * rate:.6f} "
                           "Mbit/s, latency: 0 us, kind: tcp}}")
        if slow:
            name += f", one at {slow[1]} Mbit/s"
            parts = [(slow[0], rate), (1, slow[1]), (hosts - slow[0] - 1, rate)]
            listed = ", ".join(f"{{node: host_1gpu, nodes: {nodes}, link: {{bandwidth: "
                               f"{share * speed:.2f} Mbit/s, latency: 0 us, kind: tcp}}}}"
                               for nodes, speed in parts if nodes)
            changes.append(f"cluster: {{groups: [{listed}], fabric: {{kind: single_switch}}}}")
        if interleaved:
            name += ", ranks alternate"
            order = [f"node{rank // 2 + (rank % 2) * hosts // 2}.gpu0" for rank in range(hosts)]
            changes.append(f"placement: [{', '.join(order)}]")
        lines.append(f'  - name: "{name}"')
        if changes:
            lines.append("    set: {" + ", ".join(changes) + "}")
        lines.append("    rows:")
        role = "calibrate" if hosts == 1 else "score"
        for experiment_id, rows in experiments.items():
            mode, model = rows[0][0]["mode"], rows[0][0]["model"]
            gate = "servers" if servers else "lab" if hosts == 8 else "fit"
            if mode in ("fp16", "powersgd"):
                gate = "compression"
            lines.append(row_text(rows, experiment_id, role, gate, alone_ms(records, model)))
    return "\n".join(lines) + "\n"


def write(folder, output):
    """Profiles to OUTPUT/lab/MODEL.yaml, the series to OUTPUT/lab.yaml."""
    records = read_records(folder)
    output = pathlib.Path(output)
    (output / "lab").mkdir(parents=True, exist_ok=True)
    dates = sorted({record["date"] for record in records})
    for name in models.MODELS:
        measured = [experiment for record in records if of_fit(record)
                    for experiment in record["training"]
                    if experiment["model"] == name and experiment["mode"] == "compute"]
        (output / "lab" / f"{name}.yaml").write_text(profile_text(name, measured, dates))
    lines = ",\n".join(json.dumps(kept(record)) for record in records)
    (output / "lab" / "records.json").write_text(f"[{lines}]\n")
    share, step = link_share(records), step_us(records)
    (output / "lab.yaml").write_text(series_text(records, share, step))
    print(f"link {share:.4f} of the shaped rate, step {step:.1f} us")
