import test from 'ava';
import { cpuOf, maxCpuMs } from './support/cpu.ts';
import { gatewayMesh } from './support/gateway-mesh.ts';
import { hostileRequests } from './support/hostile.ts';
import { rawPost } from './support/raw-post.ts';

// In a file of its own: what other tests of a process do would count as well.
test('no hostile document or body takes 50 ms of CPU', async (t) => {
  const { url, identity } = await gatewayMesh(t);
  const authorization = `Bearer ${await identity.signIn('s-1')}`;
  for (const { name, body, headers = {}, signedIn } of hostileRequests) {
    const bytes = Buffer.from(body);
    const send = () => rawPost(url, { body: [bytes], headers: { ...headers, ...(signedIn && { authorization }) } });
    const ms = await cpuOf(send, { times: 20, enoughMs: maxCpuMs });
    t.true(ms < maxCpuMs, `${name}: ${ms} ms`);
  }
});
