"""The command `openwork`, also as `python -m openwork`. Ctrl-C is handled before anything large is imported."""

from openwork.cli.interrupts import end_at_once_on_ctrl_c


def main() -> None:
    """The entry point of the console script."""
    end_at_once_on_ctrl_c()
    from openwork.cli.main import main as command_line

    command_line()


if __name__ == "__main__":
    main()
