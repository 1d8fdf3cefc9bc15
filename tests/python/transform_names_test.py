"""How the transforms of one collate function are told apart."""

from collections.abc import Callable
from typing import Any

from metatrain_timing._hooks.metatrain_data import transform_names


def make_first() -> Callable[[], None]:
    def transform() -> None: ...

    return transform


def make_second() -> Callable[[], None]:
    def transform() -> None: ...

    return transform


def center() -> None: ...


class Augmenter:
    def rotate(self) -> None: ...

    def __call__(self) -> None: ...


def names(*transforms: Callable[..., Any]) -> list[str]:
    return transform_names(list(transforms))


def test_a_name_of_its_own_is_enough() -> None:
    assert names(center, Augmenter().rotate, Augmenter()) == [
        "center",
        "rotate",
        "Augmenter",
    ]


def test_closures_of_one_name_are_called_by_where_they_come_from() -> None:
    assert names(make_first(), center, make_second()) == [
        "make_first.transform",
        "center",
        "make_second.transform",
    ]


def test_five_closures_of_one_maker_are_numbered() -> None:
    assert names(*[make_first() for _ in range(5)]) == [
        "make_first.transform",
        "make_first.transform#2",
        "make_first.transform#3",
        "make_first.transform#4",
        "make_first.transform#5",
    ]


def test_no_transform_is_no_name() -> None:
    assert names() == []
