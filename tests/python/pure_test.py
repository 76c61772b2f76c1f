"""What decides without a socket or a clock: plans, estimates, numbers, the driver of a wait and the
owner's half of one that gard runs. Time is what the test says."""

import pytest
from software_device import SoftwareDevice

import garclient
from garclient import argument, frames, plans
from garclient.estimate import Estimate, Estimates
from garclient.memory import OwnWords
from garclient.owner_wait import LIMIT, LOST, STALE, OwnerWait
from garclient.plans import Plan, Prediction
from garclient.point_numbers import PointNumbers
from garclient.sequence import MASK, Records, reached
from garclient.source import Binding, Source
from garclient.wait_driver import (BLOCKED, IMMEDIATE, LATE, PARKED, SAMPLE_EXACT, SAMPLE_LATE,
                                   SAMPLE_NONE, run_wait, sample_of)

MS = 1_000_000
FLAG = "flag:park_us=100,backstop_us=10000"
PREDICT = "+predict:margin_us=150,min_sleep_us=20,max_sleep_us=50000,window=8"


# ---- Plans.

@pytest.mark.parametrize("text", [
    "block", "poll", FLAG, FLAG + PREDICT, "poll" + PREDICT, "block;rows>=32:poll",
    "flag:backstop_us=1,park_us=10000", plans.AS_SHIPPED,
    f"block;rows>=1:poll;rows>=2:block;rows>=4294967295:{FLAG}"])
def test_a_plan_is_taken(text):
    assert plans.parse(text)


@pytest.mark.parametrize("text", [
    "", "pol", "block ", " poll", "block" + PREDICT, "flag", "flag:park_us=100",
    "flag:park_us=0,backstop_us=1", "flag:park_us=10001,backstop_us=1",
    "flag:park_us=1,backstop_us=1000001", "flag:park_us=01,backstop_us=1",
    "flag:park_us=1,park_us=1,backstop_us=1", "flag:park_us=1,backstop_us=1,other=1",
    "flag:park_us=+1,backstop_us=1", "flag:park_us=\u0661,backstop_us=1", "poll+predict:",
    "poll+predict:margin_us=1,min_sleep_us=3,max_sleep_us=2,window=1",
    "poll+predict:margin_us=1,min_sleep_us=1,max_sleep_us=2,window=0",
    "poll+predict:margin_us=1,min_sleep_us=1,max_sleep_us=2,window=17",
    "poll+predict:margin_us=1000001,min_sleep_us=1,max_sleep_us=2,window=1",
    "poll;rows>=0:block", "poll;rows>=5:block;rows>=5:poll", "poll;rows>=4294967296:block",
    "poll;block", "poll;rows>=x:block", "poll;rows>=1:poll;rows>=2:poll;rows>=3:poll;rows>=4:poll",
    "flag:park_us=1,backstop_us=1" + " " * 500])
def test_a_text_that_is_no_plan_is_refused(text):
    with pytest.raises(garclient.InvalidPlan):
        plans.parse(text)


def test_an_edge_belongs_to_its_own_band():
    bands = plans.parse("block;rows>=32:poll")
    assert [plans.select(bands, rows).park for rows in (0, 31, 32, 2**32 - 1)] == [
        "block", "block", "poll", "poll"]


def scope(generation, kind, index, count, point="", text="poll"):
    return frames.PlanScope(generation, kind, index, count, point, text)


def test_a_generation_comes_into_force_whole_and_the_nearest_scope_wins():
    table = plans.PlanTable(plans.parse("block"))
    assert not table.publish(scope(7, 3, 0, 4, "p", FLAG))
    assert not table.publish(scope(7, 2, 1, 4, "p", "block"))
    assert not table.publish(scope(7, 1, 2, 4, "", "poll"))
    assert (table.select("p", 0).park, table.generation) == ("block", 0)
    assert table.publish(scope(7, 0, 3, 4, "", "block"))
    assert table.generation == 7
    assert (table.select("p", 0).park, table.select("q", 0).park) == ("flag", "poll")


def test_an_older_generation_never_comes_back_but_from_another_gard():
    table = plans.PlanTable(plans.parse("block"))
    table.publish(scope(9, 0, 0, 1, "", "poll"))
    assert not table.publish(scope(8, 0, 0, 1, "", FLAG))
    assert table.select("", 0).park == "poll"
    table.start_over()
    assert table.publish(scope(1, 0, 0, 1, "", FLAG))
    assert table.generation == 1


