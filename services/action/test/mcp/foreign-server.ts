import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { eventually } from '@parley/testing/eventually';
import type { ExecutionContext } from 'ava';

/** A third-party program that is an MCP server. */
export interface ForeignProgram {
  command: string;
  /** Returns the command-line arguments for a port. With port 0, the program chooses a port and first prints its number. */
  args(port: number): string[];
  env?(port: number): Record<string, string>;
  printsPort?: boolean;
}

/** Starts the program on loopback for this test. @returns the URL of its endpoint `/mcp` */
export async function startForeign(t: ExecutionContext, program: ForeignProgram): Promise<string> {
  const free = await freePort();
  const { command, args, env = () => ({}), printsPort = false } = program;
  // On Linux the kernel kills the program when this process ends in any way.
  const tied = process.platform === 'linux' ? ['setpriv', '--pdeathsig', 'KILL'] : [];
  const [first = command, ...rest] = [...tied, command, ...args(free)];
  const child = spawn(first, rest, {
    env: { ...process.env, ...env(free) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    createInterface(stream).on('line', (line) => {
      output.push(line);
    });
  t.teardown(async () => {
    const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
    child.kill('SIGKILL');
    await ended;
  });
  const port = await eventually('the server listens', async () => {
    if (child.exitCode !== null) throw new Error(`${command} has ended\n${output.join('\n')}`);
    const chosen = printsPort ? Number(output[0]) : free;
    return chosen > 0 && (await isListening(chosen)) && chosen;
  });
  return `http://127.0.0.1:${port}/mcp`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1' });
  const connected = once(socket, 'connect').then(
    () => true,
    () => false,
  );
  return connected.finally(() => socket.destroy());
}
