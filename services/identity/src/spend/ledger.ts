import { inBatchesOfKey } from '@parley/kernel/queues/in-batches';
import { rowsBy } from '@parley/postgres/database/rows';
import { enterTenant } from '@parley/postgres/database/tenant-setting';
import type { Database, TenantDb } from '@parley/postgres/database/types';
import type { IdentitySettings } from '../config.ts';
import { ledgerGroups } from './ledger-groups.ts';
import { platformTenant } from './platform-tenant.ts';
import { type Admission, type NewReservation, reservationStore } from './reservation-store.ts';
import type { Settlement } from './spend-call.ts';
import { shardOf } from './usage-sql.ts';
import { usageStore } from './usage-store.ts';

export type Ledger = ReturnType<typeof createLedger>;

/** One change of a tenant's ledger. */
export type LedgerChange = { reservation: NewReservation } | { settlement: Settlement };

const reservationsAtOnce = 500;
const settlementRequestsAtOnce = 20;
const lapsedAtOnce = 200;
/** Lock timeout for shared rows in a transaction of many tenants. */
const sharedWaitMs = 250;
/** Maximum time in ms to wait for the locked ledger of one tenant. After this time, the next tenants are settled. */
const lapsedWaitMs = 1_000;

/**
 * Ledger changes are urgent, because running calls depend on them. Reservations are urgent too, because other changes of the same tenant
 * wait for them.
 */
const atOnce = { commitsAtOnce: true, isUrgent: true };

/** Reserves and records what model calls cost. Changes of one tenant's ledger happen one after the other, in all processes. */
export function createLedger(database: Database, settings: IdentitySettings) {
  const storesOf = (db: TenantDb) => ({ reservations: reservationStore(db, settings), usage: usageStore(db) });
  const inOneStep = settings.platformMonthlyCeilingUsd === null ? [] : [platformTenant];

  /** @param work a function that sends all its statements at once and is idempotent */
  async function change<T>(
    tenantId: number,
    work: (ledger: ReturnType<typeof storesOf>) => Promise<T>,
    alsoLocked: number[] = [],
  ): Promise<T> {
    return database.transact(
      tenantId,
      async (db) => {
        // The lock statements are sent in one packet with the first statement of `work`, and run before it.
        const locks = [tenantId, ...alsoLocked].map((id) => lock(db, id));
        const [result] = await Promise.all([work(storesOf(db)), ...locks]);
        return result;
      },
      { lockQueue: { row: `ledger ${tenantId}` }, ...atOnce },
    );
  }

  /**
   * Applies changes of many tenants in one transaction. The transaction does not wait for the lock of any tenant: it
   * skips changes of locked ledgers, so that no tenant delays others. Rows that tenants share are locked in a fixed
   * order.
   */
  async function changeTogether(changes: Map<number, LedgerChange[]>): Promise<Set<LedgerChange>> {
    const tenants = [...changes].toSorted(([a], [b]) => shardOf(a) - shardOf(b) || a - b);
    const [[first] = [platformTenant]] = tenants;
    const work = async (db: TenantDb) => {
      // All statements are sent in one packet and run in this order.
      const locks = inOneStep.map((id) => lock(db, id));
      const made = tenants.map(async ([tenantId, own]) => {
        const { reservations, usage } = storesOf({ ...db, tenantId });
        const settled = own.filter((change) => 'settlement' in change);
        const reserved = own.filter((change) => 'reservation' in change);
        const [isLocked, , admitted] = await Promise.all([
          tryLock(db, tenantId),
          settled.length > 0 && usage.record(ended(settled.map(({ settlement }) => settlement))),
          reserved.length > 0
            ? reservations.reserve(firstOfEach(reserved.map(({ reservation }) => reservation)))
            : undefined,
        ]);
        if (!isLocked) return [];
        return [...settled, ...reserved.filter(({ reservation }) => isAdmitted(admitted?.get(reservation.callId)))];
      });
      const [all] = await Promise.all([Promise.all(made), ...locks]);
      return new Set(all.flat());
    };
    return database.transact(first, work, atOnce);
  }

  return {
    /** @returns whether the change was applied; if not, the caller applies the change alone to learn the reason */
    changeWithOthers: ledgerGroups(changeTogether),

    reserve: inBatchesOfKey(
      { name: 'reservations of a tenant', atOnce: 1, size: reservationsAtOnce },
      async (tenantId: number, calls: NewReservation[]): Promise<(Admission | undefined)[]> => {
        const once = firstOfEach(calls);
        const admitted = await change(tenantId, ({ reservations }) => reservations.reserve(once), inOneStep);
        return calls.map(({ callId }) => admitted.get(callId));
      },
    ),

    begin: (tenantId: number, callId: string): Promise<boolean> =>
      change(tenantId, ({ reservations }) => reservations.begin(callId)),

    renew: (tenantId: number, callIds: string[]): Promise<void> =>
      change(tenantId, ({ reservations }) => reservations.renew(callIds)),

    settle: inBatchesOfKey(
      { name: 'settlements of a tenant', atOnce: 1, size: settlementRequestsAtOnce },
      async (tenantId: number, requests: Settlement[][]): Promise<void[]> => {
        await change(tenantId, ({ usage }) => usage.record(ended(requests.flat())));
        return [];
      },
    ),

    /**
     * Settles a tenant's reservations with an expired lease.
     * @returns the number of settled reservations; more may remain
     * @throws DomainError `unavailable` if another transaction keeps the ledger locked, because other tenants' ledgers must not wait for it
     */
    settleLapsed: (tenantId: number): Promise<number> =>
      database.transact(tenantId, async (db) => {
        const { reservations, usage } = storesOf(db);
        // Both statements are sent in one packet and run in this order.
        const first = [boundWaits(db, lapsedWaitMs), lock(db, tenantId)];
        const [lapsed] = await Promise.all([reservations.listLapsed(lapsedAtOnce), ...first]);
        const assumed = { estimated: true, served: true, leaseEnded: true };
        await usage.record(lapsed.map(({ begun, ...call }) => ({ ...call, ...assumed, isRecorded: begun })));
        return lapsed.length;
      }),
  };
}

