"""Which texts are translated together, and how long they wait for each other: worked by hand, with a given time."""

from typing import Any

import pytest

from openwork.serving.scheduling import BATCH_TOKENS, DEADLINE, Full, Job, JobQueue


def job(tokens: int = 10, group: str = "a", arrived: float = 0.0, **more: Any) -> Job:
    return Job(group, "text", tokens, arrived, {}, None, **more)


def filled(*jobs: Job, most: int = 1_000_000) -> JobQueue:
    queue = JobQueue(most)
    for one in jobs:
        queue.add([one])
    return queue


def test_a_lone_job_waits_for_the_deadline_and_no_longer() -> None:
    alone = job(arrived=100.0)
    queue = filled(alone)
    batch, waits = queue.take(100.0)
    assert batch == [] and waits == pytest.approx(DEADLINE)
    assert queue.take(100.0 + DEADLINE) == ([alone], 0.0)
    assert queue.take(100.0 + DEADLINE) == ([], float("inf")) and queue.tokens == 0


def test_a_full_batch_does_not_wait() -> None:
    first, second, third = (job(BATCH_TOKENS // 2) for _ in range(3))
    queue = filled(first, second, third)
    assert queue.take(0.0) == ([first, second], 0.0)
    assert len(queue) == 1 and queue.tokens == BATCH_TOKENS // 2


def test_free_workers_share_what_waits() -> None:
    jobs = [job() for _ in range(7)]
    queue = filled(*jobs)
    assert queue.take(0.0, 2) == ([], DEADLINE)
    assert [queue.take(1.0, free)[0] for free in (3, 2, 1)] == [jobs[:3], jobs[3:5], jobs[5:]]
    assert filled(jobs[0]).take(1.0, 2) == ([jobs[0]], 0.0)


def test_a_batch_has_one_group_and_the_longest_waiting_first() -> None:
    first, other, second, stream = job(), job(group="b"), job(), job(is_alone=True)
    queue = filled(first, other, second, stream)
    assert queue.take(1.0)[0] == [first, second]
    assert queue.take(1.0)[0] == [other]
    assert queue.take(1.0)[0] == [stream]


def test_a_batch_leaves_out_what_does_not_fit() -> None:
    first, large, small = job(BATCH_TOKENS - 20), job(30), job(15)
    queue = filled(first, large, small)
    assert queue.take(1.0)[0] == [first, small]
    huge = job(5 * BATCH_TOKENS)
    queue.add([huge])
    assert queue.take(1.0)[0] == [large]
    assert queue.take(1.0)[0] == [huge]


def test_a_full_queue_refuses_and_says_when_to_come_back() -> None:
    queue = filled(job(60), job(40), most=100)
    with pytest.raises(Full) as refused:
        queue.add([job(1)])
    assert refused.value.seconds == 1  # nothing is known yet
    queue.was_answered(tokens=50, seconds=2.0)  # 25 a second: 100 take 4
    with pytest.raises(Full) as refused:
        queue.add([job(1)])
    assert refused.value.seconds == 4 and queue.tokens == 100
    assert len(filled(job(1000), most=100)) == 1  # where nothing waits, anything may


def test_many_jobs_are_added_together_or_not_at_all() -> None:
    queue = filled(job(90), most=100)
    with pytest.raises(Full):
        queue.add([job(5), job(6)])
    assert len(queue) == 1 and queue.tokens == 90


def test_jobs_that_were_put_back_come_first_and_at_once() -> None:
    lost = [job(arrived=0.0), job(arrived=0.0)]
    queue = filled(job(arrived=1.0))
    for one in lost:
        one.is_retried = True
    queue.put_back(lost)
    batch, waits = queue.take(0.0)
    assert batch[:2] == lost and waits == 0.0 and queue.tokens == 0


def test_a_job_that_was_given_up_is_not_taken() -> None:
    kept, left = job(), job()
    queue = filled(kept, left)
    assert queue.remove(left) and not queue.remove(left)
    assert queue.take(1.0)[0] == [kept] and queue.tokens == 0


def test_whether_there_is_room_can_be_asked_before_there_are_jobs() -> None:
    queue = filled(job(60), most=100)
    queue.check(40)
    with pytest.raises(Full):
        queue.check(41)
    assert len(queue) == 1 and queue.tokens == 60
    filled(most=100).check(1000)  # where nothing waits, anything may
