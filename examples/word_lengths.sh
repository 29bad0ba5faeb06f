#!/bin/sh
# A workload of one's own for esched that is no Python script with a function
# run: any command will do. This one gives Dask its work through a program of
# its own, and only has to keep the contract:
#   ESCHED_PARAMS     file with the parameters, as JSON
#   ESCHED_SCHEDULER  address of the Dask scheduler
#   ESCHED_RESULT     where to write the result, as JSON
set -eu
exec python3 - <<'END'
import json
import os

from distributed import Client

with open(os.environ["ESCHED_PARAMS"]) as file:
    words = json.load(file)["text"].split()
with Client(os.environ["ESCHED_SCHEDULER"]) as client:
    lengths = client.gather(client.map(len, words, pure=False))
with open(os.environ["ESCHED_RESULT"], "w") as file:
    json.dump(lengths, file)
END
