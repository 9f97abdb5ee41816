"""Laws of the queueing model behind the figures of docs/scale.md, and the layouts that it makes.

Processes that are held to a part of a core.
"""

import subprocess
import sys
from math import inf
from pathlib import Path

import pytest

from benchmarks import admission
from benchmarks.admission import MEASURED, cells_for, latencies, layout, report
from benchmarks.queueing import Station, erlang_c, mean_wait, simulate, units_for, wait_within
from benchmarks.quotas import held

ONE = Station(name="one", seconds=0.01)
LOADS = (10.0, 40.0, 70.0, 90.0, 99.0)


def of_servers(servers: int) -> Station:
    return Station(name="some", seconds=0.01, servers=servers)


def test_one_server_waits_as_the_formula_of_m_m_1_says() -> None:
    for rate in LOADS:
        busy = rate * 0.01
        assert mean_wait(ONE, rate) == pytest.approx(busy * 0.01 / (1 - busy))
        assert erlang_c(1, busy) == pytest.approx(busy)


def test_two_servers_wait_as_the_closed_form_of_m_m_2_says() -> None:
    for rate in LOADS:
        busy = rate * 0.01 / 2
        assert mean_wait(of_servers(2), rate) == pytest.approx(0.01 * busy**2 / (1 - busy**2))


def test_the_chance_to_wait_is_that_of_a_printed_table() -> None:
    # Erlang C for 10 servers and a load of 8: 0.4092
    assert erlang_c(10, 8.0) == pytest.approx(0.4092, abs=5e-5)


@pytest.mark.promise(
    "scale, growth: the model behind the figures for 1,000,000 requests a second follows the laws of queues"
)
@pytest.mark.parametrize("servers", [1, 2, 16])
def test_more_load_is_never_quicker(servers: int) -> None:
    station = of_servers(servers)
    waits = [mean_wait(station, servers * rate) for rate in LOADS]
    tails = [wait_within(station, servers * rate, 0.99) for rate in LOADS]
    assert waits == sorted(waits)
    assert tails == sorted(tails)
    assert mean_wait(station, servers * 100.0) == wait_within(station, servers * 101.0, 0.99) == inf


@pytest.mark.promise(
    "scale, growth: the model behind the figures for 1,000,000 requests a second follows the laws of queues"
)
def test_twice_the_units_work_half_of_the_time() -> None:
    twice = Station(name="twice", seconds=0.01, units=2)
    assert twice.utilisation(80) == pytest.approx(ONE.utilisation(80) / 2)
    assert mean_wait(twice, 80) < mean_wait(ONE, 80)
    run, other = simulate([ONE], 80, 20_000), simulate([twice], 80, 20_000)
    assert other.utilisations["twice"] == pytest.approx(run.utilisations["one"] / 2, rel=0.1)


@pytest.mark.promise(
    "scale, growth: the model behind the figures for 1,000,000 requests a second follows the laws of queues"
)
@pytest.mark.parametrize("station", [ONE, of_servers(4), Station(name="spread", seconds=0.01, units=5)])
def test_the_simulation_agrees_with_the_formula(station: Station) -> None:
    rate = 0.7 * station.units * station.servers / station.seconds
    run = simulate([station], rate, 60_000, seed=3)
    assert run.utilisations[station.name] == pytest.approx(0.7, rel=0.05)
    assert run.waits[station.name] == pytest.approx(mean_wait(station, rate), rel=0.15)
    assert run.mean == pytest.approx(mean_wait(station, rate) + station.seconds, rel=0.1)


def test_a_row_of_stations_waits_as_the_sum_of_them() -> None:
    first, second = Station(name="first", seconds=0.01), Station(name="second", seconds=0.02, servers=3, share=0.5)
    run = simulate([first, second], 60, 60_000, seed=5)
    waits = mean_wait(first, 60) + 0.01 + 0.5 * (mean_wait(second, 60) + 0.02)
    assert run.mean == pytest.approx(waits, rel=0.1)
    assert run.utilisations["second"] == pytest.approx(second.utilisation(60), rel=0.1)


def test_a_distant_station_adds_latency_and_blocks_no_other_request() -> None:
    far = Station(name="far", seconds=0.01, away=0.5)
    near, away = simulate([ONE], 50, 5_000), simulate([far], 50, 5_000)
    assert away.mean == pytest.approx(near.mean + 0.5)
    assert away.waits["far"] == near.waits["one"]


def test_units_are_the_fewest_that_stay_below_the_utilisation() -> None:
    assert units_for(1_000, 0.001, 1, 0.5) == 2
    assert units_for(1_001, 0.001, 1, 0.5) == 3
    assert units_for(0, 0.001, 1, 0.5) == 1


@pytest.mark.parametrize("utilisation", [0.5, 0.7, 0.9])
@pytest.mark.parametrize("rate", [500.0, 20_000.0, 1_000_000.0])
def test_nothing_in_a_layout_works_more_than_was_asked_for(rate: float, utilisation: float) -> None:
    found = layout(rate, MEASURED, utilisation)
    assert max(found.utilisations.values()) <= utilisation + 1e-9
    assert found.processes % found.cells == found.replicas % found.cells == 0
    assert found.cells == cells_for(rate, MEASURED, utilisation)


def test_fuller_servers_are_fewer_and_slower() -> None:
    layouts = [layout(1_000_000, MEASURED, utilisation) for utilisation in admission.UTILISATIONS]
    assert [found.processes for found in layouts] == sorted((found.processes for found in layouts), reverse=True)
    means = [latencies(found)[0] for found in layouts]
    assert means == sorted(means)


def test_the_report_says_what_the_documents_quote(capsys: pytest.CaptureFixture[str]) -> None:
    lines = list(report(MEASURED, 20_000, 3_000))
    assert len(lines) == 1 + 9 + 2 + len(admission.UTILISATIONS) + 2
    admission.main(["--rate", "20000", "--requests", "3000"])
    assert capsys.readouterr().out.splitlines() == lines


SPINS = """
import sys, time
for _ in sys.stdin:
    started, used = time.monotonic(), time.process_time()
    while time.monotonic() - started < 0.4:
        pass
    print(time.process_time() - used, flush=True)
"""


def test_a_process_is_limited_to_a_share_of_a_core_and_released_afterwards() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SPINS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        group = Path(f"/proc/{process.pid}/cgroup")
        before = group.read_text()
        with held([process.pid], 0.25) as is_held:
            if not is_held:
                process.terminate()
                pytest.skip("control groups take root's rights")
            assert group.read_text() != before
            assert _used(process) < 0.2  # of 0.4 seconds
        assert group.read_text() == before
        process.terminate()


def test_an_ended_process_is_not_limited() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    with held([process.pid], 0.25) as is_held:
        assert not is_held


def _used(process: "subprocess.Popen[str]") -> float:
    """Seconds of CPU that the process used in the 0.4 seconds after a line."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return float(process.stdout.readline())
