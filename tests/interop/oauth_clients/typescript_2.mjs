// The OAuth client of the official TypeScript SDK, second major version: `node typescript_2.mjs URL [METADATA_URL]`.

import { Client, StreamableHTTPClientTransport as Transport, UnauthorizedError } from "@modelcontextprotocol/client";
import { converse } from "./conversation.mjs";

const finish = (transport, query) => transport.finishAuth(query);

await converse({ Client, Transport, UnauthorizedError, finish });
