import { type Caller, type Callers, callerHeader } from '@parley/kernel/caller';
import { NotListeningYetError } from '@parley/kernel/processes/addresses';
import type { Part } from '@parley/kernel/processes/unit';
import { defaultLookupIntervalMs, type MeshOptions } from '@parley/kernel/tls/mesh';
import { type Client, type CompatServiceDefinition, createChannel, createClientFactory } from 'nice-grpc';
import { deadlineMiddleware } from 'nice-grpc-client-middleware-deadline';
import { type RetryOptions, retryMiddleware } from 'nice-grpc-client-middleware-retry';
import type { CallOptions, ClientMiddlewareCall } from 'nice-grpc-common';
import { Metadata, Status } from 'nice-grpc-common';
import { errorDetailsClientMiddleware } from 'nice-grpc-error-details';
import { answeredErrors, clientErrors, type ExpectedErrors } from './client-errors.ts';
import { keepDrainingConnections } from './draining-connections.ts';
import { channelCredentials } from './mesh-credentials.ts';
import { refreshed } from './refreshed-names.ts';
import { rpcTarget } from './rpc-target.ts';
import { clientTracing } from './tracing.ts';

export interface MeshCallOptions extends ExpectedErrors {
  /** The caller. Required: a call without it throws. */
  caller: Caller;
  /**
   * Timeout in ms, including the retry; after this time the call fails as `unavailable`. Infinity: no timeout. Default 5,000; for streams
   * no timeout.
   */
  timeoutMs?: number;
}

export type RpcClient<Definition extends CompatServiceDefinition> = Client<Definition, MeshCallOptions>;

export interface RpcClientOptions<Definition extends CompatServiceDefinition> {
  definition: Definition;
  /** The unit that serves the calls. Its name is the audience of the signed callers, and appears in errors. */
  unit: string;
  /**
   * Returns the address (`rpcTarget`). Called when the client starts, or with the first call if the unit starts later in the same process.
   * If a DNS name or a list has several addresses, calls are balanced round robin.
   */
  address: () => string;
  callers: Callers;
  /** DNS and TLS settings. Names are looked up again periodically, so that added processes get calls. */
  mesh?: MeshOptions | undefined;
  /**
   * Maximum time in ms without a response to keepalive pings on a connection with open calls. Then the connection is closed: the peer may
   * be frozen, or the network may have lost the connection. Default 40,000.
   */
  keepaliveTimeoutMs?: number;
  /**
   * Maximum time to connect in ms, including TLS and the peer's settings. Until it ends, an open socket to a silent peer keeps the process
   * alive, even after `stop`. Default 5,000.
   */
  connectTimeoutMs?: number;
  /** Whether the readers of this client's streams may be slow. The client then buffers little of each stream. Default false. */
  slowReaders?: boolean;
}

/** A client that starts and stops as a part of its process. `calls` may be passed on at once, but must not be called before `start`. */
export interface RpcClientPart<Definition extends CompatServiceDefinition> extends Part {
  readonly calls: RpcClient<Definition>;
}

const defaultTimeoutMs = 5_000;

/**
 * Number of bytes that the peer may send before the client acknowledges them. All calls share a connection. With HTTP/2's default of 64 KB,
 * large answers of one tenant would delay every call: each 64 KB would take a round trip, which lasts as long as an iteration of the slower
 * of both event loops. Each stream may also buffer this number of bytes in memory while nobody reads it (`slowReaders`).
 */
const flowControlWindow = 2 ** 21;

/**
 * A unary call whose proto has an `idempotency_level` is retried once if no handler answered it: the server was unreachable, the connection
 * was lost, or the server stopped. If a handler answered `unavailable`, the call is not retried (`answeredErrors`), so that the retries of
 * a chain of calls do not multiply during an outage. The timeout of the call includes the retry.
 */
const retries: RetryOptions = {
  retryableStatuses: [Status.UNAVAILABLE, Status.CANCELLED],
  retryMaxAttempts: 1,
  retryBaseDelayMs: 50,
};

export function rpcClient<Definition extends CompatServiceDefinition>(
  options: RpcClientOptions<Definition>,
): RpcClientPart<Definition> {
  const {
    definition,
    unit,
    address,
    callers,
    mesh = {},
    keepaliveTimeoutMs = 40_000,
    connectTimeoutMs = 5_000,
    slowReaders = false,
  } = options;
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
    const { lookupIntervalMs = defaultLookupIntervalMs, tls } = mesh;
    const to = refreshed(rpcTarget(address()), lookupIntervalMs);
    channel = createChannel(to.target, channelCredentials(tls), {
      ...to.options,
      'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
      'grpc.max_receive_message_length': 64 * 1024 * 1024,
      ...(!slowReaders && { 'grpc-node.flow_control_window': flowControlWindow }),
      // A proxy that the environment names is for calls to the outside, e.g. to models. It must not see signed callers.
      'grpc.enable_http_proxy': 0,
      // Reconnects within a second after an outage; the default backoff goes up to two minutes.
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 1_000,
      // Despite the option's name, nice-grpc gives up an attempt to connect after this time. Its default is 20 s.
      'grpc.min_reconnect_backoff_ms': connectTimeoutMs,
      // Without keepalive a stream, which has no deadline, would never end after its peer froze.
      'grpc.keepalive_time_ms': keepaliveTimeoutMs / 2,
      'grpc.keepalive_timeout_ms': keepaliveTimeoutMs / 2,
    });
    return createClientFactory()
      .use(errorDetailsClientMiddleware)
      .use(clientTracing)
      .use<{ caller: Caller }>(withCaller)
      .use<ExpectedErrors>(answeredErrors(unit))
      .use((call, options) => retryMiddleware(call, { ...retries, ...options }))
      .use(deadlineMiddleware)
      .use<{ timeoutMs: number }>(withDeadline)
      .use(clientErrors(unit))
      .create(definition, channel) as RpcClient<Definition>;
  }

  function connected(): RpcClient<Definition> {
    if (!started) throw new Error(`The client of ${unit} is used before it was started`);
    client ??= connect();
    return client;
  }

  return {
    name: `${unit} client`,
    calls: lazyClient(definition, connected),
    async start() {
      started = true;
      try {
        client = connect();
      } catch (error) {
        // When two units of one process call each other, one of them starts before the other listens.
        if (!(error instanceof NotListeningYetError)) throw error;
      }
    },
    async stop() {
      channel?.close();
    },
  };
}

/** A client whose methods connect only when they are called. */
function lazyClient<Definition extends CompatServiceDefinition>(
  definition: Definition,
  connected: () => RpcClient<Definition>,
): RpcClient<Definition> {
  const names = Object.keys('methods' in definition ? (definition.methods as object) : definition);
  const method = (name: string) => (request: unknown, options: unknown) =>
    (connected() as Record<string, (request: unknown, options: unknown) => unknown>)[name]?.(request, options);
  return Object.fromEntries(names.map((name) => [name, method(name)])) as RpcClient<Definition>;
}
