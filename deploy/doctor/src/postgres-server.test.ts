import { units } from '@parley/units';
import test from 'ava';
import { poolOutcomes } from './postgres-pools.ts';
import { databaseOutcomes } from './postgres-server.ts';

const facts = {
  version: 180_004,
  versionName: '18.4',
  encoding: 'UTF8',
  connections: 97,
  loginConnections: null,
  databaseConnections: null,
  login: 'parley',
  database: 'parley',
  mayCreateSchemas: true,
  mayCreateRoles: true,
  isStandby: false,
  isReadOnly: false,
  readOnlySource: 'default',
  extensions: { vector: { installed: '0.8.10', available: '0.8.10', schema: 'public' } },
  serverMs: 1_000_000,
  asked: 1_000_000,
  answered: 1_000_000,
};
const schema = { name: 'garden', tables: {}, migrations: [], extensions: { vector: '0.8.5' } };

function findings(change: Partial<typeof facts>) {
  const outcomes = databaseOutcomes(
    { facts: { ...facts, ...change }, settings: ['DATABASE_URL'], at: 'db:5432/parley' },
    [{ schema }],
  );
  return outcomes.filter(({ level }) => level !== 'ok').map(({ level, check, found }) => [level, check, found]);
}

test('a new server with a newer pgvector is in order', (t) => {
  t.deepEqual(findings({}), []);
});

test('an old PostgreSQL, another encoding and an old pgvector are named', (t) => {
  t.deepEqual(findings({ version: 140_012, versionName: '14.12' }), [
    ['wrong', 'postgres.version', 'db:5432/parley is on PostgreSQL 14.12'],
  ]);
  t.deepEqual(findings({ encoding: 'SQL_ASCII' }), [
    ['wrong', 'postgres.encoding', 'the encoding of db:5432/parley is SQL_ASCII'],
  ]);
  t.deepEqual(findings({ extensions: { vector: { installed: '0.8.4', available: '0.8.10', schema: 'public' } } }), [
    ['wrong', 'postgres.extension', 'db:5432/parley has pgvector 0.8.4'],
  ]);
});

test('a clock that is off by seconds is a warning, and wrong when it is off by more', (t) => {
  const clock = (seconds: number) => findings({ serverMs: facts.serverMs + seconds * 1_000 });
  t.deepEqual(clock(0.9), []);
  t.deepEqual(clock(5), [['warning', 'postgres.clock', "the clock of db:5432 is 5 s ahead of this machine's"]]);
  t.deepEqual(clock(-40), [['wrong', 'postgres.clock', "the clock of db:5432 is 40 s behind this machine's"]]);
});

test('connections are counted by the processes and pools of each unit of an installation', (t) => {
  const connection = { facts, settings: ['DATABASE_URL'], at: 'db:5432/parley' };
  const used = units.flatMap((unit) => (['identity', 'session'].includes(unit.name) ? [{ unit }] : []));
  const found = (planned: Record<string, number[]>) => {
    const given = Object.entries(planned).map(([name, [processes = 0, size]]) => [
      name,
      { processes, env: { DATABASE_POOL_SIZE: String(size) } },
    ]);
    const installation = { env: { DATABASE_POOL_SIZE: '5' }, planned: Object.fromEntries(given) };
    return poolOutcomes(connection, used, installation).map(({ level, found }) => [level, found]);
  };
  t.deepEqual(found({}), [['ok', 'db:5432 gives 97 connections, enough for the 15 that 3 processes take at most']]);
  t.deepEqual(found({ identity: [7, 10], session: [3, 9] }), [
    ['ok', 'db:5432 gives 97 connections, enough for the 97 that 10 processes take at most'],
  ]);
  t.deepEqual(found({ identity: [7, 10], session: [4, 9] }), [
    ['warning', 'db:5432 gives 97 connections, fewer than the 106 that 11 processes take at most'],
  ]);
});
