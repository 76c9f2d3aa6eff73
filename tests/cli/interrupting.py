"""python interrupting.py WHERE NUMBER ARGUMENTS: openwork with these arguments, and Ctrl-C at one exact moment of it.

WHERE says at which calls of functions, of which the one of that NUMBER is meant: `any`, or `forgotten`, those of the
import system's weak references, where Python reports and forgets what is raised. Counting begins when openwork begins
to heed Ctrl-C, some hundred lines after its first. NUMBER 0 only prints how many there are until the work is done.
`closing` is when the process ends.
"""

import atexit
import os
import runpy
import signal
import sys
from types import FrameType

where, number, arguments = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
count = 0
begun = False


def interrupt() -> None:
    sys.setprofile(None)
    os.kill(os.getpid(), signal.SIGINT)


def follow(frame: FrameType, event: str, _: object) -> None:
    global begun, count
    name = frame.f_code.co_name
    if event == "return" and name == "end_at_once_on_ctrl_c":
        begun = True
    elif event == "return" and name == "flush_streams":
        sys.setprofile(None)
        if not number:
            print(f"CALLS {count}", file=sys.stderr)
    elif event == "call" and begun:
        is_callback = name == "cb" and frame.f_code.co_filename.startswith("<frozen importlib")
        count += where == "any" or is_callback
        if number and count == number:
            interrupt()


signal.signal(signal.SIGINT, signal.default_int_handler)  # which a background job of a shell would not have
sys.argv = ["openwork", *arguments]
if where == "closing":
    atexit.register(interrupt)
else:
    sys.setprofile(follow)
runpy.run_module("openwork", run_name="__main__", alter_sys=True)
