import type { EventBus } from '@parley/events/event-bus';
import type { ObjectStore } from '@parley/objects/object-store';
import type { Database, SchemaDeclaration } from '@parley/postgres/database/types';
import type { UnitDependencies } from '@parley/unit/unit-dependencies';

/** What a service is given: what every unit is, and the engines that keep data. */
export interface ServiceDependencies extends UnitDependencies {
  /** Opens nothing yet; `databasePart` does. */
  database(schema: SchemaDeclaration): Database;
  eventBus: EventBus;
  /** Of all tenants: work for one of them goes by `tenantObjects`. */
  objectStore: ObjectStore;
  /** True where services bring their own schema up to date when they start; false where a migration job does it before. */
  migrateOnStart: boolean;
  /** True where no other process can hold a lease in these databases, so that the leases of a dead run are void at once. */
  soleOwner: boolean;
}
