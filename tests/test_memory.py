from fractions import Fraction
from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor import memory
from tests.builders import ask

MIB = 2**20
MODEL, INPUT = 1000 * MIB, 24 * MIB


def fit(hardware: memory.Hardware, **asked: object) -> str:
    question = {"model_size": MODEL, "input_size": INPUT, **asked}
    return memory.check(ask(**question), hardware).fit


@pytest.mark.parametrize(
    ("host_mib", "expected"), [(1023.999, "exceeds"), (1024, "fits"), (1024.001, "fits")]
)
def test_a_model_and_input_that_exactly_equal_the_memory_fit(host_mib: float, expected: str) -> None:
    assert fit(memory.Hardware(host_mib)) == expected


def test_headroom_is_exact_at_the_limit() -> None:
    # 1.1 x 1000 MiB is 1100 MiB to the byte, although 1.1 has no exact binary form.
    assert fit(memory.Hardware(1100), input_size=0, headroom=1.1) == "fits"
    assert fit(memory.Hardware(1100), input_size=1, headroom=1.1) == "exceeds"


@pytest.mark.parametrize(
    ("copies", "devices", "on_each"),
    [(1, 1, 1), (2, 1, 2), (4, 4, 1), (5, 4, 2), (9, 4, 3), (1, 4, 1)],
)
def test_each_device_holds_the_copies_divided_by_the_devices_rounded_up(
    copies: int, devices: int, on_each: int
) -> None:
    need = memory.needed(MODEL, INPUT, device_count=devices, copies=copies)
    assert need.device_bytes == on_each * (MODEL + INPUT)


def test_the_host_holds_one_copy_beside_accelerators_and_all_where_the_cpu_serves() -> None:
    assert memory.needed(MODEL, INPUT, device_count=2, copies=4).host_bytes == MODEL + INPUT
    assert memory.needed(MODEL, INPUT, copies=4) == memory.Need(Fraction(4 * (MODEL + INPUT)), None)


def test_shared_weights_count_the_model_once_a_device_and_the_input_once_a_copy() -> None:
    assert (
        memory.needed(MODEL, INPUT, device_count=2, copies=4, shared_weights=True).device_bytes
        == MODEL + 2 * INPUT
    )
    assert memory.needed(MODEL, INPUT, copies=3, shared_weights=True).host_bytes == MODEL + 3 * INPUT


def test_shards_split_the_model_and_not_the_input() -> None:
    need = memory.needed(10, 3, device_count=4, shards=4)
    assert need.device_bytes == 3 + 3  # a quarter of 10 bytes, rounded up, and one input
    assert need.host_bytes == 13


def test_more_shards_than_devices_put_several_on_one() -> None:
    assert memory.needed(8, 1, device_count=2, shards=4).device_bytes == 2 * (2 + 1)
    assert memory.needed(8, 1, device_count=2, shards=4, shared_weights=True).device_bytes == 2 * 2 + 2 * 1
    assert (
        memory.needed(8, 1, device_count=4, shards=4, copies=2, shared_weights=True).device_bytes == 2 + 2 * 1
    )


@pytest.mark.parametrize(("count", "devices"), [(0.125, 1), (0.5, 1), (1, 1), (8, 8), (16.0, 16)])
def test_a_fraction_of_a_gpu_is_one_device(count: float, devices: int) -> None:
    assert memory.devices(count) == devices


def test_a_device_that_is_too_small_exceeds_although_the_host_is_large() -> None:
    assert fit(memory.Hardware(10**6, 1, 1023)) == "exceeds"
    assert fit(memory.Hardware(10**6, 1, 1024)) == "fits"
    assert fit(memory.Hardware(1023, 1, 10**6)) == "exceeds"


def test_without_a_model_size_nothing_is_checked() -> None:
    assert memory.check(ask(), memory.Hardware(1)).fit == "not_checked"
    assert memory.check(ask(), memory.Hardware(1, 1, nan)).fit == "unknown"


def test_unknown_memory_is_unknown_and_a_known_excess_is_an_excess() -> None:
    assert fit(memory.Hardware(nan)) == "unknown"
    assert fit(memory.Hardware(10**6, 1, nan)) == "unknown"
    assert fit(memory.Hardware(10**6, 0, nan, known=False)) == "unknown"
    assert fit(memory.Hardware(10, 1, nan)) == "exceeds"


def test_a_measured_peak_above_the_bound_replaces_it_and_one_below_does_not() -> None:
    question = ask(model_size=MODEL, headroom=1.5)
    above = memory.check(question, memory.Hardware(1800, 1, 2000), peak_host_mib=1900, peak_device_mib=1900)
    assert (above.fit, above.host_needed_mib, above.device_needed_mib) == ("exceeds", 1900, 1900)
    below = memory.check(question, memory.Hardware(1800, 1, 2000), peak_host_mib=1499, peak_device_mib=1400)
    assert (below.fit, below.host_needed_mib, below.device_needed_mib) == ("fits", 1500, 1500)


@given(
    st.integers(0, 10**12),
    st.integers(0, 10**9),
    st.integers(0, 16),
    st.integers(1, 40),
    st.integers(1, 16),
    st.booleans(),
)
def test_more_copies_never_need_less_and_more_devices_never_more(
    model: int, one_input: int, devices: int, copies: int, shards: int, shared: bool
) -> None:
    def need(devices: int, copies: int) -> memory.Need:
        return memory.needed(
            model, one_input, device_count=devices, copies=copies, shards=shards, shared_weights=shared
        )

    base, more = need(devices, copies), need(devices, copies + 1)
    assert more.host_bytes >= base.host_bytes
    if base.device_bytes is not None and more.device_bytes is not None:
        assert more.device_bytes >= base.device_bytes
        wider = need(devices + 1, copies).device_bytes
        assert wider is not None
        assert wider <= base.device_bytes
        assert (
            base.device_bytes * devices >= model + one_input * copies
        )  # nothing is lost between the devices