@pytest.mark.parametrize("scopes", [
    [scope(2, 0, 0, 2), scope(2, 0, 0, 2)], [scope(2, 0, 0, 2), scope(2, 1, 1, 3)],
    [scope(2, 0, 0, 2), scope(2, 0, 1, 2)], [scope(2, 1, 0, 1)]])
def test_scopes_that_contradict_each_other_change_nothing(scopes):
    table = plans.PlanTable(plans.parse("block"))
    with pytest.raises(garclient.MalformedMessage):
        for one in scopes:
            table.publish(one)
    assert table.select("", 0).park == "block"


# ---- Estimates.

BY = Prediction(150_000, 20_000, 50 * MS, 8)


def estimate_of(*samples):
    estimate = Estimate()
    for sample in samples:
        estimate.exact(sample)
    return estimate


@pytest.mark.parametrize("samples, sleep_ns", [
    ([1_000_000, 900_000, 1_100_000], 750_000),
    ([1_000_000, 900_000, 1_100_000] + [2 * MS] * 8, 1_850_000),
    ([160_000], 0), ([100_000], 0), ([150_000], 0), ([2**64 - 1], 50 * MS), ([], 0)])
def test_the_sleep_is_the_least_of_the_window_less_the_margin(samples, sleep_ns):
    assert estimate_of(*samples).sleep_ns(BY) == sleep_ns


def test_a_late_wake_halves_the_prediction_and_never_raises_it():
    estimate = estimate_of(1_000_001)
    estimate.late(5 * MS, 8)
    assert estimate.predicted_ns(8) == 500_000
    estimate.late(3, 8)
    assert estimate.predicted_ns(8) == 1
    cold = Estimate()
    cold.late(7 * MS, 8)
    assert cold.predicted_ns(8) == 3_500_000


def test_of_too_many_points_the_least_recently_used_goes():
    table = Estimates()
    table.of("a").exact(5)
    for other in range(1023):
        table.of(other)
    assert table.of("a").predicted_ns(1) == 5
    for other in range(1024):
        table.of(("more", other))
    assert table.of("a").predicted_ns(1) is None


# ---- Numbers.

def test_numbers_are_compared_in_wrapping_order():
    assert reached(3, 3) and reached(4, 3) and not reached(3, 4)
    assert reached(2, MASK) and not reached(MASK, 2)


def test_records_are_confirmed_in_order_and_have_a_limit():
    records = Records(MASK - 1)
    numbers = [records.issued() for _ in range(256)]
    assert numbers[:3] == [MASK, 0, 1]
    assert records.full and records.oldest == MASK
    records.confirm(numbers[100])
    assert records.is_confirmed(numbers[99]) and not records.is_confirmed(numbers[101])
    records.confirm(numbers[50])
    assert records.confirmed == numbers[100]
    assert records.is_recorded(numbers[255]) and not records.is_recorded(numbers[255] + 1)
    assert not records.is_recorded(MASK - 1)


def test_numbers_that_a_rebase_jumped_over_were_never_recorded():
    records = Records(0)
    first = records.issued()
    records.rebase(10)
    assert records.issued() == 11
    assert records.is_recorded(first) and records.is_recorded(11) and not records.is_recorded(5)


def test_the_newest_number_is_one_that_was_recorded():
    records = Records(0)
    assert records.newest == 0
    first = records.issued()
    records.rebase(10)
    assert (records.last, records.newest) == (10, first)
    records.confirm(first)
    assert records.newest == first
    assert records.issued() == records.newest == 11
    records.confirm(11)
    records.rebase(20)
    assert records.newest == 20 and records.is_confirmed(20)


def test_a_point_keeps_its_number_until_256_others_were_used():
    numbers = PointNumbers()
    assert numbers.number_of("a") == (1, True)
    assert numbers.number_of("a") == (1, False)
    for other in range(255):
        assert numbers.number_of(str(other))[1]
    assert numbers.number_of("a") == (1, False)
    assert numbers.number_of("new") == (2, True)
    assert numbers.number_of("0")[1]


