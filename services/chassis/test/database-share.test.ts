import type { Caller } from '../src/caller.ts';
import { openDatabase } from '../src/database/open.ts';
import { withClient } from '../src/request-context.ts';
import { eventually } from '../src/testing/eventually.ts';
import { onDatabaseServer } from '../src/testing/every-database.ts';
import { createGate } from '../src/testing/gate.ts';
import { notesSchema } from './support/notes-schema.ts';

const caller = (ip: string, tenantId: number | null): Caller => ({ kind: 'user', ip, tenantId, requestId: 'r' });

onDatabaseServer(({ test, testSchema, testDatabaseUrl }) => {
  for (const [whose, ips, tenants] of [
    ['client', ['2001:db8::1', '2001:db8::2'], [null, 1]],
    ['tenant', ['10.0.0.1', '10.0.0.2'], [1, 1]],
  ] as const) {
    test(`transactions of one ${whose} leave a connection to others, and to the unit itself`, async (t) => {
      const database = await testSchema(t, notesSchema, { poolSize: 3 });
      const gate = createGate();
      let begun = 0;
      const held = Array.from({ length: 8 }, (_, n) =>
        withClient(caller(ips[n % 2] ?? '', tenants[n % 2] ?? null), () =>
          database.transactShared(async () => {
            begun += 1;
            await gate.pass();
          }),
        ),
      );
      await eventually('they have their share', () => begun === 2);
      await withClient(caller('10.9.9.9', 2), () => database.transact(2, async ({ knex }) => knex('notes').first()));
      await database.transact(1, async ({ knex }) => knex('notes').first());
      t.is(begun, 2, 'no more than that');
      gate.open();
      await Promise.all(held);
      t.is(begun, 8);
    });
  }

  test('a client that waits too long for one of its transactions is told that the database is unavailable', async (t) => {
    const { schemaName } = await testSchema(t, notesSchema);
    const url = await testDatabaseUrl();
    const hasty = openDatabase({ url, schema: notesSchema, schemaName, poolSize: 2, acquireTimeoutMs: 500 });
    t.teardown(() => hasty.close());
    const read = () => hasty.transact(1, async ({ knex }) => knex('notes').first());
    await withClient(caller('10.0.0.1', 1), () =>
      hasty.transact(1, async () => {
        t.like(await t.throwsAsync(read()), { kind: 'unavailable' });
      }),
    );
    await t.notThrowsAsync(withClient(caller('10.0.0.1', 1), read));
  });
});
