import { opsServer } from '@parley/kernel/processes/ops';
import { type Unit, type UnitPart, unit } from '@parley/kernel/processes/unit';
import type { Environment } from '@parley/kernel/settings/config';
import { createLogger, type Logger } from '@parley/kernel/telemetry/log';
import { createMetrics, type Metrics } from '@parley/kernel/telemetry/metrics';
import { type MeshService, type MeshServices, meshServices } from '@parley/protos/mesh-services';
import { type RpcClient, type RpcClientPart, rpcClient } from '@parley/rpc/client';
import type { CompatServiceDefinition } from 'nice-grpc';
import type { UsedEndpoint } from './address-settings.ts';
import type { ConfigOf, UnitConfig, UnitDeclaration } from './declaration.ts';
import type { UnitDependencies } from './unit-dependencies.ts';

/** Clients of the units that a declaration calls, by unit name. They may be called once the unit starts. */
export type CallsOf<Declaration extends UnitDeclaration> = {
  readonly [Unit in Declaration extends { calls: readonly (infer Called extends MeshService)[] }
    ? Called
    : never]: RpcClient<MeshServices[Unit]>;
};

/** The dependencies that `defineUnit` adds to `UnitDependencies`. */
export interface Provided<Declaration extends UnitDeclaration> {
  config: ConfigOf<Declaration>;
  calls: CallsOf<Declaration>;
  log: Logger;
  metrics: Metrics;
}

/** The code of a unit. Its `UnitDeclaration` has the facts that need no code. */
export interface UnitDefinition<
  Declaration extends UnitDeclaration,
  Deps,
  Dependencies extends UnitDependencies = UnitDependencies,
> {
  /** Returns the endpoints that the unit uses on other units, in addition to those of its `calls` and `callsByHttp`. */
  uses?(): Promise<readonly UsedEndpoint[]>;
  /** Makes the dependencies of the use cases. The function must not open anything. */
  dependencies(provided: Dependencies & Provided<Declaration>): Deps;
  /** The unit's own parts, in the order in which they start. They start after the unit's clients. */
  parts?(deps: Deps, provided: Dependencies & Provided<Declaration>): UnitPart[];
  /** The unit's servers. They start last, and are omitted in tests of its use cases. */
  servers?(deps: Deps, provided: Dependencies & Provided<Declaration>): UnitPart[];
}

export interface UnitOptions {
  /** The unit's logger. Default: a logger with the unit's name. */
  log?: Logger;
  /** Whether the unit has its servers. Tests that call only its use cases set this to false. Default true. */
  servers?: boolean;
}

export interface BuiltUnit<Deps> extends Unit {
  deps: Deps;
}

/** A unit that can be built any number of times, by processes and by tests. */
export interface DefinedUnit<
  Name extends string,
  Config extends UnitConfig,
  Deps,
  Dependencies extends UnitDependencies = UnitDependencies,
> extends UnitDeclaration<Name, Config> {
  readonly calls: readonly MeshService[];
  /** Returns the endpoints that this unit uses on other units. If the unit runs in a separate process, it needs their addresses. */
  uses(): Promise<readonly UsedEndpoint[]>;
  unit(config: Config, dependencies: Dependencies, options?: UnitOptions): BuiltUnit<Deps>;
}

/**
 * Defines a unit by its declaration and its code. The unit has these parts: the operators' port with health, readiness and metrics; clients
 * of other units; its own parts; its servers. The parts start in this order and stop in reverse.
 */
export function defineUnit<
  const Declaration extends UnitDeclaration,
  Deps,
  Dependencies extends UnitDependencies = UnitDependencies,
>(
  declaration: Declaration,
  definition: UnitDefinition<Declaration, Deps, Dependencies>,
): DefinedUnit<Declaration['name'], ConfigOf<Declaration>, Deps, Dependencies> {
  const { name, calls = [], callsByHttp = [] } = declaration;

  function build(
    config: ConfigOf<Declaration>,
    dependencies: Dependencies,
    options: UnitOptions = {},
  ): BuiltUnit<Deps> {
    const { addresses, callers, host, mesh } = dependencies;
    const { log = createLogger(name), servers = true } = options;
    const metrics = createMetrics(name);
    const help = 'When the certificate of calls between units expires, in Unix time; NaN without one';
    metrics.gauge('parley_mesh_certificate_expires_seconds', help, () => mesh?.tls?.expiresAt ?? Number.NaN);
    const clients = calls.map((called): [MeshService, RpcClientPart<CompatServiceDefinition>] => [
      called,
      rpcClient({
        definition: meshServices[called],
        unit: called,
        address: () => addresses.of(called, 'rpc'),
        callers,
        mesh,
      }),
    ]);
    const provided = {
      ...dependencies,
      config,
      log,
      metrics,
      calls: Object.fromEntries(clients.map(([called, client]) => [called, client.calls])) as CallsOf<Declaration>,
    };
    const deps = definition.dependencies(provided);
    const ops = opsServer({
      unit: name,
      host,
      port: config.opsPort,
      metrics,
      ready: () => self.ready(),
      onListening: (address) => addresses.announce(name, 'ops', address),
    });
    const self = unit(name, [
      ...(servers ? [ops] : []),
      ...clients.map(([, client]) => client),
      ...(definition.parts?.(deps, provided) ?? []),
      ...(servers ? (definition.servers?.(deps, provided) ?? []) : []),
    ]);
    return { ...self, deps };
  }

  return {
    ...declaration,
    readConfig: declaration.readConfig as (env: Environment) => ConfigOf<Declaration>,
    calls,
    uses: async () => [
      ...calls.map((called) => ({ unit: called, endpoint: 'rpc' as const })),
      ...callsByHttp.map((called) => ({ unit: called, endpoint: 'public' as const })),
      ...((await definition.uses?.()) ?? []),
    ],
    unit: build,
  };
}
