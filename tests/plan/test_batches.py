"""Which jobs train which runs, the longest first, and what each asks for; numbers by hand."""

import pytest

from fedbench.plan.plan import make_plan
from fedbench.plan.train_jobs import Job, elapsed, make_jobs, memory_mb
from fedbench.spec import RunSpec
from tests.project import PAPER, make_project


def plan_of(folder, seeds=1, settings=""):
    """A paper of two methods on digits, with these seeds and further settings."""
    text = PAPER.replace("seeds: [0, 1]", f"seeds: {list(range(seeds))}")
    text = text.replace("lr: 0.1", f"lr: 0.1{settings}")
    return make_plan(make_project(folder, text) / "workflow", "paper", tables=("table1",))


def taking(plan, *seconds):
    """The runs of a plan, which take so many seconds, in turn."""
    return dict(zip(plan.runs, seconds, strict=True))


def numbered(jobs, plan):
    """The places of each job's runs in the plan."""
    ids = list(plan.runs)
    return [[ids.index(run_id) for run_id in job.runs] for job in jobs]


def test_24_short_runs_are_two_jobs_on_two_cores(tmp_path):
    # 24 runs of 1 s: 12 s a core, which is less than a minute and not cut further
    plan = plan_of(tmp_path, seeds=12)
    jobs = make_jobs(plan, taking(plan, *[1.0] * 24), size=24, cores=2)
    assert [(len(job.runs), job.seconds) for job in jobs] == [(12, 12.0), (12, 12.0)]


def test_long_runs_are_four_jobs_or_more_on_each_core(tmp_path):
    # 24 runs of 100 s on 2 cores: 1,200 s a core, a quarter of which is 300 s, three runs
    plan = plan_of(tmp_path, seeds=12)
    jobs = make_jobs(plan, taking(plan, *[100.0] * 24), size=24, cores=2)
    assert [job.seconds for job in jobs] == [300.0] * 8


def test_a_job_has_no_more_runs_than_its_size(tmp_path):
    plan = plan_of(tmp_path, seeds=12)
    jobs = make_jobs(plan, taking(plan, *[1.0] * 24), size=7, cores=2)
    assert [len(job.runs) for job in jobs] == [6, 6, 6, 6]


def test_without_a_number_of_cores_the_size_decides(tmp_path):
    # 24 runs at most 10 a job: three jobs of 8, not 10, 10 and 4
    plan = plan_of(tmp_path, seeds=12)
    jobs = make_jobs(plan, taking(plan, *[100.0] * 24), size=10)
    assert [len(job.runs) for job in jobs] == [8, 8, 8]


def test_a_job_of_a_cluster_takes_about_20_minutes(tmp_path):
    # 24 runs of 100 s are 40 minutes: two jobs; of 1 s one; a run of an hour is a job of its own
    plan = plan_of(tmp_path, seeds=12)
    for seconds, sizes in ((100.0, [12, 12]), (1.0, [24]), (3600.0, [1] * 24)):
        jobs = make_jobs(plan, taking(plan, *[seconds] * 24))
        assert [len(job.runs) for job in jobs] == sizes


def test_a_cluster_is_asked_for_three_times_what_is_expected():
    # 20 minutes: 60, and five to begin with; a ResNet-50 is slower than 50 samples per second
    assert Job("", "", False, {}, 1200).minutes == 65
    assert Job("", "", False, {}, 1).minutes == 6


def test_jobs_take_similar_times_and_the_longest_starts_first(tmp_path):
    # 9 | 5 + 3 + 2, which is full, so that the other 2 and the 1 go to the 9
    plan = plan_of(tmp_path, seeds=3)
    jobs = make_jobs(plan, taking(plan, 1, 9, 2, 5, 2, 3), size=3)
    assert [job.seconds for job in jobs] == [12, 10]
    assert numbered(jobs, plan) == [[0, 1, 4], [2, 3, 5]]  # in the order of the plan


