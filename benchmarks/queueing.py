"""Queueing network of stations in a row: formulas of M/M/c, and a simulation by events that needs none of them.

Requests arrive by chance (Poisson), each goes to one unit of each station, drawn evenly, and service times are
exponential. That is harsher than the service, whose times vary less than their mean: waits are an upper estimate.
"""

import heapq
from collections.abc import Sequence
from itertools import count
from math import ceil, inf, log
from random import Random

from msgspec import Struct


class Station(Struct, frozen=True, kw_only=True):
    """``units`` equal places among which requests are spread, each with ``servers`` that work at once.

    ``seconds`` is the mean time of service; ``share`` is the part of the requests that come here (0 to 1); ``away`` is
    the time to the station and back, which nobody waits in turn for.
    """

    name: str
    seconds: float
    units: int = 1
    servers: int = 1
    share: float = 1.0
    away: float = 0.0

    def utilisation(self, rate: float) -> float:
        """Part of the time that a server works at ``rate`` requests a second; 1 and more cannot be served."""
        return rate * self.share * self.seconds / (self.units * self.servers)


def units_for(rate: float, seconds: float, servers: int, utilisation: float) -> int:
    """Fewest units whose servers work at most ``utilisation`` of the time."""
    return max(1, ceil(rate * seconds / (servers * utilisation) - 1e-9))


def erlang_c(servers: int, load: float) -> float:
    """Chance that a request has to wait; ``load`` is the number of servers that would always work (a < servers)."""
    if load >= servers:
        return 1.0
    # Erlang B by its recursion, which does not overflow as factorials do.
    lost = 1.0
    for number in range(1, servers + 1):
        lost = load * lost / (number + load * lost)
    return lost / (1 - (load / servers) * (1 - lost))


def mean_wait(station: Station, rate: float) -> float:
    """Seconds that a request waits on average before its service begins; infinite where it cannot be served."""
    load = station.utilisation(rate) * station.servers
    if load >= station.servers:
        return inf
    return erlang_c(station.servers, load) * station.seconds / (station.servers - load)


def wait_within(station: Station, rate: float, part: float) -> float:
    """Seconds within which ``part`` of the requests (0.99, for example) begin to be served."""
    load = station.utilisation(rate) * station.servers
    if load >= station.servers:
        return inf
    waiting = erlang_c(station.servers, load)
    if waiting <= 1 - part:
        return 0.0
    return log(waiting / (1 - part)) * station.seconds / (station.servers - load)


class Simulated(Struct, frozen=True, kw_only=True):
    """Seconds: means and percentiles of whole requests, and the mean wait before each station by its name."""

    mean: float
    p50: float
    p99: float
    waits: dict[str, float]
    utilisations: dict[str, float]


def simulate(stations: Sequence[Station], rate: float, requests: int, seed: int = 1) -> Simulated:
    """Sends ``requests`` through the stations at ``rate`` a second; the first fifth, on empty stations, is left out."""
    run = _Run(stations, Random(seed))
    arrived, warm = 0.0, requests // 5
    for number in range(requests):
        arrived += run.random.expovariate(rate)
        run.send(arrived, number >= warm)
    return run.result()


class _Run:
    """Events in the order of time: a request that reaches a station, and then the next."""

    def __init__(self, stations: Sequence[Station], random: Random) -> None:
        self.random = random
        self._stations = stations
        # When each server is free again: the first that is free takes the request that came first.
        self._free = [[[0.0] * station.servers for _ in range(station.units)] for station in stations]
        self._events: list[tuple[float, int, int, float, bool]] = []
        self._numbers = count()
        self._took: list[float] = []
        self._waited = [0.0] * len(stations)
        self._worked = [0.0] * len(stations)
        self._visits = [0] * len(stations)
        self._last = 0.0

    def send(self, arrived: float, counts: bool) -> None:
        """All that happens before the arrival happens first."""
        self._until(arrived)
        heapq.heappush(self._events, (arrived, next(self._numbers), 0, arrived, counts))

    def result(self) -> Simulated:
        self._until(inf)
        took = sorted(self._took)
        names = [station.name for station in self._stations]
        visited = zip(names, self._waited, self._visits, strict=True)
        works = zip(names, self._worked, self._stations, strict=True)
        return Simulated(
            mean=sum(took) / len(took),
            p50=took[len(took) // 2],
            p99=took[len(took) * 99 // 100],
            waits={name: waited / visits if visits else 0.0 for name, waited, visits in visited},
            utilisations={name: worked / (self._last * of.units * of.servers) for name, worked, of in works},
        )

    def _until(self, time: float) -> None:
        while self._events and self._events[0][0] <= time:
            self._step(*heapq.heappop(self._events))

    def _step(self, now: float, _: int, place: int, arrived: float, counts: bool) -> None:
        if place == len(self._stations):
            self._last = max(self._last, now)
            if counts:
                self._took.append(now - arrived)
            return
        station = self._stations[place]
        done = now
        if station.share >= 1 or self.random.random() < station.share:
            free = self._free[place][self.random.randrange(station.units)]
            begun, service = max(now, free[0]), self.random.expovariate(1 / station.seconds)
            heapq.heapreplace(free, begun + service)
            done = begun + service + station.away
            self._worked[place] += service
            if counts:
                self._waited[place] += begun - now
                self._visits[place] += 1
        heapq.heappush(self._events, (done, next(self._numbers), place + 1, arrived, counts))
