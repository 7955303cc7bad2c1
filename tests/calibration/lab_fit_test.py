"""The lab's fit finds what made-up records were made of. usage: lab_fit_test.py FOLDER_OF_LAB"""

import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, sys.argv.pop())
import fit  # noqa: E402
import models  # noqa: E402

MODEL = "vgg16_32nd"
SHARE, STEP_S = 0.95, 150e-6


def record(hosts, scale):
    """Tensors take `scale` times what the model says; two hosts have a faster and a slower run."""
    layers = models.layers(MODEL)
    compute = {"id": "c", "model": MODEL, "mode": "compute", "iterations_s": [[0.4]] * hosts,
               "forward_s": [scale * layer["forward_s"] for layer in layers],
               "backward_s": [scale * layer["backward_s"] for layer in layers]}
    ddp = {"id": f"ddp{hosts}", "model": MODEL, "mode": "ddp", "bucket_cap_mib": 5,
           "slow": {"1": 1.5}, "iterations_s": [[0.5 * scale, 0.6 * scale, 0.7 * scale]] * hosts}
    least = {"op": "all_reduce", "bytes": 4096, "ranks": hosts,
             "times_s": [2 * (hosts - 1) * STEP_S] * 3}
    return {"network": {"hosts": hosts, "rate_mbit": 300, "uplink_mbit": None}, "run": 1,
            "date": "2026-11-21", "torch": "1.13", "kernel": "6.1.0-9", "load": 1.0,
            "goodput_bytes_per_s": SHARE * 300e6 / 8, "training": [compute, ddp],
            "collectives": [least]}


class Fit(unittest.TestCase):
    def setUp(self):
        self.records = [record(hosts, scale) for hosts in (2, 4) for scale in (0.9, 1.0, 1.1)]

    def test_link_is_the_sockets_share_and_a_step_the_least_all_reduce_over_its_steps(self):
        self.assertAlmostEqual(fit.link_share(self.records), SHARE)
        self.assertAlmostEqual(fit.step_us(self.records), 1e6 * STEP_S)

    def test_eight_hosts_and_racks_are_fitted_to_by_nothing(self):
        test = dict(record(4, 9.0), goodput_bytes_per_s=1.0)
        test["network"] = {"hosts": 8, "rate_mbit": 300, "uplink_mbit": None}
        racks = dict(test, network={"hosts": 4, "rate_mbit": 300, "uplink_mbit": 150})
        self.assertAlmostEqual(fit.link_share(self.records + [test, racks] * 9), SHARE)

    def test_a_tensors_time_is_the_median_and_a_row_that_over_repetitions(self):
        with tempfile.TemporaryDirectory() as folder:
            for i, made in enumerate(self.records):
                pathlib.Path(folder, f"x-run{i}.json").write_text(json.dumps(made))
            # The other models were not measured.
            models.MODELS = {MODEL: models.MODELS[MODEL]}
            fit.write(folder, folder)
            profile = pathlib.Path(folder, "lab", MODEL + ".yaml").read_text()
            series = pathlib.Path(folder, "lab.yaml").read_text()
            kept = json.loads(pathlib.Path(folder, "lab", "records.json").read_text())
        first = models.layers(MODEL)[0]
        self.assertIn(f"backward: {1e6 * first['backward_s']:.1f} us", profile)
        # 600 ms, and 54, 60, 66 tens of milliseconds by the scales: a deviation of 60.
        self.assertIn("measured: 600.00, stdev: 60.00, role: score", series)
        self.assertIn("stragglers: [{ranks: [1], compute: 1.5}]", series)
        self.assertEqual(kept[0]["kernel"], "6.1")
        self.assertEqual(kept[0]["training"][1]["p50_ms"], 540.0)

    def test_servers_a_slow_link_and_passes_are_told_in_the_scenario(self):
        servers = {"model": MODEL, "servers": 2, "iterations_s": [[0.4], [0.5], [0.6]]}
        with_servers = dict(self.records[0], network={"hosts": 5, "rate_mbit": 300, "uplink_mbit": None},
                            training=[dict(servers, id="alone", mode="alone"),
                                      dict(servers, id="ps", mode="ps_async")])
        slow = dict(self.records[0], network={"hosts": 8, "rate_mbit": 300, "uplink_mbit": None,
                                              "slow": [5, 100]},
                    training=[{"id": "accumulated", "model": MODEL, "mode": "ddp", "passes": 2,
                               "bucket_cap_mib": 5, "iterations_s": [[0.8]]}])
        text = fit.series_text([with_servers, slow], SHARE, 1e6 * STEP_S)
        self.assertIn("nodes: 3, gpus_per_node: 1, measured: 500.00", text)
        self.assertIn("strategy.servers: {count: 2, placement: separate}, "
                      "profile.iteration_time: 500.00 ms", text)
        self.assertNotIn("id: alone", text)
        self.assertIn("nodes: 5, link: {bandwidth: 285.00 Mbit/s", text)
        self.assertIn("nodes: 1, link: {bandwidth: 95.00 Mbit/s", text)
        self.assertIn("nodes: 2, link: {bandwidth: 285.00 Mbit/s", text)
        self.assertIn("strategy.bucket_cap: 5 MiB, strategy.grad_accumulation: 2", text)


if __name__ == "__main__":
    unittest.main()
