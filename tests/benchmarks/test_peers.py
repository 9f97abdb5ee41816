"""The measurement beside the peers, as far as it works without them: declarations, requests, tables, documents."""

import ast
import random
import re
from pathlib import Path
from uuid import UUID

import pytest
from msgspec import json

from benchmarks import report as baseline_report
from benchmarks import runner
from benchmarks.bench import Timing
from benchmarks.bench_data import BenchData, Size, User
from benchmarks.failures import BenchmarkFailed
from benchmarks.measures import Pair, Reading
from benchmarks.operations import MAIN
from benchmarks.peers import checks, report
from benchmarks.peers.__main__ import read_arguments
from benchmarks.peers.dialect import ALCHEMY, DRF, FASTCRUD, POCKETBASE, SERVICE, Dialect, id_of_record, value_at
from benchmarks.peers.operations import OPERATIONS
from benchmarks.peers.runner import Footprint, Plan, Results, has_time
from benchmarks.peers.started import APPS, NAMES, ensure_local
from benchmarks.requests import MARK
from benchmarks.sections import section, with_section
from tests.repository.locks import unpinned, versions

ROOT = Path(__file__).resolve().parents[2]
PINS = (ROOT / "requirements" / "peers.txt").read_text("utf-8")
COMPARISON = (ROOT / "docs" / "comparison.md").read_text("utf-8")

DIALECTS = {"Tenantry": SERVICE, "FastCRUD": FASTCRUD, "Django REST framework": DRF, "advanced-alchemy": ALCHEMY} | {
    "PocketBase": POCKETBASE
}
TENANTS = [UUID(int=number) for number in (1, 2)]
USERS = [User(UUID(int=10 + number), TENANTS[number % 2], f"user-{number}@example.com") for number in range(4)]
ROWS = {tenant: tuple(UUID(int=(100 * tenant.int + number) << 80) for number in range(5)) for tenant in TENANTS}
DATA = BenchData(size=Size(rows=10, tenants=2), users=tuple(USERS), products=ROWS, categories=ROWS)
TOKENS = {user.id: f"token-{user.tenant_id.int}" for user in USERS}
PLAN = Plan(operations=OPERATIONS, rounds=1, seconds=2)


def a_reading(rate: float) -> Reading:
    return Reading(rate=rate, p50=5.0, p99=1_000 / rate, cpu=1 / rate, database_cpu=0.0, busy=0.9, memory=120.0)


def results(**rates: dict[str, float]) -> Results:
    """Results of some operations, by the rates of the peers; of the others there is none."""
    readings = {
        operation: {peer: [a_reading(rate)] for peer, rate in peers.items()} for operation, peers in rates.items()
    }
    footprints = {name: Footprint(1.0, 80.0, 120.0) for name in NAMES}
    return Results(peers=list(NAMES), readings=readings, footprints=footprints, load_before=0.1)


def row(text: str, title: str) -> list[str]:
    (line,) = (line for line in text.splitlines() if line.startswith(f"| {title} "))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_each_peer_has_a_dialect_and_each_operation_a_check() -> None:
    assert list(DIALECTS) == list(NAMES)
    assert list(checks.CHECKS) == [operation.name for operation in OPERATIONS]
    assert len(OPERATIONS) == 10


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_requests_are_complete_and_use_the_token_of_their_tenant(dialect: Dialect, operation: object) -> None:
    (found,) = (known for known in OPERATIONS if known is operation)
    requests = found.load(dialect, DATA, TOKENS)
    assert bool(requests) or (dialect is POCKETBASE and found.name == "export")
    for request in requests:
        assert re.fullmatch(r"/[\w/.:?=&%@()',+-]+", request.path), request.path
        assert request.wire().isascii()
        assert (request.token is None) == (found.name == "login")
        others = ROWS[TENANTS[request.token == "token-1"]]
        assert not any(dialect.id_of(other) in request.path + request.body for other in others)


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_deletions_alternate_between_tenants_and_use_a_different_row_each(dialect: Dialect) -> None:
    (deletes,) = (operation for operation in OPERATIONS if operation.name == "delete")
    requests = deletes.load(dialect, DATA, TOKENS)
    assert [request.token for request in requests] == ["token-1", "token-2"]
    assert all(request.path.count(MARK) == 1 for request in requests)


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_batches_have_a_hundred_rows_with_a_number_each(dialect: Dialect) -> None:
    (batches,) = (operation for operation in OPERATIONS if operation.name == "batch")
    body = batches.load(dialect, DATA, TOKENS)[0].body
    assert body.count(MARK) == 100
    assert json.decode(body)


