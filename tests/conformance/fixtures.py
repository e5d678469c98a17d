"""What the conformance suite asks a server to have, registered as anybody's tools, resources and prompts would be.

The names, texts and schemas are the suite's own; no part of the product knows of them.
"""

from __future__ import annotations

from codesynapse.server.services import Services
from tests.conformance.fixtures_asking import asking_prompts, asking_tools
from tests.conformance.fixtures_content import prompts, resources, tools
from tests.conformance.fixtures_tasks import task_tools
from tests.conformance.fixtures_telling import changing_tools, telling_tools


def register_fixtures(services: Services) -> None:
    """Register all of them. Before the first connection: lists that change are announced with the capabilities."""
    toolbox, features = services.toolbox, services.features
    toolbox.catalog.changing |= {"tools", "prompts"}
    for each in (*tools(), *telling_tools(), *changing_tools(toolbox), *asking_tools(), *task_tools()):
        toolbox.register(each)
    features.add(*resources(), *prompts(), *asking_prompts())
