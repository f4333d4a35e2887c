import { createServer } from 'node:net';
import { listen } from '@parley/kernel/http/listen';
import { exec } from '@parley/servers/exec';
import type { ExecutionContext } from 'ava';
import { bridge } from '../../src/addresses.ts';

/** A public address, which this machine gets for the duration of a test, because test machines often cannot reach real public addresses. */
const address = '11.88.0.1';

/** Starts a server at a public address, which pods can reach unless a policy forbids it. @returns its address with the port */
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
