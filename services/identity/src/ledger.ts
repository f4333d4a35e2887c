import { rowsBy } from '@parley/postgres/database/rows';
import type { Database, TenantDb } from '@parley/postgres/database/types';
import type { IdentitySettings } from './config.ts';
import { type Admission, type NewReservation, reservationStore } from './reservation-store.ts';
import type { Settlement } from './spend-call.ts';
import { tenantBatches } from './tenant-batches.ts';
import { usageStore } from './usage-store.ts';

export type Ledger = ReturnType<typeof createLedger>;

/** The lock of what tenants share: no tenant has this id. */
const platform = 0;

const reservationsAtOnce = 500;
const settlementRequestsAtOnce = 20;
const lapsedAtOnce = 200;

/** Reserves and records what model calls cost. Changes of one tenant's ledger happen one after the other, in all processes. */
export function createLedger(database: Database, settings: IdentitySettings) {
  const storesOf = (db: TenantDb) => ({ reservations: reservationStore(db, settings), usage: usageStore(db) });
  const inOneStep = settings.platformMonthlyCeilingUsd === null ? [] : [platform];

  async function change<T>(
    tenantId: number,
    work: (ledger: ReturnType<typeof storesOf>) => Promise<T>,
    alsoLocked: number[] = [],
  ): Promise<T> {
    return database.transact(
      tenantId,
      async (db) => {
        // Sent in one packet with the first statement of the work, before it.
        const locks = [tenantId, ...alsoLocked].map((id) => lock(db, id));
        const [result] = await Promise.all([work(storesOf(db)), ...locks]);
        return result;
      },
      { turn: { row: `ledger ${tenantId}` } },
    );
  }

  return {
    reserve: tenantBatches(
      reservationsAtOnce,
      async (tenantId, calls: NewReservation[]): Promise<(Admission | undefined)[]> => {
        const once = firstOfEach(calls);
        const admitted = await change(tenantId, ({ reservations }) => reservations.reserve(once), inOneStep);
        return calls.map(({ callId }) => admitted.get(callId));
      },
    ),

    begin: (tenantId: number, callId: string): Promise<boolean> =>
      change(tenantId, ({ reservations }) => reservations.begin(callId)),

    renew: (tenantId: number, callIds: string[]): Promise<void> =>
      change(tenantId, ({ reservations }) => reservations.renew(callIds)),

    settle: tenantBatches(settlementRequestsAtOnce, async (tenantId, requests: Settlement[][]): Promise<void[]> => {
      const calls = firstOfEach(requests.flat()).map((call) => ({ ...call, leaseEnded: false, isRecorded: true }));
      await change(tenantId, ({ usage }) => usage.record(calls));
      return [];
    }),

    /** Settles reservations of the tenant whose lease has ended. @returns how many; there may be more. */
    settleLapsed: (tenantId: number): Promise<number> =>
      change(tenantId, async ({ reservations, usage }) => {
        const lapsed = await reservations.listLapsed(lapsedAtOnce);
        const assumed = { estimated: true, served: true, leaseEnded: true };
        await usage.record(lapsed.map(({ begun, ...call }) => ({ ...call, ...assumed, isRecorded: begun })));
        return lapsed.length;
      }),
  };
}

function firstOfEach<Call extends { callId: string }>(calls: Call[]): Call[] {
  return [...new Map(calls.toReversed().map((call) => [call.callId, call])).values()].toReversed();
}

/** Without sequential scans, because plans that were made while the tables were small stay in use while they grow. */
async function lock({ knex }: TenantDb, id: number): Promise<void> {
  await rowsBy(knex)(
    `SELECT pg_advisory_xact_lock(hashtext(current_schema() || '.usage'), cast(:id AS integer)) AS locked,
       set_config('enable_seqscan', 'off', true) AS plans`,
    { id },
  );
}
