"""Rows of machines that were left out of the fits of transports, as tools/dev/cross-validate writes them."""
import json
import re
import statistics

LARGE = 1 << 24
# What a transport is of; what is left (NVLink alone) was fitted to no published run.
GROUPS = {"ib": "InfiniBand", "roce": "RoCE", "efa": "EFA", "efa-host": "EFA", "ofi": "Slingshot", "tcp": "TCP",
          "tcpx": "TCPX", "tcpxo": "TCPXO", "pcie": "PCIe and host memory"}


def machine_without_count(topology):
    """The machine, whatever its number of nodes: "polaris" of polaris-x4 and polaris-x8."""
    return re.sub(r"-x\d+$", "", topology)


def read_left_out(file):
    """Lists of rows by recording."""
    return json.loads(file.read_text())


def as_left_out(job, result, left_out):
    """The rows of a run as predicted without its machine, with what the shipped prediction rests on."""
    rows = left_out.get(job["file"])
    if rows is None:
        return None
    if len(rows) != len(result["rows"]):
        raise SystemExit(f"{job['file']}: {len(result['rows'])} rows, and {len(rows)} where its machine was left out; "
                         "run tools/dev/cross-validate again")
    return [{**shipped, "error": row["error"]} for shipped, row in zip(result["rows"], rows)]


def median_cells(rows):
    """Medians of absolute errors from 16 MiB and below, each with NCCL's own behind it."""
    cells = []
    for part in ([row for row in rows if row["size_bytes"] >= LARGE],
                 [row for row in rows if row["size_bytes"] < LARGE]):
        ours = [abs(row["error"]) for row in part]
        nccl = [abs(row["nccl_estimate_us"] / row["measured_us"] - 1) for row in part
                if row["nccl_estimate_us"] is not None]
        cells += [f"{100 * statistics.median(errors):.1f}" if errors else "-" for errors in (ours, nccl)]
    return cells


def left_out_table(jobs, results, left_out, planned, machine_of):
    """Lines of group, machine, rows and medians: of machines that no fit has seen, or that were left out of theirs. Runs
    that no plan lists, of machines that one lists with other runs, are neither."""
    seen = {(row["medium"], machine_without_count(machine_of(job)))
            for job, result in zip(jobs, results) if job["file"] in planned for row in result["rows"]}
    groups = {}
    for job, result in zip(jobs, results):
        rows = as_left_out(job, result, left_out)
        for row in rows or result["rows"]:
            group = GROUPS.get(row["medium"])
            machine = machine_without_count(machine_of(job))
            if group and (rows or (row["medium"], machine) not in seen):
                groups.setdefault(group, {}).setdefault(machine, []).append(row)
    for group in dict.fromkeys(GROUPS.values()):
        machines = groups.get(group, {})
        for machine, rows in sorted(machines.items()):
            yield [group, machine, str(len(rows)), *median_cells(rows)]
        if len(machines) > 1:
            every = [row for rows in machines.values() for row in rows]
            yield [f"**{group}**", "**all**", str(len(every)), *median_cells(every)]