def test_the_trials_that_a_search_waits_for_are_jobs_of_their_own_and_come_first(tmp_path):
    # 2 methods × 1 seed share no search; each search has 2 trials
    plan = plan_of(tmp_path, settings=", tune: {grid: {lr: [0.1, 0.2]}}")
    runs = {run_id: 100.0 if run.tune else 1.0 for run_id, run in plan.runs.items()}
    jobs = make_jobs(plan, runs, size=24, cores=2)
    assert [job.trial for job in jobs] == [True, False, False]
    assert [len(job.runs) for job in jobs] == [4, 1, 1]
    assert [job.search for job in jobs] == ["", *plan.searches.values()]


FOUR_RATES = ", tune: {grid: {lr: [0.1, 0.2, 0.3, 0.4]}}"


@pytest.mark.parametrize(
    ("size", "longest", "shared"),
    [
        (24, 100.0, [1] * 8),  # 8 of 100 s on two cores: jobs of 100 s, a quarter of 400 s
        (24, 10.0, [1, 1]),  # 8 of 10 s: two jobs, of 40 s each
        (6, 10.0, [1, 1]),  # 4 + 4 do not go into a job of 6
        (3, 10.0, [1, 1, 1, 1]),  # 4 do not go into a job of 3: two jobs of 2 for each search
    ],
)
def test_the_trials_of_a_search_are_not_mixed_with_others(tmp_path, size, longest, shared):
    plan = plan_of(tmp_path, settings=FOUR_RATES)
    runs = {run_id: 0.1 if run.tune else longest for run_id, run in plan.runs.items()}
    everything = make_jobs(plan, runs, size=size, cores=2)
    assert sorted(run_id for job in everything for run_id in job.runs) == sorted(plan.runs)
    assert max(len(job.runs) for job in everything) <= size
    jobs = [job for job in everything if job.trial]
    search = {trial: name for name, trials in plan.trials.items() for trial in trials}
    assert [len({search[run_id] for run_id in job.runs}) for job in jobs] == shared


@pytest.mark.parametrize(
    ("seconds", "cores", "ends"),
    [
        ([4, 3, 2, 1], 2, 5),  # 4 + 1 and 3 + 2
        ([10], 2, 10),  # one run: the other core has nothing to do
        ([10, 1, 1], 2, 10),
        ([], 2, 0),
    ],
)
def test_a_core_takes_the_next_job_when_it_has_ended_one(seconds, cores, ends):
    assert elapsed(seconds, cores) == ends


CIFAR = 2 * 60_000 * 3 * 32 * 32 / 2**20  # 351.6 MB


@pytest.mark.parametrize(
    ("settings", "megabytes"),
    [
        # a process, the data set twice, the model at a batch of 64
        ({"model": "lenet5", "batch": 64}, 1000 + CIFAR + 200),
        ({"model": "lenet5", "batch": 10}, 1000 + CIFAR + 200),
        ({"model": "lenet5", "batch": 256}, 1000 + CIFAR + 4 * 200),
        # all 500 samples of a client at once
        ({"model": "lenet5", "batch": None}, 1000 + CIFAR + 500 / 64 * 200),
        # two vectors of 0.3 MB for each of 100 clients
        ({"model": "lenet5", "batch": 64, "parts": ["scaffold"]}, 1000 + CIFAR + 200 + 60),
        # 9,000 MB of states, of which all but 4,000 lie on disk
        ({"model": "rn18", "batch": 64, "parts": ["scaffold"]}, 1000 + CIFAR + 1650 + 4000),
    ],
)
def test_memory_is_that_of_the_process_the_data_the_model_and_the_states(settings, megabytes):
    run = RunSpec(dataset="cifar10", clients=100, **settings)
    assert memory_mb(run) == pytest.approx(megabytes, abs=1)


def test_images_that_are_mapped_from_a_file_count_little():
    mapped, model = RunSpec(dataset="imagenet100", model="lenet5"), 200
    assert memory_mb(mapped) == 1000 + 4000 + model
