import { createClient } from 'graphql-ws';
import { WebSocket } from 'ws';
import type { GraphError } from './client.ts';

/**
 * How a subscription is answered, on a socket of its own: `ok` with its first event, the code of its refusal with the reason,
 * or `closed 4403`.
 */
export async function subscribeOutcome(
  url: string,
  headers: Record<string, string>,
  query: string,
  variables: Record<string, unknown>,
): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const client = createClient({
    url: url.replace(/^http/, 'ws'),
    retryAttempts: 0,
    connectionParams: headers,
    webSocketImpl: class extends WebSocket {
      constructor(address: string, protocols: string[]) {
        super(address, protocols, { headers: { 'x-forwarded-for': headers['x-forwarded-for'] ?? '' } });
      }
    },
    on: { closed: (event) => resolve(`closed ${(event as { code: number }).code}`) },
  });
  client.subscribe(
    { query, variables },
    {
      next: ({ errors }) => resolve(errors ? codeOf(errors) : 'ok'),
      error: (error) => {
        if (Array.isArray(error)) resolve(codeOf(error as GraphError[]));
      },
      complete: () => resolve('completed'),
    },
  );
  const answer = await promise;
  await client.dispose();
  return answer;
}

function codeOf(errors: readonly { extensions?: unknown }[]): string {
  const { code, reason } = (errors[0]?.extensions ?? {}) as { code?: string; reason?: string };
  return [code, reason].filter(Boolean).join(' ');
}
