# %% [markdown]
# # Latency over load
#
# Two routings of a dragonfly of 72 nodes under traffic that minimal routes carry up to a load of 1/8: every group sends to the next one,
# over one link for 8 terminals. The mean latency of packets is drawn over the offered load. Hollow marks are points at which the network is
# saturated: their latency depends on how long the run is.
#
# The cells run one after another in Jupyter, VS Code or Spyder, and the file runs as a program. It needs `netloom`, `polars` and `matplotlib`.

# %%
from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import netloom
import polars as pl

# %% [markdown]
# ## The experiment
#
# As in a file, but a dict. `netloom explain NAME` tells what a key means.

# %%
cable = {"bandwidth": "2 GiB/s", "latency": "29.802 ns", "credit_delay": "3.725 ns", "vc_buffer": "16 KiB"}
experiment: dict[str, Any] = {
    "experiment": {"name": "latency-load", "duration": "200 us", "warmup": "50 us"},
    "fabric": {
        "topology": "dragonfly",
        "groups": 9,
        "routers_per_group": 4,
        "terminals_per_router": 2,
        "global_ports_per_router": 2,
        "link": {"terminal": {**cable, "vc_buffer": "32 KiB"}, "local": cable, "global": cable},
    },
    "routing": {"algorithm": "minimal"},
    "job": [{"workload": "group-shift", "message": "1024 B", "load": 0.1, "arrival": "poisson"}],
    "model": {"kind": "packet", "router": "window", "packet": "1024 B", "chunk": "64 B", "router_delay": "100 ns"},
    "sweep": {
        "axis": [
            {"path": "routing.algorithm", "values": ["minimal", "ugal-l"]},
            {"path": "job.0.load", "values": [0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4]},
        ]
    },
}

# %% [markdown]
# ## The sweep
#
# A row for each point. With `out="latency-load"` points that ended are kept, and the same call goes on after an interruption.

# %%
points: pl.DataFrame = netloom.sweep(experiment, frames="polars", progress=True)
print(points.select("algorithm", "load", "state", "latency_ps.mean", "throughput.accepted_fraction"))

# %% [markdown]
# ## The figure

# %%
figure, axes = plt.subplots(figsize=(6, 4))
for (routing,), line in points.group_by("algorithm", maintain_order=True):
    microseconds = line["latency_ps.mean"] / 1e6
    (drawn,) = axes.plot(line["load"], microseconds, label=routing)
    carried = line["state"] != "saturated"
    for shown, face in ((carried, drawn.get_color()), (~carried, "white")):
        axes.plot(line["load"].filter(shown), microseconds.filter(shown), "o", color=drawn.get_color(), mfc=face)
axes.set_xlabel("offered load (fraction of the terminal link)")
axes.set_ylabel("mean packet latency (us)")
axes.set_ylim(bottom=0)
axes.legend(title="routing")
figure.tight_layout()
figure.savefig("latency-load.svg")
