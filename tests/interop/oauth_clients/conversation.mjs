// What the TypeScript clients share: the orders and answers of conversation.py, a listener for the redirect, and a
// provider that keeps everything in memory.

import { createServer } from "node:http";
import { createInterface } from "node:readline";

export const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");

export async function obey(orders) {
  for await (const line of createInterface({ input: process.stdin })) {
    const { do: name, ...rest } = JSON.parse(line);
    try {
      say({ done: (await orders[name](rest)) ?? null });
    } catch (error) {
      console.error(error);
      say({ failed: `${error.constructor.name}: ${error.message}` });
    }
  }
  process.exit(0);
}

/** Listens where the browser comes back. */
export class Redirects {
  #waiting = [];
  #queries = [];

  async listen() {
    const server = createServer((request, response) => {
      const url = new URL(request.url, "http://127.0.0.1");
      response.setHeader("Content-Type", "text/html").end("<title>Back</title>Back.");
      if (url.pathname !== "/callback") return;
      const next = this.#waiting.shift();
      next ? next(url.searchParams) : this.#queries.push(url.searchParams);
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${server.address().port}/callback`;
  }

  /** The parameters of the next redirect. */
  async take() {
    return this.#queries.shift() ?? new Promise((resolve) => this.#waiting.push(resolve));
  }
}

/** Where the client keeps its registration and tokens. */
export class Memory {
  constructor(redirectUrl, clientMetadataUrl) {
    this.redirectUrl = redirectUrl;
    this.clientMetadataUrl = clientMetadataUrl;
    this.clientMetadata = { client_name: "TypeScript SDK", redirect_uris: [redirectUrl] };
  }
  state() {
    return "a-state-of-its-own";
  }
  clientInformation() {
    return this.client;
  }
  saveClientInformation(client) {
    this.client = client;
  }
  tokens() {
    return this.kept;
  }
  saveTokens(tokens) {
    this.kept = tokens;
  }
  redirectToAuthorization(url) {
    say({ open: url.href });
  }
  saveCodeVerifier(verifier) {
    this.verifier = verifier;
  }
  codeVerifier() {
    return this.verifier;
  }
  invalidateCredentials(what) {
    if (what === "all" || what === "client") this.client = undefined;
    if (what === "all" || what === "tokens") this.kept = undefined;
  }
}

/** The orders of a client. `finish` ends a login with the parameters of the redirect. */
export async function converse({ Client, Transport, UnauthorizedError, finish }) {
  const [url, metadataUrl] = process.argv.slice(2);
  const redirects = new Redirects();
  const memory = new Memory(await redirects.listen(), metadataUrl);
  let client, transport;

  async function open() {
    transport = new Transport(new URL(url), { authProvider: memory });
    client = new Client({ name: "interop", version: "1" });
    await client.connect(transport);
  }
  async function withLogin(work) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof UnauthorizedError)) throw error;
      await finish(transport, await redirects.take());
      return await work();
    }
  }
  await obey({
    connect: () => withLogin(open),
    tools: () => withLogin(async () => (await client.listTools()).tools.map((tool) => tool.name)),
    call: (order) => withLogin(async () => (await client.callTool(order)).content[0].text),
    tokens: async () => ({
      client_id: memory.client?.client_id ?? null,
      client_secret: memory.client?.client_secret ?? null,
      ...memory.kept,
    }),
  });
}
