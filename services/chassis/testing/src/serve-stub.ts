import type { Callers } from '@parley/kernel/caller';
import type { Addresses } from '@parley/kernel/processes/addresses';
import { createLogger } from '@parley/kernel/telemetry/log';
import { createMetrics } from '@parley/kernel/telemetry/metrics';
import { type MeshContext, rpcServer } from '@parley/rpc/server';
import type { ExecutionContext } from 'ava';
import type { ServiceImplementation, TsProtoServiceDefinition } from 'nice-grpc';
import { stubRpc } from './stub-rpc.ts';

/** The addresses and the lifecycle of a stub, for the units that call the stub. */
export interface StubMesh {
  callers: Callers;
  /** Where the stub's address is announced, under its unit's name. */
  addresses?: Addresses | undefined;
}

export interface ServedStub {
  readonly address: string;
  /** Stops the stub, as in an outage of its unit. */
  stop(): Promise<void>;
  /** Serves again at the same address. */
  restart(): Promise<void>;
}

/**
 * Serves a gRPC service of another unit over loopback, with the methods that the test uses (`stubRpc`), until the test's teardown. The unit
 * is derived from the definition's name: `identity` for `parley.identity.v1.IdentityService`.
 */
export async function serveStub<Definition extends TsProtoServiceDefinition>(
  t: Pick<ExecutionContext, 'teardown'>,
  definition: Definition,
  used: Partial<ServiceImplementation<Definition, MeshContext>>,
  { callers, addresses }: StubMesh,
): Promise<ServedStub> {
  const [, unit = ''] = definition.fullName.split('.');
  const implementation = stubRpc<object>(definition, used) as ServiceImplementation<Definition, MeshContext>;
  let address = '';

  const serverOn = (port: number) =>
    rpcServer({
      unit,
      port,
      callers,
      log: createLogger(unit, { LOG_LEVEL: 'silent' }),
      metrics: createMetrics(unit),
      drainTimeoutMs: 200,
      services: (server) => server.add(definition, implementation),
      onListening(bound) {
        address = bound;
        addresses?.announce(unit, 'rpc', bound);
      },
    });
  let server = serverOn(0);
  await server.start();
  t.teardown(() => server.stop());

  return {
    get address() {
      return address;
    },
    stop: () => server.stop(),
    async restart() {
      server = serverOn(Number(address.split(':').at(-1)));
      await server.start();
    },
  };
}
