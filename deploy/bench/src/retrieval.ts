import { tenantsOfOnePartition } from '@parley/knowledge/stored-chunks';
import type { Database } from '@parley/postgres/database/types';
import type { RunningServers } from '@parley/servers/start-servers';
import { Client } from 'pg';
import { baseFigures } from './base-figures.ts';
import type { Figure } from './figures.ts';
import { type Base, fill, openKnowledge } from './knowledge-bases.ts';
import { namedFor, onServers } from './on-servers.ts';
import type { BenchOptions } from './processes.ts';

type Sizes = Omit<Base, 'tenantId'>;

/** Knowledge bases in one schema. Their tenants share a partition. */
interface Stage {
  schema: string;
  title: string;
  bases: Sizes[];
  /** Bases of other tenants. No query searches them. */
  others?: Sizes[];
}

const part = 'retrieval';
const changed = (chunks: number): Sizes => ({ chunks, isChanged: true });

const few = changed(10_000);
const many = changed(100_000);
const several = [few, changed(20_000), changed(50_000), many];
const short: Stage[] = [
  { schema: 'knowledge_short', title: 'alone', bases: [changed(300)] },
  { schema: 'knowledge_short_prose', title: 'of prose', bases: [{ ...changed(300), isProse: true }] },
];

function stagesOf({ largest, others }: BenchOptions): Stage[] {
  const stages: Stage[] = [
    { schema: 'knowledge_few', title: 'alone', bases: [few] },
    { schema: 'knowledge_prose', title: 'of prose', bases: [{ ...few, isProse: true }] },
    { schema: 'knowledge_much_prose', title: 'of prose', bases: [{ ...many, isProse: true }] },
    { schema: 'knowledge_many', title: 'alone', bases: [many] },
    others
      ? {
          schema: `knowledge_beside_${others}`,
          title: `beside ${others} of others`,
          bases: several,
          others: [{ chunks: others, isChanged: false }],
        }
      : { schema: 'knowledge_together', title: 'together', bases: several },
  ];
  if (largest) {
    const base = { chunks: largest, isChanged: false };
    stages.push({ schema: `knowledge_of_${largest}`, title: 'alone', bases: [base] });
  }
  return stages;
}

/** Measures searches with the service's own use case on a real PostgreSQL: exact searches, and searches by the index. */
export async function retrievalFigures(options: BenchOptions): Promise<Figure[]> {
  const { keptUrl } = options;
  if (keptUrl) return namedFor(part, await measure(keptUrl, options));
  return onServers(
    part,
    options,
    async (servers) => {
      await giveMemory(servers);
      return measure(servers.env.DATABASE_URL ?? '', options);
    },
    ['postgres'],
  );
}

async function measure(url: string, options: BenchOptions): Promise<Figure[]> {
  const stages = options.short ? short : stagesOf(options);
  for (const { schema, bases, others = [] } of stages) {
    await using database = await openKnowledge(url, schema);
    await fill(url, database, await ofTenants(database, [...bases, ...others]), options.say);
  }
  const figures: Figure[] = [];
  for (const stage of stages) figures.push(...(await stageFigures(url, stage, options)));
  return figures;
}

async function stageFigures(url: string, { schema, title, bases }: Stage, options: BenchOptions): Promise<Figure[]> {
  await using database = await openKnowledge(url, schema);
  const figures: Figure[] = [];
  for (const base of await ofTenants(database, bases)) {
    options.say(`retrieval of ${base.chunks} chunks, ${title}, ${options.rounds} rounds`);
    figures.push(...(await baseFigures(database, base, { ...options, title, isAlone: bases.length === 1 })));
  }
  return figures;
}

async function ofTenants(database: Database, bases: Sizes[]): Promise<Base[]> {
  const tenants = await tenantsOfOnePartition(database, bases.length);
  return bases.map((sizes, at) => ({ ...sizes, tenantId: tenants[at] ?? 0 }));
}

/** Gives PostgreSQL as much memory for the indexes as a dedicated server would have. */
async function giveMemory(servers: RunningServers): Promise<void> {
  const superuser = new Client({ connectionString: servers.superuserUrl });
  await superuser.connect();
  await superuser.query(`ALTER SYSTEM SET shared_buffers = '4GB'`);
  await superuser.query(`ALTER SYSTEM SET max_wal_size = '8GB'`);
  await superuser.end();
  const server = servers.server('postgres');
  await server.stop();
  await server.start();
}
