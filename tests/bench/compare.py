#!/usr/bin/env python3
"""The tensor engine beside PyTorch: bench_engine_* and torch_engine.py in turn, several rounds, the
fastest call of each, as a table in Markdown. No part of the build: run by hand with a Python that
has PyTorch, on a computer with nothing else to do, for instance
    python3 compare.py ../../build/release/bin/bench --threads 2
Columns: microseconds of ours, of PyTorch, how many times as fast ours is, and the part of its time
that the bound of engine_rows.h would take. Rows of packed weights, which PyTorch has not, stand
beside its plain ones. With --device cuda both once more as recorded graphs.
"""
import argparse
import json
import os
import re
import subprocess
import sys

PARTS = ("dense", "ops", "attention", "vit")
HERE = os.path.dirname(os.path.abspath(__file__))


def ours(options):
    """{name: {counter: least value}}"""
    rows = {}
    for part in options.parts:
        command = [os.path.join(options.folder, "bench_engine_" + part),
                   f"--threads={options.threads}", f"--device={options.device}",
                   "--benchmark_format=json", f"--benchmark_filter={options.filter or '.'}"]
        text = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
        for row in json.loads(text or '{"benchmarks": []}')["benchmarks"]:
            name = re.sub("/min_time.*", "", row["name"])
            rows[name] = {key: row[key] for key in ("best_us", "graph_us", "bound_us")
                          if key in row}
    return rows


def peers(options, graph):
    command = [sys.executable, os.path.join(HERE, "torch_engine.py"), "--device", options.device,
               "--threads", str(options.threads), "--filter", peer_name(options.filter)]
    text = subprocess.run(command + ["--graph"] * graph, check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    return {name.strip(): {"peer_graph_us" if graph else "peer_us": float(time)}
            for name, time in re.findall(r"^(.+?)\s+([\d.]+) us", text, re.M)}


def peer_name(name):
    return name.replace("packed ", "").replace("winograd ", "")


def keep_least(table, rows):
    for name, row in rows.items():
        known = table.setdefault(name, {})
        for key, value in row.items():
            known[key] = min(value, known.get(key, value))


def cell(value):
    return "" if value is None else f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def ratio(part, whole):
    return f"{part / whole:.2f}" if part and whole else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="with the programs")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--parts", nargs="+", default=PARTS, choices=PARTS)
    parser.add_argument("--filter", default="", help="regular expression over names")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    options = parser.parse_args()
    on_gpu = options.device != "cpu"
    mine, theirs = {}, {}
    for _ in range(options.rounds):
        keep_least(mine, ours(options))
        for graph in [False, True][:1 + on_gpu]:
            keep_least(theirs, peers(options, graph))
    print("| row | ours | PyTorch | ratio | bound |"
          + " ours, graph | PyTorch, graph | ratio |" * on_gpu)
    print("|---|---|---|---|---|" + "---|---|---|" * on_gpu)
    for name, row in mine.items():
        peer = theirs.get(peer_name(name), {})
        cells = [name, cell(row["best_us"]), cell(peer.get("peer_us")),
                 ratio(peer.get("peer_us"), row["best_us"]),
                 ratio(row.get("bound_us"), row["best_us"])]
        if on_gpu:
            cells += [cell(row.get("graph_us")), cell(peer.get("peer_graph_us")),
                      ratio(peer.get("peer_graph_us"), row.get("graph_us"))]
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
