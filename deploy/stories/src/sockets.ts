import { type ClientOptions, createClient } from 'graphql-ws';
import { WebSocket } from 'ws';
import type { GraphError } from './client.ts';

interface SocketOptions extends Pick<ClientOptions, 'on' | 'lazy'> {
  url: string;
  /** Sent as connectionParams; the client's address also as a header. */
  credentials: Record<string, string>;
  /** Handed the socket itself, before it is open. */
  onSocket?(socket: WebSocket): void;
}

/** A graphql-ws client on one socket, which never opens another. */
export function openSocket({ url, credentials, onSocket, ...options }: SocketOptions) {
  return createClient({
    url: url.replace(/^http/, 'ws'),
    retryAttempts: 0,
    onNonLazyError: () => undefined,
    connectionParams: credentials,
    webSocketImpl: class extends WebSocket {
      constructor(address: string, protocols: string[]) {
        super(address, protocols, { headers: { 'x-forwarded-for': credentials['x-forwarded-for'] ?? '' } });
        onSocket?.(this);
      }
    },
    ...options,
  });
}

/**
 * How a subscription is answered, on a socket of its own: `ok` with its first event, the code of its refusal with the reason,
 * or `closed 4403`.
 */
export async function subscribeOutcome(
  url: string,
  credentials: Record<string, string>,
  query: string,
  variables: Record<string, unknown>,
): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const closed = (event: unknown) => resolve(`closed ${(event as { code: number }).code}`);
  const client = openSocket({ url, credentials, on: { closed } });
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
