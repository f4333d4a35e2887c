import type { EngineName } from '@parley/servers/engine';
import { type RunningServers, startServers } from '@parley/servers/start-servers';
import type { Root } from './costs.ts';
import type { Figure } from './figures.ts';
import type { BenchOptions } from './processes.ts';

/** The servers that a mesh of processes needs. */
export const needed: EngineName[] = ['postgres', 'redis', 'kafka'];

/** Returns the processes of the servers for counting CPU time, PostgreSQL first. */
export function enginesOf(servers: RunningServers): Root[] {
  return needed.map((name) => ({ name, pid: servers.server(name).pid() ?? 0 }));
}

export function namedFor(part: string, figures: readonly Figure[]): Figure[] {
  return figures.map(({ name, ...measured }) => ({ name: `${part}: ${name}`, ...measured }));
}

/** Starts real servers and runs a part of the bench that needs them. Skips the part if this machine cannot run one of the servers. */
export async function onServers(
  part: string,
  { say, leaveOut }: BenchOptions,
  measure: (servers: RunningServers) => Promise<Figure[]>,
  only = needed,
): Promise<Figure[]> {
  say('real servers');
  const servers = await startServers({ only, say, durable: true });
  try {
    const [absent] = servers.missing;
    if (absent) {
      leaveOut(`${part}: without ${absent.engine}: ${absent.reason}`);
      return [];
    }
    return namedFor(part, await measure(servers));
  } finally {
    await servers.stop();
  }
}
