#!/usr/bin/env python3
"""PyTorch DDP over Gloo on emulated hosts of one machine: measure, and fit.

  lab.py measure -o DIR [--repeats N] [--only PART]       records; as root, needs python3-torch
  lab.py mpi -o DIR --gradwire PROGRAM                    Open MPI's all-reduce on 2 and 4 hosts
  lab.py fit DIR -o OUT                                   records -> profiles and a series' file

See README.md. `measure` moves itself into namespaces of its own, which end with it.
"""

import argparse
import dataclasses
import json
import math
import os
import pathlib
import platform
import subprocess
import sys
import time

import fit
from network import Network, address

HERE = pathlib.Path(__file__).resolve().parent
INSIDE = "GRADWIRE_LAB_INSIDE"
RATE = 300          # Mbit/s of a host's link, where nothing else is said
OTHER_RATES = [150, 100]
FIT_HOSTS = [1, 2, 4]
TEST_HOSTS = 8
CAPS = [1, 5, 25]
# Two racks: Mbit/s of the cable between, and whether neighbours of the ring are in the same rack.
RACKS = [(300, False), (150, False), (600, True)]
SLOW_LINK = (5, 100)  # host, Mbit/s
POWERSGD_RANKS = [1, 4]
SERVERS = [(2, 1), (4, 1), (4, 2), (6, 2)]  # workers, parameter servers, a host each
ITERATIONS, WARMUP = 12, 3
GOODPUT_S = 2.5  # a plain socket sends so long
BUDGET_S = 1.5   # for each size of a collective
MODELS = ["resnet50_8th", "vgg16_32nd", "bert_base_32nd"]
COLLECTIVE_SIZES = [4096, 65536, 1 << 20, 1 << 22, 1 << 24]
OTHER_OPS = ["all_reduce_pair", "all_gather", "broadcast", "reduce"]
OTHER_SIZES = [1 << 20, 1 << 22]
OTHER_LATE_S = 500e-6  # by which the last rank enters later: more than a message takes
MPI_HOSTS = [2, 4]
MPI_ALGORITHM = "ring"  # Open MPI's own choice, Rabenseifner, is bimodal on one connection a pair
MPI_NICE = "-10"  # not SCHED_RR: ranks poll, and would keep all others from the cores
MPI_SIZES = "64KiB:16MiB:x4"


def experiment(place, model, mode, cap=None, slow=None, **more):
    name = f"{model}-{place}-{mode}"
    entry = {"model": model, "mode": mode, "iterations": ITERATIONS, "warmup": WARMUP, **more}
    for key in ("passes", "powersgd_rank"):
        if key in more:
            name += f"{more[key]}"
    if cap:
        name += f"-cap{cap}"
        entry["bucket_cap_mib"] = cap
    if slow:
        name += "-slow"
        entry["slow"] = slow
    return dict(entry, id=name)


def overlapping(place, models, caps):
    return [experiment(place, model, "ddp", cap) for model in models for cap in caps]


def no_overlap(place, models):
    return [experiment(place, model, "no_overlap") for model in models]


@dataclasses.dataclass
class Campaign:
    """What runs on one network."""

    name: str
    network: dict  # arguments of Network
    experiments: list
    collectives: bool = False  # whether they are timed
    script: str = "rank_training.py"


def campaigns_of_fit():
    for hosts in FIT_HOSTS:
        place = f"{hosts}x{RATE}"
        listed = [experiment(place, model, "compute") for model in MODELS]
        listed += overlapping(place, MODELS, CAPS if hosts > 1 else [5])
        listed += no_overlap(place, MODELS)
        yield Campaign(place, {"hosts": hosts, "rate_mbit": RATE}, listed, hosts > 1)


def campaigns_of_test():
    place = f"{TEST_HOSTS}x{RATE}"
    listed = overlapping(place, MODELS, CAPS) + no_overlap(place, MODELS)
    listed += [experiment(place, MODELS[0], "ddp", 5, {"3": 1.5}),
               experiment(place, MODELS[0], "ddp", 1, {"3": 2.0})]
    yield Campaign(place, {"hosts": TEST_HOSTS, "rate_mbit": RATE}, listed, True)
    for rate in OTHER_RATES:
        place = f"{TEST_HOSTS}x{rate}"
        listed = overlapping(place, MODELS[:1], CAPS) + no_overlap(place, MODELS[:1])
        listed += overlapping(place, MODELS[1:], [5])
        yield Campaign(place, {"hosts": TEST_HOSTS, "rate_mbit": rate}, listed)


