"""The parts of the benchmarks that make figures, without any load."""

import os
import xml.etree.ElementTree as ET

import pytest

from benchmarks import client, svg, table, wrk
from benchmarks.bench_data import Size
from benchmarks.client import Follow, Seen
from benchmarks.failures import BenchmarkFailed
from benchmarks.measures import Load, Pair, Reading, medians, percentile, reading, row
from benchmarks.processes import cpu_seconds, peak_mib, resident_mib, tree
from benchmarks.requests import MARK, Request, numbered, posting
from benchmarks.turns import Turn

RECORDED = """Running 3s test @ http://127.0.0.1:35211
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     9.51ms   12.61ms 110.11ms   94.31%
  20068 requests in 3.00s, 13.02MB read
Requests/sec:   6689.18
report {"requests": 20068, "microseconds": 3000068, "p50": 8380, "p99": 80290, "socket": 1, "status": 2, "timeout": 3}
"""


def a_reading(rate: float, *, p99: float = 10.0) -> Reading:
    return Reading(rate=rate, p50=5.0, p99=p99, cpu=0.1, database_cpu=0.05, busy=0.9, memory=120.0)


def test_wrk_is_read_from_its_last_line() -> None:
    load = wrk.read_report(RECORDED)
    assert load == Load(requests=20_068, seconds=3.000068, p50=8.38, p99=80.29, errors=6)


def test_wrk_that_says_nothing_fails_the_run() -> None:
    with pytest.raises(BenchmarkFailed, match="unable to connect"):
        wrk.read_report("unable to connect to 127.0.0.1:1 Connection refused")


def test_a_reading_is_per_second_and_per_thousand_requests() -> None:
    load = Load(requests=20_000, seconds=4.0, p50=8.0, p99=80.0)
    found = reading(load, cpu=3.0, database_cpu=1.0, memory=130.0)
    assert (found.rate, found.cpu, found.database_cpu, found.busy) == (5_000.0, 0.15, 0.05, 0.75)


def test_medians_are_calculated_separately_for_each_figure() -> None:
    found = medians([a_reading(10, p99=3), a_reading(30, p99=1), a_reading(20, p99=2)])
    assert (found.rate, found.p99) == (20, 2)


def test_ratios_are_of_pairs_so_that_a_slow_round_slows_both() -> None:
    pairs = [
        Pair(a_reading(100), a_reading(60)),
        Pair(a_reading(50), a_reading(35)),
        Pair(a_reading(100), a_reading(80, p99=30)),
    ]
    found = row("get", "GET by id", 0.65, pairs)
    assert (found.ratio, found.lowest, found.highest, found.p99_ratio) == (0.7, 0.6, 0.8, 1.0)
    assert found.reached


@pytest.mark.parametrize(("rate", "p99"), [(60.0, 10.0), (90.0, 26.0)])
def test_a_slow_or_unsteady_result_misses_the_goal(rate: float, p99: float) -> None:
    found = row("get", "GET by id", 0.65, [Pair(a_reading(100), a_reading(rate, p99=p99))])
    assert not found.reached
    assert "✗" in table.ratios([found])


@pytest.mark.parametrize(("share", "value"), [(50, 50), (99, 99), (100, 100), (0.5, 1)])
def test_a_percentile_is_a_value_that_was_measured(share: float, value: float) -> None:
    assert percentile([float(number) for number in range(1, 101)], share) == value
    assert percentile([7.0], share) == 7.0


def test_parts_of_a_load_come_to_one() -> None:
    parts = [Seen(times=[1.0, 2.0], failures=[], seconds=2.0), Seen(times=[9.0], failures=[], seconds=1.9)]
    assert client.summary(parts) == Load(requests=3, seconds=2.0, p50=2.0, p99=9.0)


def test_one_failure_fails_the_load() -> None:
    with pytest.raises(BenchmarkFailed, match="503"):
        client.summary([Seen(times=[1.0] * 1000, failures=["503: b''"], seconds=1.0)])


def test_a_request_is_written_in_http_1_1_bytes() -> None:
    request = posting("/api/products", "t", {"sku": MARK})
    assert request.wire() == (
        "POST /api/products HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer t\r\n"
        'Content-Type: application/json\r\nContent-Length: 19\r\n\r\n{"sku":"@@@@@@@@@"}'
    )
    assert Request(path="/").wire() == "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def test_each_mark_gets_a_different_number_of_the_same_length() -> None:
    text, following = numbered(f"a{MARK}b{MARK}", 41)
    assert (text, following) == ("a000000041b000000042", 43)
    assert len(text) == len(f"a{MARK}b{MARK}")


def test_a_following_request_uses_the_cursor_of_the_last_answer() -> None:
    follow = Follow(Request(path="/api/products?cursor=$next"), ("data", "nextCursor"))
    assert client.followed(follow.request, "abc").path == "/api/products?cursor=abc"


def test_the_script_holds_every_request_and_numbers_only_those_with_marks() -> None:
    plain = wrk.script([Request(path="/a"), Request(path="/b")], 5)
    assert '"GET /a HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n",\n"GET /b' in plain
    assert "numbered, number, at = false, 5, 0" in plain
    assert "numbered, number, at = true, 7, 0" in wrk.script([posting("/a", None, {"sku": MARK})], 7)


def test_a_size_has_few_categories_where_it_has_few_rows() -> None:
    assert (Size().rows_each, Size().categories_each) == (10_000, 200)
    assert Size(tenants=1_000).categories_each == 2


def test_bars_show_what_misses_its_goal_in_another_colour() -> None:
    drawn = ET.fromstring(svg.bars("a < b", [("get", 0.5, 0.65), ("page", 0.8, 0.75), ("me", 0.4, None)]))
    colours = [bar.get("fill") for bar in drawn.iter("{http://www.w3.org/2000/svg}rect")][1:]
    assert colours == [svg.COLOURS[1], svg.COLOURS[0], svg.COLOURS[0]]
    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}path"))) == 2


def test_a_turn_is_as_quick_as_its_busiest_process() -> None:
    assert Turn(each=0.5, busiest=1.0, counted=100.0).rate == 2_000
    assert Turn(each=0.5, busiest=0.5, counted=100.0).rate == 4_000
    assert Turn(each=0.5, busiest=0.8, counted=100.0).rate == 2_500


def test_the_cost_of_a_process_is_read_while_it_runs() -> None:
    own = os.getpid()
    assert own in tree(own)
    assert cpu_seconds([own]) > 0
    assert peak_mib([own]) >= resident_mib([own]) > 1
    assert cpu_seconds([2**22 + 1]) == resident_mib([2**22 + 1]) == 0
