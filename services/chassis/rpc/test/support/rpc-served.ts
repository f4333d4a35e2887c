import { randomBytes } from 'node:crypto';
import { type Caller, type Callers, createCallers } from '@parley/kernel/caller';
import { createMetrics } from '@parley/kernel/telemetry/metrics';
import type { MeshOptions } from '@parley/kernel/tls/mesh';
import {
  EvaluationServiceDefinition,
  type EvaluationServiceImplementation,
} from '@parley/protos/parley/evaluation/v1/evaluation';
import {
  SubscriptionServiceDefinition,
  type SubscriptionServiceImplementation,
} from '@parley/protos/parley/live/v1/subscriptions';
import { SessionServiceDefinition, type SessionServiceImplementation } from '@parley/protos/parley/session/v1/session';
import { stubRpc } from '@parley/testing/stub-rpc';
import { tcpProxy } from '@parley/testing/tcp-proxy';
import type { ExecutionContext } from 'ava';
import { pino } from 'pino';
import { rpcClient } from '../../src/client.ts';
import { type MeshContext, rpcServer } from '../../src/server.ts';

export const caller: Caller = { kind: 'service', service: 'test', tenantId: 1, requestId: 'r-1' };
const log = pino({ level: 'silent' });

type Handlers = Partial<
  EvaluationServiceImplementation<MeshContext> &
    SessionServiceImplementation<MeshContext> &
    SubscriptionServiceImplementation<MeshContext>
>;

interface ServingOptions {
  /** The address that the server listens on. Default 127.0.0.1. */
  host?: string;
  /** The port that the server listens on. Default: any free port. */
  port?: number;
  /** Signs and verifies the callers of all calls. Default: with a new key. */
  callers?: Callers;
  /** Mesh options of the server and its clients. */
  mesh?: MeshOptions;
  /** Whether clients connect through a proxy. */
  viaProxy?: boolean;
  /** How long open calls may take to end when the server stops. Default 2 s. */
  drainTimeoutMs?: number;
  /** The keepalive timeout of the clients. Default: 1 s through a proxy, otherwise the client's own default. */
  keepaliveTimeoutMs?: number;
}

/** A server of the mesh with these handlers and, for each of its services, a client with its own connection. */
export async function serving(
  t: ExecutionContext,
  handlers: Handlers,
  {
    host = '127.0.0.1',
    port = 0,
    callers = createCallers(randomBytes(32)),
    mesh,
    viaProxy = false,
    drainTimeoutMs = 2_000,
    keepaliveTimeoutMs = viaProxy ? 3_000 : undefined,
  }: ServingOptions = {},
) {
  let address = '';
  const server = rpcServer({
    unit: 'it',
    host,
    port,
    callers,
    mesh,
    log,
    metrics: createMetrics('it'),
    drainTimeoutMs,
    services: (grpc) => {
      const evaluation: EvaluationServiceImplementation<MeshContext> = stubRpc(EvaluationServiceDefinition, handlers);
      const session: SessionServiceImplementation<MeshContext> = stubRpc(SessionServiceDefinition, handlers);
      grpc.add(EvaluationServiceDefinition, evaluation);
      const subscriptions: SubscriptionServiceImplementation<MeshContext> = stubRpc(
        SubscriptionServiceDefinition,
        handlers,
      );
      grpc.add(SessionServiceDefinition, session);
      grpc.add(SubscriptionServiceDefinition, subscriptions);
    },
    onListening: (bound) => {
      address = bound;
    },
  });
  await server.start();
  const proxy = viaProxy
    ? await tcpProxy({ host: '127.0.0.1', port: Number(new URL(`tcp://${address}`).port) })
    : undefined;
  const to = {
    unit: 'it',
    address: () => (proxy ? `127.0.0.1:${proxy.port}` : address),
    callers,
    mesh,
    ...(keepaliveTimeoutMs !== undefined && { keepaliveTimeoutMs }),
  };
  const evaluation = rpcClient({ definition: EvaluationServiceDefinition, ...to });
  const session = rpcClient({ definition: SessionServiceDefinition, ...to });
  const subscriptions = rpcClient({ definition: SubscriptionServiceDefinition, ...to });
  await evaluation.start();
  await session.start();
  await subscriptions.start();
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= server.stop();
    return stopped;
  };
  t.teardown(async () => {
    await evaluation.stop();
    await session.stop();
    await subscriptions.stop();
    await stop();
    await proxy?.close();
  });
  return {
    evaluation: evaluation.calls,
    session: session.calls,
    subscriptions: subscriptions.calls,
    ...to,
    stop,
    proxy,
  };
}
