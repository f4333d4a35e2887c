import { tenantsOfOnePartition } from '@parley/knowledge/stored-chunks';
import type { Database } from '@parley/postgres/database/types';
import { embedFigures } from './embed.ts';
import type { Figure } from './figures.ts';
import { insertFigures } from './insert.ts';
import { type Base, fill, openKnowledge } from './knowledge-bases.ts';
import { onServers } from './on-servers.ts';
import type { BenchOptions } from './processes.ts';
import { retrievalFigures } from './retrieval.ts';

type Sizes = Omit<Base, 'tenantId'>;

/** Bases of tenants of one partition, in a schema of their own. */
interface Stage {
  schema: string;
  title: string;
  bases: Sizes[];
}

const changed = (chunks: number): Sizes => ({ chunks, isChanged: true });

const few = changed(10_000);
const many = changed(100_000);
const stages = (largest: number | undefined): Stage[] => [
  { schema: 'knowledge_few', title: 'alone', bases: [few] },
  { schema: 'knowledge_prose', title: 'of prose', bases: [{ ...few, isProse: true }] },
  { schema: 'knowledge_many', title: 'alone', bases: [many] },
  {
    schema: 'knowledge_together',
    title: 'together',
    bases: [few, changed(20_000), changed(50_000), many, ...(largest ? [{ chunks: largest, isChanged: false }] : [])],
  },
];
const short: Stage[] = [{ schema: 'knowledge_short', title: 'alone', bases: [changed(300)] }];

/** Chunks stored and found by the service's own use cases on a real PostgreSQL, and `embed` through the gateway. */
export function knowledgeFigures(options: BenchOptions): Promise<Figure[]> {
  const measure = async (ownUrl: string) => {
    const { keptUrl, largest, say } = options;
    const url = keptUrl ?? ownUrl;
    const all = options.short ? short : stages(largest);
    for (const { schema, bases } of all) {
      await using database = await openKnowledge(url, schema);
      await fill(url, database, await ofTenants(database, bases), say);
    }
    const figures = [...(await embedFigures(ownUrl, options)), ...(await insertFigures(ownUrl, options))];
    for (const stage of all) figures.push(...(await stageFigures(url, stage, options)));
    return figures;
  };
  return onServers('knowledge', options, ({ env }) => measure(env.DATABASE_URL ?? ''), ['postgres']);
}

async function stageFigures(url: string, { schema, title, bases }: Stage, options: BenchOptions): Promise<Figure[]> {
  await using database = await openKnowledge(url, schema);
  const figures: Figure[] = [];
  for (const base of await ofTenants(database, bases)) {
    options.say(`retrieval of ${base.chunks} chunks, ${title}, ${options.rounds} rounds`);
    figures.push(...(await retrievalFigures(database, base, title, options)));
  }
  return figures;
}

async function ofTenants(database: Database, bases: Sizes[]): Promise<Base[]> {
  const tenants = await tenantsOfOnePartition(database, bases.length);
  return bases.map((sizes, at) => ({ ...sizes, tenantId: tenants[at] ?? 0 }));
}
