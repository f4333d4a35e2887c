import type { EngineName } from '@parley/servers/engine';
import { down, type FleetOptions, isServed, settingsOf, status, up } from '@parley/servers/fleet';

/** S3 is not required: without S3, only the storage of files fails. */
const needed: EngineName[] = ['postgres', 'redis', 'kafka'];

/**
 * Starts the mesh's servers that are neither up nor configured. The started servers end with this process, even if it is killed.
 * @throws Error that names the required servers that this machine cannot run, with reasons. The servers that were started are then stopped
 */
export async function startMeshServers(options: FleetOptions) {
  const before = await status(options);
  const running = before.flatMap(({ engine, state }) => (state === 'up' ? [engine.name] : []));
  // The data folder may contain a running server besides the configured one. Somebody else started that server, so it keeps running.
  const ours = before.filter((server) => !isServed(server)).map(({ engine }) => engine.name);
  /** Stops the servers that this call started. */
  const stop = async () => void (await down({ ...options, only: ours, signal: new AbortController().signal }));
  try {
    const servers = await up({ ...options, endWithParent: true });
    const absent = servers.filter((server) => !isServed(server) && needed.includes(server.engine.name));
    if (absent.length > 0) {
      const reasons = absent.map(({ engine, note }) => `\n  ${engine.title}: ${note}`);
      throw new Error(`The mesh needs these servers:${reasons.join('')}`);
    }
    /** The servers and their states, for the banner. */
    const shown = servers.map((server): [string, string] => {
      const { engine, note } = server;
      const remark = running.includes(engine.name) ? '; was up before and keeps running' : '';
      return [engine.title, isServed(server) ? `${note}${remark}` : `left out, ${note}`];
    });
    return { env: settingsOf(servers, options.env), shown, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