def test_values_are_found_in_answers_and_missing_ones_are_none() -> None:
    answer = {"data": {"items": [{"id": 1}]}}
    assert value_at(answer, ("data", "items", 0, "id")) == 1
    assert value_at(answer, ("data", "items", 1, "id")) is None
    assert value_at(answer, ("items",)) is None
    assert value_at(answer, ()) is answer


def test_ids_of_records_are_of_pocketbase_s_form() -> None:
    row = UUID(int=random.Random(1).getrandbits(128))
    assert re.fullmatch("[a-z0-9]{15}", id_of_record(row))
    assert re.fullmatch("[a-z0-9]{15}", POCKETBASE.deleted_id.replace(MARK, "000000001"))
    assert str(UUID(SERVICE.deleted_id.replace(MARK, "000000001"))).endswith("000000001")


@pytest.mark.parametrize("file", sorted(APPS.rglob("*.py")), ids=lambda file: file.name)
def test_peer_applications_compile_and_import_only_locked_packages(file: Path) -> None:
    tree = ast.parse(file.read_text("utf-8"))
    compile(tree, str(file), "exec")
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    packages = {
        "argon2": "argon2-cffi",
        "django_filters": "django-filter",
        "jwt": "pyjwt",
        "rest_framework": "djangorestframework",
        "rest_framework_csv": "djangorestframework-csv",
        "rest_framework_simplejwt": "djangorestframework-simplejwt",
    }
    locked = versions(PINS).keys()
    own = {"asyncio", "collections", "csv", "datetime", "decimal", "drf", "io", "os", "typing", "urllib", "uuid"}
    for name in {module.partition(".")[0] for module in modules} - own:
        assert packages.get(name, name.replace("_", "-")) in locked, name


def test_nothing_of_the_lock_is_without_a_hash_or_names_an_index() -> None:
    assert len(versions(PINS)) > 40
    assert unpinned(PINS) == []
    assert "://" not in PINS


def test_a_table_marks_the_best_of_a_row_and_says_what_a_peer_lacks() -> None:
    found = results(
        export={"Tenantry": 40.0, "FastCRUD": 20.0, "Django REST framework": 4.0, "advanced-alchemy": 10.0},
    )
    table = report.rates(PLAN, found)
    assert row(table, "operation") == ["operation", *NAMES]
    assert row(table, "export of a tenant's rows, CSV")[1:] == ["**40.0**", "20.0 †", "4.0", "10.0 †", "none"]
    slowest = row(report.slowest(PLAN, found), "export of a tenant's rows, CSV")
    assert slowest[1:] == ["**25.0**", "50.0 †", "250", "100 †", "none"]


def test_an_unanswered_measurement_differs_from_an_unsupported_operation() -> None:
    found = results(get={"Tenantry": 40.0, "FastCRUD": 20.0})
    found.unanswered.add(("get", "PocketBase"))
    assert row(report.rates(PLAN, found), "get by id")[1:] == ["**40.0**", "20.0", "none", "none", "?"]


def test_no_round_begins_that_would_end_too_late() -> None:
    assert has_time(0, 1_000.0)
    assert has_time(1, 300.0)
    assert has_time(2, 480.0)
    assert not has_time(2, 481.0)


def test_losses_are_listed_with_the_fastest_peer_first() -> None:
    found = results(
        get={"Tenantry": 100.0, "FastCRUD": 150.0, "PocketBase": 250.0, "advanced-alchemy": 99.0},
        create={"Tenantry": 100.0, "PocketBase": 100.0},
    )
    assert report.losses(PLAN, found) == ["get by id: PocketBase 2.50 times, FastCRUD 1.50 times"]
    assert "get by id: PocketBase 2.50 times" in report.whole(PLAN, found, ["2 cores"], "named")
    assert "slower than none" in report.whole(PLAN, results(), ["2 cores"], "named")


