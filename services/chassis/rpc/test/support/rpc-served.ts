import { randomBytes } from 'node:crypto';
import { type Caller, createCallers } from '@parley/kernel/caller';
import { createMetrics } from '@parley/kernel/metrics';
import {
  EvaluationServiceDefinition,
  type EvaluationServiceImplementation,
} from '@parley/protos/parley/evaluation/v1/evaluation';
import { SessionServiceDefinition, type SessionServiceImplementation } from '@parley/protos/parley/session/v1/session';
import { tcpLine } from '@parley/testing/tcp-line';
import type { ExecutionContext } from 'ava';
import { pino } from 'pino';
import { rpcClient } from '../../src/client.ts';
import { type MeshContext, rpcServer } from '../../src/server.ts';

/** Who asks. */
export const caller: Caller = { kind: 'service', service: 'test', tenantId: 1, requestId: 'r-1' };
const log = pino({ level: 'silent' });

type Handlers = Partial<EvaluationServiceImplementation<MeshContext> & SessionServiceImplementation<MeshContext>>;

interface ServingOptions {
  /** Makes the clients' connections go over a line that the test can hold. */
  overLine?: boolean;
  /** How long open calls may take to end when the server stops. Default 2 s. */
  drainTimeoutMs?: number;
  /** How long a silent peer is waited for. Default: over a line 1 s, else what clients have by default. */
  keepaliveTimeoutMs?: number;
}

/** A server of the mesh with these handlers, and a client of each of its services over a connection of its own. */
export async function serving(
  t: ExecutionContext,
  handlers: Handlers,
  { overLine = false, drainTimeoutMs = 2_000, keepaliveTimeoutMs = overLine ? 1_000 : undefined }: ServingOptions = {},
) {
  const callers = createCallers(randomBytes(32));
  let address = '';
  const unused = () => Promise.reject(new Error('not part of this test'));
  const server = rpcServer({
    unit: 'it',
    port: 0,
    callers,
    log,
    metrics: createMetrics('it'),
    drainTimeoutMs,
    services: (grpc) => {
      grpc.add(EvaluationServiceDefinition, { getEvaluation: handlers.getEvaluation ?? unused });
      grpc.add(SessionServiceDefinition, {
        watchSession: handlers.watchSession ?? async function* () {},
        followSession: handlers.followSession ?? async function* () {},
        resolveSessions: handlers.resolveSessions ?? unused,
        getTranscript: handlers.getTranscript ?? unused,
        streamTranscript: handlers.streamTranscript ?? async function* () {},
      });
    },
    onListening: (bound) => {
      address = bound;
    },
  });
  await server.start();
  const line = overLine
    ? await tcpLine({ host: '127.0.0.1', port: Number(new URL(`tcp://${address}`).port) })
    : undefined;
  const to = {
    unit: 'it',
    address: () => (line ? `127.0.0.1:${line.port}` : address),
    callers,
    ...(keepaliveTimeoutMs !== undefined && { keepaliveTimeoutMs }),
  };
  const evaluation = rpcClient({ definition: EvaluationServiceDefinition, ...to });
  const session = rpcClient({ definition: SessionServiceDefinition, ...to });
  await evaluation.start();
  await session.start();
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= server.stop();
    return stopped;
  };
  t.teardown(async () => {
    await evaluation.stop();
    await session.stop();
    await stop();
    await line?.close();
  });
  return { evaluation: evaluation.calls, session: session.calls, ...to, stop, line };
}
