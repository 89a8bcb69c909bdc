#!/usr/bin/env python3
"""Checks include direction: every project include of a file in src/ must point into its own folder or into one that
cmake/Architecture.cmake allows for it, and only src/kernel spells /sys and /proc. With --headers it also compiles each
header alone.

usage: check_includes.py BUILD_DIR [--headers CXX]
"""
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
SYSTEM_PATH = re.compile(r'"[^"]*(/sys/|/proc/)[^"]*"')


def load_rules(build_dir):
    folder_of, allowed = {}, {}
    with open(os.path.join(build_dir, "architecture.txt")) as f:
        for line in f:
            folder, edges = line.rstrip("\n").split("|")
            name = os.path.basename(folder)
            folder_of[name] = folder[len("src/"):]
            allowed[folder] = [e for e in edges.split(" ") if e]
    return {folder: {folder_of[e] for e in edges} | {folder[len("src/"):]} for folder, edges in allowed.items()}


def sources():
    out = subprocess.run(["git", "ls-files", "src/*.hpp", "src/*.cpp"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [p for p in out.stdout.split("\n") if p and os.path.exists(os.path.join(ROOT, p))]


def check_edges(rules):
    faults = []
    for path in sources():
        owner = os.path.dirname(path)
        if owner not in rules:
            faults.append(f"{path}: its folder is not in cmake/Architecture.cmake")
            continue
        with open(os.path.join(ROOT, path)) as f:
            for number, line in enumerate(f, 1):
                m = INCLUDE.match(line)
                if m and os.path.dirname(m.group(1)) not in rules[owner]:
                    faults.append(f"{path}:{number}: {owner} must not include {m.group(1)}")
                if owner != "src/kernel" and SYSTEM_PATH.search(line.split("//")[0]):
                    faults.append(f"{path}:{number}: only src/kernel spells /sys and /proc")
    return faults


def check_headers(cxx):
    flags = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I", os.path.join(ROOT, "src"),
             "-DBOOST_ASIO_SEPARATE_COMPILATION", "-DBOOST_BEAST_SEPARATE_COMPILATION", "-DSPDLOG_FMT_EXTERNAL"]

    def one(header):
        with tempfile.NamedTemporaryFile("w", suffix=".cpp") as f:
            f.write(f'#include "{header[len("src/"):]}"\n#include "{header[len("src/"):]}"\n')
            f.flush()
            r = subprocess.run([cxx, *flags, f.name], capture_output=True, text=True)
            return None if r.returncode == 0 else f"{header}: does not compile alone:\n{r.stderr[:2000]}"

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [f for f in pool.map(one, [s for s in sources() if s.endswith(".hpp")]) if f]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    faults = check_edges(load_rules(sys.argv[1]))
    if "--headers" in sys.argv:
        faults += check_headers(sys.argv[sys.argv.index("--headers") + 1])
    for fault in faults:
        print(fault)
    print(f"include direction: {len(sources())} files, {len(faults)} faults")
    sys.exit(1 if faults else 0)


main()
