import { embedFigures } from './embed.ts';
import type { Figure } from './figures.ts';
import { insertFigures } from './insert.ts';
import { onServers } from './on-servers.ts';
import type { BenchOptions } from './processes.ts';

/** Measures `embed` through the gateway. Also measures how fast the service's own store writes chunks to a real PostgreSQL. */
export function knowledgeFigures(options: BenchOptions): Promise<Figure[]> {
  const measure = async (url: string) => [
    ...(await embedFigures(url, options)),
    ...(await insertFigures(url, options)),
  ];
  return onServers('knowledge', options, ({ env }) => measure(env.DATABASE_URL ?? ''), ['postgres']);
}