def test_a_busy_machine_is_said() -> None:
    busy = results()
    busy.load_before = 9.0
    assert "busy with other work" in report.whole(PLAN, busy, ["2 cores"], "named")
    assert "busy with other work" not in report.whole(PLAN, results(), ["2 cores"], "named")


def test_both_documents_are_written_between_their_comments(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "peers.txt").write_text(PINS)
    empty = "<!-- peers: written by a command -->\n<!-- end of peers -->"
    for path in ("docs/comparison.md",):
        (tmp_path / path).write_text(f"before\n\n{empty}\n\nafter\n")
    for rate in (100.0, 200.0):
        report.write(PLAN, results(get={"Tenantry": rate}), ["2 cores"], tmp_path)
    for path in ("docs/comparison.md",):
        text = (tmp_path / path).read_text()
        assert text.startswith("before\n\n<!-- peers")
        assert text.endswith("<!-- end of peers -->\n\nafter\n")
        assert text.count("**200**") >= 1
        assert "**100**" not in text


def test_a_document_without_a_place_is_refused() -> None:
    with pytest.raises(BenchmarkFailed, match="no part called peers"):
        with_section("text", "peers", "content")


def test_the_documents_show_the_table_of_the_versions_that_are_locked() -> None:
    written = section(COMPARISON, "peers")
    assert written is not None
    assert report.versions(PINS) in " ".join(written.split()), "the lock changed: run make bench-peers ARGS=--write"
    assert written.count(" | ".join(NAMES).split(" | ")[1]) >= 3
    for operation in OPERATIONS:
        rows = [line for line in written.splitlines() if line.startswith(f"| {operation.title} ")]
        assert len(rows) >= 3
        assert all(line.count("|") == len(NAMES) + 2 for line in rows)


@pytest.mark.parametrize("url", ["postgresql://10.0.0.1/postgres", "redis://cache.example.com:6379"])
def test_other_machines_are_refused(url: str) -> None:
    with pytest.raises(BenchmarkFailed, match="another machine"):
        ensure_local("postgresql://root@127.0.0.1:5432/postgres", "redis://localhost:6379", url)


@pytest.mark.parametrize("arguments", [["--only", "gets"], ["--peers", "Django"], ["--write", "--only", "get"]])
def test_a_mistyped_or_partial_run_is_refused(arguments: list[str]) -> None:
    with pytest.raises(BenchmarkFailed):
        read_arguments(arguments)


def test_a_run_is_of_everything_and_can_be_of_less() -> None:
    assert len(read_arguments(["--write"]).plan.operations) == 10
    small = read_arguments(["--only", "get,login", "--peers", "FastCRUD", "--seconds", "1"])
    assert [operation.name for operation in small.plan.operations] == ["get", "login"]
    assert small.names == ["FastCRUD"]


def test_the_baseline_benchmark_preserves_the_table_of_the_peers(tmp_path: Path) -> None:
    kept = "<!-- peers: written by a command -->\n\nthe table\n\n<!-- end of peers -->"
    earlier = "<!-- results: written by a command -->\n\nEarlier figures\n\n<!-- end of results -->"
    (tmp_path / "performance.md").write_text(f"# Performance\n\n{earlier}\n\n{kept}\n")
    (tmp_path / "performance").mkdir()
    pair = Pair(a_reading(100.0), a_reading(90.0))
    plan = runner.Plan(
        size=Size(), timing=Timing(seconds=1, warm_up=1), rounds=1, operations=MAIN[:1], grows=False, reports=True
    )
    written = baseline_report.write(plan, runner.Results(pairs={MAIN[0].name: [pair]}), ["2 cores"], tmp_path)
    assert written.read_text().endswith(f"{kept}\n")
    assert "Earlier figures" not in written.read_text()
