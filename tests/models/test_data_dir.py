"""Published weights are read from the data folder that a run is given."""

import pytest
import torch
from safetensors.torch import save_file

from fedbench import FedbenchError, Machine, RunSpec
from fedbench.data.dataset import Inputs
from fedbench.engine.assemble import assemble
from tests.models.networks import SMALL, small

CPU = Machine(device="cpu", workers=1)


def test_published_weights_are_read_from_the_given_data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path / "elsewhere"))
    backbone = small("vitsmall", Inputs((1, 8, 8), 10)).body[1].state_dict()
    file = tmp_path / "given" / "vit_small_patch16_224" / "model.safetensors"
    file.parent.mkdir(parents=True)
    save_file({name: torch.full_like(value, 0.5) for name, value in backbone.items()}, file)
    spec = RunSpec(model={"vitsmall": SMALL["vitsmall"] | {"weights": "pretrained"}})
    problem = assemble(spec, {}, CPU, tmp_path / "given")
    module = problem.task.net.module().get_submodule("body.1")
    assert all((value == 0.5).all() for value in module.state_dict().values())
    with pytest.raises(FedbenchError, match=r"elsewhere/vit_small_patch16_224/.* is not there"):
        assemble(spec, {}, CPU, None)
