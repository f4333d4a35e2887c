import { createLogger, type Logger } from '@parley/kernel/log';
import { createMetrics, type Metrics } from '@parley/kernel/metrics';
import { opsServer } from '@parley/kernel/ops';
import { type Part, type Unit, unit } from '@parley/kernel/unit';
import { type RpcClient, type RpcClientPart, rpcClient } from '@parley/rpc/client';
import type { CompatServiceDefinition } from 'nice-grpc';
import type { UsedEndpoint } from './address-settings.ts';
import type { UnitConfig, UnitDeclaration } from './declaration.ts';
import type { UnitDependencies } from './unit-dependencies.ts';

/** The gRPC services that a unit calls, by the names of the units that serve them. */
export type Called = Record<string, CompatServiceDefinition>;

/** What the builder provides to a unit beside `UnitDependencies`. */
export interface Provided<Config, Calls extends Called = Called> {
  config: Config;
  /** Clients of the units in `calls`. They may be called once the unit starts. */
  calls: { readonly [Name in keyof Calls]: RpcClient<Calls[Name]> };
  log: Logger;
  metrics: Metrics;
}

/** The code of a unit; its `UnitDeclaration` has the rest. */
export interface UnitDefinition<
  Config extends UnitConfig,
  Calls extends Called,
  Deps,
  Dependencies extends UnitDependencies = UnitDependencies,
> {
  calls?: Calls;
  /** The endpoints of other units that it uses beside the gRPC of `calls`. */
  uses?(): Promise<readonly UsedEndpoint[]>;
  /** Makes the dependencies of its use cases. Opens nothing. */
  dependencies(provided: Dependencies & Provided<Config, Calls>): Deps;
  /** Its own parts, in their start order; started after its clients. */
  parts?(deps: Deps, provided: Dependencies & Provided<Config, NoInfer<Calls>>): Part[];
  /** Its servers: started last, and left out in tests of its use cases. */
  servers?(deps: Deps, provided: Dependencies & Provided<Config, NoInfer<Calls>>): Part[];
}

export interface UnitOptions {
  /** Default: a logger with the unit's name. */
  log?: Logger;
  /** False: without servers, for tests that call its use cases. Default true. */
  servers?: boolean;
}

export interface BuiltUnit<Deps> extends Unit {
  deps: Deps;
}

/** A unit to build, as often as processes and tests need it. */
export interface DefinedUnit<
  Name extends string,
  Config extends UnitConfig,
  Deps,
  Dependencies extends UnitDependencies = UnitDependencies,
> extends UnitDeclaration<Name, Config> {
  readonly calls: readonly string[];
  /** The endpoints of other units that it uses; a process of its own needs their addresses. */
  uses(): Promise<readonly UsedEndpoint[]>;
  unit(config: Config, dependencies: Dependencies, options?: UnitOptions): BuiltUnit<Deps>;
}

/**
 * Defines a unit by its declaration and its code. It consists of the operators' port with health, readiness and metrics; clients of
 * other units; its own parts; its servers. They start in this order and stop in reverse.
 * @throws Error where declaration and definition do not name the same `calls`.
 */
export function defineUnit<
  const Name extends string,
  Config extends UnitConfig,
  Deps,
  Calls extends Called = Record<string, never>,
  Dependencies extends UnitDependencies = UnitDependencies,
>(
  declaration: UnitDeclaration<Name, Config>,
  definition: UnitDefinition<Config, Calls, Deps, Dependencies>,
): DefinedUnit<Name, Config, Deps, Dependencies> {
  const { name } = declaration;
  const { calls = {} as Calls } = definition;
  checkCalls(declaration, Object.keys(calls));

  function build(config: Config, dependencies: Dependencies, options: UnitOptions = {}): BuiltUnit<Deps> {
    const { addresses, callers, host, mesh } = dependencies;
    const { log = createLogger(name), servers = true } = options;
    const metrics = createMetrics(name);
    const help = 'When the certificate of calls between units expires, in Unix time; NaN without one';
    metrics.gauge('parley_mesh_certificate_expires_seconds', help, () => mesh?.tls?.expiresAt ?? Number.NaN);
    const clients = Object.entries(calls).map(([called, client]): [string, RpcClientPart<CompatServiceDefinition>] => [
      called,
      rpcClient({ definition: client, unit: called, address: () => addresses.of(called, 'rpc'), callers, mesh }),
    ]);
    const called = Object.fromEntries(clients.map(([unitName, client]) => [unitName, client.calls]));
    const provided = {
      ...dependencies,
      config,
      log,
      metrics,
      calls: called as Provided<Config, Calls>['calls'],
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
    calls: Object.keys(calls),
    uses: async () => [
      ...Object.keys(calls).map((unit) => ({ unit, endpoint: 'rpc' as const })),
      ...((await definition.uses?.()) ?? []),
    ],
    unit: build,
  };
}

function checkCalls({ name, calls: declared = [] }: UnitDeclaration, defined: string[]): void {
  const undeclared = defined.find((called) => !declared.includes(called));
  if (undeclared !== undefined) throw new Error(`${name}: it calls ${undeclared}, so declare that`);
  const unused = declared.find((called) => !defined.includes(called));
  if (unused !== undefined) throw new Error(`${name}: it declares that it calls ${unused}, and does not`);
}
