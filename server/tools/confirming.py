"""A tool that destroys asks first, where its client can be asked."""

from codesynapse.contracts.errors import NotConfirmed
from codesynapse.server.tools.registry import InputRequest, ToolContext

KEY = "confirm"


async def confirm(context: ToolContext, message: str) -> None:
    """Ask the user to confirm, before anything is done; a client that cannot be asked is not.

    Raises NotConfirmed where the user declines or turns away, InputUnanswered where the client does not answer.
    """
    if not context.can_ask("elicitation/create"):
        return
    params = {"message": message, "requestedSchema": {"type": "object", "properties": {}}}
    answers = await context.ask({KEY: InputRequest("elicitation/create", params)})
    if answers[KEY].get("action") != "accept":
        raise NotConfirmed
