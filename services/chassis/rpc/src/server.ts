import { type Caller, type Callers, callerHeader } from '@parley/kernel/caller';
import { hostAndPort, type MeshServerOptions } from '@parley/kernel/http/listen';
import type { Part } from '@parley/kernel/processes/unit';
import { withRequestId } from '@parley/kernel/telemetry/request-context';
import { createServer, type Server, type ServerAddBuilder } from 'nice-grpc';
import type { CallContext, ServerMiddlewareCall } from 'nice-grpc-common';
import { errorDetailsServerMiddleware } from 'nice-grpc-error-details';
import { HealthDefinition, HealthServiceImpl, HealthState } from 'nice-grpc-server-health';
import { serverCredentials } from './mesh-credentials.ts';
import { outcomeOf, serverErrors } from './server-errors.ts';
import { serverTracing } from './tracing.ts';

export interface Reflection {
  /**
   * Returns a `buf build` image. Called when reflection is first used, because decoding the image takes longer than most parts of a start.
   */
  image: () => Uint8Array;
  /** Full names of the services that reflection shows. */
  services: string[];
}

export interface MeshContext {
  /** The verified caller. */
  caller: Caller;
  /** Aborted when the server begins to stop; endless streams must end then. */
  drainSignal: AbortSignal;
}

export type MeshCall = CallContext & MeshContext;

export type AddedTo = Pick<ServerAddBuilder<MeshContext>, 'add'>;

export interface RpcServerOptions extends MeshServerOptions {
  /** Adds the services. `signedBy` is for services whose callers are signed with another key than the mesh's. */
  services: (server: AddedTo, signedBy: (callers: Callers) => AddedTo) => void;
  /** The services that gRPC reflection shows. Omitted in production. */
  reflection?: Reflection | undefined;
  /** How long open calls may take to end when the server stops, in ms, before they are cancelled. Default 10,000. */
  drainTimeoutMs?: number;
}

/** A gRPC server of the mesh: health checks for everyone, all other methods for verified callers. */
export function rpcServer(options: RpcServerOptions): Part {
  const { unit, host = '127.0.0.1', port, log, metrics, drainTimeoutMs = 10_000 } = options;
  const draining = new AbortController();
  const health = HealthState();
  let server: Server | undefined;

  async function* observed<Request, Response>(call: ServerMiddlewareCall<Request, Response>, context: CallContext) {
    const end = metrics.rpcDuration.startTimer({ method: call.method.path });
    try {
      const response = yield* call.next(call.request, context);
      end({ outcome: 'ok' });
      return response;
    } catch (error) {
      end({ outcome: context.signal.aborted ? 'cancelled' : outcomeOf(error) });
      throw error;
    }
  }

  const callerOnly = (callers: Callers) =>
    async function* verified<Request, Response>(
      call: ServerMiddlewareCall<Request, Response, MeshContext>,
      context: CallContext,
    ) {
      const caller = await callers.verify(context.metadata.get(callerHeader), unit);
      const responses = call.next(call.request, { ...context, caller, drainSignal: draining.signal });
      try {
        for (;;) {
          const { done, value } = await withRequestId(caller.requestId, () => responses.next());
          if (done) return value ?? undefined;
          yield value;
        }
      } finally {
        await responses.return(undefined as never);
      }
    };

  return {
    name: `${unit} rpc`,
    async start() {
      const created = createServer({
        'grpc.max_receive_message_length': 16 * 1024 * 1024,
      })
        .use(observed)
        .use(errorDetailsServerMiddleware)
        .use(serverTracing)
        .use(serverErrors(log));
      server = created;
      server.add(HealthDefinition, HealthServiceImpl(health));
      if (options.reflection) await addReflection(server, options.reflection);
      const signedBy = (callers: Callers) => created.with<MeshContext>(callerOnly(callers));
      options.services(signedBy(options.callers), signedBy);
      const bound = await server
        .listen(hostAndPort(host, port), serverCredentials(options.mesh?.tls))
        .catch((error: unknown) => {
          throw /EADDRINUSE/.test(String(error))
            ? Object.assign(new Error('taken'), { code: 'EADDRINUSE', port, address: host })
            : error;
        });
      options.onListening?.(hostAndPort(host, bound));
    },
    async stop() {
      health.setStatus('unhealthy');
      draining.abort();
      const timer = setTimeout(() => server?.forceShutdown(), drainTimeoutMs);
      await server?.shutdown();
      clearTimeout(timer);
    },
  };
}

async function addReflection(server: Pick<Server, 'add'>, { image, services }: Reflection): Promise<void> {
  const { ServerReflection, ServerReflectionService } = await import('nice-grpc-server-reflection');
  let known: ReturnType<typeof ServerReflection> | undefined;
  server.add(ServerReflectionService, {
    serverReflectionInfo(requests, context) {
      known ??= ServerReflection(Buffer.from(image()), services);
      return known.serverReflectionInfo(requests, context);
    },
  });
}
