import { createServer } from 'node:net';
import { listen } from '@parley/kernel/http/listen';
import { exec } from '@parley/servers/exec';
import type { ExecutionContext } from 'ava';
import { bridge } from '../../src/addresses.ts';

/** Public by its number, and given to this machine for the time of a test: machines of tests often reach no public address. */
const address = '11.88.0.1';

/** A server of the world that pods reach unless a policy forbids it. @returns its address with the port */
export async function startWorld(t: Pick<ExecutionContext, 'teardown'>): Promise<string> {
  const change = (how: 'replace' | 'delete') => exec('ip', ['address', how, `${address}/32`, 'dev', bridge]);
  await change('replace');
  const server = createServer((socket) => void socket.on('error', () => undefined).end());
  const at = await listen(server, 80, address);
  t.teardown(async () => {
    server.close();
    await change('delete');
  });
  return at;
}
