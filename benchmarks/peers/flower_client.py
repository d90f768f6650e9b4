"""What Flower's worker processes run: one client's local epoch."""

from functools import cache

import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from speed.workload import WORKLOADS, Plain
from torch import Tensor, nn

app = ClientApp()


@cache
def samples(name: str) -> tuple[Tensor, Tensor]:
    """All clients' samples, made once per worker process."""
    return WORKLOADS[name].images()


@app.train()
def train(message: Message, context: Context) -> Message:
    """Train the model that was sent on the samples of the client whose turn it is."""
    name = str(message.content["config"]["workload"])
    workload, (x, y) = WORKLOADS[name], samples(name)
    net = Plain(name)
    net.load_state_dict(message.content["arrays"].to_torch_state_dict())
    optimiser = torch.optim.SGD(net.parameters(), lr=workload.lr)
    start = workload.rows(int(context.node_config["partition-id"])).start
    for rows in torch.split(torch.randperm(workload.samples) + start, workload.batch):
        optimiser.zero_grad()
        nn.functional.cross_entropy(net(x[rows]), y[rows]).backward()
        optimiser.step()
    reply = RecordDict(
        {
            "arrays": ArrayRecord(net.state_dict()),
            "metrics": MetricRecord({"num-examples": workload.samples}),
        }
    )
    return Message(content=reply, reply_to=message)
