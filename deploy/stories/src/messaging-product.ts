import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { listen } from '@parley/kernel/http/listen';
import { parseJson } from '@parley/kernel/json';

/** Starts a team-messaging product on loopback. It issues the token `messaging-token-of-<app id>` to every app. */
export async function startMessagingProduct() {
  const http = createServer(async (request, response) => {
    const app = parseJson(await text(request)) as { app_id?: string };
    const isExchange = request.url === '/open-apis/auth/v3/tenant_access_token/internal';
    const answer = { code: 0, tenant_access_token: `messaging-token-of-${app.app_id}`, expire: 7_200 };
    response.writeHead(isExchange ? 200 : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isExchange ? answer : {}));
  });
  const url = `http://${await listen(http)}`;
  return {
    url,
    async stop(): Promise<void> {
      http.closeAllConnections();
      http.close();
    },
  };
}
