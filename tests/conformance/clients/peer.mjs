// What every client written in JavaScript does; see peer.py.
const env = process.env;
export const url = env.PEER_URL;
export const command = JSON.parse(env.PEER_COMMAND);
export const headers = {
  Authorization: `Bearer ${env.PEER_KEY}`,
  "X-CodeSynapse-Session": env.PEER_SESSION,
  "X-CodeSynapse-Parent-Session": env.PEER_SESSION,
};
const triple = { subject: "Ada Lovelace", predicate: "married", object: "William King" };
const TRIES = 3;

async function register() {
  const answer = await fetch(url.replace(/\/mcp$/, "/api/v1/execution/sessions"), {
    method: "POST",
    headers: { Authorization: headers.Authorization, "Content-Type": "application/json" },
    body: JSON.stringify({ session_id: env.PEER_SESSION }),
  });
  if (!answer.ok) throw new Error(`registering was answered with ${answer.status}`);
}

async function called(client, name, args) {
  const result = await client.callTool({ name, arguments: args });
  if (result.isError) throw new Error(JSON.stringify(result));
  return result.structuredContent;
}

async function remember(connected) {
  for (let attempt = 1; ; attempt += 1) {
    const client = await connected();
    try {
      const listed = (await client.listTools()).tools.map((tool) => tool.name);
      const args = { triples: [triple], memory_scope: "session" };
      const { added, unchanged } = await called(client, "upsert_graph_triples", args);
      return { tries: attempt, added, unchanged, listed };
    } catch (error) {
      if (attempt === TRIES) throw error;
      console.error(`connects again after ${error}`);
    } finally {
      await client.close();
    }
  }
}

async function recall(connected) {
  const client = await connected();
  const { facts } = await called(client, "recall_context", { query: "Whom had Ada Lovelace married?" });
  await client.close();
  return [facts[0].subject, facts[0].predicate, facts[0].object];
}

// connected: makes a client and connects it. versionOf: the revision that the last one agreed on.
export async function run(connected, versionOf) {
  await register();
  let version = null;
  const connecting = async () => {
    const client = await connected();
    version = versionOf(client);
    return client;
  };
  const remembered = await remember(connecting);
  const recalled = [await recall(connecting), await recall(connecting)];
  console.log(JSON.stringify({ ...remembered, version, recalled }));
}
