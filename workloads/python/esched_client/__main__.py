"""The process that executes the trials of one deployment, one at a time."""

import argparse
import platform
import sys

from esched_client import protocol


def main():
    """Serve requests until standard input ends or a request says quit."""
    parser = argparse.ArgumentParser(prog="esched_client", description=__doc__)
    scheduler = parser.add_mutually_exclusive_group(required=True)
    scheduler.add_argument("--scheduler", help="address of the Dask scheduler")
    scheduler.add_argument("--scheduler-file", help="file that has it, as soon as the scheduler runs")
    parser.add_argument("--wait", type=float, default=30.0, help="seconds to wait for that file")
    parser.add_argument("--connect-timeout", type=float, default=30.0, help="seconds")
    arguments = parser.parse_args()
    # Before anything is imported that could print.
    channel = protocol.Channel.take_standard_streams()

    import dask
    import distributed
    import numpy

    from esched_client import address, trial

    client = distributed.Client(
        arguments.scheduler or address.wait_for(arguments.scheduler_file, arguments.wait), timeout=arguments.connect_timeout, set_as_default=True
    )
    try:
        versions = {
            "python": platform.python_version(),
            "dask": dask.__version__,
            "distributed": distributed.__version__,
            "numpy": numpy.__version__,
        }
        channel.write({"ready": True, "versions": versions, "workers": len(client.ncores())})
        protocol.serve(channel, trial.operations(client))
    finally:
        client.close(timeout=5)
    return 0


if __name__ == "__main__":
    sys.exit(main())
