"""A cluster of Ray with two nodes on this machine: ``python two_nodes.py FOLDER [CPUS GPUS]`` prints its address.

Each node says that it has so many processors, and the second one that it has GPUs. The processes of the second node are
run by the Python that ``SECOND_PYTHON`` names, if it does.

A line on standard input takes the second node away, the end of the input ends it all.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from ray._private import ray_constants
from ray.cluster_utils import Cluster

ray_constants.ENABLE_RAY_CLUSTER = False  # so that it is at the loopback, and reached by nobody else

if __name__ == "__main__":
    cpus, gpus = map(int, sys.argv[2:] or (1, 0))
    usual: dict[str, Any] = {"num_cpus": cpus, "object_store_memory": 100_000_000}
    cluster = Cluster(
        initialize_head=True,
        head_node_args={**usual, "num_gpus": 0, "include_dashboard": False, "temp_dir": sys.argv[1]},
    )
    sys.executable = os.environ.get("SECOND_PYTHON", sys.executable)
    other = cluster.add_node(**usual, num_gpus=gpus)
    print(cluster.address, flush=True)
    for _ in sys.stdin:
        cluster.remove_node(other, allow_graceful=False)
        print("gone", flush=True)
    cluster.shutdown()  # type: ignore[no-untyped-call] # Ray is not typed
