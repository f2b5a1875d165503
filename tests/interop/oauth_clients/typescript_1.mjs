// The OAuth client of the official TypeScript SDK, first major version: `node typescript_1.mjs URL [METADATA_URL]`.

import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Transport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { converse } from "./conversation.mjs";

const finish = (transport, query) => transport.finishAuth(query.get("code"));

await converse({ Client, Transport, UnauthorizedError, finish });
