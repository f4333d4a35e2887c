import { type Outcome, wrong } from './outcome.ts';
import type { Connection } from './postgres-connection.ts';

const parameter = 'default_transaction_read_only';

/** Checks whether the login can write: it cannot on a standby, or if its transactions are read-only by default. */
export function writableOutcomes({ facts, settings, at }: Pick<Connection, 'facts' | 'settings' | 'at'>): Outcome[] {
  const { login, isStandby, isReadOnly, readOnlySource: source } = facts;
  if (isStandby) {
    const change = 'Name the primary, by an address that follows a failover.';
    return [wrong('postgres.standby', settings, `${at} is a standby, which cannot be written to`, change)];
  }
  if (!isReadOnly) return [];
  const whose = source.includes('user') ? `transactions of ${login}` : 'transactions';
  const found = `${whose} in ${at} are read-only, by ${parameter}`;
  return [wrong('postgres.read-only', settings, found, readOnlyChange(facts))];
}

/** Returns the statement that reverts the read-only setting at its source. */
function readOnlyChange({ login, database, readOnlySource }: Connection['facts']): string {
  const wheres: Record<string, string> = {
    database: `DATABASE ${database}`,
    user: `ROLE ${login}`,
    'database user': `ROLE ${login} IN DATABASE ${database}`,
  };
  const where = wheres[readOnlySource];
  if (where !== undefined) return `ALTER ${where} RESET ${parameter}.`;
  return 'Set it to off in the configuration of the server; services of a cloud set it themselves when a disk is full.';
}
