import { once } from 'node:events';
import { createServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { changingName } from '@parley/testing/changing-name';
import { eventually } from '@parley/testing/eventually';
import { testAuthority } from '@parley/testing/test-authority';
import { testMeshTls } from '@parley/testing/test-mesh-tls';
import test, { type ExecutionContext } from 'ava';
import { gatewayMesh } from './support/gateway-mesh.ts';

const name = 'agent.balancing.invalid';

/** Several processes of a subgraph, with a certificate for the subgraph's name. All listen on the same port, each on its own address. */
async function processesOf(t: ExecutionContext, certificate: { cert: string; key: string; ca: string }) {
  let port = 0;
  const served = new Map<string, number>();
  async function start(address: string) {
    const server = createServer(
      { ...certificate, requestCert: true, keepAliveTimeout: 120_000 },
      (request, response) => {
        served.set(address, (served.get(address) ?? 0) + 1);
        request.resume();
        // allow-name agentCount: the requested field.
        response.setHeader('content-type', 'application/json').end('{"data":{"agentCount":7}}');
      },
    );
    await once(server.listen(port, address), 'listening');
    port = (server.address() as AddressInfo).port;
    served.set(address, 0);
    const stop = async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    };
    t.teardown(stop);
    return { stop };
  }
  return { start, served, port: () => port };
}

test('processes of a subgraph that are added behind its name get equal shares of requests at once', async (t) => {
  const authority = testAuthority();
  const certificate = { ...authority.issue([name, '127.0.0.1']), ca: authority.cert };
  const { tls } = await testMeshTls(t, certificate);
  const dns = changingName(t, name);
  const processes = await processesOf(t, certificate);
  await processes.start('127.0.0.2');
  dns.set('127.0.0.2');
  const { ask, identity } = await gatewayMesh(t, {
    mesh: { tls, lookupIntervalMs: 50 },
    graphUrls: { agent: `https://${name}:${processes.port()}` },
  });
  const token = await identity.signIn('s-1');
  const answer = async () => t.deepEqual((await ask('{ agentCount }', { token })).data, { agentCount: 7 });
  await answer();

  const third = await processes.start('127.0.0.3');
  await processes.start('127.0.0.4');
  dns.set('127.0.0.2', '127.0.0.3', '127.0.0.4');
  await eventually('each process is called', async () => {
    await answer();
    return [...processes.served.values()].every((calls) => calls > 0);
  });
  const before = new Map(processes.served);
  for (let n = 0; n < 30; n += 1) await answer();
  for (const [address, calls] of processes.served)
    t.true(calls - (before.get(address) ?? 0) >= 9, `${address}: ${calls - (before.get(address) ?? 0)} of 30`);

  await third.stop();
  for (let n = 0; n < 12; n += 1) await answer();
  dns.set('127.0.0.2', '127.0.0.4');
  const gone = processes.served.get('127.0.0.3');
  for (let n = 0; n < 12; n += 1) await answer();
  t.is(processes.served.get('127.0.0.3'), gone);
});

test('requests do not wait for the TLS handshake of another one', async (t) => {
  const authority = testAuthority();
  const certificate = { ...authority.issue([name, '127.0.0.1']), ca: authority.cert };
  const { tls } = await testMeshTls(t, certificate);
  const dns = changingName(t, 'agent.hangs.invalid');
  const silent = createTcpServer();
  await once(silent.listen(0, '127.0.0.5'), 'listening');
  const open = new Set<Socket>();
  let ended = 0;
  silent.on('connection', (socket) => {
    open.add(socket);
    socket.on('error', () => undefined).resume(); // a paused socket would not notice that the client closes it
    socket.on('close', () => {
      open.delete(socket);
      ended += 1;
    });
  });
  const stop = () => {
    silent.close();
    for (const socket of open) socket.destroy();
  };
  t.teardown(stop);
  dns.set('127.0.0.5');
  const { port } = silent.address() as AddressInfo;
  const { ask, identity } = await gatewayMesh(t, {
    mesh: { tls },
    graphUrls: { agent: `https://agent.hangs.invalid:${port}` },
  });
  const token = await identity.signIn('s-1');
  const answers = Promise.all([1, 2, 3].map(() => ask('{ agentCount }', { token })));
  await eventually('each request has a connection of its own', () => open.size === 3);
  t.is(ended, 0, 'no request has waited for the end of a connection');
  stop();
  for (const { errors } of await answers) t.like(errors, [{ extensions: { code: 'UNAVAILABLE' } }]);
});
