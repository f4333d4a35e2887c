import { randomBytes } from 'node:crypto';
import { type Caller, createCallers } from '@parley/kernel/caller';
import { notFound } from '@parley/kernel/errors';
import { createAddresses } from '@parley/kernel/processes/addresses';
import { EvaluationServiceDefinition } from '@parley/protos/parley/evaluation/v1/evaluation';
import { Export, ExportServiceDefinition, type RequestExportRequest } from '@parley/protos/parley/export/v1/export';
import { type FollowRequest, SubscriptionServiceDefinition } from '@parley/protos/parley/live/v1/subscriptions';
import { rpcClient } from '@parley/rpc/client';
import { follow } from '@parley/rpc/follow';
import { serveStub } from '@parley/testing/serve-stub';
import { startService } from '@parley/testing/service-harness';
import type { ExecutionContext } from 'ava';
import { session } from '../src/service.ts';
import { scriptedAgent } from './scripted-agent.ts';
import { oneAtATime, serveIdentity, tokenKeys } from './session-mesh.ts';

/** Starts the whole unit on loopback servers and on a schema that only this test uses, with stubs of agent, evaluation and export. */
export const sessionUnit = (t: ExecutionContext, env: Record<string, string> = {}) =>
  oneAtATime(() => startUnit(t, env));

async function startUnit(t: ExecutionContext, env: Record<string, string>) {
  const callers = createCallers(randomBytes(32));
  const addresses = createAddresses({});
  const agent = await scriptedAgent(t, callers, addresses);
  await serveIdentity(t, new Map(), { callers, addresses });
  /** State of the evaluation stub: the size of the transcript, whether the evaluation exists, and the limits that were requested. */
  const evaluations = { transcriptBytes: 17n, isMade: true, asked: [] as (bigint | undefined)[] };
  await serveStub(
    t,
    EvaluationServiceDefinition,
    {
      getEvaluation: async ({ sessionId, maxTranscriptBytes }) => {
        evaluations.asked.push(maxTranscriptBytes);
        if (!evaluations.isMade) return {};
        return {
          evaluation: {
            id: 7,
            sessionId,
            score: 80,
            summary: 'Well done',
            strengths: ['clear'],
            weaknesses: [],
            recommendation: 'GOOD',
            transcriptJson: (maxTranscriptBytes ?? 0n) < evaluations.transcriptBytes ? '' : '[{"role":"USER"}]',
            generatedAt: new Date(0),
            createdAt: new Date(0),
            updatedAt: new Date(0),
            transcriptBytes: evaluations.transcriptBytes,
          },
        };
      },
    },
    { callers, addresses },
  );
  /** The export requests that the stub received; only export 7 exists. */
  const exports = { asked: [] as RequestExportRequest[] };
  const made = Export.fromPartial({ id: 7, kind: 'STUDY_KIT', createdAt: new Date(0), updatedAt: new Date(0) });
  await serveStub(
    t,
    ExportServiceDefinition,
    {
      async requestExport(request) {
        exports.asked.push(request);
        return { export: { ...made, status: 'PENDING' } };
      },
      async getExport({ id }) {
        if (id !== made.id) throw notFound('Thing', id);
        return { export: { ...made, status: 'READY', downloadUrl: 'https://files.test/7', fileSizeBytes: 3 } };
      },
    },
    { callers, addresses },
  );

  const running = await startService(t, session, {
    env: { SESSION_STOP_GRACE_MS: '100', AVATAR_TOKEN_KEYS: tokenKeys, ...env },
    dependencies: { addresses, callers },
  });
  const subscriptions = rpcClient({
    definition: SubscriptionServiceDefinition,
    unit: 'session',
    address: () => addresses.of('session', 'rpc'),
    callers,
  });
  await subscriptions.start();
  t.teardown(() => subscriptions.stop());
  /** Opens a subscription to `sessionEvents`, from the beginning of the session. */
  const events = (caller: Caller, sessionId: number) => {
    // allow-name sessionEvents: the request that a gateway makes for this field
    const request = {
      field: 'sessionEvents',
      argumentsJson: JSON.stringify({ sessionId, after: '0' }),
      afterEventId: '',
    };
    const open = (requests: AsyncIterable<FollowRequest>, { signal }: { signal: AbortSignal }) =>
      subscriptions.calls.follow(requests, { caller, signal, expectedErrors: ['unauthenticated'] });
    return follow(open, request, new AbortController().signal);
  };
  const firstEvent = async (caller: Caller, sessionId: number) => (await events(caller, sessionId).next()).value;

  return {
    addresses,
    agent,
    unit: running.unit,
    graph: running.graph,
    rpc: running.rpc,
    events,
    firstEvent,
    evaluations,
    exports,
    ops: addresses.of('session', 'ops'),
  };
}
