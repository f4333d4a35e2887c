import { NotListeningYetError } from '@parley/kernel/addresses';
import { type Caller, type Callers, callerHeader } from '@parley/kernel/caller';
import type { Part } from '@parley/kernel/unit';
import { type Client, type CompatServiceDefinition, createChannel, createClientFactory } from 'nice-grpc';
import { deadlineMiddleware } from 'nice-grpc-client-middleware-deadline';
import { type RetryOptions, retryMiddleware } from 'nice-grpc-client-middleware-retry';
import type { CallOptions, ClientMiddlewareCall } from 'nice-grpc-common';
import { Metadata, Status } from 'nice-grpc-common';
import { errorDetailsClientMiddleware } from 'nice-grpc-error-details';
import { clientErrors, type ExpectedErrors } from './client-errors.ts';
import { keepDrainingConnections } from './draining-connections.ts';
import { rpcTarget } from './rpc-target.ts';
import { clientTracing } from './tracing.ts';

/** Beside `signal`: what a call of the mesh says. */
export interface MeshCallOptions extends ExpectedErrors {
  /** On whose behalf. Required: a call without it is a bug and throws. */
  caller: Caller;
  /** How long until the call fails as `unavailable`; Infinity for streams that end by themselves. Default 5 s, streams none. */
  timeoutMs?: number;
}

export type RpcClient<Definition extends CompatServiceDefinition> = Client<Definition, MeshCallOptions>;

export interface RpcClientOptions<Definition extends CompatServiceDefinition> {
  definition: Definition;
  /** The unit that serves it: whom callers are minted for, and what errors name. */
  unit: string;
  /**
   * Its address, asked when the client is started, and with its first call once more where the unit was still to start
   * in this process. A DNS name with several addresses is balanced round robin, and so is a list of addresses.
   */
  address: () => string;
  callers: Callers;
  /**
   * How long a peer may be silent, though asked and though calls of it are open, before its connection is given up: it is frozen,
   * or a network has lost the connection. Default 40,000.
   */
  keepaliveTimeoutMs?: number;
}

/** A client that is a part: `calls` may be handed on at once and be made from `start` on. */
export interface RpcClientPart<Definition extends CompatServiceDefinition> extends Part {
  readonly calls: RpcClient<Definition>;
}

const defaultTimeoutMs = 5_000;

/**
 * For unary calls whose proto has an `idempotency_level`, within the time of the call: where a server is not reached, or cuts the call
 * because it stops, another one may answer. Once only, so that an outage does not multiply the calls.
 */
const retries: RetryOptions = {
  retryableStatuses: [Status.UNAVAILABLE, Status.CANCELLED],
  retryMaxAttempts: 1,
  retryBaseDelayMs: 50,
};

export function rpcClient<Definition extends CompatServiceDefinition>(
  options: RpcClientOptions<Definition>,
): RpcClientPart<Definition> {
  const { definition, unit, address, callers, keepaliveTimeoutMs = 40_000 } = options;
  let started = false;
  let channel: ReturnType<typeof createChannel> | undefined;
  let client: RpcClient<Definition> | undefined;

  async function* withCaller<Request, Response>(
    call: ClientMiddlewareCall<Request, Response>,
    { caller, ...rest }: CallOptions & { caller?: Caller },
  ) {
    if (!caller) throw new TypeError(`${call.method.path} was called without a caller`);
    const metadata = Metadata(rest.metadata).set(callerHeader, await callers.mint(caller, unit));
    return yield* call.next(call.request, { ...rest, metadata });
  }

  async function* withDeadline<Request, Response>(
    call: ClientMiddlewareCall<Request, Response, { deadline: Date | number }>,
    { timeoutMs, ...rest }: CallOptions & { timeoutMs?: number },
  ) {
    const limit = timeoutMs ?? (call.responseStream ? Number.POSITIVE_INFINITY : defaultTimeoutMs);
    return yield* call.next(call.request, Number.isFinite(limit) ? { ...rest, deadline: limit } : rest);
  }

  function connect(): RpcClient<Definition> {
    keepDrainingConnections();
    channel = createChannel(rpcTarget(address()), undefined, {
      'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
      'grpc.max_receive_message_length': 64 * 1024 * 1024,
      // A peer that comes back is found again within a second rather than after grpc-js's two minutes.
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 1_000,
      // Streams have no deadline, and nothing else would ever end one whose peer says nothing any more.
      'grpc.keepalive_time_ms': keepaliveTimeoutMs / 2,
      'grpc.keepalive_timeout_ms': keepaliveTimeoutMs / 2,
    });
    return createClientFactory()
      .use(errorDetailsClientMiddleware)
      .use(clientTracing)
      .use<{ caller: Caller }>(withCaller)
      .use((call, options) => retryMiddleware(call, { ...retries, ...options }))
      .use(deadlineMiddleware)
      .use<{ timeoutMs: number }>(withDeadline)
      .use<ExpectedErrors>(clientErrors(unit))
      .create(definition, channel) as RpcClient<Definition>;
  }

  function connected(): RpcClient<Definition> {
    if (!started) throw new Error(`The client of ${unit} is used before it was started`);
    client ??= connect();
    return client;
  }

  return {
    name: `${unit} client`,
    calls: lateClient(definition, connected),
    async start() {
      started = true;
      try {
        client = connect();
      } catch (error) {
        // Two units of one process that call each other cannot both come first.
        if (!(error instanceof NotListeningYetError)) throw error;
      }
    },
    async stop() {
      channel?.close();
    },
  };
}

/** A client each of whose methods looks up the connected one when it is called. */
function lateClient<Definition extends CompatServiceDefinition>(
  definition: Definition,
  connected: () => RpcClient<Definition>,
): RpcClient<Definition> {
  const names = Object.keys('methods' in definition ? (definition.methods as object) : definition);
  const late = (name: string) => (request: unknown, options: unknown) =>
    (connected() as Record<string, (request: unknown, options: unknown) => unknown>)[name]?.(request, options);
  return Object.fromEntries(names.map((name) => [name, late(name)])) as RpcClient<Definition>;
}
