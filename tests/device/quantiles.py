"""Medians and tails of samples, by nearest rank as the project's benchmarks have them."""


def quantile(ordered, q):
    return ordered[int(q * (len(ordered) - 1))]


def median(values):
    return quantile(sorted(values), 0.5) if values else None


def summary(samples_ns):
    """In microseconds; None where there is no sample."""
    if not samples_ns:
        return None
    ordered = sorted(samples_ns)
    us = {name: round(value / 1000, 2) for name, value in (
        ("min", ordered[0]), ("p50", quantile(ordered, 0.5)), ("p99", quantile(ordered, 0.99)),
        ("max", ordered[-1]))}
    # A delay below zero: the observer was not running when the word changed.
    undated = sum(1 for value in ordered if value < 0)
    return {"samples": len(ordered), "undated": undated, **us}
