// The official TypeScript SDK's client, first line of releases.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { command, headers, run, url } from "./peer.mjs";

let transport;

async function connected() {
  transport = command.length
    ? new StdioClientTransport({ command: command[0], args: command.slice(1), env: process.env })
    : new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  const client = new Client({ name: "typescript-v1", version: "1.0.0" });
  await client.connect(transport);
  return client;
}

await run(connected, () => transport.protocolVersion ?? null);