function ended(settlements: Settlement[]) {
  return firstOfEach(settlements).map((call) => ({ ...call, leaseEnded: false, isRecorded: true }));
}

function isAdmitted(admission: Admission | undefined): boolean {
  return admission?.refusedBy === null;
}

function firstOfEach<Call extends { callId: string }>(calls: Call[]): Call[] {
  return [...new Map(calls.toReversed().map((call) => [call.callId, call])).values()].toReversed();
}

const lockOf = (id: string) => `hashtext(current_schema() || '.usage'), cast(${id} AS integer)`;

/**
 * Locks a ledger, and disables sequential scans: query plans that were made while the tables were small stay in use while the tables grow.
 */
async function lock({ knex }: TenantDb, id: number): Promise<void> {
  await rowsBy(knex)(
    `SELECT pg_advisory_xact_lock(${lockOf(':id')}) AS locked, set_config('enable_seqscan', 'off', true) AS plans`,
    { id },
  );
}

/** Sets the lock timeout of the following statements. */
async function boundWaits({ knex }: TenantDb, ms: number): Promise<void> {
  await rowsBy(knex)(`SELECT set_config('lock_timeout', :timeout, true)`, { timeout: `${ms}ms` });
}

/**
 * Switches the transaction to this tenant. If another transaction has the tenant's lock, the statements change nothing.
 */
async function tryLock({ knex }: TenantDb, tenantId: number): Promise<boolean> {
  const [ledger] = await rowsBy(knex)<{ isFree: boolean }>(
    `SELECT ${enterTenant} AS tenant, set_config('enable_seqscan', 'off', true) AS plans,
       set_config('lock_timeout', :timeout, true) AS waits, set_config('parley.ledger',
         CASE WHEN pg_try_advisory_xact_lock(${lockOf(':tenantId')}) THEN 'free' ELSE 'busy' END, true) = 'free' AS is_free`,
    { tenantId, timeout: `${sharedWaitMs}ms` },
  );
  return ledger?.isFree === true;
}
