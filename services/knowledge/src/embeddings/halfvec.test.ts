import { onEveryDatabase } from '@parley/testing/every-database';
import { Client } from 'pg';
import { halfvec } from './halfvec.ts';
import { embedOffline } from './offline-embedding.ts';

onEveryDatabase(({ test, testDatabaseUrl }) => {
  test('a vector sent in binary equals the vector that pgvector reads from text', async (t) => {
    const client = new Client(await testDatabaseUrl());
    await client.connect();
    t.teardown(() => client.end());
    await client.query('CREATE EXTENSION IF NOT EXISTS vector SCHEMA public').catch(() => undefined);
    const vector = embedOffline('A text with several words');
    const { rows } = await client.query('SELECT $1::public.halfvec = $2::public.halfvec AS same', [
      halfvec(vector),
      JSON.stringify([...vector]),
    ]);
    t.deepEqual(rows, [{ same: true }]);
  });
});
