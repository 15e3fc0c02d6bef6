"""collsim: how long a collective takes on a GPU machine, and why.

    import collsim
    rows = collsim.run("hgx-h200", sizes=[1 << 20, 1 << 26])
    rows["time_us"]                       # a NumPy array, a value per size
    pandas.DataFrame(rows)                # all columns

`run` and `estimate` return columns. Every other question of the command is a function of its name, whose keywords are the
command's options; it returns what `--format json` prints, as dicts and lists. Wrong input is a ValueError.
"""
import json as _json
import os as _os

from . import _collsim
from ._collsim import (Machine, algorithm_names, calibration_names, collective_names, engine_names, machine_names)

__all__ = ["Answer", "Machine", "advise", "algorithm_names", "ask", "calibration_names", "check", "choose",
           "collective_names", "crossover", "diagnose", "engine_names", "estimate", "expect", "explain", "faults",
           "hang", "load_machine", "machine_names", "moe", "plan", "replay", "run", "serve", "train", "validate"]
__version__ = _collsim.version


def load_machine(topology, calibration=""):
    """A machine by the name of a shipped one (machine_names()) or by a file; `calibration` likewise, the machine's own
    where it is left out. A machine can be pickled: it is loaded again by that name, or from that file."""
    named = [_os.path.abspath(each) if _os.path.exists(each) else str(each) for each in (topology, calibration)]
    machine = _collsim.load_machine(*named)
    machine._named = named
    return machine


Machine.__reduce__ = lambda machine: (load_machine, tuple(machine._named))


_MOST = {"sizes": 1 << 50, "ranks": (1 << 32) - 1, "root": (1 << 32) - 1}


def _whole(name, value):
    """A number of Python's or NumPy's as an int; ValueError for what is no whole number from 0 to the most that `name`
    takes. True and False are no numbers here."""
    wrong = ValueError(f"{name}: {value!r:.60}; a whole number from 0 to {_MOST[name]}")
    if isinstance(value, (str, bytes)) or type(value).__name__ in ("bool", "bool_"):
        raise wrong
    try:
        number = int(value) if value == int(value) else -1
    except (TypeError, ValueError, OverflowError):
        raise wrong from None
    if not 0 <= number <= _MOST[name]:
        raise wrong
    return number


def _sizes(sizes):
    return [_whole("sizes", size) for size in sizes]


def _call(collective, schedule, algorithm, protocol, ranks, root, env):
    call = _collsim.Call()
    call.collective, call.schedule, call.algorithm, call.protocol = collective, schedule, algorithm, protocol
    call.variables = {str(name): str(value) for name, value in (env or {}).items()}
    call.ranks = None if ranks is None else _whole("ranks", ranks)
    call.root = _whole("root", root)
    return call


def _machine(machine):
    return machine if isinstance(machine, Machine) else load_machine(machine)


def run(machine, collective="all_reduce", *, sizes, schedule="", algorithm="", protocol="", ranks=None, root=0, env=None,
        engine="native"):
    """Simulates a call of each size, as `collsim run` does.

    machine: a Machine, or a name or file of one. sizes: bytes, as nccl-tests counts them. ranks: the first GPUs (default:
    all). env: NCCL's variables. Returns a dict of columns, all of shape (len(sizes),): bytes, time_us, algbw_gb_s and
    busbw_gb_s (1e9 bytes a second), bound_us (no run can be faster), nccl_estimate_us (NaN where NCCL has none),
    algorithm, protocol, channels, trust.
    """
    call = _call(collective, schedule, algorithm, protocol, ranks, root, env)
    return _collsim.simulate(_machine(machine), call, _sizes(sizes), engine)


def estimate(machine, collective="all_reduce", *, sizes, schedule="", algorithm="", protocol="", ranks=None, root=0,
             env=None):
    """The same columns as run() by formulas, which take microseconds a size. There is no engine to choose."""
    call = _call(collective, schedule, algorithm, protocol, ranks, root, env)
    return _collsim.estimate(_machine(machine), call, _sizes(sizes))


class Answer(dict):
    """The document that `--format json` prints. `status` is the exit code: 0, or 1 where the answer is no (a log is not
    healthy, a job hangs). `messages` is what the command told beside it."""

    status = 0
    messages = ""


def _words(name, value):
    option = ("-" if len(name) == 1 else "--") + name.replace("_", "-")
    if type(value).__name__ in ("bool", "bool_"):  # Python's and NumPy's
        return [option] if value else []
    if value is None:
        return []
    if isinstance(value, dict):
        return [word for key, each in value.items() for word in (option, f"{key}={each}")]
    if isinstance(value, (list, tuple)):
        return [option, ",".join(str(each) for each in value)]
    return [option, str(value)]


def ask(subcommand, *arguments, **options):
    """The answer of `collsim SUBCOMMAND ARGUMENT... --OPTION VALUE...` as a document.

    Options have the command's names, with `_` for `-`: over_ranks="2..8", nccl_version="2.28", t="hgx-h200". True stands
    for an option without a value, a list for values between commas, a dict for repeated K=V. Raises ValueError for wrong
    input, with the command's message.
    """
    words = [subcommand, *(str(each) for each in arguments)]
    for name, value in options.items():
        words += _words(name, value)
    status, out, err = _collsim.ask([*words, "--format", "json"])
    if status == 130:
        raise KeyboardInterrupt
    if status not in (0, 1):
        raise (ValueError if status == 2 else RuntimeError)(err.strip().removeprefix("collsim: "))
    parsed = _json.loads(out) if out else {}
    answer = Answer(parsed if isinstance(parsed, dict) else {"rows": parsed})
    answer.status, answer.messages = status, err
    return answer


def _question(subcommand, text):
    def question(*arguments, **options):
        return ask(subcommand, *arguments, **options)

    question.__name__ = question.__qualname__ = subcommand
    question.__doc__ = f"{text}\n\n`collsim {subcommand} --help` lists its arguments and options; see ask()."
    return question


expect = _question("expect", "What each call of a communicator should take, with its range.")
explain = _question("explain", "One call: what NCCL chooses and why, and where the time goes.")
choose = _question("choose", "NCCL's choices on a machine: rings, trees, algorithm by size.")
crossover = _question("crossover", "Sizes (bytes) at which algorithms and protocols cross over.")
plan = _question("plan", "Which machine, how many nodes, at what cost.")
train = _question("train", "How long a step of training takes.")
serve = _question("serve", "How long a token or a prompt takes of a served model.")
moe = _question("moe", "The exchange of a mixture of experts, and what its skew costs.")
validate = _question("validate", "Predictions beside recorded runs, with errors in percent.")
diagnose = _question("diagnose", "Whether a log's busbw is right and, if not, why. `status` is 1 where it is not healthy.")
hang = _question("hang", "Who made a PyTorch job hang. `status` is 1 where one hangs.")
replay = _question("replay", "What a traced step did, and what it would take with other settings or elsewhere.")
check = _question("check", "Proves that plans deliver every contribution once. `status` is 1 where one is wrong.")
advise = _question("advise", "Which settings, placements and faults change the time.")
faults = _question("faults", "Which link, degraded, costs the most time.")
