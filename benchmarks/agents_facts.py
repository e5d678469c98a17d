"""What the benchmark of agent memory stores and asks: the same on every run, so that both sides get the same.

Each person has ten facts, and a question in other words for each of them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

AGENT = "bench"
_FIRST = (
    "Ada Amir Ana Bela Bruno Cara Chen Dario Dina Elif Emil Esra Femi Freya Gita Hana Hugo Ines Ivan Jana Jonas Kaito "
    "Karim Lara Leon Lucia Mads Maja Mateo Mina Nadia Nils Noor Olga Omar Paula Petra Quinn Rafa Rosa Sami Sven Tariq "
    "Tilda Uma Viktor Wanda Yuki"
)
_LAST = (
    "Abbas Adler Bauer Berg Costa Cruz Dahl Diaz Eriksen Farah Fischer Garcia Haas Hansen Ito Jansen Kaya Keller Kovac "
    "Lang Lindh Lopez Marek Meyer Moretti Novak Okafor Olsen Petrov Quist Rossi Santos Sato Silva Stone Tanaka Torres "
    "Varga Weber Zhang"
)
_CITIES = "Aarhus Bergen Bilbao Cork Dresden Gdansk Ghent Graz Kyoto Leeds Lyon Malmo Nantes Porto Turin Utrecht"
KINDS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "{name} works as a {value} and likes the job.",
        "What is {name}'s profession?",
        ("nurse", "pilot", "baker", "tailor", "welder", "lawyer"),
    ),
    ("{name} moved to {value} and rents a flat there.", "In which city does {name} live?", tuple(_CITIES.split())),
    (
        "{name} has a {value} at home as a pet.",
        "Which animal does {name} keep?",
        ("cat", "parrot", "dog", "rabbit", "tortoise"),
    ),
    (
        "{name} drinks {value} every morning.",
        "What does {name} have to drink at breakfast?",
        ("tea", "coffee", "cocoa", "juice"),
    ),
    (
        "{name} plays {value} on Thursdays after work.",
        "Which sport does {name} do?",
        ("tennis", "chess", "squash", "handball"),
    ),
    (
        "{name} is learning the {value} with a teacher.",
        "Which instrument is {name} practising?",
        ("violin", "harp", "trumpet", "cello"),
    ),
    (
        "The birthday of {name} is on the {value} of May.",
        "When was {name} born?",
        ("3rd", "9th", "14th", "21st", "30th"),
    ),
    (
        "{name} drives a {value} car that is ten years old.",
        "What colour is the car of {name}?",
        ("red", "green", "grey", "blue"),
    ),
    (
        "{name} is allergic to {value} and carries medicine.",
        "What must {name} not eat?",
        ("peanuts", "shrimp", "eggs", "sesame"),
    ),
    (
        "{name} leads the project {value} until next summer.",
        "What is {name} responsible for?",
        ("Atlas", "Birch", "Comet", "Delta"),
    ),
)


@dataclass(frozen=True)
class Fact:
    """One statement, and a question that it answers."""

    content: str
    question: str


def facts(count: int) -> list[Fact]:
    """The first facts, of at most 19,200. A longer list begins as a shorter one."""
    drawn = random.Random(6)
    people = [f"{first} {last}" for first in _FIRST.split() for last in _LAST.split()]
    drawn.shuffle(people)
    return [_fact(people[number // len(KINDS)], number % len(KINDS), drawn) for number in range(count)]


def _fact(name: str, kind: int, drawn: random.Random) -> Fact:
    statement, question, values = KINDS[kind]
    return Fact(statement.format(name=name, value=drawn.choice(values)), question.format(name=name))


def store_arguments(fact: Fact) -> dict[str, Any]:
    """The arguments of `store`, which both sides take."""
    source = {"type": "User", "id": "ana", "name": "Ana"}
    return {"agent_id": AGENT, "content": fact.content, "source": source, "timestamp": "2026-11-30T12:00:00Z"}


def recall_arguments(fact: Fact) -> dict[str, Any]:
    """The arguments of `recall`, which both sides take; ten hits are their default."""
    return {"agent_id": AGENT, "query": fact.question}
