import { randomBytes } from 'node:crypto';
import { type Caller, callerHeader, createCallers } from '@parley/kernel/caller';
import { createAddresses } from '@parley/kernel/processes/addresses';
import { memoryEventLog } from '@parley/live/event-log/memory-event-log';
import { type FollowRequest, SubscriptionServiceDefinition } from '@parley/protos/parley/live/v1/subscriptions';
import { rpcClient } from '@parley/rpc/client';
import { follow } from '@parley/rpc/follow';
import { eventually } from '@parley/testing/eventually';
import { type ModelServer, startModelServer } from '@parley/testing/model-server';
import { type GraphAnswer, startService } from '@parley/testing/service-harness';
import { replicaOf, testSchema } from '@parley/testing/test-schema';
import type { ExecutionContext } from 'ava';
import { agentSchema } from '../src/agent-schema.ts';
import type { TextGenerationEventDto } from '../src/generated/schema.ts';
import { agent } from '../src/service.ts';
import { secretsKeys } from './agent-unit.ts';
import { startLedger } from './ledger.ts';

export const keyOf = (tenantId: number, apiKeyId = 9) =>
  ({ kind: 'apiKey', tenantId, apiKeyId, requestId: 'r' }) as const satisfies Caller;
const document = 'mutation ($input: GenerateTextInput!) { startTextGeneration(input: $input) { requestId } }';

/** Creates replicas of agent that share one database, event log, ledger and model server. */
export async function agentReplicas(
  t: ExecutionContext,
  more: Record<string, string> | ((server: ModelServer) => Record<string, string>) = {},
) {
  let offsetMs = 0;
  const database = await testSchema(t, agentSchema);
  const callers = createCallers(randomBytes(32));
  const eventLog = memoryEventLog();
  const server = await startModelServer();
  t.teardown(() => server.stop());
  const units = createAddresses({});
  const ledger = await startLedger(t, { callers, addresses: units });
  const env = {
    ...secretsKeys,
    HOSTED_SMALL_MODEL_URL: server.url,
    HOSTED_SMALL_MODEL_MODEL: 'gpt-4o',
    HOSTED_SMALL_MODEL_KEY: 'canary-key',
    HOSTED_SMALL_MODEL_RETRIES: '0',
    ...(typeof more === 'function' ? more(server) : more),
  };

  /**
   * Starts a replica.
   * @param soleOwner whether the replica takes over jobs of dead processes at once
   * @param settings override the settings that all replicas share
   */
  async function replica({ soleOwner = false, settings = {} } = {}) {
    const own = await replicaOf(t, database, agentSchema, { clockOffsetMs: () => offsetMs });
    const addresses = createAddresses({
      ACTION_RPC_URL: '127.0.0.1:1',
      IDENTITY_RPC_URL: units.of('identity', 'rpc'),
      KNOWLEDGE_RPC_URL: '127.0.0.1:1',
    });
    const dependencies = { callers, addresses, eventLog, soleOwner };
    const running = await startService(t, agent, { env: { ...env, ...settings }, database: own, dependencies });
    const client = rpcClient({
      definition: SubscriptionServiceDefinition,
      unit: 'agent',
      address: () => addresses.of('agent', 'rpc'),
      callers,
    });
    await client.start();
    t.teardown(() => client.stop());
    return {
      graph: running.graph,
      /** Sends a request as a gateway does; the connection closes when the signal aborts. */
      async ask(
        caller: Caller,
        query: string,
        variables: object,
        signal: AbortSignal | null = null,
      ): Promise<GraphAnswer> {
        const headers = { 'content-type': 'application/json', [callerHeader]: await callers.mint(caller, 'agent') };
        const body = JSON.stringify({ query, variables });
        const response = await fetch(addresses.of('agent', 'graph'), { method: 'POST', headers, body, signal });
        return response.json() as Promise<GraphAnswer>;
      },
      async start(caller: Caller, prompt = 'Say hello.') {
        const { data, errors } = await running.graph(caller, document, { input: { prompt } });
        const { requestId = '' } = (data?.['startTextGeneration'] as { requestId: string } | null) ?? {};
        return { requestId, error: errors?.[0] };
      },
      /** Follows a generation. Resolves when the subscription is live, rejects if it is refused. */
      async listen(caller: Caller, requestId: string, afterEventId = '', after?: string) {
        const events: TextGenerationEventDto[] = [];
        const ids: string[] = [];
        const leave = new AbortController();
        t.teardown(() => leave.abort());
        const live = Promise.withResolvers<void>();
        // allow-name textGenerationEvents: a gateway's request for this field
        const request = {
          field: 'textGenerationEvents',
          argumentsJson: JSON.stringify({ requestId, after }),
          afterEventId,
        };
        const open = (requests: AsyncIterable<FollowRequest>, { signal }: { signal: AbortSignal }) =>
          client.calls.follow(requests, {
            caller,
            signal,
            expectedErrors: ['forbidden', 'unauthenticated', 'invalid'],
            onHeader: () => live.resolve(),
          });
        const reading = (async () => {
          for await (const { eventId, payloadJson } of follow(open, request, leave.signal)) {
            events.push(JSON.parse(payloadJson));
            ids.push(eventId);
          }
        })();
        await Promise.race([live.promise, reading]);
        return { events, ids, end: () => eventually('the last event', () => events.find(({ done }) => done)) };
      },
      jobs: () => own.transactShared(async ({ knex }) => Number((await knex('jobs').count()).at(0)?.['count'])),
      stop: () => running.unit.stop(),
      /** Simulates the death of the process by closing its database. */
      kill: () => own.close(),
    };
  }

  return {
    replica,
    database,
    server,
    ledger,
    later: (ms: number) => {
      offsetMs = ms;
    },
  };
}