def campaigns_of_racks():
    for uplink, interleaved in RACKS:
        place = f"{TEST_HOSTS}x{RATE}-uplink{uplink}"
        network = {"hosts": TEST_HOSTS, "rate_mbit": RATE, "uplink_mbit": uplink,
                   "interleaved": interleaved}
        yield Campaign(place, network, overlapping(place, MODELS[:1], [1, 5]))


def campaigns_of_variants():
    place, (resnet, vgg, _) = f"{TEST_HOSTS}x{RATE}", MODELS
    listed = [experiment(place, resnet, "ddp", 5, passes=2)]
    listed += [experiment(place, model, "fp16", 5) for model in (resnet, vgg)]
    # The hook waits for an all-reduce in a callback, on one of Gloo's two threads: with the few large
    # buckets of VGG-16 it hangs.
    listed += [experiment(place, resnet, "powersgd", 5, powersgd_rank=rank)
               for rank in POWERSGD_RANKS]
    yield Campaign(place, {"hosts": TEST_HOSTS, "rate_mbit": RATE}, listed)
    place += f"-slow{SLOW_LINK[1]}"
    listed = overlapping(place, [resnet], [1, 5]) + overlapping(place, [vgg], [5])
    yield Campaign(place, {"hosts": TEST_HOSTS, "rate_mbit": RATE, "slow": SLOW_LINK}, listed)


def campaigns_of_servers():
    for workers, servers in SERVERS:
        place = f"{workers}+{servers}x{RATE}"
        listed = [experiment(place, MODELS[0], mode, servers=servers)
                  for mode in ("alone", "ps_sync", "ps_async")]
        yield Campaign(place, {"hosts": workers + servers, "rate_mbit": RATE}, listed,
                       script="rank_servers.py")


CAMPAIGNS = {"fit": campaigns_of_fit, "test": campaigns_of_test, "racks": campaigns_of_racks,
             "variants": campaigns_of_variants, "servers": campaigns_of_servers}


def interpreter():
    """A Python that has torch: this one or Debian's."""
    for path in (sys.executable, "/usr/bin/python3"):
        found = subprocess.run([path, "-c", "import torch"], capture_output=True, check=False)
        if found.returncode == 0:
            return path
    sys.exit("lab.py: no PyTorch; expected Debian's python3-torch (apt-get install python3-torch)")


def enter_namespaces():
    """Starts this program again in namespaces that the kernel ends together with it."""
    if os.geteuid() != 0:
        sys.exit("lab.py: only root can make network namespaces; expected to run as root")
    command = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
               "sh", "-c", "mkdir -p /run/netns && mount -t tmpfs lab /run/netns && exec \"$@\"",
               "lab", sys.executable, *sys.argv]
    os.execvpe("unshare", command, dict(os.environ, **{INSIDE: "1"}))


def record(campaign, network, python, folder):
    """Runs a campaign once."""
    passed, experiments = folder / "rank.json", folder / "experiments.json"

    def ranks(script, *words, timeout_s):
        network.run([python, str(HERE / script), *map(str, words), str(passed)], timeout_s)
        result = json.loads(passed.read_text())
        passed.unlink()
        return result

    made = {"network": network.describe(), "date": time.strftime("%Y-%m-%d"),
            "kernel": platform.release(), "load": os.getloadavg()[0]}
    if network.hosts > 1:
        made.update(ranks("rank_goodput.py", GOODPUT_S, timeout_s=30))
    experiments.write_text(json.dumps(campaign.experiments))
    made["training"] = ranks(campaign.script, experiments, timeout_s=900)
    experiments.unlink()
    if campaign.collectives:
        made["collectives"] = []
        # Each in processes of its own: what went over a connection before leaves it a larger share.
        asked = [("all_reduce", COLLECTIVE_SIZES, 0)]
        asked += [(op, OTHER_SIZES, OTHER_LATE_S) for op in OTHER_OPS]
        for op, sizes, late in asked:
            made["collectives"] += ranks("rank_collectives.py", op, ",".join(map(str, sizes)),
                                         BUDGET_S, late, timeout_s=300)
    return made


