import type { EngineName } from '@parley/servers/engine';
import { down, type FleetOptions, isServed, settingsOf, status, up } from '@parley/servers/fleet';

/** Without S3 nobody can keep a file, and all else works. */
const needed: EngineName[] = ['postgres', 'redis', 'kafka'];

/**
 * Starts the servers that the mesh stands on and that are not up or configured already. Those that it starts end with this
 * process, however that ends: none is left by a kill.
 * @throws Error that says which of the needed ones this machine cannot have, and why; then none is left that was started.
 */
export async function startMeshServers(options: FleetOptions) {
  const running = (await status(options)).flatMap(({ engine, state }) => (state === 'up' ? [engine.name] : []));
  const ours = options.only.filter((name) => !running.includes(name));
  /** Stops those that were not up before. */
  const stop = async () => void (await down({ ...options, only: ours, signal: new AbortController().signal }));
  try {
    const servers = await up({ ...options, endWithParent: true });
    const absent = servers.filter((server) => !isServed(server) && needed.includes(server.engine.name));
    if (absent.length > 0) {
      const reasons = absent.map(({ engine, note }) => `\n  ${engine.title}: ${note}`);
      throw new Error(`The mesh needs these servers:${reasons.join('')}`);
    }
    /** Which server does what, for the banner. */
    const shown = servers.map((server): [string, string] => {
      const { engine, note } = server;
      const lasts = running.includes(engine.name) ? '; was up before and stays' : '';
      return [engine.title, isServed(server) ? `${note}${lasts}` : `left out, ${note}`];
    });
    return { env: settingsOf(servers, options.env), shown, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
