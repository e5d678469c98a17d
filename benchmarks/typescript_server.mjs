// The peer: an echo tool on the official TypeScript SDK's server. Its arguments: an era, `legacy` or `modern`, and a
// form of answers, `sse` or `json`. At the session revisions each session has a server and a transport of its own, as
// the SDK's guide wants; at the stateless one its handler makes a server for each request.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { McpServer, WebStandardStreamableHTTPServerTransport, createMcpHandler } from "@modelcontextprotocol/server";
import { z } from "zod";

const [era, form] = process.argv.slice(2);
const arguments_ = z.object({ text: z.string() });
const said = (text) => ({ content: [{ type: "text", text }] });

async function progress(context, step, message) {
  const progressToken = context.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return;
  const params = { progressToken, progress: step, message };
  await context.mcpReq.notify({ method: "notifications/progress", params });
}

function made() {
  const server = new McpServer({ name: "echo", version: "1.0.0" });
  const options = { description: "Say it again.", inputSchema: arguments_ };
  server.registerTool("echo", options, async ({ text }) => said(text));
  server.registerTool("tell", options, async ({ text }, context) => {
    await progress(context, 1, "one");
    return said(text);
  });
  server.registerTool("flood", options, async ({ text }, context) => {
    for (let step = 1; step <= 20_000; step++) {
      await progress(context, step, text);
      if (step % 100 === 0) await new Promise(setImmediate);
    }
    return said("");
  });
  return server;
}

function withSessions() {
  const transports = new Map();
  return async (request) => {
    const known = request.headers.get("mcp-session-id");
    if (known !== null) return transports.get(known).handleRequest(request);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: form === "json",
      onsessioninitialized: (id) => void transports.set(id, transport),
      onsessionclosed: (id) => void transports.delete(id),
    });
    await made().connect(transport);
    return transport.handleRequest(request);
  };
}

function withoutSessions() {
  const options = { legacy: "reject", responseMode: form === "json" ? "json" : "auto", maxSubscriptions: 20_000 };
  const handler = createMcpHandler(made, options);
  return (request) => handler.fetch(request);
}

const listener = getRequestListener(era === "modern" ? withoutSessions() : withSessions());
const server = createServer(listener);
server.listen(0, "127.0.0.1", 1024, () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}/mcp`, headers: {} }));
});