# It stayed at its old word until the next record, which might never come.
def test_a_binding_that_comes_during_a_record_that_fails_is_taken_all_the_same():
    class Raising(SoftwareDevice):
        def arm(self, sequence, word, bell):
            source.attach(Binding(words.take(), sequence))
            raise garclient.Backend("software.arm", "700", status=700)

    words, source = OwnWords(), Source(Raising(), "work")
    source.attach(Binding(words.take(), 0))
    with pytest.raises(garclient.Backend):
        source.record()
    assert (source.bindings, source.current.base) == (2, 1)
    source.device.close()


# ---- The driver.

class Host:
    """Answers a wait's steps from a script, and moves time."""

    def __init__(self, plan, answers, sleep_ns=0, deadline_ns=None, **named):
        self.now_ns = 1000 * MS
        self.did = []
        self.answers = list(answers)
        self.steps = run_wait(plans.parse(plan)[0][1], sleep_ns, self.now_ns, deadline_ns,
                              lambda: self.now_ns, **named)

    def run(self):
        try:
            step = next(self.steps)
            while True:
                self.did.append(step.what)
                answer, passes_ns = self.answers.pop(0)
                self.now_ns += passes_ns
                step = self.steps.send(answer)
        except StopIteration as end:
            assert not self.answers
            return end.value


@pytest.mark.parametrize("plan, answers, sleep_ns, did, kind", [
    ("block", [(True, MS)], 0, ["block"], BLOCKED),
    ("poll", [(True, 0)], 0, ["query"], IMMEDIATE),
    ("poll", [(False, 0), (True, MS)], 0, ["query", "poll"], PARKED),
    (FLAG, [(False, 0), (True, MS), (True, 0)], 0, ["query", "park", "query"], PARKED),
    (FLAG, [(False, 0), (False, MS), (True, 0)], MS, ["query", "sleep", "query"], LATE),
    (FLAG, [(False, 0), (False, MS), (False, 0), (True, MS), (True, 0)], MS,
     ["query", "sleep", "query", "park", "query"], PARKED)])
def test_a_wait_takes_its_steps_in_order(plan, answers, sleep_ns, did, kind):
    host = Host(plan, answers, sleep_ns)
    report = host.run()
    assert (host.did, report.kind) == (did, kind)
    assert report.wait_ns == host.now_ns - 1000 * MS


def test_a_kind_is_its_number_has_a_name_and_says_what_is_learned():
    assert [int(kind) for kind in garclient.Kind] == [0, 1, 2, 3]
    assert garclient.Kind.PARKED == 3 and f"{garclient.Kind.PARKED}" == "3"
    report = garclient.Report(garclient.Kind.LATE)
    assert (report.kind_name, "Kind.LATE" in repr(report)) == ("late", True)
    assert not hasattr(report, "sample")
    assert [sample_of(kind) for kind in garclient.Kind] == [SAMPLE_NONE, SAMPLE_EXACT, SAMPLE_LATE,
                                                           SAMPLE_EXACT]


@pytest.mark.parametrize("plan, answers, did", [
    ("poll", [(False, MS), (True, 0)], ["query", "poll"]),
    (FLAG, [(False, 2 * MS), (True, 0), (True, 0)], ["query", "park", "query"])])
def test_a_sleep_that_is_over_before_it_began_is_none_and_its_wait_not_late(plan, answers, did):
    host = Host(plan, answers, sleep_ns=MS)
    report = host.run()
    assert (host.did, report.kind, sample_of(report.kind)) == (did, PARKED, SAMPLE_EXACT)
    assert report.slept_ns == 0


def test_a_lost_store_costs_one_backstop():
    host = Host(FLAG, [(False, 0), (False, 10 * MS), (True, 0)])
    report = host.run()
    assert (report.backstop_queries, report.kind) == (1, PARKED)


def test_an_early_word_never_ends_a_wait():
    host = Host(FLAG, [(False, 0), (True, MS), (False, 0), (True, 5 * MS)])
    report = host.run()
    assert host.did == ["query", "park", "query", "poll"]
    assert report.early_words == 1


def test_past_the_deadline_one_last_query_decides():
    host = Host(FLAG, [(False, 0), (False, 3 * MS), (True, 0)], deadline_ns=1003 * MS)
    assert host.run().kind == PARKED
    host = Host(FLAG, [(False, 0), (False, 3 * MS), (False, 0)], deadline_ns=1003 * MS)
    with pytest.raises(garclient.TimedOut) as late:
        host.run()
    assert str(late.value) == "the wait passed its timeout of 3ms"


def test_a_timeout_is_the_nanosecond_that_is_nearest():
    assert argument.timeout_ns_of(2.01) == 2_010_000_000  # 2.01 * 1e9 is a little less