def write_collectives(made, name, folder):
    """The timed collectives as gradwire's other benchmarks write them, a file each."""
    ranks = made["network"]["hosts"]
    for op in sorted({row["op"] for row in made.get("collectives", [])} - {"all_reduce_pair"}):
        file = {"schema": "gradwire.bench.collectives/1", "tool": "calibration/lab",
                "date": made["date"], "library": "gloo", "version": "20220518", "ranks": ranks,
                "nodes": ranks, "placement": list(range(ranks)), "op": op, "dtype": "float32",
                "in_place": op != "all_gather", "algorithm": "auto", "protocol": "auto",
                "rows": []}
        for row in made["collectives"]:
            if row["op"] != op:
                continue
            times = sorted(1e6 * seconds for seconds in row["times_s"])
            at = {f"p{percent}_us": times[math.ceil(percent * len(times) / 100) - 1]
                  for percent in (50, 95, 99)}
            file["rows"].append({"size_bytes": row["bytes"], "n": len(times),
                                 "mean_us": sum(times) / len(times), "min_us": times[0], **at,
                                 "max_us": times[-1]})
        (folder / "collectives").mkdir(exist_ok=True)
        (folder / "collectives" / f"gloo_{op}_{name}.json").write_text(json.dumps(file))


def measure(arguments):
    if INSIDE not in os.environ:
        enter_namespaces()
    python = interpreter()
    folder = pathlib.Path(arguments.output)
    folder.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([python, "-c", "import torch; print(torch.__version__)"],
                             capture_output=True, text=True, check=True).stdout.strip()
    for part in [arguments.only] if arguments.only else CAMPAIGNS:
        for campaign in CAMPAIGNS[part]():
            with Network(**campaign.network) as network:
                for _ in range(arguments.repeats):
                    run = 1 + len(list(folder.glob(f"{campaign.name}-run*.json")))
                    name = f"{campaign.name}-run{run}"
                    print(f"{name}, load {os.getloadavg()[0]:.1f}", flush=True)
                    made = dict(record(campaign, network, python, folder), run=run, torch=version)
                    (folder / f"{name}.json").write_text(json.dumps(made))
                    write_collectives(made, name, folder)


def mpi(arguments):
    """Open MPI's collectives through `gradwire calibrate bench`, a rank on every host."""
    if INSIDE not in os.environ:
        enter_namespaces()
    options = ("--mca plm_rsh_agent {rsh} --mca plm_rsh_no_tree_spawn 1 --mca btl tcp,self "
               "--mca pml ob1 --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 "
               "--mca mpi_yield_when_idle 1 --mca hwloc_base_binding_policy none "
               "--mca orte_keep_fqdn_hostnames 1").format(rsh=HERE / "rsh.sh")
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    for hosts in MPI_HOSTS:
        with Network(hosts, RATE):
            named = ",".join(address(host) for host in range(hosts))
            command = [arguments.gradwire, "calibrate", "bench", "--backend", "mpi", "--hosts",
                       named, "--algorithm", MPI_ALGORITHM, "--sizes", MPI_SIZES, "--mpirun",
                       options, "-o", arguments.output]
            subprocess.run(["ip", "netns", "exec", "h0", "nice", "-n", MPI_NICE, "unshare", "--uts",
                            "sh", "-c", "hostname lab0; exec \"$@\"", "sh", *command],
                           check=True, timeout=300, env=dict(os.environ, **root))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure", help="record; needs root")
    measuring.add_argument("-o", "--output", required=True, metavar="DIR")
    measuring.add_argument("--repeats", type=int, default=2)
    measuring.add_argument("--only", choices=list(CAMPAIGNS))
    benching = commands.add_parser("mpi", help="time Open MPI's all-reduce; needs root")
    benching.add_argument("-o", "--output", required=True, metavar="DIR")
    benching.add_argument("--gradwire", default="gradwire", help="the program to run")
    fitting = commands.add_parser("fit", help="records -> profiles and a validation series")
    fitting.add_argument("records", metavar="DIR")
    fitting.add_argument("-o", "--output", required=True, metavar="OUT")
    arguments = parser.parse_args()
    if arguments.command == "measure":
        measure(arguments)
    elif arguments.command == "mpi":
        mpi(arguments)
    else:
        fit.write(arguments.records, arguments.output)


if __name__ == "__main__":
    main()
