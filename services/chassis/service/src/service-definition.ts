import type { EventReaction, Handler } from '@parley/events/consumer';
import type { Callers } from '@parley/kernel/caller';
import type { UnitPart } from '@parley/kernel/processes/unit';
import type { Environment } from '@parley/kernel/settings/config';
import type { ObjectStore } from '@parley/objects/object-store';
import type { Database, SchemaDeclaration } from '@parley/postgres/database/types';
import type { JobDeclaration } from '@parley/postgres/jobs/job';
import type { AddedTo, MeshContext } from '@parley/rpc/server';
import type { ConfigOf } from '@parley/unit/declaration';
import type { Provided } from '@parley/unit/define-unit';
import type { CompatServiceDefinition, ServiceImplementation } from 'nice-grpc';
import type { ServiceDeclaration } from './declaration.ts';
import type { ServiceDependencies } from './service-dependencies.ts';
import type { ServiceGraph } from './service-graph.ts';
import type { TenantClosing, TenantEnd, tenantDeleted } from './tenant-end.ts';

/** The dependencies that the builder provides to a service: the engines that its declaration requires. Events go through the outbox. */
export type ServiceProvided<Declaration extends ServiceDeclaration> = Omit<
  ServiceDependencies,
  'database' | 'eventBus' | 'objectStore'
> &
  Provided<Declaration> &
  (Declaration extends { schema: SchemaDeclaration } ? { database: Database } : unknown) &
  /** The objects of all tenants; use `tenantObjects` for work of one tenant. */
  (Declaration extends { keepsFiles: true } ? { objectStore: ObjectStore } : unknown);

/** The code of a service. The declaration has everything else, and decides which of these members are required and which are refused. */
export type ServiceDefinition<
  Declaration extends ServiceDeclaration,
  Deps,
  Rpc extends CompatServiceDefinition,
  Payloads,
> = Pick<ServiceCode<Declaration, Deps>, 'dependencies' | 'parts'> &
  (NoDependencies extends Deps ? unknown : { dependencies: unknown }) &
  Where<Declares<Declaration, { schema: SchemaDeclaration }>, Pick<ServiceCode<Declaration, Deps>, 'jobs'>> &
  Where<Declares<Declaration, { keepsFiles: true }>, Pick<Required<ServiceCode<Declaration, Deps>>, 'files'>> &
  Where<Serves<Declaration, 'rpc'>, Pick<Required<ServiceCode<Declaration, Deps, Rpc>>, 'rpc'>> &
  Where<Serves<Declaration, 'graph'>, Pick<Required<ServiceCode<Declaration, Deps>>, 'graph'>> &
  TenantEndOf<Declaration, Deps> &
  ([HandledBy<Declaration>] extends [never]
    ? { consumes?: never }
    : {
        consumes: Record<HandledBy<Declaration>, unknown> &
          HandlersOf<Payloads, Deps> & {
            [Type in Exclude<keyof Payloads, HandledBy<Declaration>>]: never;
          };
      });

/** The dependencies of use cases that depend on nothing. */
export type NoDependencies = object;

/** All members that the code of a service may have. */
export interface ServiceCode<
  Declaration extends ServiceDeclaration,
  Deps,
  Rpc extends CompatServiceDefinition = CompatServiceDefinition,
> {
  /** Makes the dependencies of the use cases; omitted if use cases depend on nothing. The function must not open anything. */
  dependencies?(provided: ServiceProvided<Declaration>): Deps;
  /** The service's own parts: started after clients and database, before relay, jobs, consumer and servers; stopped in reverse. */
  parts?(deps: Deps, provided: ServiceProvided<Declaration>): UnitPart[];
  /** The service's background jobs. Appending a job of any other kind throws. */
  jobs?: ((deps: Deps, config: ConfigOf<Declaration>) => JobDeclaration)[];
  /** Handlers of the consumed events of other services. A handler commits the inbox row together with its effect. */
  consumes?: HandlersOf<Record<string, unknown>, Deps>;
  /** Connects the object store of a separate process: `s3Files` of `@parley/s3`. */
  files?(env: Environment): ObjectStore;
  /** Handles a deleted tenant, or gives the reason for doing nothing. Required for a service with tenant tables. */
  onTenantEnd?: TenantEnd<NoInfer<Deps>, ConfigOf<Declaration>> | TenantClosing | NothingToEnd;
  rpc?: {
    definition: Rpc;
    implementation(deps: Deps): ServiceImplementation<Rpc, MeshContext>;
    /** Makes another gRPC service on the same port, by `separateRpc`, for callers that are signed with another key. */
    separate?(deps: Deps, provided: ServiceProvided<Declaration>): SeparateRpc | undefined;
    /** How long open calls may take to end when the service stops, in ms, before they are cancelled. Default 10,000. */
    drainTimeoutMs?: number;
  };
  /** The service's GraphQL, as returned by `subgraphOf` of `@parley/subgraph`. */
  graph?: ServiceGraph<Deps>;
}

/** `Shape` if `Holds`, otherwise a type that refuses the keys of `Shape`. */
type Where<Holds, Shape> = Holds extends true ? Shape : { [Key in keyof Shape]?: never };

type Declares<Declaration, What> = Declaration extends What ? true : false;

type Serves<
  Declaration extends ServiceDeclaration,
  Endpoint extends 'rpc' | 'graph',
> = Endpoint extends Declaration['serves'][number] ? true : false;

/** The types of the events that a declaration consumes. */
type ConsumedBy<Declaration> = Declaration extends { consumes: readonly (infer Type extends string)[] } ? Type : never;

/** The consumed types that need handlers. The deletion of tenants is excluded, because `onTenantEnd` handles it. */
type HandledBy<Declaration> = Exclude<ConsumedBy<Declaration>, typeof tenantDeleted.type>;

/** Handlers by event type. */
type HandlersOf<Payloads, Deps> = { [Type in keyof Payloads]: Consumed<Payloads[Type], Deps> };

export interface Consumed<Payload, Deps> extends Omit<EventReaction<Payload>, 'handle'> {
  handle(deps: Deps): Handler<Payload>;
}

interface NothingToEnd {
  nothingBecause: string;
}

/** `onTenantEnd` must have a handler if the service consumes the deletion of tenants, and must not have one otherwise. */
type TenantEndOf<Declaration extends ServiceDeclaration, Deps> =
  typeof tenantDeleted.type extends ConsumedBy<Declaration>
    ? { onTenantEnd: TenantEnd<NoInfer<Deps>, ConfigOf<Declaration>> | TenantClosing }
    : { onTenantEnd?: NothingToEnd };

export interface SeparateRpc {
  definition: CompatServiceDefinition;
  callers: Callers;
  addTo(server: AddedTo): void;
}

/**
 * A gRPC service that accepts only `callers`, and refuses the callers of the mesh.
 * @param callers the accepted callers, whose tokens are verified with a separate key
 */
export function separateRpc<Rpc extends CompatServiceDefinition>(
  definition: Rpc,
  implementation: ServiceImplementation<Rpc, MeshContext>,
  callers: Callers,
): SeparateRpc {
  return { definition, callers, addTo: (server) => server.add(definition, implementation) };
}
