"""What every rank of the lab does first."""

import datetime
import os

import torch
import torch.distributed as dist


def join():
    """Joins the group that the environment names, on one thread. @return rank, world size."""
    torch.set_num_threads(1)
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", rank=rank, world_size=world,
                            timeout=datetime.timedelta(seconds=120))
    return rank, world
