"""Hosts as network namespaces on one machine, cabled by shaped veth pairs to a bridge.

All of it lives in namespaces of this process (see lab.py, which enters them): when the process
ends, however it ends, the kernel takes them away. Nothing has to be cleaned up.
"""

import os
import signal
import subprocess
import time

SUBNET = "10.77.0"
MTU_BYTES = 1500
GSO_BYTES = 16384   # segments that the kernel hands to the shaper in one piece, at most
QUEUE_S = 0.050     # what a port queues
QUEUE_BYTES_MIN = 256000
BURST_S = 0.001     # what the token bucket lets pass after idling
BURST_BYTES_MIN = 33000  # two pieces of GSO_BYTES: a smaller bucket passes none
PRIORITY = 5        # SCHED_RR: ranks go before whatever else the machine does


def address(host):
    return f"{SUBNET}.{10 + host}"


def shell(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


def shape(device, rate_mbit, host=None):
    """A token bucket on what leaves `device`: of the switch, or of a host."""
    bytes_per_s = rate_mbit * 1e6 / 8
    burst = max(BURST_BYTES_MIN, round(BURST_S * bytes_per_s))
    limit = max(QUEUE_BYTES_MIN, round(QUEUE_S * bytes_per_s))
    where = ["-n", f"h{host}"] if host is not None else []
    shell("tc", *where, "qdisc", "replace", "dev", device, "root", "tbf", "rate",
          f"{rate_mbit}mbit", "burst", burst, "limit", limit)


class Network:
    """`hosts` namespaces h0, h1, ... with eth0 at `rate_mbit` each way, of Ethernet frames.

    With uplink_mbit the first and the second half of the hosts are two racks, joined by one cable;
    `interleaved`: the even and the odd hosts. `slow`: (host, Mbit/s), one with a slower link.
    """

    def __init__(self, hosts, rate_mbit, uplink_mbit=None, interleaved=False, slow=None):
        self.hosts, self.rate_mbit, self.uplink_mbit = hosts, rate_mbit, uplink_mbit
        self.interleaved, self.slow = interleaved, slow

    def rate_of(self, host):
        return self.slow[1] if self.slow and self.slow[0] == host else self.rate_mbit

    def rack(self, host):
        if not self.uplink_mbit:
            return 0
        return host % 2 if self.interleaved else host * 2 // self.hosts

    def __enter__(self):
        racks = 2 if self.uplink_mbit else 1
        for rack in range(racks):
            shell("ip", "link", "add", f"br{rack}", "type", "bridge", "stp_state", 0,
                  "forward_delay", 0)
            shell("ip", "link", "set", f"br{rack}", "up")
        if racks == 2:
            shell("ip", "link", "add", "up0", "type", "veth", "peer", "name", "up1")
            for rack in range(racks):
                shell("ip", "link", "set", f"up{rack}", "gso_max_size", GSO_BYTES, "master",
                      f"br{rack}", "up")
                shape(f"up{rack}", self.uplink_mbit)
        for host in range(self.hosts):
            name = f"h{host}"
            shell("ip", "netns", "add", name)
            shell("ip", "link", "add", f"p{host}", "type", "veth", "peer", "name", "eth0", "netns",
                  name)
            shell("ip", "link", "set", f"p{host}", "gso_max_size", GSO_BYTES, "master",
                  f"br{self.rack(host)}", "up")
            shell("ip", "-n", name, "link", "set", "lo", "up")
            shell("ip", "-n", name, "addr", "add", f"{address(host)}/24", "dev", "eth0")
            shell("ip", "-n", name, "link", "set", "eth0", "mtu", MTU_BYTES, "gso_max_size",
                  GSO_BYTES, "up")
            shell("ip", "netns", "exec", name, "sysctl", "-qw",
                  "net.ipv4.tcp_congestion_control=cubic", "net.ipv4.tcp_no_metrics_save=1")
            shape("eth0", self.rate_of(host), host)
            shape(f"p{host}", self.rate_of(host))
        time.sleep(1)  # until the bridge forwards
        return self

    def __exit__(self, *_):
        for host in range(self.hosts):
            shell("ip", "netns", "del", f"h{host}")
            subprocess.run(["ip", "link", "del", f"p{host}"], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", "up0"], capture_output=True, check=False)
        for rack in (0, 1):
            subprocess.run(["ip", "link", "del", f"br{rack}"], capture_output=True, check=False)

    def describe(self):
        return {"hosts": self.hosts, "rate_mbit": self.rate_mbit, "uplink_mbit": self.uplink_mbit,
                "interleaved": self.interleaved, "slow": self.slow,
                "mtu_bytes": MTU_BYTES, "gso_bytes": GSO_BYTES, "burst_s": BURST_S,
                "queue_s": QUEUE_S, "congestion_control": "cubic"}

    def run(self, command, timeout_s):
        """Runs `command` once a host, as rank = host; ends all when one fails or time is over."""
        ranks = []
        for rank in range(self.hosts):
            environment = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(self.hosts),
                               MASTER_ADDR=address(0), MASTER_PORT="29500",
                               GLOO_SOCKET_IFNAME="eth0", OMP_NUM_THREADS="1",
                               PYTHONWARNINGS="ignore")
            ranks.append(subprocess.Popen(["ip", "netns", "exec", f"h{rank}", "chrt", "-r",
                                           str(PRIORITY), *command], env=environment))
        end = time.monotonic() + timeout_s
        while any(rank.poll() is None for rank in ranks):
            failed = any(rank.returncode not in (None, 0) for rank in ranks)
            if failed or time.monotonic() > end:
                for rank in ranks:
                    if rank.poll() is None:
                        rank.send_signal(signal.SIGKILL)
                why = "a rank failed" if failed else f"not done after {timeout_s} s"
                raise RuntimeError(f"{command[1:3]}: {why}")
            time.sleep(0.05)
        if any(rank.returncode != 0 for rank in ranks):
            raise RuntimeError(f"{command[1:3]}: a rank failed")
