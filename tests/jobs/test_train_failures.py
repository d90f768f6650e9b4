"""What is said of a run whose method has a mistake."""

from fedbench.engine.machine import Machine
from fedbench.jobs import worker
from fedbench.plan.schedule import Schedule
from fedbench.spec import RunSpec
from fedbench.store import Results

SPEC = RunSpec(model={"mlp": {"hidden": 2}}, clients=2, rounds=1)


def test_the_log_names_the_file_with_the_traceback(tmp_path, monkeypatch):
    def broken(*args, **options):
        raise AttributeError("'Tensor' object has no attribute 'foo'")

    monkeypatch.setattr(worker, "run", broken)
    schedule = Schedule(fingerprint="x", scale="demo", runs={SPEC.id: SPEC}, searches={}, papers={})
    said = []
    assert worker.train(schedule, [SPEC.id], tmp_path, Machine("cpu"), None, said.append) == [
        SPEC.id
    ]
    file = Results(tmp_path).run(SPEC.id).path / "error.txt"
    assert said[-1].endswith(f"failed: 'Tensor' object has no attribute 'foo' (traceback: {file})")
    assert "in broken" in file.read_text()
