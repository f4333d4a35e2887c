import { globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { RunningServers } from '@parley/servers/start-servers';
import { Client } from '@parley/stories/client';
import { createAgent, endSession } from '@parley/stories/conversation';
import { openChecker } from '@parley/stories/invariants';
import { createKnowledgeBase, parsedDocument, uploadFile } from '@parley/stories/knowledge';
import { schemas } from '@parley/units';
import { createClient } from '@redis/client';
import { Client as Database, escapeIdentifier } from 'pg';
import { openTalker } from './client.ts';
import type { Reading } from './costs.ts';
import { atOnce, type Figure, figure, oneByOne } from './figures.ts';
import { onServers } from './on-servers.ts';
import { type BenchOptions, limits, openPlace } from './processes.ts';
import { passage } from './prose.ts';
import { content } from './turns.ts';

const turns = 10;
/** The number of passages in an uploaded document. */
const passagesOfDocument = 60;

/**
 * Measures how much each engine stores, after all background work, for a session of ten turns with its evaluation, and for an uploaded
 * document. All units run in one process; several processes would store the same data.
 */
export function storageFigures(options: BenchOptions): Promise<Figure[]> {
  return onServers(
    'storage',
    options,
    async (servers) => {
      const { short, say } = options;
      await using place = await openPlace(options);
      await using mesh = await place.start({ ...servers.env, ...limits });
      const owner = new Client(mesh.urls[0] ?? '');
      await owner.register();
      const agentId = await createAgent(owner);
      const base = await createKnowledgeBase(owner);
      const checker = openChecker(servers.env);
      await using closers = new AsyncDisposableStack();
      closers.defer(() => checker.close());

      async function session(): Promise<void> {
        await using talker = await openTalker(owner, agentId);
        await oneByOne(short ? 1 : turns, () => talker.firstChunkMs(content));
        await endSession(owner, talker.sessionId);
      }
      let documents = 0;
      let bytes = 0;
      async function upload(): Promise<void> {
        const next = passage(documents++);
        const text = Array.from({ length: passagesOfDocument }, () => `## ${next().split(' ')[0]}\n\n${next()}`).join(
          '\n\n',
        );
        bytes += Buffer.byteLength(text);
        await parsedDocument(owner, await uploadFile(owner, base, text), 120_000);
      }
      /** Measures how much each engine grows during `work`, divided by the number of items that `work` stores. */
      async function leftBy(count: number, work: () => Promise<unknown>): Promise<Reading> {
        await checker.rest();
        const before = await stored(servers);
        await work();
        await checker.rest();
        const after = await stored(servers);
        const each = Object.entries(after).map(([name, value]) => [name, (value - (before[name] ?? 0)) / count]);
        return Object.fromEntries(each) as Reading;
      }

      await session(); // allocates the first pages of the tables
      await upload();
      const [sessions, uploads] = short ? [4, 2] : [200, 8];
      say(`${sessions} sessions`);
      const ofSession = await leftBy(sessions, () => atOnce(4, () => oneByOne(sessions / 4, session)));
      say(`${uploads} documents`);
      bytes = 0;
      const ofDocument = await leftBy(uploads, () => oneByOne(uploads, upload));
      return [
        ...figuresOf('a session', ofSession),
        figure('a document, its file', bytes / uploads / 1_000, 'KB'),
        ...figuresOf('a document', ofDocument),
      ];
    },
    ['postgres', 'redis', 'kafka', 's3'],
  );
}

function figuresOf(what: string, growth: Reading): Figure[] {
  return Object.entries(growth)
    .filter(([, value]) => value !== 0)
    .map(([name, value]) => figure(`${what}, ${name}`, value, name.startsWith('rows') ? 'in all' : 'KB'));
}

/** Returns the numbers of rows and the sizes of everything that the engines store. */
async function stored(servers: RunningServers): Promise<Reading> {
  const reading: Reading = {};
  await asSuperuser(servers, async (database) => {
    await database.query('VACUUM (ANALYZE)');
    const { rows: tables } = await database.query<{ owner: string; name: string; bytes: string }>(
      `SELECT schemaname AS owner, relname AS name, pg_total_relation_size(relid) AS bytes FROM pg_stat_user_tables
        WHERE schemaname = ANY ($1) ORDER BY 1, 2`,
      [schemas.map(({ name }) => name)],
    );
    for (const { owner, name, bytes } of tables) {
      const table = `${escapeIdentifier(owner)}.${escapeIdentifier(name)}`;
      const { rows: counted } = await database.query<{ count: number }>(`SELECT count(*)::int AS count FROM ${table}`);
      const count = counted[0]?.count ?? 0;
      reading[`rows of ${owner}`] = (reading[`rows of ${owner}`] ?? 0) + count;
      reading[`PostgreSQL, ${owner}`] = (reading[`PostgreSQL, ${owner}`] ?? 0) + Number(bytes) / 1_000;
    }
    const { rows } = await database.query<{ bytes: string }>(
      `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS bytes`,
    );
    reading["PostgreSQL's log (WAL)"] = Number(rows[0]?.bytes) / 1_000;
  });
  const redis = createClient({ url: servers.env.REDIS_URL ?? '' });
  await redis.connect();
  reading['Redis'] = Number(/^used_memory:(\d+)/mu.exec(await redis.info('memory'))?.[1]) / 1_000;
  redis.destroy();
  reading['Kafka'] = sizeOf(servers.server('kafka').place.home, '**/*.log') / 1_000;
  reading['S3'] = sizeOf(servers.server('s3').place.home, '**/tenants/**') / 1_000;
  return reading;
}

async function asSuperuser(servers: RunningServers, work: (database: Database) => Promise<void>): Promise<void> {
  const database = new Database(servers.superuserUrl);
  await database.connect();
  try {
    await work(database);
  } finally {
    await database.end();
  }
}

/** Returns the total size of those files in a folder that match the pattern, in bytes. */
function sizeOf(folder: string, pattern: string): number {
  const files = globSync(pattern, { cwd: folder, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}
