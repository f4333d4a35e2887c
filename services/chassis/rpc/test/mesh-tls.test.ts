import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'node:tls';
import { createCallers } from '@parley/kernel/caller';
import type { MeshTls } from '@parley/kernel/tls/mesh';
import { EvaluationServiceDefinition } from '@parley/protos/parley/evaluation/v1/evaluation';
import { eventually } from '@parley/testing/eventually';
import { startSilentServer } from '@parley/testing/silent-server';
import { testAuthority } from '@parley/testing/test-authority';
import { testMeshTls } from '@parley/testing/test-mesh-tls';
import test, { type ExecutionContext } from 'ava';
import { createChannel, createClient } from 'nice-grpc';
import { HealthDefinition } from 'nice-grpc-server-health';
import { rpcClient } from '../src/client.ts';
import { caller, serving } from './support/rpc-served.ts';

const here = ['127.0.0.1'];

async function served(t: ExecutionContext, tls: MeshTls) {
  const { evaluation, callers, address } = await serving(t, { getEvaluation: async () => ({}) }, { mesh: { tls } });
  return {
    evaluation,
    address: address(),
    /** Calls the server with another client certificate, or with none. */
    async call(other?: MeshTls): Promise<unknown> {
      const mesh = { tls: other };
      const client = rpcClient({ definition: EvaluationServiceDefinition, unit: 'it', address, callers, mesh });
      await client.start();
      t.teardown(() => client.stop());
      return client.calls.getEvaluation({ sessionId: 1 }, { caller });
    },
    /** Returns the serial number of the certificate that the server presents on a new connection. */
    async shown({ ca, cert, key }: MeshTls['current']): Promise<string> {
      const { hostname, port } = new URL(`tcp://${address()}`);
      const socket = connect({ host: hostname, port: Number(port), ca, cert, key, ALPNProtocols: ['h2'] });
      await once(socket, 'secureConnect');
      const { serialNumber } = socket.getPeerCertificate();
      socket.destroy();
      return serialNumber;
    },
  };
}

test('a client with a certificate of the authority is served, and no other one', async (t) => {
  const authority = testAuthority();
  const { tls } = await testMeshTls(t, { ...authority.issue(here), ca: authority.cert });
  const { evaluation, address, call } = await served(t, tls);
  await t.notThrowsAsync(evaluation.getEvaluation({ sessionId: 1 }, { caller }));
  const sameAuthority = await testMeshTls(t, { ...authority.issue(['another']), ca: authority.cert });
  await t.notThrowsAsync(call(sameAuthority.tls));

  await t.throwsAsync(call(), { message: 'it is not available' });
  const others = await testMeshTls(t, { ...testAuthority().issue(here), ca: authority.cert });
  await t.throwsAsync(call(others.tls), { message: 'it is not available' });
  const channel = createChannel(address);
  t.teardown(() => channel.close());
  await t.throwsAsync(createClient(HealthDefinition, channel).check({ service: '' }), { message: /UNAVAILABLE/u });
});

test('a client refuses a server of another authority or another name', async (t) => {
  const authority = testAuthority();
  const own = await testMeshTls(t, { ...authority.issue(here), ca: authority.cert });
  for (const { cert, key } of [authority.issue(['elsewhere.example']), testAuthority().issue(here)]) {
    const { tls } = await testMeshTls(t, { cert, key, ca: authority.cert });
    const { call } = await served(t, tls);
    await t.throwsAsync(call(own.tls), { message: 'it is not available' });
  }
});

test('connecting to a silent peer times out, also after the client has stopped', async (t) => {
  const silent = await startSilentServer();
  t.teardown(() => silent.stop());
  const authority = testAuthority();
  const { tls } = await testMeshTls(t, { ...authority.issue(here), ca: authority.cert });
  const address = () => new URL(silent.url).host;
  const to = { definition: EvaluationServiceDefinition, unit: 'it', address, callers: createCallers(randomBytes(32)) };
  const client = rpcClient({ ...to, mesh: { tls }, connectTimeoutMs: 500 });
  await client.start();
  await Promise.all([
    eventually('it is connecting', () => silent.connections === 1),
    t.throwsAsync(client.calls.getEvaluation({ sessionId: 1 }, { caller, timeoutMs: 200 })),
  ]);
  await client.stop();
  // nice-grpc gives up after 20 s by itself
  await eventually('no socket is open', () => silent.connections === 0, { timeoutMs: 15_000 });
});

test('replacing certificate and authority refuses no call', async (t) => {
  const [old, next] = [testAuthority('old'), testAuthority('next')];
  const { tls, replace } = await testMeshTls(t, { ...old.issue(here), ca: old.cert });
  const { evaluation, call, shown } = await served(t, tls);
  const before = await shown(tls.current);
  const stop = new AbortController();
  const calling = (async () => {
    let calls = 0;
    for (; !stop.signal.aborted; calls += 1) {
      await evaluation.getEvaluation({ sessionId: 1 }, { caller });
      await call(tls);
      await delay(1);
    }
    return calls;
  })();

  const replaced = async (what: string, changed: Parameters<typeof replace>[0]) => {
    replace(changed);
    await eventually(what, () => Object.entries(changed).every(([kind, pem]) => tls.current[kind as 'ca'] === pem));
  };
  await replaced('both authorities are accepted', { ca: old.cert + next.cert });
  await replaced('the new certificate is read', next.issue(here));
  await eventually('the new certificate is shown', async () => (await shown(tls.current)) !== before);
  await replaced('the new authority is left', { ca: next.cert });
  stop.abort();
  t.true((await calling) > 0);

  const late = await testMeshTls(t, { ...old.issue(here), ca: next.cert });
  await eventually('the old authority is accepted no more', () =>
    call(late.tls).then(
      () => false,
      () => true,
    ),
  );
});
