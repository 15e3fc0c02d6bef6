"""The Python package: python3 -m unittest discover python/tests"""
import json
import pathlib
import pickle
import threading
import unittest

import jsonschema
import numpy as np

import collsim


class Rows(unittest.TestCase):
    def test_a_textbook_ring_takes_what_its_formula_says(self):
        # 8 ranks, 50 GB/s, 1 us: 14 steps of 1 us + S / 8 / 50 GB/s.
        machine = collsim.load_machine("switch-8", "ideal")
        sizes = [1 << 20, 1 << 23]
        expected = [14 * (1 + size / 8 / 50e3) for size in sizes]
        for rows in (collsim.run(machine, sizes=sizes, algorithm="ring"),
                     collsim.estimate(machine, sizes=sizes, algorithm="ring")):
            np.testing.assert_allclose(rows["time_us"], expected, rtol=1e-6)
            self.assertEqual(rows["algorithm"], ["ring", "ring"])
            np.testing.assert_allclose(rows["busbw_gb_s"], 1.75 * rows["algbw_gb_s"])

    def test_columns_have_the_types_that_stubs_promise(self):
        rows = collsim.estimate("hgx-h200", sizes=[8, 1 << 20])
        self.assertEqual(rows["bytes"].dtype, np.int64)
        self.assertEqual(rows["time_us"].dtype, np.float64)
        self.assertEqual({len(values) for values in rows.values()}, {2})

    def test_ranks_environment_and_roots_count(self):
        four = collsim.estimate("hgx-h200", "broadcast", sizes=[1 << 26], ranks=4, root=3)
        eight = collsim.estimate("hgx-h200", "broadcast", sizes=[1 << 26])
        self.assertNotEqual(four["time_us"][0], eight["time_us"][0])
        ring = collsim.estimate("hgx-h200", sizes=[1 << 26], env={"NCCL_ALGO": "Ring"})
        self.assertEqual(ring["algorithm"], ["ring"])

    def test_wrong_input_is_a_value_error(self):
        for wrong in (lambda: collsim.load_machine("no-such-machine"), lambda: collsim.run("hgx-h200", "dance", sizes=[8]),
                      lambda: collsim.run("hgx-h200", sizes=[-1]), lambda: collsim.ask("run", "hgx-h200", no_such=1)):
            with self.assertRaises(ValueError):
                wrong()

    def test_numbers_are_whole(self):
        for size in (1.5, float("nan"), float("inf"), -1, True, np.True_, np.float64(0.5), 1 << 70, "8", None, [8]):
            with self.assertRaisesRegex(ValueError, "sizes"):
                collsim.estimate("hgx-h200", sizes=[size])
        for name in ("ranks", "root"):
            for value in (1.5, True, -1, 1 << 40, "2", float("nan")):
                with self.assertRaisesRegex(ValueError, name):
                    collsim.estimate("hgx-h200", sizes=[8], **{name: value})
        rows = collsim.estimate("hgx-h200", sizes=np.array([8, 16]), ranks=np.int32(4), root=np.uint8(0))
        self.assertEqual(list(rows["bytes"]), [8, 16])

    def test_a_machine_survives_a_pickle(self):
        machine = pickle.loads(pickle.dumps(collsim.load_machine("switch-8", "ideal")))
        self.assertEqual((machine.gpus, machine.calibration), (8, "ideal"))

    def test_the_release_is_named(self):
        self.assertRegex(collsim.__version__, r"^\d+\.\d+\.\d+$")

    def test_threads_answer_at_the_same_time(self):
        machine = collsim.load_machine("hgx-h200")
        expected = collsim.estimate(machine, sizes=[1 << 20])["time_us"][0]
        times = []
        threads = [threading.Thread(target=lambda: times.append(
            collsim.estimate(machine, sizes=[1 << 20])["time_us"][0])) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(times, [expected] * 8)


class Answers(unittest.TestCase):
    def test_every_question_has_a_document(self):
        self.assertTrue(collsim.explain("hgx-h200", b="4M"))
        self.assertTrue(collsim.crossover("hgx-h200", over_ranks=[2, 8]))
        self.assertTrue(collsim.choose("hgx-h200"))
        self.assertTrue(collsim.train("hgx-h200", model="llama2-7b", tp=8))
        self.assertTrue(collsim.expect("hgx-h200", c="all_reduce")["calls"])

    def test_a_low_busbw_has_status_1(self):
        recordings = pathlib.Path(__file__).resolve().parent.parent.parent / "recordings/published"
        answer = collsim.diagnose(recordings / "h100x2-gpu01-ring-nop2p-allreduce.yaml")
        self.assertEqual(answer.status, 1)
        self.assertEqual(answer["logs"][0]["verdict"], "low")


class Expectations(unittest.TestCase):
    def test_the_document_follows_its_schema(self):
        docs = pathlib.Path(__file__).parents[2] / "docs"
        schema = json.loads((docs / "expect.schema.json").read_text())
        for machine, words in [("hgx-h200", {}), ("dgx-h100-x4", {"simulate": True}), ("switch-8", {})]:
            document = collsim.expect(machine, b="1K", e="1M", f=32, **words)
            jsonschema.validate(dict(document), schema)
            self.assertGreaterEqual(len(document["calls"]), 2)
        with self.assertRaises(jsonschema.ValidationError):
            jsonschema.validate({**document, "ranks": 0}, schema)


if __name__ == "__main__":
    unittest.main()
