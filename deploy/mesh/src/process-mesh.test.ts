import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { freePorts } from '@parley/servers/ports';
import { emptyFolder } from '@parley/servers/testing/folder';
import test, { type ExecutionContext } from 'ava';
import { Logs } from './logs.ts';
import { type ProcessMesh, startProcessMesh } from './process-mesh.ts';

/**
 * A program that looks like a gateway to its supervisor: it listens on the gateway's ports. If a port is taken, it prints the message that
 * a unit prints in this case.
 */
const program = `
  import { createServer } from 'node:http';
  for (const port of [process.env.GATEWAY_OPS_PORT, process.env.GATEWAY_PORT]) {
    const server = createServer((_, response) => response.end('ready'));
    server.on('error', ({ code }) => {
      process.stderr.write('E No address added out of total 1 resolved\\n'); // grpc-js prints this line, too
      process.stderr.write(code === 'EADDRINUSE' ? 'Port ' + port + ' on 127.0.0.1 is taken by another program.\\n' : code);
      process.exit(1);
    });
    server.listen(Number(port), '127.0.0.1');
  }
`;

/** Starts a mesh that consists of one process of `program`. Each attempt takes its ports from the next item of `plans`. */
async function start(t: ExecutionContext, plans: { ops: number; public: number }[]) {
  const folder = emptyFolder(t);
  const main = join(folder, 'main.mjs');
  writeFileSync(main, program);
  const logs = new Logs({ folder: join(folder, 'logs') });
  const said: string[] = [];
  let planned = 0;
  let mesh: ProcessMesh | undefined;
  t.teardown(async () => {
    await mesh?.stop();
    await logs.close();
  });
  const starting = startProcessMesh({
    env: { ...process.env },
    publicPort: 0,
    logs,
    say: (text) => said.push(text),
    signal: new AbortController().signal,
    async plan() {
      const ports = plans[Math.min(planned++, plans.length - 1)] ?? t.fail('a plan');
      return [[], [{ name: 'gateway-1', unit: 'gateway', main, ports }]];
    },
  });
  return {
    said,
    planned: () => planned,
    async mesh() {
      mesh = await starting;
      return mesh;
    },
  };
}

async function takenPort(t: ExecutionContext): Promise<number> {
  const [port = 0] = await freePorts(1);
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return port;
}

test('where another program took a port meanwhile, all start again on others', async (t) => {
  const [ops = 0, other = 0, open = 0] = await freePorts(3);
  const taken = await takenPort(t);
  const { mesh, said } = await start(t, [
    { ops, public: taken },
    { ops: other, public: open },
  ]);
  const { publicPort } = await mesh();
  t.is(await (await fetch(`http://127.0.0.1:${publicPort}`)).text(), 'ready');
  t.is(said.filter((text) => text.includes(`Port ${taken} on 127.0.0.1 is taken`)).length, 1);
});

test('ports that stay taken end the start with what is wrong', async (t) => {
  const [ops = 0] = await freePorts(1);
  const taken = await takenPort(t);
  const { mesh, planned } = await start(t, [{ ops, public: taken }]);
  await t.throwsAsync(mesh(), { message: new RegExp(`gateway-1: [^]*Port ${taken} on 127.0.0.1 is taken`, 'u') });
  t.is(planned(), 3);
});
