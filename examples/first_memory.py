"""The first memory: twelve facts from a paragraph, then a question that three of them answer.

Speaks MCP over HTTP by hand, with nothing but the standard library, so that every byte can be seen. Needs a running
server, CODESYNAPSE_API_KEY, and in CODESYNAPSE_SESSION_ID an id that was registered; the README shows how.
"""

import json
import os
import sys
import urllib.error
import urllib.request

URL = f"http://127.0.0.1:{os.environ.get('CODESYNAPSE_PORT') or 8420}/mcp"

PARAGRAPH = """
Maria Sibylla Merian was born in Frankfurt in 1647. Her stepfather, the still-life painter Jacob Marrel, taught her to
paint. She married Johann Andreas Graff and went with him to Nuremberg, where she published a book on caterpillars that
showed each of them beside the plant it eats. Later she settled in Amsterdam. At fifty-two she sailed to Suriname with
her younger daughter, Dorothea Maria, to watch tropical insects alive. What she saw there became her great work, the
Metamorphosis. She died in Amsterdam in 1717.
"""

# What a model would take from the paragraph: short statements of subject, predicate and object.
FACTS = [
    ("Maria Sibylla Merian", "born_in", "Frankfurt"),
    ("Maria Sibylla Merian", "born_in_year", "1647"),
    ("Jacob Marrel", "taught_painting_to", "Maria Sibylla Merian"),
    ("Jacob Marrel", "painted", "still lifes"),
    ("Maria Sibylla Merian", "married", "Johann Andreas Graff"),
    ("Maria Sibylla Merian", "published_in_nuremberg", "the book on caterpillars"),
    ("the book on caterpillars", "shows", "each caterpillar beside the plant it eats"),
    ("Maria Sibylla Merian", "settled_in", "Amsterdam"),
    ("Maria Sibylla Merian", "sailed_to", "Suriname"),
    ("Dorothea Maria", "sailed_to", "Suriname"),
    ("the Metamorphosis", "describes_insects_of", "Suriname"),
    ("Maria Sibylla Merian", "died_in_year", "1717"),
]
QUESTION = "Who sailed to Suriname, and which work describes its insects?"


class Client:
    """An MCP client that is just large enough."""

    def __init__(self, key: str, session_id: str) -> None:
        self.requests = 0
        self.headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {key}",
            # The identity of this chat. It travels beside the arguments, where no model can choose it.
            "X-CodeSynapse-Session": session_id,
            "X-CodeSynapse-Parent-Session": session_id,
        }

    def open(self) -> None:
        """Agree on a revision of the protocol; from then on the transport session is named in each request."""
        client = {"name": "first-memory", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
        agreed = self.request("initialize", params)
        self.headers["MCP-Protocol-Version"] = agreed["protocolVersion"]
        self.send({"method": "notifications/initialized"})

    def call(self, tool: str, arguments: dict) -> dict:
        """A tool's answer. A failure of the tool is an answer too: it says what to do."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        if result["isError"]:
            sys.exit(result["structuredContent"]["error"])
        return result["structuredContent"]

    def request(self, method: str, params: dict) -> dict:
        """A request's result."""
        self.requests += 1
        answer = self.send({"id": self.requests, "method": method, "params": params})
        if "error" in answer:
            sys.exit(answer["error"]["message"])
        return answer["result"]

    def send(self, message: dict) -> dict:
        """Send one message and read the answer, if there is one: a JSON body, or a stream whose events hold it."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        try:
            with urllib.request.urlopen(urllib.request.Request(URL, body, self.headers)) as response:
                if "Mcp-Session-Id" in response.headers:
                    self.headers["Mcp-Session-Id"] = response.headers["Mcp-Session-Id"]
                text = response.read().decode()
        except urllib.error.HTTPError as refused:
            sys.exit(json.load(refused)["error"]["message"])
        except urllib.error.URLError as error:
            sys.exit(f"No server answers at {URL}: {error.reason}")
        if not text.startswith(("event:", "data:", "id:", "retry:", ":")):
            return json.loads(text or "{}")
        events = [line.removeprefix("data:").strip() for line in text.splitlines() if line.startswith("data:")]
        # The first event only names the stream, to resume it after a cut; the last one is the answer.
        return json.loads(events[-1])


def main() -> None:
    for name in ("CODESYNAPSE_API_KEY", "CODESYNAPSE_SESSION_ID"):
        if not os.environ.get(name):
            sys.exit(f"{name} is not set; the README says how to get it.")
    client = Client(os.environ["CODESYNAPSE_API_KEY"], os.environ["CODESYNAPSE_SESSION_ID"])
    client.open()

    triples = [{"subject": subject, "predicate": predicate, "object": object_} for subject, predicate, object_ in FACTS]
    # "session": this chat's own memory. Without it the facts would go to the repository's, durable and shared.
    stored = client.call("upsert_graph_triples", {"triples": triples, "memory_scope": "session"})
    print(f"Remembered: {stored['added']} new, {stored['unchanged']} known already.")

    print(QUESTION)
    for fact in client.call("recall_context", {"query": QUESTION, "limit": 3})["facts"]:
        print(f"  {fact['subject']} | {fact['predicate']} | {fact['object']}")


if __name__ == "__main__":
    main()
