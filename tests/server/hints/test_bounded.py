"""The map under the hints: values by bucket, counted for each principal, in the order of their coming."""

from __future__ import annotations

from codesynapse.server.hints.bounded import BucketMap
from tests.server.hints.buckets import bucket


def filled() -> BucketMap[int]:
    made: BucketMap[int] = BucketMap()
    for number, (tenant, key) in enumerate([("a", "x"), ("b", "x"), ("a", "y")]):
        made.put(bucket(key, tenant=tenant), number)
    return made


def test_values_are_counted_for_each_principal_and_in_all():
    made = filled()
    assert (len(made), made.count(("a", "ana")), made.count(("b", "ana")), made.count(("c", "ana"))) == (3, 2, 1, 0)
    assert made.get(bucket("x", tenant="b")) == 1
    assert made.get(bucket("y", tenant="b")) is None


def test_what_is_put_again_is_replaced_where_it_is():
    made = filled()
    made.put(bucket("x", tenant="a"), 9)
    assert [value for _, value in made.places()] == [9, 1, 2]
    assert len(made) == made.count(("a", "ana")) + made.count(("b", "ana")) == 3


def test_the_oldest_is_one_principals_or_anybodys():
    made = filled()
    made.remove((("a", "ana"), "x"))
    assert made.oldest() == (("b", "ana"), "x")
    assert made.oldest(("a", "ana")) == (("a", "ana"), "y")


def test_what_is_removed_leaves_nothing_behind():
    made = filled()
    for place, value in made.places():
        assert made.remove(place) == value
    assert made.remove((("a", "ana"), "x")) is None
    assert (len(made), made._keys, list(made.places(("a", "ana")))) == (0, {}, [])
    made = filled()
    made.clear()
    assert (len(made), made._keys) == (0, {})
