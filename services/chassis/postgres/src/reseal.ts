import type { Part } from '@parley/kernel/processes/unit';
import type { SecretBox } from '@parley/kernel/secrets/secret-box';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { Metrics } from '@parley/kernel/telemetry/metrics';
import { repeated } from '@parley/kernel/timing/repeated';
import type { Knex } from 'knex';
import type { Database, SharedDb } from './database/types.ts';

/** A column of values that a `SecretBox` has sealed; some may be null. All columns are named in camel case. */
export interface SealedColumn {
  table: string;
  column: string;
  /** The columns of the primary key. */
  key: string[];
  /** Columns that `placeOf` reads besides the key. Default: none. */
  reads?: string[];
  placeOf(row: object): string;
  /** For a tenant table: lists the tenants that may have rows. */
  listTenants?(db: SharedDb): Promise<number[]>;
}

export interface ResealOptions {
  database: Database;
  box: SecretBox;
  columns: SealedColumn[];
  log: Pick<Logger, 'info' | 'warn'>;
  metrics: Pick<Metrics, 'gauge'>;
  /** Pause between two passes over all columns. Default: ten minutes. */
  pauseMs?: number;
}

type Row = Record<string, Knex.Value>;
type Transact = <T>(work: (knex: Knex) => Promise<T>) => Promise<T>;

interface Outcome {
  resealed: number;
  /** Number of values per column (`table.column`) that no key of the ring can decrypt. */
  unopened: Record<string, number>;
}

const rowsAtOnce = 1_000;
// Passes are repeated as long as the ring has an old key, because processes with the previous ring still encrypt with that key.
const usualPauseMs = 10 * 60_000;

/**
 * Reencrypts values with the first key of the ring if another key has encrypted them, each value in its own transaction. Safe to run on
 * many replicas.
 */
export function resealing({ log, metrics, pauseMs = usualPauseMs, ...what }: ResealOptions): Part {
  let unopened = Number.NaN;
  const help =
    'Sealed values that no key of SECRETS_KEYS opens, once those under its other keys were sealed anew with the first; NaN until then';
  metrics.gauge('parley_secrets_under_old_keys', help, () => unopened);
  const failure = 'values under old keys not sealed anew; will retry';
  return repeated({ name: 'resealing', pauseMs, failure, log }, async (stopping) => {
    if (!what.box.hasOldKeys && !Number.isNaN(unopened)) return;
    const outcome = await reseal(what, () => stopping.aborted);
    if (stopping.aborted) return;
    if (outcome.resealed > 0) log.info({ values: outcome.resealed }, 'values under old keys sealed anew');
    const before = unopened;
    unopened = Object.values(outcome.unopened).reduce((sum, values) => sum + values, 0);
    if (unopened > 0 && unopened !== before)
      log.warn({ unopened: outcome.unopened }, 'values that no key of SECRETS_KEYS opens');
  });
}

/** Makes one pass over all columns, or stops when `isStopping` returns true. */
export async function reseal(
  { database, box, columns }: Pick<ResealOptions, 'database' | 'box' | 'columns'>,
  isStopping = () => false,
): Promise<Outcome> {
  const outcome: Outcome = { resealed: 0, unopened: {} };
  const shared: Transact = (work) => database.transactShared(({ knex }) => work(knex));
  for (const column of columns) {
    const tenants = await (column.listTenants && database.transactShared(column.listTenants));
    const ofTenant = (id: number): Transact => {
      return (work) => database.transact(id, ({ knex }) => work(knex));
    };
    for (const transact of tenants?.map(ofTenant) ?? [shared]) {
      if (isStopping()) return outcome;
      await resealColumn(transact, box, column, outcome, isStopping);
    }
  }
  return outcome;
}

async function resealColumn(
  transact: Transact,
  box: SecretBox,
  column: SealedColumn,
  outcome: Outcome,
  isStopping: () => boolean,
): Promise<void> {
  const name = `${column.table}.${column.column}`;
  let after: Row | undefined;
  do {
    const { rows, end } = await transact((knex) => findOld(knex, box, column, after));
    for (const row of rows) {
      if (isStopping()) return;
      const done = await transact((knex) => resealValue(knex, box, column, row));
      if (done === 'resealed') outcome.resealed += 1;
      if (done === 'not opened') outcome.unopened[name] = (outcome.unopened[name] ?? 0) + 1;
    }
    after = end;
  } while (after && !isStopping());
}

/** Processes a batch of rows in the order of their keys. @returns `end`, the key of the last row, if more may follow */
async function findOld(
  knex: Knex,
  box: SecretBox,
  { table, column, key, reads = [] }: SealedColumn,
  after: Row | undefined,
): Promise<{ rows: Row[]; end: Row | undefined }> {
  const beyond = (query: Knex.QueryBuilder, operator: string, row: Row | undefined) => {
    if (!row) return;
    const list = (mark: string) => key.map(() => mark).join(', ');
    query.whereRaw(`(${list('??')}) ${operator} (${list('?')})`, [...key, ...key.map((name) => row[name] ?? null)]);
  };
  const end = await knex(table)
    .modify(beyond, '>', after)
    .orderBy(key)
    .offset(rowsAtOnce - 1)
    .first<Row | undefined>(key);
  const rows = await knex(table)
    .modify(beyond, '>', after)
    .modify(beyond, '<=', end)
    .whereNotNull(column)
    .whereRaw('substring(?? FROM 1 FOR ?) <> ?', [column, box.prefix.length, box.prefix])
    .select<Row[]>([...key, ...reads]);
  return { rows, end };
}

async function resealValue(
  knex: Knex,
  box: SecretBox,
  { table, column, key, placeOf }: SealedColumn,
  row: Row,
): Promise<'resealed' | 'changed' | 'not opened'> {
  const found = () => knex(table).where(Object.fromEntries(key.map((name) => [name, row[name]])));
  const sealed: Buffer | null | undefined = (await found().first<Record<string, Buffer>>(column))?.[column];
  if (!sealed || box.isCurrent(sealed)) return 'changed';
  const place = placeOf(row);
  let plain: Buffer;
  try {
    plain = box.open(sealed, place);
  } catch {
    return 'not opened';
  }
  // Updates the value only if it is unchanged, because another process may have changed or deleted it since it was read.
  const updated = await found().where(column, sealed).update(column, box.seal(plain, place));
  return updated > 0 ? 'resealed' : 'changed';
}
