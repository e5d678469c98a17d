"""Who is refused how: one table, by every way over HTTP, each row beside the same request that is right.

Every row also shows that no answer, header, log line or metric holds what was offered.
"""

import pytest

from codesynapse.contracts.requirements import requirement
from tests.integration import refusals_content as content
from tests.integration import refusals_identity as identity
from tests.integration import refusals_world as ways
from tests.integration.refusals_identity import no_headers
from tests.integration.refusals_world import (
    ALL,
    Answer,
    Case,
    Overheard,
    Way,
    World,
    assert_unheard,
    message,
    world,
)


def rows(*parts: list[Case]) -> pytest.MarkDecorator:
    """A part of the table as parameters."""
    cases = [(case, way) for part in parts for case in part for way in case.ways]
    names = [f"{case.name}, {way.__name__}" for case, way in cases]
    return pytest.mark.parametrize(("case", "way"), cases, ids=names)


async def permitted(here: World, way: Way, seat: str) -> None:
    """The right request is served."""
    answer = await here.send(await way(here, seat))
    assert answer.status < 300, answer
    assert answer.refusal == {}


async def refused(case: Case, way: Way, monkeypatch: pytest.MonkeyPatch, overheard: Overheard) -> Answer:
    """The answer to a wrong request, which is the table's; the right one is served before it, and after it."""
    async with world(monkeypatch) as here:
        await permitted(here, way, "spare")
        ask = await way(here, "first")
        await case.spoil(here, ask)
        answer = await here.send(ask)
        assert (answer.status, answer.refusal.get("code")) == (case.status, case.code)
        assert case.field is None or answer.refusal["field"] == case.field
        await assert_unheard(here, ask, answer, overheard)
        if not case.lasting:
            # On the same transport and session: the refusal has changed nothing.
            await permitted(here, way, "first")
        return answer


@requirement("refused:credential", "binding:membership", "binding:suspension")
@rows(identity.CREDENTIALS)
async def test_a_credential_that_does_not_work_is_refused(
    case: Case, way: Way, monkeypatch: pytest.MonkeyPatch, overheard: Overheard
) -> None:
    answer = await refused(case, way, monkeypatch, overheard)
    assert (("WWW-Authenticate", "Bearer") in answer.headers) == (case.status == 401)


@requirement("refused:transport-unknown", "refused:no-transport-id")
@rows(identity.TRANSPORTS)
async def test_a_transport_session_that_is_not_this_credentials_own_is_refused(
    case: Case, way: Way, monkeypatch: pytest.MonkeyPatch, overheard: Overheard
) -> None:
    await refused(case, way, monkeypatch, overheard)


@requirement("refused:header-bad", "headers:both", "mcp:bind:no-switch")
@rows(identity.EXECUTIONS)
async def test_a_session_that_is_not_named_rightly_not_ones_own_or_over_is_refused(
    case: Case, way: Way, monkeypatch: pytest.MonkeyPatch, overheard: Overheard
) -> None:
    await refused(case, way, monkeypatch, overheard)


@requirement("refused:arguments-mcp", "refused:arguments-rest", "refused:read-grant")
@rows(content.ARGUMENTS)
async def test_what_arguments_decide_is_refused_beside_the_transport(
    case: Case, way: Way, monkeypatch: pytest.MonkeyPatch, overheard: Overheard
) -> None:
    answer = await refused(case, way, monkeypatch, overheard)
    assert {"ok", "code", "error"} <= set(answer.refusal)
    assert answer.refusal["ok"] is False


@requirement("refused:register-caps", "refused:revoke-unknown", "refused:owner-told")
@rows(content.REGISTRATION)
async def test_an_id_that_is_not_ones_to_register_or_revoke_is_refused(
    case: Case, way: Way, monkeypatch: pytest.MonkeyPatch, overheard: Overheard
) -> None:
    await refused(case, way, monkeypatch, overheard)


@requirement("errors:no-echo", "metrics:no-session-labels")
@pytest.mark.parametrize("way", ALL, ids=lambda way: way.__name__)
async def test_what_is_granted_leaves_no_identifier_in_logs_and_metrics_either(
    way: Way, monkeypatch: pytest.MonkeyPatch, overheard: Overheard
) -> None:
    async with world(monkeypatch) as here:
        ask = await way(here, "first")
        answer = await here.send(ask)
        assert answer.status < 300
        # Its own answer may name the session: it is the one that was asked for.
        unsaid = Answer(status=answer.status, headers=(), raw=b"", body={})
        here.offered += [here.session, here.owner.tenant, here.owner.subject]
        await assert_unheard(here, ask, unsaid, overheard)


@requirement("unbound:methods", "unbound:get")
async def test_an_unbound_transport_answers_lists_alone_until_both_headers_bind_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with world(monkeypatch) as here:
        bare = await ways.initialize(here, "first")
        await no_headers(here, bare)
        opened = await here.send(bare)
        ask = await ways.post(here, "first")
        ask.headers["Mcp-Session-Id"] = dict(opened.headers)["Mcp-Session-Id"]
        unbound = ways.Ask(method="POST", path="/mcp", headers=ask.headers.copy(), body=None)
        await no_headers(here, unbound)
        for method, status in (("ping", 200), ("tools/list", 200), ("tools/call", 403), ("resources/list", 403)):
            unbound.body = message(method, {"name": "recall_context", "arguments": {"query": "tea"}})
            assert (method, (await here.send(unbound)).status) == (method, status)
        unbound.method, unbound.body = "GET", None
        answer = await here.send(unbound)
        assert (answer.status, answer.refusal["code"]) == (403, "execution_missing")
        assert (await here.send(ask)).status == 200
        # From now on it is bound: what was open to it before needs the headers as well.
        unbound.method, unbound.body = "POST", message("tools/list", {})
        assert (await here.send(unbound)).status == 403
