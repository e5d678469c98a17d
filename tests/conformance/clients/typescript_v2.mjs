// The official TypeScript SDK's client, second line of releases. Its argument: how it finds the era, `legacy` or `auto`.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { command, headers, run, url } from "./peer.mjs";

const mode = process.argv[2];

async function connected() {
  const transport = command.length
    ? new StdioClientTransport({ command: command[0], args: command.slice(1), env: process.env })
    : new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  const options = mode === "auto" ? { versionNegotiation: { mode } } : {};
  const client = new Client({ name: "typescript-v2", version: "1.0.0" }, options);
  await client.connect(transport);
  return client;
}

await run(connected, (client) => client.getNegotiatedProtocolVersion?.() ?? null);
