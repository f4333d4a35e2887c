import type { EventBus } from '@parley/events/event-bus';
import type { ObjectStore } from '@parley/objects/object-store';
import type { Database, SchemaDeclaration } from '@parley/postgres/database/types';
import type { UnitDependencies } from '@parley/unit/unit-dependencies';

/** The dependencies of a service: those of every unit, and the storage engines. */
export interface ServiceDependencies extends UnitDependencies {
  /** Makes the client of a database; `databasePart` connects it. */
  database(schema: SchemaDeclaration): Database;
  eventBus: EventBus;
  /** The objects of all tenants; use `tenantObjects` for work of one tenant. */
  objectStore: ObjectStore;
  /** True if services migrate their schema when they start; false if `scripts/migrate` does it beforehand. */
  migrateOnStart: boolean;
  /** True if no other process uses these databases, so that leases of a previous run can be taken over at once. */
  soleOwner: boolean;
}
