"""The server from its start to its end: the socket, the signals, and uvicorn around the application."""

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

import uvicorn

from openwork.base.errors import LOGGER, OpenworkError, UsageError
from openwork.base.messages import msg
from openwork.base.phrases import AsIs
from openwork.serving.app import make_app
from openwork.serving.connections import REFUSED, bounded_protocol
from openwork.serving.guarding import App
from openwork.serving.inspecting.runs_route import make_runs_app
from openwork.serving.service import ServedModel, Service
from openwork.serving.settings import ServerSettings

LOG = logging.getLogger("openwork.serving")
BACKLOG = 1024  # connections that wait to be taken
COLLECTED = (10_000, 5, 100)
"""When Python looks for garbage (gc.set_threshold). With its own numbers it looks through all objects of thousands of
requests that wait each time that they are a quarter more, which stopped the server for half a second and longer."""
OTHER_FILES = 256  # that the server opens besides connections
SLOW_SECONDS = 30  # that running requests may take after the server was asked to end


def serve(
    models: Mapping[str, ServedModel],
    settings: ServerSettings,
    show: Callable[[str], None],
    ready: Callable[[str], None],
) -> None:
    """Serves until SIGINT or SIGTERM; SIGHUP loads the bundles again. `show` gets the address and the log.

    `ready` gets the address, in a thread of its own, when the bundles are loaded.

    UsageError for a port that is taken, OpenworkError for bundles that cannot be loaded.
    """
    _refuse_windows()
    _raise_open_files(settings.connections)
    logging.root.addHandler(_Shown(show))
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = not LOGGER.handlers  # the command line shows its lines already
    with _bound(settings) as listening, asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(Service(models, settings), settings, listening, show, ready))


def serve_runs(
    folders: Sequence[Path], settings: ServerSettings, show: Callable[[str], None], ready: Callable[[str], None]
) -> None:
    """Serves the page of these trainings, and nothing else, until SIGINT or SIGTERM."""
    _refuse_windows()
    with _bound(settings) as listening, asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_listen(make_runs_app(folders, settings), settings, listening, show, ready))


def _refuse_windows() -> None:
    if sys.platform == "win32":
        raise UsageError(
            "openwork does not serve on Windows",
            why="it needs signals and copies of a process, which Windows does not have",
            hint="use WSL; openwork translate and openwork runs --html need no server",
            code="U138",
        )


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's where it is installed; else asyncio's own."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


class _Shown(logging.Handler):
    """Gives each line of the log to a function."""

    def __init__(self, show: Callable[[str], None]) -> None:
        super().__init__()
        self.show = show

    def emit(self, record: logging.LogRecord) -> None:
        self.show(AsIs(self.format(record)))


def _raise_open_files(connections: int) -> None:
    """Lets this process have so many connections open, as far as the system lets it."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = REFUSED * connections + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _bound(settings: ServerSettings) -> socket.socket:
    """A socket at the address; UsageError where that cannot be had."""
    if settings.socket is not None:
        return _bound_privately(settings.socket)
    try:
        listening = socket.create_server((settings.host, settings.port), backlog=BACKLOG)
    except OSError as error:
        raise UsageError(
            f"{settings.host}:{settings.port}: cannot be listened at",
            why=error.strerror or str(error),
            hint="another --port, or 0 for any that is free",
            code="U139",
        ) from error
    # asyncio does it for its own sockets alone; else an answer in two parts waits 40 milliseconds for the client
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _bound_privately(path: Path) -> socket.socket:
    """A Unix socket that this user alone may open, in place of one that nobody listens at."""
    if _is_listened_at(path):
        raise UsageError(
            f"{path}: a daemon is running already",
            why="there is one for each user",
            hint="end it (Ctrl-C, or pkill -f 'openwork daemon'), or send it SIGHUP to load its bundles again",
            code="U152",
        )
    path.unlink(missing_ok=True)
    listening, mask = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), os.umask(0o177)
    try:
        listening.bind(os.fspath(path))
    except OSError as error:
        listening.close()
        raise UsageError(
            f"{path}: cannot be listened at", why=error.strerror or str(error),
            hint="set XDG_RUNTIME_DIR to a folder with a short path that this user may write", code="U153",
        ) from error  # fmt: skip
    finally:
        os.umask(mask)
    listening.listen(BACKLOG)
    return listening


def _is_listened_at(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        try:
            asking.connect(os.fspath(path))
        except OSError:
            return False
    return True


async def _serve(
    service: Service,
    settings: ServerSettings,
    listening: socket.socket,
    show: Callable[[str], None],
    ready: Callable[[str], None],
) -> None:
    await service.start()
    gc.collect()
    gc.freeze()  # what is there now stays
    gc.set_threshold(*COLLECTED)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, lambda: asyncio.ensure_future(_reload(service)))
    await _listen(make_app(service, settings), settings, listening, show, ready)


async def _listen(
    app: App,
    settings: ServerSettings,
    listening: socket.socket,
    show: Callable[[str], None],
    ready: Callable[[str], None],
) -> None:
    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, lifespan="on",
        ssl_certfile=settings.certificate, ssl_keyfile=settings.key, timeout_graceful_shutdown=SLOW_SECONDS,
        http=bounded_protocol(settings), ws="none", timeout_keep_alive=30,
    )  # fmt: skip
    server = uvicorn.Server(config)
    server.capture_signals = nullcontext  # type: ignore[method-assign]  # it would end this process by the signal again
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, _end, server)
    show(msg(f"serving at {_address(settings, listening)}; Ctrl-C ends it"))
    loop.run_in_executor(None, ready, _address(settings, listening))
    try:
        await server.serve([listening])
    finally:
        if settings.socket is not None:
            settings.socket.unlink(missing_ok=True)


def _address(settings: ServerSettings, listening: socket.socket) -> str:
    if settings.socket is not None:
        return str(settings.socket)
    host, port = listening.getsockname()[:2]
    return f"{'https' if settings.certificate else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"


def _end(server: uvicorn.Server) -> None:
    """What was started is finished; asked a second time, the server ends at once."""
    server.force_exit = server.should_exit
    server.should_exit = True


async def _reload(service: Service) -> None:
    try:
        await service.reload()
        LOG.info("the bundles were loaded again")
    except OpenworkError as error:
        LOG.error("the bundles are used as they were: %s", error.what)
