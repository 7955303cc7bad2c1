"""One host that sends to the next for some seconds over a plain socket, as all do in a ring.

usage: rank_goodput.py SECONDS RESULTS.json   (RANK, WORLD_SIZE in the environment)
RESULTS: payload received by host 0, bytes/s, between a fifth and 95 % of the time.
"""

import json
import os
import socket
import sys
import threading
import time

from network import address

PORT = 5301
PIECE = 1 << 20


def main():
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    seconds = float(sys.argv[1])
    listener = socket.create_server((address(rank), PORT))
    arrived = []

    def receive():
        connection, _ = listener.accept()
        buffer, total = bytearray(PIECE), 0
        while (got := connection.recv_into(buffer)) > 0:
            total += got
            arrived.append((time.perf_counter(), total))

    thread = threading.Thread(target=receive)
    thread.start()
    time.sleep(0.7)  # until all listen
    with socket.create_connection((address((rank + 1) % world), PORT)) as sender:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            sender.sendall(bytes(PIECE))
    thread.join()
    if rank == 0:
        begin, last = arrived[0][0], arrived[-1][0]
        steady = [(t, total) for t, total in arrived
                  if begin + 0.2 * (last - begin) <= t <= begin + 0.95 * (last - begin)]
        rate = (steady[-1][1] - steady[0][1]) / (steady[-1][0] - steady[0][0])
        with open(sys.argv[2], "w", encoding="utf-8") as file:
            json.dump({"goodput_bytes_per_s": round(rate)}, file)


if __name__ == "__main__":
    main()
