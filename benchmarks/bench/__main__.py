"""`make bench`: see `make bench ARGS=--help`; with `--device` the benchmark of GPUs (benchmarks/gpu.py)."""

import sys
from pathlib import Path

from bench.harness import measure
from bench.options import Options, read_options
from bench.plan import Work, plan
from bench.quality import time_to_quality
from bench.record import Record
from bench.report import summary_of, tables
from machine import describe_machine
from openwork.base.errors import OpenworkError

LEFT = 3  # exit code: measurements are left


def say(line: str) -> None:
    """For a person: results go to a file and, as tables, to standard output."""
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    if "--device" in sys.argv:
        from gpu import main as measure_gpu

        measure_gpu(sys.argv[1:])
        return 0
    options = read_options(sys.argv[1:])
    try:
        return time_to_quality(options, say) if options.quality else _compare(options)
    except OpenworkError as error:
        say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        say(f"stopped; {options.out} has what was measured, and the same command goes on")
        return 130


def _compare(options: Options) -> int:
    work = Work(options, say)
    chosen = plan(options, work)
    record = Record(options.out, describe_machine(), options.compared())
    if record.continued:
        say(f"going on with {options.out}")
    if options.retry:
        record.forget_failures()
    left = measure(chosen, record, options, say)
    summary = summary_of(record.results, options)
    record.save(summary)
    print(tables(record.results, summary), flush=True)
    say(f"written: {Path(options.out)}" + (f"; {left} measurements are left" if left else ""))
    return LEFT if left else 0


if __name__ == "__main__":
    sys.exit(main())