# ---- The owner's half.

PLAN = Plan("flag", 100_000, 10 * MS)


def completion(code=0, confirmed=0, kind=3):
    return frames.Completion(1, 0, 7, 4, 2, code, kind, confirmed, 0, "")


def owner(deadline_ns=None):
    return OwnerWait(PLAN, 0, deadline_ns, 0)


def test_the_word_is_a_reason_to_ask_and_the_answer_ends_the_wait():
    wait = owner()
    assert wait.next(0) == ("sleep", 100 * MS)
    wait.completed(completion(kind=2), False)
    assert wait.next(MS).what == "ask"
    wait.answered(True, MS)
    assert wait.next(MS).what == "end"
    assert (wait.report.kind, wait.report.parks, wait.report.delegated) == (2, 4, True)
    assert not wait.cancel_at_gard


def test_what_the_owners_own_probe_found_needs_no_further_query_and_gards_claim_does():
    wait = owner()
    wait.completed(completion(confirmed=1), True)
    assert wait.next(0).what == "end"
    wait = owner()
    wait.completed(completion(confirmed=1), False)
    assert wait.next(0).what == "ask"


def test_an_early_word_is_asked_about_with_growing_pauses_and_never_registered_again():
    wait = owner()
    wait.completed(completion(), False)
    now_ns, pauses = 0, []
    for _ in range(12):
        assert wait.next(now_ns).what == "ask"
        wait.answered(False, now_ns)
        todo = wait.next(now_ns)
        assert todo.what == "sleep"
        pauses.append(todo.until_ns - now_ns)
        now_ns = todo.until_ns
    assert pauses[:3] == [20_000, 40_000, 80_000] and pauses[-1] == 10 * MS
    wait.lost()
    wait.next(now_ns)
    wait.answered(True, now_ns)
    assert (wait.next(now_ns).what, wait.report.early_words) == ("end", 1)


@pytest.mark.parametrize("code", [0x08, 0x0D])
def test_a_claim_of_failure_or_time_is_asked_about_and_is_no_early_word(code):
    wait = owner()
    wait.completed(completion(code), False)
    assert wait.next(0).what == "ask"
    wait.answered(False, 0)
    assert wait.next(0).what == "sleep"
    assert wait.report.early_words == 0


@pytest.mark.parametrize("code, why", [(0x1B, LIMIT), (0x1E, LIMIT), (0x0C, STALE), (0x0F, LOST),
                                       (0x15, LOST), (0x7FFF, LOST), (0x0E, LOST)])
def test_a_refusal_says_how_the_wait_goes_on(code, why):
    wait = owner()
    wait.refused(code)
    assert (wait.next(0).what, wait.leaving, wait.left) == ("leave", why, True)


def test_a_silent_gard_is_not_waited_for():
    wait = owner()
    assert wait.next(99 * MS).what == "sleep"
    assert wait.next(100 * MS).what == "ask"
    wait.answered(False, 100 * MS)
    assert wait.next(100 * MS) == ("sleep", 200 * MS)
    wait.heard(150 * MS)
    assert wait.next(200 * MS) == ("sleep", 250 * MS)
    assert wait.next(250 * MS).what == "ask"
    wait.answered(True, 250 * MS)
    assert wait.next(250 * MS).what == "end"
    assert wait.owner_backstop and wait.cancel_at_gard


def test_the_deadline_is_the_owners_a_grace_after_gards():
    wait = owner(deadline_ns=5 * MS)
    assert wait.next(5 * MS) == ("sleep", 7 * MS)
    assert wait.next(7 * MS).what == "ask"
    wait.answered(False, 7 * MS)
    assert wait.next(7 * MS).what == "end"
    assert isinstance(wait.failure, garclient.TimedOut) and wait.cancel_at_gard


def test_news_between_question_and_answer_does_not_unmake_the_answer():
    wait = owner()
    assert wait.next(100 * MS).what == "ask"
    wait.lost()
    wait.answered(True, 100 * MS)
    assert wait.next(100 * MS).what == "leave"


def test_what_the_device_says_went_wrong_ends_it_unchanged():
    wait = owner()
    wait.completed(completion(), False)
    wait.next(0)
    wait.failed(garclient.Backend("cuEventQuery", "700", status=700))
    assert wait.next(0).what == "end"
    assert wait.failure.status == 700
