import { kafkaDeadLetters, readTopic } from '@parley/events/kafka-dead-letters';
import { openPool } from '@parley/postgres/driver/pool';
import { schemas, topics } from '@parley/units';
import { connectionOf } from './invariants/read-topics.ts';
import type { TestMesh } from './mesh.ts';

/** Returns every row of every table of each service, of all tenants, one per line. Bytes are shown in hex. */
export async function rowsOf({ settings }: TestMesh): Promise<Record<string, string>> {
  const url = superuserUrl(settings['DATABASE_URL'] ?? '');
  const pool = openPool({ url, poolSize: 1, statementTimeoutMs: 20_000 });
  try {
    const { rows: tables }: { rows: { schema: string; name: string }[] } = await pool.raw(
      `SELECT table_schema AS schema, table_name AS name FROM information_schema.tables
        WHERE table_schema = ANY(?) AND table_type = 'BASE TABLE' ORDER BY 1, 2`,
      [schemas.map(({ name }) => name)],
    );
    const found: Record<string, string> = {};
    for (const { schema, name } of tables) {
      const { rows } = await pool.raw('SELECT each::text AS text FROM ??.?? AS each', [schema, name]);
      found[`rows of ${schema}.${name}`] = rows.map(({ text }: { text: string }) => text).join('\n');
    }
    return found;
  } finally {
    await pool.destroy();
  }
}

/** Returns a URL with the tests' login, which can read the rows of all tenants. The mesh's login cannot, because of row-level security. */
function superuserUrl(databaseUrl: string): string {
  const { pathname } = new URL(databaseUrl);
  return Object.assign(new URL(process.env['TEST_DATABASE_URL'] ?? databaseUrl), { pathname }).href;
}

/** Returns every event on every topic, with its key and headers, and every dead letter. Returns nothing without `KAFKA_BROKERS`. */
export async function eventsOf({ settings }: TestMesh): Promise<Record<string, string>> {
  if (!settings['KAFKA_BROKERS']) return {};
  const connection = connectionOf(settings);
  const deadLetters = kafkaDeadLetters(connection);
  try {
    const found = topics.map(async ({ name }) => {
      const messages = (await readTopic(connection, name)).map(({ message: { key, value, headers } }) =>
        [key, value, ...Object.values(headers ?? {})].join('\n'),
      );
      const letters = (await deadLetters.list(name)).map((letter) => JSON.stringify(letter));
      return [`events of ${name}`, [...messages, ...letters].join('\n')];
    });
    return Object.fromEntries(await Promise.all(found));
  } finally {
    await deadLetters.close();
  }
}
